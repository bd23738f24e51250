// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a thread that loses its CPU inside the engine's lock, or inside a system call of the engine,
/// does to more urgent ones: nothing. And how often the lock is taken.

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

using Point = SimPlatform::Point;

/// One CPU. At 1 ms "notifier" (fifo 10) releases "low" (fifo 20); at `point` of that call "mid"
/// (fifo 50, none of the engine's) takes the CPU from it and works for 10 ms. At 3 ms the
/// middleware (fifo 98) releases "high" (fifo 90, 1 ms).
class PreemptedNotifier : public ::testing::TestWithParam<ExecutionModel>
{
protected:
  Lines run(Point point, SimPlatform::Locks locks)
  {
    EngineOptions options;
    options.model = GetParam();
    EngineOnSim engine(options);
    engine.sim.set_locks(locks);
    engine.add(engine.fifo_callback("low", 1, 20));
    engine.add(engine.fifo_callback("high", 1, 90));
    bool preempted = false;
    std::unique_ptr<Thread> mid;
    engine.sim.set_hook([&](Point at, const std::string & thread) {
      if (at == point && thread == "notifier" && !preempted) {
        preempted = true;
        engine.start("mid", fifo(50), [&] { engine.work(10); }, &mid);
      }
    });
    const Lines jobs = engine.run(50, {{3, "high"}}, [&] {
      std::unique_ptr<Thread> notifier;
      const auto body = [&] {
        engine.until(1);
        engine.notify("low");
      };
      engine.start("notifier", fifo(10), body, &notifier);
      notifier->join();
      mid->join();
    });
    EXPECT_TRUE(preempted);
    return jobs;
  }
};

TEST_P(PreemptedNotifier, inside_the_lock_does_not_hold_up_a_more_urgent_release)
{
  EXPECT_EQ(run(Point::kLocked, {true, true}).at(0), "3-3-4 high");
  EXPECT_EQ(run(Point::kUnlock, {true, true}).at(0), "3-3-4 high");
}

TEST_P(PreemptedNotifier, inside_the_wake_up_does_not_hold_up_a_more_urgent_release)
{
  EXPECT_EQ(run(Point::kWakeOne, {true, true}).at(0), "3-3-4 high");
}

// Shows that the tests above can fail.
TEST_P(PreemptedNotifier, holds_up_a_more_urgent_release_if_the_lock_lends_no_urgency)
{
  const std::string high = run(Point::kUnlock, {true, false}).at(0);
  EXPECT_NE(high, "3-3-4 high");
  EXPECT_NE(high.find(" high"), std::string::npos) << high;
}

INSTANTIATE_TEST_SUITE_P(
  Models, PreemptedNotifier,
  ::testing::Values(ExecutionModel::kPreemptive, ExecutionModel::kIsolated),
  [](const auto & model) { return to_string(model.param); });

struct Piece
{
  int64_t begin_ns;
  int64_t end_ns;
  int priority;
};

/// One CPU; lock sections and system calls take time, in which anybody may be preempted. A thread more
/// urgent than all callbacks releases "c0", "c2", "c4" at random, one less urgent than all of them
/// the others.
class RandomReleases : public ::testing::TestWithParam<ExecutionModel>
{
protected:
  static constexpr int kCallbacks = 6;
  static constexpr microseconds kPiece{20};
  static constexpr microseconds kCost{60};

