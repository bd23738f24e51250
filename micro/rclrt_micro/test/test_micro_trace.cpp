// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The trace of an executor, in virtual time. Offsets are those of engine/rclrt_trace/SPEC.md. With RCLRT_TRACES
// the file is also written there, for the readers of the analysis.
#include "rclrt_micro/trace.h"

#include <cstdlib>
#include <fstream>
#include <map>

#include "program.hpp"

namespace
{
using Bytes = std::vector<uint8_t>;

uint64_t number(const Bytes & bytes, size_t at, size_t size)
{
  uint64_t found = 0;
  for (size_t i = 0; i < size; ++i) {
    found |= uint64_t{bytes.at(at + i)} << (8 * i);
  }
  return found;
}

struct Record
{
  std::string name;
  uint64_t release_ns, ready_ns, start_ns, end_ns, sequence, thread, preemptions, cpu_ns;
  unsigned outcome, cause;
};

struct File
{
  explicit File(const Bytes & bytes)
  {
    for (size_t at = 64; at < bytes.size();) {
      const uint64_t type = number(bytes, at, 4);
      const uint64_t size = number(bytes, at + 4, 4);
      at += 8;
      if (type == 1) {
        const uint64_t length = number(bytes, at + 24, 4);
        names[number(bytes, at, 4)] = std::string(
          bytes.begin() + static_cast<ptrdiff_t>(at + 32),
          bytes.begin() + static_cast<ptrdiff_t>(at + 32 + length));
        kinds[number(bytes, at, 4)] = number(bytes, at + 12, 4);
        periods[number(bytes, at, 4)] = static_cast<int64_t>(number(bytes, at + 16, 8));
      } else if (type == 4) {
        lost = number(bytes, at, 8);
      } else if (type == 2) {
        for (size_t one = at; one < at + size; one += 128) {
          add(bytes, one);
        }
      }
      at += (size + 7) / 8 * 8;
    }
  }

  void add(const Bytes & bytes, size_t at)
  {
    records.push_back(
      {names.at(number(bytes, at + 48, 4)), number(bytes, at, 8), number(bytes, at + 8, 8),
       number(bytes, at + 16, 8), number(bytes, at + 24, 8), number(bytes, at + 40, 8),
       number(bytes, at + 52, 4), number(bytes, at + 56, 4), number(bytes, at + 64, 8),
       bytes.at(at + 62), bytes.at(at + 63)});
  }

  std::vector<Record> of(const std::string & name) const
  {
    std::vector<Record> found;
    for (const auto & one : records) {
      if (one.name == name) {
        found.push_back(one);
      }
    }
    return found;
  }

  std::map<uint64_t, std::string> names;
  std::map<uint64_t, uint64_t> kinds;
  std::map<uint64_t, int64_t> periods;
  std::vector<Record> records;
  uint64_t lost = 0;
};

class Traced : public Program
{
protected:
  static constexpr uint64_t kBoot = 0x0123456789ABCDEF;

  void begin(uint32_t capacity = 64)
  {
    ring.resize(capacity);
    ASSERT_EQ(
      rclrt_trace_init(
        &trace, &system.executor, ring.data(), capacity, entries, uint16_t{4}, kBoot),
      RCLRT_OK);
  }

  Bytes read(size_t size)
  {
    Bytes all, some(size);
    for (size_t got = 1; got > 0;) {
      got = rclrt_trace_read(&trace, some.data(), some.size());
      all.insert(all.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(got));
    }
    return all;
  }

