// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "configuration_impl.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rclrt_config
{
namespace
{

constexpr int kVersion = 1;
constexpr std::string_view kBody = "/**:\n";

struct Line
{
  std::string_view value;
  int number = 0;
};

/// The line "# key: value" among the comments that the text begins with.
std::optional<Line> line_of(std::string_view text, std::string_view key)
{
  const std::string begin = "# " + std::string(key) + ": ";
  for (int number = 1; !text.empty() && text.front() == '#'; ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.substr(0, begin.size()) == begin) {
      return Line{line.substr(begin.size()), number};
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

std::optional<int> number_at(std::string_view text)
{
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? std::optional<int>(number) : std::nullopt;
}

}  // namespace

std::optional<rclrt_core::Finding> problem_with_plan(
  const std::string & text, const std::string & name)
{
  const auto version = line_of(text, "plan");
  const auto content = line_of(text, "content");
  if (!version || !content) {
    return std::nullopt;
  }
  const auto place = [&name](const Line & line) {
    return name + ":" + std::to_string(line.number) + ":1";
  };
  if (number_at(version->value).value_or(kVersion + 1) > kVersion) {
    return rclrt_core::Finding{
      place(*version),
      "this is a plan of version " + std::string(version->value.substr(0, 20)) +
        ", this program reads 1: nothing of it counts as proved",
      0, "A newer rclrt may read it"};
  }
  const std::size_t body = text.find(kBody);
  const std::string_view proved =
    std::string_view(text).substr(body == std::string::npos ? text.size() : body);
  if (content->value == "sha256:" + sha256(proved)) {
    return std::nullopt;
  }
  return rclrt_core::Finding{
    place(*content), "the plan was edited after it was made: nothing of it counts as proved", 0,
    "Change the model, and plan again; or remove this line, and the bounds"};
}

std::optional<int> cpus_of_plan(const std::string & text)
{
  const auto machine = line_of(text, "machine");
  constexpr std::string_view key = "\"cpus\": ";
  const std::string_view text_of_it = machine ? machine->value : std::string_view();
  const std::size_t at = text_of_it.find(key);
  return at != std::string_view::npos ? number_at(text_of_it.substr(at + key.size()))
                                      : std::nullopt;
}

namespace
{

using Words = std::array<uint32_t, 64>;
using State = std::array<uint32_t, 8>;

/// The first 32 bits behind the point of a root of the first primes.
template <std::size_t n>
std::array<uint32_t, n> of_primes(long double (*root)(long double))
{
  std::array<uint32_t, n> words{};
  std::size_t found = 0;
  for (uint32_t number = 2; found < n; ++number) {
    bool is_prime = true;
    for (uint32_t d = 2; d * d <= number; ++d) {
      is_prime = is_prime && number % d != 0;
    }
    if (is_prime) {
      const long double value = root(static_cast<long double>(number));
      words[found++] = static_cast<uint32_t>(
        static_cast<uint64_t>((value - std::floor(value)) * 4294967296.0L) & 0xFFFFFFFFU);
    }
  }
  return words;
}

uint32_t rotated(uint32_t word, int by) { return word >> by | word << (32 - by); }

void add_block(const unsigned char * block, const Words & constants, State & state)
{
  Words w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
           uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t s1 = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  State s = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const uint32_t big1 = rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25);
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t first = s[7] + big1 + choice + constants[i] + w[i];
    const uint32_t big0 = rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    s = {first + big0 + majority, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) {
    state[i] += s[i];
  }
}

}  // namespace

std::string sha256(std::string_view text)
{
  static const Words constants = of_primes<64>([](long double x) { return std::cbrt(x); });
  State state = of_primes<8>([](long double x) { return std::sqrt(x); });
  std::string padded(text);
  padded += '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded += static_cast<char>(static_cast<uint64_t>(text.size()) * 8 >> shift & 0xFF);
  }
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    add_block(reinterpret_cast<const unsigned char *>(padded.data()) + at, constants, state);
  }
  std::string digits;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      digits += "0123456789abcdef"[word >> shift & 0xF];
    }
  }
  return digits;
}

}  // namespace rclrt_config