  // The longest time for which less urgent jobs worked while one waited that the urgent thread had
  // released.
  int64_t longest_inversion_ns(unsigned seed, SimPlatform::Locks locks, Duration wake_one)
  {
    std::mt19937 random(seed);
    EngineOptions options;
    options.model = GetParam();
    EngineOnSim engine(options);
    engine.sim.set_locks(locks);
    engine.sim.set_costs({kCost, kCost, wake_one, kCost});
    std::vector<Piece> pieces;
    std::map<std::string, int> priorities;
    for (int i = 0; i < kCallbacks; ++i) {
      const std::string name = "c" + std::to_string(i);
      const int priority = 20 + static_cast<int>(random() % 60);
      const int length = 10 + static_cast<int>(random() % 90);
      priorities[name] = priority;
      CallbackOptions callback = engine.fifo_callback(name, 0, priority);
      callback.depth = 100;
      engine.add(callback, [&engine, &pieces, priority, length] {
        for (int piece = 0; piece < length; ++piece) {
          // It comes back while somebody is inside the engine, without asking the engine.
          engine.sim.sleep_for(kPiece * (piece % 20 == 0 ? 5 : 0));
          const TimePoint begin = engine.sim.now();
          engine.sim.work(kPiece);
          pieces.push_back({nanoseconds_of(begin), nanoseconds_of(engine.sim.now()), priority});
        }
      });
    }
    std::map<std::string, std::vector<int64_t>> arrivals_ns;
    const auto release_at_random = [&engine, &arrivals_ns](int first, unsigned own_seed) {
      std::mt19937 own(own_seed);
      engine.until(20);  // All threads are there.
      for (int job = 0; job < 40; ++job) {
        engine.sim.sleep_for(microseconds(own() % 3000));
        const int number = first + 2 * static_cast<int>(own() % (kCallbacks / 2));
        const std::string name = "c" + std::to_string(number);
        arrivals_ns[name].push_back(nanoseconds_of(engine.sim.now()));
        engine.notify(name);
      }
    };
    uint64_t executed = 0;
    std::vector<rclrt_job_record> records;
    engine.run(400, {}, [&] {
      std::unique_ptr<Thread> urgent;
      std::unique_ptr<Thread> lazy;
      engine.start("urgent", fifo(98), [&] { release_at_random(0, seed + 1000); }, &urgent);
      engine.start("lazy", fifo(5), [&] { release_at_random(1, seed + 2000); }, &lazy);
      urgent->join();
      lazy->join();
      engine.sim.sleep_for(milliseconds(100));
      records = engine.records();
      for (const auto & callback : engine.callbacks) {
        executed += engine.engine.statistics(*callback.second).executed;
      }
    });
    EXPECT_EQ(records.size(), 80u) << "seed " << seed;
    EXPECT_EQ(executed, 80u) << "seed " << seed;

    // Jobs of a callback start in the order of their arrivals.
    std::map<std::string, std::size_t> jobs;
    std::map<std::string, int64_t> ends_ns;
    int64_t longest = 0;
    for (const rclrt_job_record & record : records) {
      const std::string name = engine.name_of(record.callback);
      if ((name.back() - '0') % 2 == 0) {
        // Until the one before it has ended it waits for that, which may sleep.
        const int64_t from_ns =
          std::max(arrivals_ns[name].at(jobs[name]++), std::exchange(ends_ns[name], record.end_ns));
        int64_t inverted = 0;
        for (const Piece & piece : pieces) {
          const bool inside = piece.begin_ns >= from_ns && piece.end_ns <= record.start_ns;
          inverted += inside && piece.priority < priorities.at(name) ? nanoseconds_of(kPiece) : 0;
        }
        longest = std::max(longest, inverted);
      }
    }
    return longest;
  }

  static int64_t nanoseconds_of(TimePoint time) { return time.time_since_epoch().count(); }
  static int64_t nanoseconds_of(microseconds time) { return Duration(time).count(); }
};

TEST_P(RandomReleases, run_no_less_urgent_job_while_one_waits)
{
  for (unsigned seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(longest_inversion_ns(seed, {true, true}, Duration{0}), 0) << "seed " << seed;
  }
}

TEST_P(RandomReleases, run_no_less_urgent_job_also_while_a_waker_is_held_up_in_its_system_call)
{
  for (unsigned seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(longest_inversion_ns(seed, {true, true}, kCost), 0) << "seed " << seed;
  }
}

// Shows that the tests above can fail.
TEST_P(RandomReleases, run_less_urgent_jobs_before_if_the_lock_lends_no_urgency)
{
  int64_t longest = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    longest = std::max(longest, longest_inversion_ns(seed, {true, false}, Duration{0}));
  }
  EXPECT_GT(longest, 0);
}