  rclrt_trace trace{};
  rclrt_trace_entry entries[4];
  std::vector<rclrt_trace_job> ring;
};

TEST_F(Traced, jobs_have_their_times_and_what_released_them)
{
  auto & fast = timer("/imu/timer/10ms", 10, 1, 4 * kMs);
  auto & button = guard("/button", 9, 1 * kMs);
  auto & command = subscription("command", 5, 2 * kMs);
  begin();
  for (auto [callback, name] :
       {std::pair{&fast.timer.callback, &fast.name},
        {&button.guard.callback, &button.name},
        {&command.subscription.callback, &command.name}}) {
    ASSERT_EQ(rclrt_trace_callback(&trace, callback, name->c_str()), RCLRT_OK);
  }
  const uint64_t start = start_ns();
  system.world.at(start + 11 * kMs, [&] { rclrt_guard_trigger(&button.guard); });
  spin_until(35);
  publish("command", 7);
  spin_until(39);

  const Bytes bytes = read(1000);
  const File file(bytes);
  EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 8), "RCLRTTRC");
  EXPECT_EQ(number(bytes, 8, 4), 2U);
  EXPECT_EQ(number(bytes, 24, 8), kBoot);
  EXPECT_EQ(number(bytes, 44, 4), 1U);
  EXPECT_EQ(number(bytes, 48, 1), 1U) << "one thread";
  const auto timers = file.of("/imu/timer/10ms");
  ASSERT_EQ(timers.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t due = start + (i + 1) * 10 * kMs;
    EXPECT_EQ(timers[i].release_ns, due);
    EXPECT_EQ(timers[i].ready_ns, due);
    EXPECT_EQ(timers[i].start_ns, due);
    EXPECT_EQ(timers[i].end_ns, due + 4 * kMs);
    EXPECT_EQ(timers[i].cpu_ns, 4 * kMs);
    EXPECT_EQ(timers[i].preemptions, 0U);
    EXPECT_EQ(timers[i].cause, 1U);
  }
  const auto buttons = file.of("/button");
  ASSERT_EQ(buttons.size(), 1U);
  EXPECT_EQ(buttons[0].release_ns, start + 11 * kMs);
  EXPECT_EQ(buttons[0].ready_ns, start + 11 * kMs) << "while the timer's callback runs";
  EXPECT_EQ(buttons[0].start_ns, start + 14 * kMs);
  EXPECT_EQ(buttons[0].end_ns, start + 15 * kMs);
  EXPECT_EQ(buttons[0].sequence, timers[0].sequence + 1);
  const auto commands = file.of("command");
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].cause, 2U);
  EXPECT_EQ(commands[0].end_ns - commands[0].start_ns, 2 * kMs);
  EXPECT_EQ(file.kinds.at(0), 1U);
  EXPECT_EQ(file.kinds.at(1), 0U);
  EXPECT_EQ(file.kinds.at(2), 2U);
  EXPECT_EQ(file.periods.at(0), static_cast<int64_t>(10 * kMs));
  EXPECT_EQ(file.periods.at(1), -1);
  EXPECT_EQ(read(1000), Bytes()) << "nothing is new";

  spin_until(45);
  const Bytes more = read(RCLRT_TRACE_BYTES_MIN);
  EXPECT_EQ(more.size(), 136U) << "one job more, and nothing twice";
  if (const char * folder = std::getenv("RCLRT_TRACES")) {
    std::ofstream out(std::string(folder) + "/micro.trace", std::ios::binary);
    out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<ptrdiff_t>(bytes.size()));
    out.write(reinterpret_cast<const char *>(more.data()), static_cast<ptrdiff_t>(more.size()));
  }
}

TEST_F(Traced, a_timer_that_is_noticed_late_was_released_in_time)
{
  timer("/long", 10, 1, 4 * kMs);
  auto & late = timer("/late", 12, 1, 1 * kMs);
  begin();
  ASSERT_EQ(rclrt_trace_callback(&trace, &late.timer.callback, "/late"), RCLRT_OK);
  spin_until(16);
  const auto jobs_of = File(read(1000)).of("/late");
  ASSERT_EQ(jobs_of.size(), 1U);
  EXPECT_EQ(jobs_of[0].release_ns, start_ns() + 12 * kMs);
  EXPECT_EQ(jobs_of[0].ready_ns, start_ns() + 14 * kMs) << "the executor looks after a callback";
}

TEST_F(Traced, what_the_ring_has_lost_is_counted_and_the_newest_stay)
{
  auto & each = guard("/g", 1, 1 * kMs);
  begin(4);
  ASSERT_EQ(rclrt_trace_callback(&trace, &each.guard.callback, "/g"), RCLRT_OK);
  for (int i = 0; i < 7; ++i) {
    rclrt_guard_trigger(&each.guard);
    system.spin_for(2);
  }
  const File file(read(RCLRT_TRACE_BYTES_MIN));
  ASSERT_EQ(file.records.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(file.records[i].sequence, 3 + i);
  }
  EXPECT_EQ(file.lost, 3U);
}

