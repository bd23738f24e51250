// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// How much the engine does at once: lock sections and wake-ups are counted, not timed. And to whom it lends. And in
// which order threads take jobs.

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

/// On two CPUs, so many groups wait for CPU 0 and then two less urgent ones for CPU 1: the wake-ups for the last
/// one. No time passes, so no thread takes a job in between.
int64_t wakes_for_the_last(int groups)
{
  EngineOnSim engine(pool(4), 2);
  const auto add = [&engine](const std::string & name, int priority, int cpu) {
    CallbackOptions callback = engine.fifo_callback(name, 1, priority);
    callback.attributes.cpu_affinity = CpuSet({cpu});
    engine.add(std::move(callback));
  };
  for (int i = 0; i < groups; ++i) {
    add("on 0: " + std::to_string(i), 50, 0);
  }
  add("first on 1", 10, 1);
  add("last", 10, 1);
  int64_t wakes = 0;
  engine.run(500, {}, [&] {
    engine.until(1);
    for (int i = 0; i < groups; ++i) {
      engine.notify("on 0: " + std::to_string(i));
    }
    engine.notify("first on 1");
    const int64_t before = engine.sim.counts().wake;
    engine.notify("last");
    wakes = engine.sim.counts().wake - before;
  });
  EXPECT_EQ(engine.statistics("last").executed, 1u);
  return wakes;
}

TEST(Bounds, a_release_looks_at_64_ready_groups_at_most)
{
  // The last of 64 is the one that needs a thread more.
  EXPECT_EQ(wakes_for_the_last(62), 1);
  // One group more, and it is not seen: a thread that arrives later sends for it.
  EXPECT_EQ(wakes_for_the_last(63), 0);
  EXPECT_EQ(wakes_for_the_last(200), 0);
}

TEST(Bounds, a_second_job_of_an_exclusive_group_wakes_no_second_thread)
{
  EngineOnSim engine({}, 2);
  engine.add(engine.callback_options("a", milliseconds(1)));
  std::vector<int64_t> wakes;
  engine.run(20, {}, [&] {
    engine.until(1);
    for (int i = 0; i < 3; ++i) {
      const int64_t before = engine.sim.counts().wake;
      engine.notify("a");
      wakes.push_back(engine.sim.counts().wake - before);
    }
  });
  EXPECT_EQ(wakes, (std::vector<int64_t>{1, 0, 0}));
}

/// Lock sections of the timer thread in which it releases so many timers that are due at once.
int64_t sections_for(int timers)
{
  EngineOptions options;
  options.attributes_mode = AttributesMode::kOff;  // no thread is changed: no other lock is taken
  EngineOnSim engine(options, 2);
  TimerOptions once;
  once.period = milliseconds(10);
  once.one_shot = true;
  for (int i = 0; i < timers; ++i) {
    engine.add_timer(engine.callback_options(std::to_string(i), {}), once, "group");
  }
  engine.add(engine.callback_options("busy", milliseconds(8)), "group");  // nobody covers a timer
  int64_t sections = 0;
  engine.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
    sections += point == SimPlatform::Point::kLocked && thread == "rclrt timers" &&
                engine.sim.now() == at_ms(10);
  });
  int64_t at_ten = 0;
  engine.run(20, {{5, "busy"}}, [&] {
    engine.until(11);
    at_ten = sections;
  });
  for (int i = 0; i < timers; ++i) {
    EXPECT_EQ(engine.statistics(std::to_string(i)).executed, 1u);
  }
  return at_ten - 1;  // the lock of its alarm
}

TEST(Bounds, eight_due_timers_are_released_in_one_section_of_the_lock)
{
  EXPECT_EQ(sections_for(1), 1);
  EXPECT_EQ(sections_for(8), 1);
  EXPECT_EQ(sections_for(9), 2);
  EXPECT_EQ(sections_for(16), 2);
  EXPECT_EQ(sections_for(17), 3);
}

