// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// SPEC.md and the header say the same.

#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
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
  std::ifstream file(RCLRT_TRACE_EXAMPLE, std::ios::binary);
  EXPECT_TRUE(file) << RCLRT_TRACE_EXAMPLE;
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {});
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
    fields_of("### Header"),
    ::testing::ElementsAre(
      FIELD(H, magic), FIELD(H, version), FIELD(H, record_size), FIELD(H, boot_id),
      FIELD(H, clock_offset_ns), FIELD(H, process), FIELD(H, executor), FIELD(H, model),
      FIELD(H, ordering), FIELD(H, timers_preempt), FIELD(H, reserved)));
}

TEST(Spec, chunks_have_the_fields_of_the_structs)
{
  using C = rclrt_trace_chunk;
  EXPECT_THAT(fields_of("### Chunk"), ::testing::ElementsAre(FIELD(C, type), FIELD(C, size)));
  using E = rclrt_trace_callback;
  EXPECT_THAT(
    fields_of("### Callback entry"),
    ::testing::ElementsAre(
      FIELD(E, id), FIELD(E, group), FIELD(E, parallelism), FIELD(E, kind), FIELD(E, period_ns),
      FIELD(E, name_length), FIELD(E, group_name_length)));
  using R = rclrt_trace_ring;
  EXPECT_THAT(
    fields_of("### Ring entry"),
    ::testing::ElementsAre(FIELD(R, head), FIELD(R, capacity), FIELD(R, reserved)));
}

TEST(Spec, record_has_the_fields_of_the_struct)
{
  using R = rclrt_job_record;
  EXPECT_THAT(
    fields_of("### Record"),
    ::testing::ElementsAre(
      FIELD(R, release_ns), FIELD(R, ready_ns), FIELD(R, start_ns), FIELD(R, end_ns),
      FIELD(R, deadline_ns), FIELD(R, sequence), FIELD(R, callback), FIELD(R, thread),
      FIELD(R, preemptions), FIELD(R, cpu), FIELD(R, outcome), FIELD(R, cause), FIELD(R, cpu_ns),
      FIELD(R, root_ns), FIELD(R, publisher), FIELD(R, message), FIELD(R, by_sequence),
      FIELD(R, by_callback), FIELD(R, by_executor), FIELD(R, waited_for), FIELD(R, policy),
      FIELD(R, cpus), FIELD(R, priority), FIELD(R, reserved), FIELD(R, jobs)));
}

#define ROW(name) ::testing::HasSubstr("| " + std::to_string(name) + " | `" #name "` |")

TEST(Spec, outcomes_and_chunks_have_the_values_of_the_enums)
{
  const std::string record = section("### Record");
  EXPECT_THAT(record, ROW(RCLRT_JOB_DONE));
  EXPECT_THAT(record, ROW(RCLRT_JOB_EMPTY));
  EXPECT_THAT(record, ROW(RCLRT_JOB_EXCEPTION));
  EXPECT_THAT(record, ROW(RCLRT_JOB_DROPPED));
  EXPECT_THAT(record, ROW(RCLRT_JOB_SKIPPED));
  EXPECT_THAT(record, ROW(RCLRT_PUBLISHED));
  const std::string chunk = section("### Chunk");
  EXPECT_THAT(chunk, ROW(RCLRT_CHUNK_NONE));
  EXPECT_THAT(chunk, ROW(RCLRT_CHUNK_CALLBACK));
  EXPECT_THAT(chunk, ROW(RCLRT_CHUNK_RECORDS));
  EXPECT_THAT(chunk, ROW(RCLRT_CHUNK_RING));
  EXPECT_THAT(chunk, ROW(RCLRT_CHUNK_LOST));
  EXPECT_THAT(chunk, ROW(RCLRT_CHUNK_PADDING));
}

TEST(Spec, values_of_fields_are_those_of_the_enums)
{
  const auto list = [](const std::vector<std::pair<int, std::string>> & values) {
    std::string text;
    for (const auto & [value, name] : values) {
      text += (text.empty() ? "" : ", ") + std::to_string(value) + " " + name;
    }
    return ::testing::HasSubstr(text);
  };
  const std::string text = spec();
  EXPECT_THAT(
    text, list(
            {{RCLRT_CAUSE_UNKNOWN, "unknown"},
             {RCLRT_CAUSE_TIMER, "timer"},
             {RCLRT_CAUSE_MESSAGE, "message"},
             {RCLRT_CAUSE_JOB, "job"}}));
  EXPECT_THAT(
    text, list(
            {{RCLRT_WAITED_FOR_NOTHING, "nothing (or unknown)"},
             {RCLRT_WAITED_FOR_GROUP, "its group was busy"},
             {RCLRT_WAITED_FOR_THREAD, "no thread slept"}}));
  EXPECT_THAT(
    text, list(
            {{RCLRT_MODEL_UNKNOWN, "unknown"},
             {RCLRT_MODEL_PRIORITY_EVENTS, "priority_events"},
             {RCLRT_MODEL_PREEMPTIVE, "preemptive"},
             {RCLRT_MODEL_ISOLATED, "isolated"}}));
  EXPECT_THAT(
    text, list(
            {{RCLRT_ORDER_UNKNOWN, "unknown"},
             {RCLRT_ORDER_FIRST_COME, "first come"},
             {RCLRT_ORDER_FIXED_PRIORITY, "fixed priority"},
             {RCLRT_ORDER_EDF, "EDF"}}));
  EXPECT_THAT(
    text, list(
            {{RCLRT_KIND_UNKNOWN, "unknown"},
             {RCLRT_KIND_TIMER, "timer"},
             {RCLRT_KIND_SUBSCRIPTION, "subscription"},
             {RCLRT_KIND_SERVICE, "service"},
             {RCLRT_KIND_CLIENT, "client"},
             {RCLRT_KIND_WAITABLE, "waitable"}}));
}