TEST_F(Traced, a_job_that_another_level_has_preempted_knows_no_time_of_its_own)
{
  rclrt_micro::SimLevels levels(system.world, system.port, [this](unsigned level) {
    rclrt_executor_run_level(&system.executor, level);
  });
  const uint8_t floors[] = {0, 10};
  ASSERT_EQ(rclrt_executor_use_levels(&system.executor, floors, 2), RCLRT_OK);
  auto & low = guard("/low", 3, 10 * kMs);
  auto & high = guard("/high", 12, 1 * kMs);
  begin();
  ASSERT_EQ(rclrt_trace_callback(&trace, &low.guard.callback, "/low"), RCLRT_OK);
  ASSERT_EQ(rclrt_trace_callback(&trace, &high.guard.callback, "/high"), RCLRT_OK);
  const uint64_t now = system.world.now_ns();
  system.world.at(now + 1 * kMs, [&] { rclrt_guard_trigger(&low.guard); });
  system.world.at(now + 3 * kMs, [&] { rclrt_guard_trigger(&high.guard); });
  system.world.run_until(now + 30 * kMs);
  const Bytes bytes = read(1000);
  EXPECT_EQ(number(bytes, 48, 1), 2U) << "several threads";
  const File file(bytes);
  ASSERT_EQ(file.records.size(), 2U);
  EXPECT_EQ(file.records[0].name, "/high");
  EXPECT_EQ(file.records[0].thread, 2U);
  EXPECT_EQ(file.records[0].cpu_ns, 1 * kMs);
  EXPECT_EQ(file.records[1].name, "/low");
  EXPECT_EQ(file.records[1].thread, 1U);
  EXPECT_EQ(file.records[1].end_ns - file.records[1].start_ns, 11 * kMs);
  EXPECT_EQ(file.records[1].cpu_ns, UINT64_MAX);
  EXPECT_EQ(file.records[1].preemptions, UINT32_MAX);
}

TEST_F(Traced, a_message_that_was_spoilt_is_an_empty_job)
{
  auto & command = subscription("command", 5);
  begin();
  ASSERT_EQ(rclrt_trace_callback(&trace, &command.subscription.callback, "/command"), RCLRT_OK);
  publish("command", 1);
  system.settle(20);
  for (auto & byte : system.ring) {
    byte ^= 0x55;
  }
  system.spin_for(5);
  const File file(read(1000));
  ASSERT_EQ(file.records.size(), 2U) << "the agent sends it once more";
  EXPECT_EQ(file.records[0].outcome, 1U);
  EXPECT_EQ(file.records[1].outcome, 0U);
}

TEST_F(Traced, what_is_not_named_is_not_traced_and_callbacks_that_come_back_are_named_again)
{
  auto & named = guard("/named", 1);
  auto & other = guard("/other", 1);
  begin();
  ASSERT_EQ(rclrt_trace_callback(&trace, &named.guard.callback, "/named"), RCLRT_OK);
  rclrt_guard_trigger(&named.guard);
  rclrt_guard_trigger(&other.guard);
  system.spin_for(1);
  rclrt_executor_remove(&system.executor, &named.guard.callback);
  ASSERT_EQ(
    rclrt_executor_add(&system.executor, &named.guard.callback, 1, RCLRT_ON_NEW_DATA), RCLRT_OK);
  rclrt_guard_trigger(&named.guard);
  system.spin_for(1);
  EXPECT_EQ(File(read(1000)).records.size(), 1U);
}

TEST_F(Traced, arguments_that_cannot_be_are_refused_and_long_names_are_cut)
{
  auto & each = guard("/g", 1);
  rclrt_trace_job few_jobs[4];
  rclrt_trace other;
  EXPECT_EQ(
    rclrt_trace_init(&other, &system.executor, few_jobs, 3, entries, uint16_t{4}, 1),
    RCLRT_ERR_ARGUMENT)
    << "no power of two";
  EXPECT_EQ(
    rclrt_trace_init(nullptr, &system.executor, few_jobs, 4, entries, uint16_t{4}, 1),
    RCLRT_ERR_ARGUMENT);
  begin();
  const std::string longest(RCLRT_TRACE_NAME_MAX + 1, 'n');
  rclrt_guard apart{};
  EXPECT_EQ(rclrt_trace_callback(&trace, &apart.callback, "/apart"), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_trace_callback(&trace, &each.guard.callback, nullptr), RCLRT_ERR_ARGUMENT);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(rclrt_trace_callback(&trace, &each.guard.callback, longest.c_str()), RCLRT_OK);
  }
  EXPECT_EQ(rclrt_trace_callback(&trace, &each.guard.callback, "/g"), RCLRT_ERR_STORAGE);
  uint8_t few[RCLRT_TRACE_BYTES_MIN];
  EXPECT_EQ(rclrt_trace_read(&trace, few, sizeof(few) - 1), 0U);
  EXPECT_EQ(rclrt_trace_read(nullptr, few, sizeof(few)), 0U);
  EXPECT_EQ(File(read(RCLRT_TRACE_BYTES_MIN)).names.at(3).size(), RCLRT_TRACE_NAME_MAX);
}
}  // namespace