/// One thread for all. A stranger (fifo 50) wants the CPU from 2 to 12 ms.
struct OneThread
{
  explicit OneThread(AttributesMode mode) : engine(options(mode))
  {
    for (const auto & [name, priority] : {std::pair("low", 10), std::pair("high", 90)}) {
      engine.add(engine.fifo_callback(name, priority == 10 ? 5 : 1, priority));
    }
  }
  static EngineOptions options(AttributesMode mode)
  {
    EngineOptions options;
    options.model = ExecutionModel::kPriorityEvents;
    options.attributes_mode = mode;
    return options;
  }
  Lines run()
  {
    return engine.run(
      50, {{1, "low"}, {3, "high"}}, [this] { engine.stranger(50, 2, 10)->join(); });
  }
  EngineOnSim engine;
};

TEST(Lending, the_only_thread_is_as_urgent_as_what_waits_for_it)
{
  OneThread scene(AttributesMode::kPrefer);
  EXPECT_EQ(scene.run(), (Lines{"1-1-7 low", "3-7-8 high"}));
}

TEST(Lending, changes_no_thread_if_attributes_are_off)
{
  OneThread scene(AttributesMode::kOff);
  EXPECT_EQ(scene.run(), (Lines{"1-1-16 low", "3-16-17 high"}));
  EXPECT_EQ(scene.engine.sim.counts().apply, 0);
}

// By default the platform lets a thread go on without a CPU at the instant at which its work is done: so it may take a
// less urgent job than those that wait for the CPU. The engine does not, where threads need CPUs.
TEST(EveryThread, takes_no_less_urgent_job_while_one_of_another_group_waits_for_the_cpu)
{
  std::mt19937 random(7);
  const auto pick = [&random](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (int round = 0; round < 40; ++round) {
    const bool is_pool = pick(0, 1) == 1;
    EngineOptions options;
    options.model = is_pool ? ExecutionModel::kPreemptive : ExecutionModel::kIsolated;
    EngineOnSim engine(options);
    engine.sim.need_cpu();
    std::map<uint32_t, std::pair<int, std::string>> of;  // priority and group, by id
    std::vector<std::string> names;
    for (int i = pick(2, 6); i > 0; --i) {
      names.push_back(std::string(1, static_cast<char>('a' + i)));
      const int priority = 10 * pick(1, 5);
      const std::string group = "group " + std::to_string(pick(0, 2));
      CallbackOptions callback = engine.callback_options(names.back(), milliseconds(pick(1, 4)));
      callback.attributes = fifo(priority);
      of[engine.add(callback, group)->id()] = {priority, group};
    }
    std::vector<Arrival> arrivals;
    for (int64_t ms = 0; ms < 100; ++ms) {
      for (const std::string & name : names) {
        if (pick(0, 9) == 0) {
          arrivals.push_back({ms, name});
        }
      }
    }
    engine.run(130, arrivals);
    for (const auto & low : engine.ran) {
      for (const auto & high : engine.ran) {
        const bool waits = high.release_ns < low.start_ns && low.start_ns < high.start_ns;
        const bool is_other = of[high.callback].second != of[low.callback].second;
        if (!waits || !is_other || of[high.callback].first <= of[low.callback].first) {
          continue;
        }
        const bool has_free_group =
          std::none_of(engine.ran.begin(), engine.ran.end(), [&](const auto & job) {
            return of[job.callback].second == of[high.callback].second &&
                   job.start_ns <= low.start_ns && low.start_ns < job.end_ns;
          });
        EXPECT_FALSE(has_free_group) << "round " << round << " at " << low.start_ns;
      }
    }
  }
}

// ---- Threads that interrupt their CPUs again and again.

/// How often each thread whose name begins with "rclrt beat" has gone to sleep in 10 ms.
std::map<std::string, int> beats(EngineOptions options, int cpus = 2)
{
  EngineOnSim test(std::move(options), cpus);
  std::map<std::string, int> counts;
  test.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
    if (point == SimPlatform::Point::kWait && thread.rfind("rclrt beat", 0) == 0) {
      ++counts[thread];
      Attributes in_force;
      test.sim.read_back(test.sim.current_thread(), &in_force);
      EXPECT_EQ(in_force.scheduling_policy, SchedulingPolicy::kFifo);
      EXPECT_EQ(in_force.priority, 1) << "below all jobs";
    }
  });
  test.add(test.callback_options("a", milliseconds(3)));
  EXPECT_EQ(test.run(10, {{2, "a"}}), (std::vector<std::string>{"2-2-5 a"}));
  return counts;
}