INSTANTIATE_TEST_SUITE_P(
  Models, RandomReleases, ::testing::Values(ExecutionModel::kPreemptive, ExecutionModel::kIsolated),
  [](const auto & model) { return to_string(model.param); });

// ---- How often the lock is taken. Upper bounds: fewer is better.

int64_t sections(EngineOnSim & engine, const std::function<void()> & operation)
{
  const int64_t before = engine.sim.counts().lock;
  operation();
  return engine.sim.counts().lock - before;
}

TEST(LockSections, of_a_release_are_one)
{
  EngineOnSim engine;
  engine.add(engine.fifo_callback("a", 1, 50));
  EXPECT_EQ(sections(engine, [&] { engine.notify("a"); }), 1);
  EXPECT_EQ(sections(engine, [&] { engine.notify("a", 1000); }), 1);
}

TEST(LockSections, of_a_job_from_its_release_to_sleep_are_three_if_its_thread_needs_no_change)
{
  // The release; the thread that finds the job; the same thread when the job has ended, which finds
  // no other.
  EngineOnSim engine;
  engine.add(engine.fifo_callback("a", 1, 50));
  std::vector<int64_t> locks;
  engine.run(100, {{10, "a"}, {20, "a"}, {30, "a"}, {40, "a"}}, [&] {
    for (int64_t time = 5; time <= 45; time += 10) {
      engine.until(time);
      locks.push_back(engine.sim.counts().lock);
    }
  });
  for (std::size_t i = 2; i < locks.size(); ++i) {
    EXPECT_LE(locks[i] - locks[i - 1], 3) << "job " << i;
  }
}

TEST(LockSections, of_adding_a_callback_do_not_grow_with_their_number)
{
  EngineOnSim engine;
  std::vector<int64_t> counts;
  for (int i = 0; i < 50; ++i) {
    const std::string name = "c" + std::to_string(i);
    CallbackOptions options = engine.fifo_callback(name, 1, 1 + i);
    engine.group("group of " + name);
    counts.push_back(sections(engine, [&] { engine.add(std::move(options)); }));
  }
  EXPECT_LE(counts.back(), counts.front());
}

TEST(LockSections, of_looking_at_everything_do_not_grow_with_the_number_of_callbacks)
{
  std::vector<int64_t> callbacks;
  std::vector<int64_t> threads;
  std::vector<int64_t> findings;
  std::vector<int64_t> waiting;
  for (const int count : {1, 50}) {
    EngineOnSim engine;
    for (int i = 0; i < count; ++i) {
      engine.add(engine.fifo_callback("c" + std::to_string(i), 1, 50));
    }
    callbacks.push_back(sections(engine, [&] { engine.engine.callbacks(); }));
    threads.push_back(sections(engine, [&] { engine.engine.threads(); }));
    findings.push_back(sections(engine, [&] { engine.engine.findings(); }));
    engine.notify("c0");
    waiting.push_back(sections(engine, [&] { EXPECT_EQ(engine.engine.waiting().size(), 1u); }));
  }
  EXPECT_LE(callbacks.back(), callbacks.front());
  EXPECT_LE(threads.back(), threads.front());
  EXPECT_LE(findings.back(), findings.front());
  EXPECT_LE(waiting.back(), waiting.front());
}

TEST(LockSections, of_looking_for_lost_cpus_do_not_grow_beyond_64_threads)
{
  std::vector<int64_t> looks;
  for (const int count : {64, 80}) {
    EngineOptions options;
    options.model = ExecutionModel::kIsolated;
    EngineOnSim engine(options);
    for (int i = 0; i < count; ++i) {
      engine.add(engine.fifo_callback("c" + std::to_string(i), 1, 50));
    }
    engine.run(2, {}, [&] {
      engine.until(1);
      looks.push_back(sections(engine, [&] { engine.engine.keep_cpus(); }));
    });
  }
  EXPECT_GT(looks.front(), 64);
  EXPECT_EQ(looks.back(), looks.front());
}

}  // namespace
}  // namespace rclrt_core
