// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// SPEC.md and the header say the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "rclrt_trace/record.h"

extern "C" unsigned size_of_record_in_c(void);

namespace
{

std::string spec()
{
  std::ifstream file(RCLRT_TRACE_SPEC);
  EXPECT_TRUE(file) << RCLRT_TRACE_SPEC;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// From a heading to the next one.
std::string section(const std::string & heading)
{
  const std::string text = spec();
  const std::size_t begin = text.find("\n" + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  return text.substr(begin, text.find("\n#", begin + heading.size()) - begin);
}

struct Field
{
  std::size_t offset = 0;
  std::size_t size = 0;
  std::string name;

  bool operator==(const Field & other) const
  {
    return offset == other.offset && size == other.size && name == other.name;
  }
};

void PrintTo(const Field & field, std::ostream * out)
{
  *out << field.name << " at " << field.offset << ", " << field.size << " bytes";
}

// The rows "| 8 | 4 | u32 | `version` | ..." of the section's first table.
std::vector<Field> fields_of(const std::string & heading)
{
  std::istringstream lines(section(heading));
  std::vector<Field> fields;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream row(line);
    Field field;
    std::string bar;
    std::string type;
    if (row >> bar >> field.offset >> bar >> field.size >> bar >> type >> bar >> field.name) {
      fields.push_back({field.offset, field.size, field.name.substr(1, field.name.size() - 2)});
    }
  }
  return fields;
}

std::vector<uint8_t> example()
{
  const std::string text = section("## Example");
  const std::size_t begin = text.find("```hex\n") + 7;
  std::istringstream words(text.substr(begin, text.find("```", begin) - begin));
  std::vector<uint8_t> bytes;
  for (std::string word; words >> word;) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(word, nullptr, 16)));
  }
  return bytes;
}

template <typename T>
T at(const std::vector<uint8_t> & bytes, std::size_t offset)
{
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

#define FIELD(type, name) \
  Field { offsetof(type, name), sizeof(type::name), #name }

TEST(Spec, header_has_the_fields_of_the_struct)
{
  using H = rclrt_trace_header;
  EXPECT_THAT(
    fields_of("### Header"), ::testing::ElementsAre(
                               FIELD(H, magic), FIELD(H, version), FIELD(H, record_size),
                               FIELD(H, callbacks), FIELD(H, reserved), FIELD(H, dropped)));
}

TEST(Spec, record_has_the_fields_of_the_struct)
{
  using R = rclrt_job_record;
  EXPECT_THAT(
    fields_of("### Record"),
    ::testing::ElementsAre(
      FIELD(R, release_ns), FIELD(R, ready_ns), FIELD(R, start_ns), FIELD(R, end_ns),
      FIELD(R, deadline_ns), FIELD(R, sequence), FIELD(R, callback), FIELD(R, thread),
      FIELD(R, preemptions), FIELD(R, cpu), FIELD(R, outcome), FIELD(R, reserved)));
}

TEST(Spec, outcomes_have_the_values_of_the_enum)
{
  const std::string text = section("### Record");
  const auto row = [](int value, const char * name) {
    return ::testing::HasSubstr("| " + std::to_string(value) + " | `" + name + "` |");
  };
  EXPECT_THAT(text, row(RCLRT_JOB_DONE, "RCLRT_JOB_DONE"));
  EXPECT_THAT(text, row(RCLRT_JOB_EMPTY, "RCLRT_JOB_EMPTY"));
  EXPECT_THAT(text, row(RCLRT_JOB_EXCEPTION, "RCLRT_JOB_EXCEPTION"));
}

TEST(Spec, example_is_what_the_text_before_it_says)
{
  constexpr int64_t kSecond = 1'000'000'000;
  const std::vector<uint8_t> bytes = example();
  const std::string name = "/a/timer";
  const std::size_t record_at = sizeof(rclrt_trace_header) + 8 + name.size();
  ASSERT_EQ(bytes.size(), record_at + sizeof(rclrt_job_record));

  const auto header = at<rclrt_trace_header>(bytes, 0);
  EXPECT_EQ(std::string(header.magic, sizeof(header.magic)), RCLRT_TRACE_MAGIC);
  EXPECT_EQ(header.version, RCLRT_TRACE_VERSION);
  EXPECT_EQ(header.record_size, sizeof(rclrt_job_record));
  EXPECT_EQ(header.callbacks, 1u);
  EXPECT_EQ(header.reserved, 0u);
  EXPECT_EQ(header.dropped, 1u);

  EXPECT_EQ(at<uint32_t>(bytes, sizeof(header)), 5u);
  EXPECT_EQ(at<uint32_t>(bytes, sizeof(header) + 4), name.size());
  EXPECT_EQ(std::string(bytes.begin() + sizeof(header) + 8, bytes.begin() + record_at), name);

  const auto record = at<rclrt_job_record>(bytes, record_at);
  EXPECT_EQ(record.release_ns, kSecond);
  EXPECT_EQ(record.ready_ns, kSecond + 20'000);
  EXPECT_EQ(record.start_ns, kSecond + 35'000);
  EXPECT_EQ(record.end_ns, kSecond + 1'500'000);
  EXPECT_EQ(record.deadline_ns, kSecond + 10'000'000);
  EXPECT_EQ(record.sequence, 7u);
  EXPECT_EQ(record.callback, 5u);
  EXPECT_EQ(record.thread, 4242u);
  EXPECT_EQ(record.preemptions, RCLRT_TRACE_UNKNOWN);
  EXPECT_EQ(record.cpu, 3u);
  EXPECT_EQ(record.outcome, RCLRT_JOB_DONE);
  EXPECT_EQ(record.reserved, 0u);
}

TEST(Spec, record_has_the_same_size_in_c)
{
  EXPECT_EQ(size_of_record_in_c(), sizeof(rclrt_job_record));
}

}  // namespace