EngineOptions every(Duration period)
{
  EngineOptions options;
  options.waiting.beat = period;
  return options;
}

TEST(Beat, interrupts_each_cpu_once_a_period_while_the_engine_spins)
{
  const auto counts = beats(every(milliseconds(1)));
  ASSERT_EQ(counts.size(), 2U);
  for (const char * name : {"rclrt beat 0", "rclrt beat 1"}) {
    EXPECT_GE(counts.at(name), 9) << name;
    EXPECT_LE(counts.at(name), 12) << name;
  }
}

TEST(Beat, is_not_there_unless_it_is_asked_for) { EXPECT_TRUE(beats({}).empty()); }

TEST(Beat, is_not_there_without_real_time_threads)
{
  EngineOptions options = every(milliseconds(1));
  options.timer_thread.scheduling_policy = SchedulingPolicy::kOther;
  SimPlatform sim(2);
  Engine engine(sim, options);
  bool any = false;
  sim.set_hook([&](SimPlatform::Point, const std::string & thread) {
    any = any || thread.rfind("rclrt beat", 0) == 0;
  });
  const Status status = sim.run([&] {
    std::unique_ptr<Thread> spinner;
    ASSERT_TRUE(sim.start_thread({}, [&] { EXPECT_TRUE(engine.spin().ok()); }, {}, &spinner).ok());
    sim.sleep_until(at_ms(10));
    engine.stop();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(any);
}

TEST(Beat, is_not_faster_than_20_000_a_second_whatever_is_asked_for)
{
  const auto counts = beats(every(Duration(1)), 1);
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_LE(counts.begin()->second, 202);
}

TEST(Beat, ends_with_the_engine_however_long_a_period_is)
{
  for (const Duration period : {Duration(std::chrono::hours(1)), Duration::max()}) {
    EngineOnSim test(every(period), 2);
    int waits = 0;
    test.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
      const bool is_beat = thread.rfind("rclrt beat", 0) == 0;
      waits += point == SimPlatform::Point::kWait && is_beat ? 1 : 0;
      ASSERT_LT(waits, 100) << "it does not sleep";
    });
    TimePoint ended;
    test.on_sim([&] {
      std::unique_ptr<Thread> spinner;
      test.until(1);  // that much after the clock's zero the longest one is too long
      test.start("spinner", {}, [&] { EXPECT_TRUE(test.engine.spin().ok()); }, &spinner);
      test.until(10);
      test.engine.stop();
      spinner->join();
      ended = test.sim.now();
    });
    EXPECT_EQ(ended, at_ms(10));
  }
}

// ---- What an event of a job costs, through the engine: with the FIFO bands at most two changes of
// attributes, made by the thread that has it. A thread that comes for a job which another has taken
// finds nothing, and lets the next one up: one change more, by that thread.

/// Notes when attributes were changed, by whom, and which policies were asked for.
class RecordingSim final : public SimPlatform
{
public:
  explicit RecordingSim(int cpus) : SimPlatform(cpus) {}
  int apply(ThreadId thread, const Attributes & attributes) noexcept override
  {
    ++changes[nanoseconds_of(now())][current_thread()];
    asked.insert(attributes.scheduling_policy);
    return SimPlatform::apply(thread, attributes);
  }
  using Changes = std::map<int64_t, std::map<ThreadId, int>>;
  Changes changes;  ///< by instant and thread
  std::set<SchedulingPolicy> asked;
};

