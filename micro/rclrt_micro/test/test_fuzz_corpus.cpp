// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The corpus of the fuzzers, and changes of it that are the same in every run. The fuzzers themselves:
// README.md.
#include <gtest/gtest.h>

#include <random>

#include "captures.hpp"
#include "fuzz/targets.h"

namespace
{
std::vector<Bytes> corpus(const std::string & wanted)
{
  std::ifstream file(RCLRT_MICRO_TEST_DATA "/../fuzz/corpus.txt");
  std::vector<Bytes> all;
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.find(' ');
    if (line.substr(0, space) == wanted) {
      all.push_back(from_hex(line.substr(space + 1)));
    }
  }
  return all;
}

void run(const std::vector<Bytes> & seeds, bool (*target)(const uint8_t *, size_t))
{
  ASSERT_GT(seeds.size(), 10U);
  for (const auto & seed : seeds) {
    ASSERT_TRUE(target(seed.data(), seed.size()));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = seeds[random() % seeds.size()];
    const Bytes & other = seeds[random() % seeds.size()];
    if (random() % 2 == 0) {
      bytes.insert(bytes.end(), other.begin(), other.end());
    }
    for (unsigned change = random() % 4; change > 0 && !bytes.empty(); --change) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    if (random() % 4 == 0) {
      bytes.resize(random() % (bytes.size() + 1));
    }
    ASSERT_TRUE(target(bytes.data(), bytes.size())) << "change number " << i;
  }
}

TEST(Fuzz, any_bytes_on_the_line_are_survived_and_no_buffer_is_lost)
{
  run(corpus("line"), fuzz_line);
}

TEST(Fuzz, any_frame_found_is_the_one_that_is_read_and_made_again)
{
  run(corpus("line"), fuzz_frame);
}

TEST(Fuzz, any_message_is_read_safely_and_written_as_it_was_read)
{
  run(corpus("message"), fuzz_message);
}

TEST(Fuzz, any_bytes_are_read_safely_as_cdr) { run(corpus("message"), fuzz_cdr); }
}  // namespace