TEST(Spec, example_is_what_the_text_before_it_says)
{
  constexpr int64_t kSecond = 1'000'000'000;
  const std::vector<uint8_t> bytes = example();

  const auto header = at<rclrt_trace_header>(bytes, 0);
  EXPECT_EQ(std::string(header.magic, sizeof(header.magic)), RCLRT_TRACE_MAGIC);
  EXPECT_EQ(header.version, RCLRT_TRACE_VERSION);
  EXPECT_EQ(header.record_size, sizeof(rclrt_job_record));
  EXPECT_EQ(header.process, 4200u);
  EXPECT_EQ(header.executor, 1u);
  EXPECT_EQ(header.model, RCLRT_MODEL_PREEMPTIVE);
  EXPECT_EQ(header.ordering, RCLRT_ORDER_FIXED_PRIORITY);
  EXPECT_EQ(header.timers_preempt, 0u);

  std::size_t where = sizeof(header);
  auto chunk = at<rclrt_trace_chunk>(bytes, where);
  EXPECT_EQ(chunk.type, RCLRT_CHUNK_CALLBACK);
  const auto callback = at<rclrt_trace_callback>(bytes, where + 8);
  EXPECT_EQ(callback.id, 5u);
  EXPECT_EQ(callback.group, 2u);
  EXPECT_EQ(callback.parallelism, 1u);
  EXPECT_EQ(callback.kind, RCLRT_KIND_TIMER);
  EXPECT_EQ(callback.period_ns, 10'000'000);
  const auto names = bytes.begin() + static_cast<std::ptrdiff_t>(where + 8 + sizeof(callback));
  ASSERT_EQ(chunk.size, sizeof(callback) + callback.name_length + callback.group_name_length);
  EXPECT_EQ(std::string(names, names + callback.name_length), "/a/timer");
  EXPECT_EQ(
    std::string(
      names + callback.name_length, names + callback.name_length + callback.group_name_length),
    "/a");

  where += 8 + (chunk.size + 7) / 8 * 8;
  chunk = at<rclrt_trace_chunk>(bytes, where);
  EXPECT_EQ(chunk.type, RCLRT_CHUNK_RECORDS);
  ASSERT_EQ(chunk.size, sizeof(rclrt_job_record));
  const auto record = at<rclrt_job_record>(bytes, where + 8);
  EXPECT_EQ(record.release_ns, kSecond);
  EXPECT_EQ(record.ready_ns, kSecond + 20'000);
  EXPECT_EQ(record.start_ns, kSecond + 35'000);
  EXPECT_EQ(record.end_ns, kSecond + 1'500'000);
  EXPECT_EQ(record.deadline_ns, kSecond + 10'000'000);
  EXPECT_EQ(record.sequence, 7u);
  EXPECT_EQ(record.callback, 5u);
  EXPECT_EQ(record.thread, 4242u);
  EXPECT_EQ(record.preemptions, 0);
  EXPECT_EQ(record.cpu, 3u);
  EXPECT_EQ(record.outcome, RCLRT_JOB_DONE);
  EXPECT_EQ(record.cause, RCLRT_CAUSE_TIMER);
  EXPECT_EQ(record.cpu_ns, record.end_ns - record.start_ns);
  EXPECT_EQ(record.root_ns, record.release_ns);
  EXPECT_EQ(record.publisher, 0u);
  EXPECT_EQ(record.message, RCLRT_TRACE_NO_MESSAGE);
  EXPECT_EQ(record.by_callback, RCLRT_TRACE_NO_CALLBACK);
  EXPECT_EQ(record.waited_for, RCLRT_WAITED_FOR_GROUP);
  EXPECT_EQ(record.policy, RCLRT_POLICY_FIFO);
  EXPECT_EQ(record.cpus, 0b1100u);
  EXPECT_EQ(record.priority, 80);
  EXPECT_EQ(record.jobs, 1u);

  where += 8 + chunk.size;
  chunk = at<rclrt_trace_chunk>(bytes, where);
  EXPECT_EQ(chunk.type, RCLRT_CHUNK_LOST);
  EXPECT_EQ(at<uint64_t>(bytes, where + 8), 1u);
  EXPECT_EQ(where + 16, bytes.size());
}

TEST(Spec, record_has_the_same_size_in_c)
{
  EXPECT_EQ(size_of_record_in_c(), sizeof(rclrt_job_record));
}

}  // namespace