/// More jobs than CPUs: with deadlines in no order, some in one group, some that learn of their deadline on
/// the way. No two events lie at one instant.
class EventCosts : public ::testing::TestWithParam<ExecutionModel>
{
protected:
  static constexpr int kCpus = 2;
  static constexpr int kJobs = 60;

  /// By the thread that has it.
  void note_event()
  {
    const int64_t now_ns = nanoseconds_of(engine_.sim.now());
    const bool is_first = events_.emplace(now_ns, engine_.sim.current_thread()).second;
    EXPECT_TRUE(is_first) << "two at " << now_ns << " ns: choose other works";
  }

  void add(int i)
  {
    const bool learns = i % 5 == 3;
    const Duration work(1'500'000 + (i * i * 7) % 1000 * 1000 + (1 << (i % 10)));
    engine_.add(
      engine_.ext_callback("job " + std::to_string(i), learns ? 0 : 20 + (i * 7) % 12 * 5, 0),
      [this, work, learns, i] {
        engine_.sim.work(work / 3);
        if (learns) {
          note_event();
          inherit_deadline(engine_.sim.now() + milliseconds(1 + (i * 11) % 60));
        }
        engine_.sim.work(work - work / 3);
        note_event();
      },
      i % 4 == 0 ? "shared" : "");
  }

  void run()
  {
    engine_.run(500, {}, [this] {
      engine_.until(10);
      engine_.sim.changes.clear();
      for (int i = 0; i < kJobs; ++i) {
        engine_.until(10 + i);
        note_event();
        engine_.notify("job " + std::to_string(i));
      }
      engine_.until(500);
      during_ = engine_.sim.changes;
    });
  }

  EngineOn<RecordingSim> engine_{kCpus, with_model(GetParam())};
  std::map<int64_t, ThreadId> events_;  ///< a job came, learned of its deadline, or ended
  RecordingSim::Changes during_;
};

TEST_P(EventCosts, are_at_most_two_changes_of_attributes)
{
  for (int i = 0; i < kJobs; ++i) {
    add(i);
  }
  run();
  std::map<int, int> events_with;
  for (const auto & [instant, changes] : during_) {
    const auto event = events_.find(instant);
    ASSERT_NE(event, events_.end()) << "at " << instant << " ns nothing happened to a job";
    for (const auto & [thread, count] : changes) {
      EXPECT_LE(count, thread == event->second ? 2 : 1) << "at " << instant << " ns";
    }
    const auto own = changes.find(event->second);
    ++events_with[own != changes.end() ? own->second : 0];
  }
  EXPECT_EQ(engine_.ran.size(), static_cast<std::size_t>(kJobs));
  EXPECT_GT(events_with[1], 5);
  EXPECT_GT(events_with[2], 5) << "or this was no test";
  EXPECT_EQ(events_with[0], 0) << "others change something only after one who has an event";
}

INSTANTIATE_TEST_SUITE_P(
  Models, EventCosts, ::testing::Values(ExecutionModel::kPreemptive, ExecutionModel::kIsolated),
  [](const auto & model) {
    return model.param == ExecutionModel::kPreemptive ? "preemptive" : "isolated";
  });

TEST(EdfEvents, leave_the_class_of_a_thread_with_a_deadline_to_what_orders_deadlines)
{
  EngineOn<RecordingSim> engine(2, {});
  engine.add(
    engine.on_cpu(1, engine.ext_callback("soon", 5, 0)));  // for which the platform is asked
  engine.run(10, {{1, "soon"}});
  EXPECT_EQ(engine.statistics("soon").executed, 1u);
  EXPECT_EQ(engine.sim.asked.count(SchedulingPolicy::kExt), 0u);
}

}  // namespace
}  // namespace rclrt_core
