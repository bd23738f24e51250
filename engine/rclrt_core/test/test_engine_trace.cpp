// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a trace record says of a job beyond its times: what released it, what it used, what it had, what it waited for;
// and the records of jobs that did not run.

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "engine_on_sim.hpp"
#include "rclrt_core/trace_ring.hpp"

namespace rclrt_core
{
namespace
{

using Lines = std::vector<std::string>;

rclrt_job_record nth(const EngineOnSim & engine, const std::string & name, int n = 0)
{
  for (const rclrt_job_record & record : engine.ran) {
    if (engine.callbacks.at(name)->id() == record.callback && n-- == 0) {
      return record;
    }
  }
  ADD_FAILURE() << "no such job of " << name;
  return {};
}

CallbackOptions with(CallbackOptions options, const Attributes & attributes)
{
  options.attributes = attributes;
  return options;
}

TEST(TraceRecord, a_message_leads_to_the_job_that_published_it_and_to_the_root_of_the_chain)
{
  EngineOnSim engine;
  engine.add(engine.callback_options("last", milliseconds(1)));
  CallbackOptions middle = engine.callback_options("middle", {});
  engine.add(middle, [&] {
    engine.work(2);
    engine.notify("last");
  });
  CallbackOptions first = middle;
  first.name = "first";
  first.run = [&](const Job &) {
    engine.work(3);
    engine.notify("middle");
    return true;
  };
  TimerOptions timer;
  timer.period = milliseconds(40);
  engine.add_timer(first, timer);
  EXPECT_EQ(
    engine.run(50, {{10, "last"}}),
    (Lines{"10-10-11 last", "40-40-43 first", "43-43-45 middle", "45-45-46 last"}));

  const rclrt_job_record of_outside = nth(engine, "last");
  EXPECT_EQ(of_outside.cause, RCLRT_CAUSE_MESSAGE);
  EXPECT_EQ(of_outside.root_ns, of_outside.release_ns);
  EXPECT_EQ(of_outside.by_callback, RCLRT_TRACE_NO_CALLBACK);
  const rclrt_job_record root = nth(engine, "first");
  EXPECT_EQ(root.cause, RCLRT_CAUSE_TIMER);
  EXPECT_EQ(root.root_ns, nanoseconds_of(at_ms(40)));
  const rclrt_job_record next = nth(engine, "middle");
  EXPECT_EQ(next.cause, RCLRT_CAUSE_JOB);
  EXPECT_EQ(next.by_sequence, root.sequence);
  EXPECT_EQ(next.by_callback, root.callback);
  EXPECT_EQ(next.by_executor, engine.engine.trace_source().executor);
  const rclrt_job_record last = nth(engine, "last", 1);
  EXPECT_EQ(last.by_sequence, next.sequence);
  EXPECT_EQ(last.root_ns, root.release_ns);
}

TEST(TraceRecord, of_another_executor_names_the_executor_of_the_publisher)
{
  EngineOnSim engine;
  Engine other(engine.sim, {});
  std::shared_ptr<Group> group;
  ASSERT_TRUE(other.add_group({}, &group).ok());
  std::shared_ptr<Callback> there;
  ASSERT_TRUE(other.add_callback(engine.callback_options("there", {}), group, &there).ok());
  CallbackOptions here = engine.callback_options("here", {});
  engine.add(here, [&] { other.notify(*there); });
  engine.run(10, {{1, "here"}}, [&] { engine.until(5); });
  ASSERT_TRUE(engine.sim.run([&] { EXPECT_TRUE(other.run_one(engine.sim.now())); }).ok());
  std::vector<rclrt_job_record> records;
  other.read_trace([&](const rclrt_job_record & record) { records.push_back(record); });
  ASSERT_EQ(records.size(), 1u);
  EXPECT_NE(engine.engine.trace_source().executor, other.trace_source().executor);
  EXPECT_EQ(records[0].by_executor, engine.engine.trace_source().executor);
  EXPECT_EQ(records[0].by_sequence, nth(engine, "here").sequence);
  EXPECT_EQ(records[0].policy, RCLRT_POLICY_UNKNOWN) << "the thread of the caller is left alone";
}

TEST(TraceRecord, has_the_cpu_time_of_jobs_that_kept_their_cpu_and_of_those_after_one_that_lost_it)
{
  EngineOnSim engine;
  engine.add(with(engine.callback_options("low", milliseconds(4)), fifo(10)));
  engine.add(with(engine.callback_options("high", milliseconds(2)), fifo(50)));
  engine.run(100, {{0, "low"}, {10, "low"}, {11, "high"}, {20, "low"}, {21, "high"}, {30, "low"}});
  const auto cpu_ms = [&](const std::string & name, int n) {
    const int64_t ns = nth(engine, name, n).cpu_ns;
    return ns < 0 ? ns : ns / 1'000'000;
  };
  EXPECT_EQ(cpu_ms("low", 0), 4);
  EXPECT_EQ(cpu_ms("low", 1), RCLRT_TRACE_UNKNOWN) << "nobody knew that it would be preempted";
  EXPECT_EQ(cpu_ms("low", 2), 4) << "it was measured, because the job before was preempted";
  EXPECT_EQ(cpu_ms("low", 3), 4);
  EXPECT_EQ(cpu_ms("high", 0), 2);
  EXPECT_EQ(nth(engine, "low", 0).preemptions, 0);
  EXPECT_EQ(nth(engine, "low", 1).preemptions, 1);
}

TEST(TraceRecord, measures_sixteen_jobs_after_the_last_one_that_lost_its_cpu)
{
  EngineOnSim engine;
  engine.add(with(engine.callback_options("low", milliseconds(4)), fifo(10)));
  engine.add(with(engine.callback_options("high", milliseconds(2)), fifo(50)));
  std::vector<Arrival> arrivals = {{0, "low"}, {1, "high"}};
  for (int i = 1; i <= 17; ++i) {  // 16 of them are measured in vain
    arrivals.push_back({10 * i, "low"});
  }
  arrivals.push_back({171, "high"});
  engine.run(300, arrivals);
  EXPECT_EQ(nth(engine, "low", 16).cpu_ns, nanoseconds_of(at_ms(4)));
  EXPECT_EQ(nth(engine, "low", 17).cpu_ns, RCLRT_TRACE_UNKNOWN);
}

TEST(TraceRecord, says_what_was_in_force)
{
  EngineOnSim engine({}, 2);
  Attributes pinned = fifo(42);
  pinned.cpu_affinity = CpuSet({1});
  Attributes nice;
  nice.scheduling_policy = SchedulingPolicy::kOther;
  nice.nice = -5;
  engine.add(with(engine.callback_options("pinned", {}), pinned));
  engine.add(with(engine.callback_options("nice", {}), nice));
  engine.add(engine.callback_options("plain", {}));
  engine.run(10, {{1, "pinned"}, {2, "nice"}, {3, "plain"}});
  const rclrt_job_record of_pinned = nth(engine, "pinned");
  EXPECT_EQ(of_pinned.policy, RCLRT_POLICY_FIFO);
  EXPECT_EQ(of_pinned.priority, 42);
  EXPECT_EQ(of_pinned.cpus, 0b10u);
  const rclrt_job_record of_nice = nth(engine, "nice");
  EXPECT_EQ(of_nice.policy, RCLRT_POLICY_OTHER);
  EXPECT_EQ(of_nice.priority, -5);
  EXPECT_EQ(of_nice.cpus, 0b11u);
  EXPECT_EQ(nth(engine, "plain").policy, RCLRT_POLICY_OTHER);
  EXPECT_EQ(nth(engine, "plain").priority, 0);
}

TEST(TraceRecord, says_what_was_refused_by_leaving_it_out)
{
  EngineOnSim engine;
  engine.sim.refuse({SchedulingPolicy::kFifo});
  engine.add(with(engine.callback_options("a", {}), fifo(42)));
  engine.run(10, {{1, "a"}});
  EXPECT_EQ(nth(engine, "a").policy, RCLRT_POLICY_OTHER);
}

TEST(TraceRecord, says_what_a_job_found_busy)
{
  EngineOptions options;
  options.max_threads = 1;
  EngineOnSim engine(options);
  engine.add(engine.callback_options("a", milliseconds(5)), "shared");
  engine.add(engine.callback_options("b", milliseconds(1)), "shared");
  engine.add(engine.callback_options("c", milliseconds(1)));
  engine.run(100, {{1, "a"}, {2, "b"}, {3, "c"}, {20, "c"}});
  EXPECT_EQ(nth(engine, "a").waited_for, RCLRT_WAITED_FOR_NOTHING);
  EXPECT_EQ(nth(engine, "b").waited_for, RCLRT_WAITED_FOR_GROUP);
  EXPECT_EQ(nth(engine, "c").waited_for, RCLRT_WAITED_FOR_THREAD);
  EXPECT_EQ(nth(engine, "c", 1).waited_for, RCLRT_WAITED_FOR_NOTHING);
}

TEST(TraceRecord, tells_of_jobs_that_were_dropped)
{
  EngineOnSim engine;
  CallbackOptions options = engine.callback_options("a", milliseconds(10));
  options.depth = 2;
  options.relative_deadline = milliseconds(20);
  engine.add(options);
  engine.run(100, {{1, "a"}, {2, "a", 2}, {3, "a"}, {4, "a", 5}});
  ASSERT_EQ(engine.given_up.size(), 2u);
  const rclrt_job_record & first = engine.given_up[0];
  EXPECT_EQ(first.outcome, RCLRT_JOB_DROPPED);
  EXPECT_EQ(first.jobs, 1u);
  EXPECT_EQ(first.sequence, 1u);
  EXPECT_EQ(first.release_ns, nanoseconds_of(at_ms(2)));
  EXPECT_EQ(first.ready_ns, nanoseconds_of(at_ms(2)));
  EXPECT_EQ(first.end_ns, nanoseconds_of(at_ms(3)));
  EXPECT_EQ(first.deadline_ns, nanoseconds_of(at_ms(22)));
  EXPECT_EQ(first.cpu_ns, RCLRT_TRACE_UNKNOWN);
  EXPECT_EQ(first.preemptions, RCLRT_TRACE_UNKNOWN);
  EXPECT_EQ(first.publisher, 0u);
  EXPECT_EQ(first.message, RCLRT_TRACE_NO_MESSAGE);
  const rclrt_job_record & second = engine.given_up[1];
  EXPECT_EQ(second.jobs, 5u) << "two that waited, and three of the five that came";
  EXPECT_EQ(second.sequence, 2u);
  EXPECT_EQ(engine.engine.statistics(*engine.callbacks.at("a")).dropped, 6u);
  EXPECT_EQ(nth(engine, "a").jobs, 1u);
}

TEST(TraceRecord, tells_of_releases_of_a_timer_that_were_skipped)
{
  EngineOnSim engine;
  TimerOptions timer;
  timer.period = milliseconds(10);
  CallbackOptions options = engine.callback_options("t", milliseconds(25));
  options.overrun_rule = OverrunRule::kSkip;
  engine.add_timer(options, timer);
  engine.run(45);
  ASSERT_EQ(engine.given_up.size(), 2u);
  for (const rclrt_job_record & record : engine.given_up) {
    EXPECT_EQ(record.outcome, RCLRT_JOB_SKIPPED);
    EXPECT_EQ(record.cause, RCLRT_CAUSE_TIMER);
    EXPECT_EQ(record.jobs, 1u);
  }
  EXPECT_EQ(engine.given_up[0].release_ns, nanoseconds_of(at_ms(20)));
}

TEST(TraceRecord, tells_of_jobs_that_waited_when_their_callback_was_removed)
{
  EngineOnSim engine;
  engine.add(engine.callback_options("a", milliseconds(5)));
  engine.run(100, {{1, "a", 4}}, [&] {
    engine.until(2);
    engine.remove("a");
  });
  ASSERT_EQ(engine.given_up.size(), 1u);
  EXPECT_EQ(engine.given_up[0].outcome, RCLRT_JOB_SKIPPED);
  EXPECT_EQ(engine.given_up[0].jobs, 3u);
}

TEST(TraceRecord, names_the_message_that_was_taken_and_has_one_for_each_that_was_published)
{
  EngineOnSim engine;
  const std::array<uint8_t, 16> gid = {1, 2, 3};
  const uint64_t publisher = publisher_in_trace(gid);
  CallbackOptions options = engine.callback_options("a", {});
  engine.add(options, [&] {
    note_taken(publisher, 7);
    engine.work(1);
    note_published(publisher + 1, 9);
    engine.work(1);
  });
  engine.add(engine.callback_options("b", {}));
  note_taken(publisher, 1);  // outside of jobs: nothing
  note_published(publisher, 1);
  engine.run(10, {{1, "a"}, {5, "b"}});
  EXPECT_EQ(nth(engine, "a").publisher, publisher);
  EXPECT_EQ(nth(engine, "a").message, 7u);
  EXPECT_EQ(nth(engine, "b").publisher, 0u) << "nothing is left of the job before";
  EXPECT_EQ(nth(engine, "b").message, RCLRT_TRACE_NO_MESSAGE);
  ASSERT_EQ(engine.given_up.size(), 1u);
  const rclrt_job_record & published = engine.given_up[0];
  EXPECT_EQ(published.outcome, RCLRT_PUBLISHED);
  EXPECT_EQ(published.end_ns, nanoseconds_of(at_ms(2)));
  EXPECT_EQ(published.sequence, nth(engine, "a").sequence);
  EXPECT_EQ(published.callback, nth(engine, "a").callback);
  EXPECT_EQ(published.publisher, publisher + 1);
  EXPECT_EQ(published.message, 9u);
}

TEST(TraceRecord, publishers_are_told_apart_by_every_byte_of_their_gid)
{
  // The values of FNV-1a (64 bits).
  EXPECT_EQ(publisher_in_trace({}), 0x88201fb960ff6465u);
  std::array<uint8_t, 16> gid{};
  for (uint8_t & byte : gid) {
    byte = 1;
    EXPECT_NE(publisher_in_trace(gid), publisher_in_trace({}));
    byte = 0;
  }
}

TEST(TraceRings, keep_the_newest_but_for_one_and_count_what_nobody_has_read)
{
  EXPECT_FALSE(TraceRing(0).keeps());
  TraceRing(0).push({});
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
    TraceRing ring(capacity);
    EXPECT_TRUE(ring.keeps());
    TraceReader reader(ring);
    std::vector<uint64_t> read;
    const auto visit = [&read](const rclrt_job_record & record) {
      read.push_back(record.sequence);
    };
    const uint64_t kept =
      capacity == 5 ? 7 : 1;  // of a power of two; the oldest may be half written
    for (uint64_t i = 0; i < 20; ++i) {
      rclrt_job_record record{};
      record.sequence = i;
      ring.push(record);
      EXPECT_EQ(reader.missed(ring), i + 1 > kept ? i + 1 - kept : 0);
    }
    reader.read(ring, visit);
    ASSERT_EQ(read.size(), kept);
    EXPECT_EQ(read.front(), 20 - kept);
    EXPECT_EQ(read.back(), 19u);
    EXPECT_EQ(reader.missed(ring), 20 - kept);
    reader.read(ring, visit);
    EXPECT_EQ(read.size(), kept) << "each once";
    TraceReader later(ring);
    later.read(ring, visit);
    EXPECT_EQ(read.size(), kept) << "and from now on";
  }
}

TEST(TraceSources, say_what_the_records_refer_to)
{
  EngineOptions options;
  options.model = ExecutionModel::kPriorityEvents;
  options.release_and_execute = true;
  options.policy = &edf_policy();
  EngineOnSim engine(options);
  TimerOptions timer;
  timer.period = milliseconds(10);
  engine.add_timer(engine.callback_options("t", {}), timer, "shared");
  engine.add(engine.callback_options("a", {}), "shared");
  engine.group("wide", 3);
  engine.add(engine.callback_options("gone", {}), "wide");
  engine.remove("gone");
  const TraceSource source = engine.engine.trace_source();
  EXPECT_EQ(source.model, RCLRT_MODEL_PRIORITY_EVENTS);
  EXPECT_EQ(source.ordering, RCLRT_ORDER_EDF);
  EXPECT_TRUE(source.timers_preempt);
  ASSERT_EQ(source.callbacks.size(), 3u);
  EXPECT_EQ(source.callbacks[0].name, "t");
  EXPECT_EQ(source.callbacks[0].period, milliseconds(10));
  EXPECT_EQ(source.callbacks[1].period, Duration(-1));
  EXPECT_EQ(source.callbacks[0].group, source.callbacks[1].group);
  EXPECT_EQ(source.callbacks[1].group_name, "shared");
  EXPECT_EQ(source.callbacks[1].parallelism, 1u);
  EXPECT_EQ(source.callbacks[2].name, "gone");
  EXPECT_EQ(source.callbacks[2].parallelism, 3u);
  EXPECT_NE(source.callbacks[2].group, source.callbacks[1].group);
  EXPECT_EQ(engine.engine.trace_source(source.callbacks[1].id).callbacks.size(), 2u);
  EXPECT_TRUE(engine.engine.trace_source(source.callbacks[2].id + 1).callbacks.empty());
}

}  // namespace
}  // namespace rclrt_core
