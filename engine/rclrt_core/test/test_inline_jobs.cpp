// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What becomes of jobs on the thread that brings their work: the bound, the trace, the end.

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>

#include "inline_scene.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace
{

thread_local int locks_held = 0;
thread_local std::size_t allocations_under_a_lock = 0;

}  // namespace

#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)

void * operator new(std::size_t size)
{
  allocations_under_a_lock += locks_held > 0 ? 1 : 0;
  if (void * memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

#endif

namespace rclrt_core
{
namespace
{

/// Knows whether the calling thread holds the lock that was made as the second: that of the jobs.
class WatchedPlatform : public LinuxPlatform
{
public:
  std::unique_ptr<Mutex> make_mutex() override
  {
    auto made = LinuxPlatform::make_mutex();
    return ++made_ == 2 ? std::make_unique<Watched>(std::move(made)) : std::move(made);
  }

private:
  class Watched : public Mutex
  {
  public:
    explicit Watched(std::unique_ptr<Mutex> real) : real_(std::move(real)) {}
    void lock() noexcept override
    {
      real_->lock();
      ++locks_held;
    }
    void unlock() noexcept override
    {
      --locks_held;
      real_->unlock();
    }

  private:
    const std::unique_ptr<Mutex> real_;
  };
  int made_ = 0;
};

// ---- The bound

TEST(InlineJobs, what_is_told_of_the_bound_is_not_made_up_under_the_lock_of_the_jobs)
{
#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
  GTEST_SKIP() << "a counting allocator cannot coexist with a sanitizer's";
#endif
  WatchedPlatform platform;
  EngineOptions engine_options;
  engine_options.attributes_mode = AttributesMode::kOff;
  Engine engine(platform, engine_options);
  std::shared_ptr<Group> group;
  std::shared_ptr<Callback> callback;
  ASSERT_TRUE(engine.add_group({}, &group).ok());
  CallbackOptions options;
  options.name = "a name that is too long for the inside of a string";
  options.depth = 1;
  options.run = [](const Job &) {
    std::this_thread::sleep_for(milliseconds(1));
    return true;
  };
  options.inline_bound = Duration(1);
  ASSERT_TRUE(engine.add_callback(options, group, &callback).ok());
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  const Attributes none;
  allocations_under_a_lock = 0;
  while (engine.statistics(*callback).over_bound == 0) {
    {
      const Delivery delivery(&none);
      engine.notify(*callback);
    }
    // The first may come before the engine spins: it is queued, and so are all that come while it runs.
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_EQ(allocations_under_a_lock, 0U);
  engine.stop();
  spinner.join();
  EXPECT_EQ(engine.findings().size(), 1U);
}

TEST(InlineJobs, a_job_over_the_bound_counts_and_the_first_one_is_told)
{
  Scene scene;
  scene.add({"a", microseconds(1500)});
  scene.run([&] {
    for (int i = 0; i < 2; ++i) {
      scene.bring("a");
    }
  });
  EXPECT_EQ(scene.statistics("a").inlined, 2U);
  EXPECT_EQ(scene.statistics("a").over_bound, 2U);
  EXPECT_EQ(scene.findings_about("a: took 1500 us on the middleware's thread"), 1U);
}

TEST(InlineJobs, a_callback_that_waits_exceeds_its_bound_although_it_uses_no_cpu)
{
  Scene scene;
  scene.add(
    {"a", Duration{0}, milliseconds(1), {}, "", [&] { scene.sim.sleep_for(milliseconds(2)); }});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.statistics("a").over_bound, 1U);
}

TEST(InlineJobs, a_job_that_was_preempted_is_not_to_blame_whether_it_is_traced_or_not)
{
  for (const std::size_t trace_capacity : {1024, 0}) {
    EngineOptions options;
    options.trace_capacity = trace_capacity;
    Scene scene(options, 1);
    scene.add({"a", microseconds(900)});
    std::unique_ptr<Thread> other;
    scene.run([&] {
      scene.start(
        "other", fifo(99),
        [&] {
          scene.sim.sleep_for(microseconds(500));
          scene.sim.work(milliseconds(3));
        },
        &other);
      scene.bring("a");
      other.reset();
    });
    EXPECT_EQ(scene.jobs, (Lines{"1000-4900 a inline"}));
    EXPECT_EQ(scene.statistics("a").over_bound, 0U) << trace_capacity;
  }
}

TEST(InlineJobs, a_callback_that_often_exceeds_its_bound_is_queued_from_then_on_and_that_is_told)
{
  Scene scene;
  scene.add({"a", microseconds(1500)});
  scene.run([&] {
    for (int i = 0; i < 10; ++i) {
      scene.bring("a");
      scene.sim.sleep_for(milliseconds(3));
    }
  });
  EXPECT_EQ(scene.statistics("a").executed, 10U);
  EXPECT_EQ(scene.statistics("a").inlined, 5U);
  EXPECT_EQ(scene.findings_about("from now on it is queued"), 1U);
}

TEST(InlineJobs, a_callback_that_exceeds_its_bound_once_in_a_while_stays_inline)
{
  Scene scene;
  int number = 0;
  scene.add({"a", microseconds(10), microseconds(20), {}, "", [&] {
               scene.sim.work(number++ % 100 == 0 ? microseconds(50) : microseconds(0));
             }});
  scene.run(
    [&] {
      for (int i = 0; i < 1000; ++i) {
        scene.bring("a");
      }
    },
    milliseconds(100));
  EXPECT_EQ(scene.statistics("a").over_bound, 10U);
  EXPECT_EQ(scene.statistics("a").inlined, 1000U);
}

// ---- The trace

TEST(InlineJobs, the_record_of_the_job_names_the_thread_that_ran_it)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] { scene.bring("a"); });
  std::vector<uint32_t> threads;
  scene.engine.read_trace([&](const rclrt_job_record & record) {
    threads.push_back(record.thread);
    EXPECT_EQ(record.waited_for, RCLRT_WAITED_FOR_NOTHING);
  });
  EXPECT_EQ(threads, (std::vector<uint32_t>{static_cast<uint32_t>(scene.bringer)}));
}

// ---- Beginning and end

TEST(InlineJobs, nothing_is_inline_before_spinning_and_after_it)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.bringer = 1;
  scene.bring("a");
  EXPECT_EQ(scene.statistics("a").inlined, 0U);
  scene.run([&] {}, milliseconds(5));
  scene.bring("a");
  EXPECT_EQ(scene.statistics("a").inlined, 0U);
  EXPECT_EQ(scene.statistics("a").executed, 1U);
}

TEST(InlineJobs, the_end_of_spinning_waits_for_the_job)
{
  for (const ExecutionModel model : {ExecutionModel::kPool, ExecutionModel::kEvents}) {
    Scene scene(with_model(model));
    bool has_ended = false;
    scene.add({"a", milliseconds(3), milliseconds(1), {}, "", [&] { scene.engine.stop(); }});
    scene.add({"b", milliseconds(3)});
    const Status status = scene.sim.run([&] {
      std::unique_ptr<Thread> spinner;
      std::unique_ptr<Thread> middleware;
      scene.start(
        "spinner", {},
        [&] {
          EXPECT_TRUE(scene.engine.spin().ok());
          has_ended = scene.jobs.size() == 1;
        },
        &spinner);
      scene.start(
        "middleware", scene.has,
        [&] {
          scene.bringer = scene.sim.current_thread();
          scene.sim.sleep_until(at_ms(1));
          scene.bring("a");
          scene.bring("b");
        },
        &middleware);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(has_ended) << to_string(model);
    EXPECT_EQ(scene.jobs, (Lines{"1000-4000 a inline"}));
  }
}

TEST(InlineJobs, the_job_may_ask_the_engine_for_everything_while_the_end_of_spinning_waits_for_it)
{
  Scene scene;
  std::size_t callbacks = 0;
  const auto ask = [&] {
    scene.engine.stop();
    scene.sim.sleep_for(milliseconds(1));  // the thread that spins waits by now
    callbacks = scene.engine.callbacks().size();
  };
  scene.add({"a", Duration{0}, milliseconds(2), {}, "", ask});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(callbacks, 1U);
  EXPECT_EQ(scene.jobs, (Lines{"1000-2000 a inline"}));
}

TEST(InlineJobs, who_waits_for_the_callback_to_be_idle_waits_for_the_job)
{
  Scene scene;
  scene.add({"a", milliseconds(3)});
  std::unique_ptr<Thread> remover;
  int64_t removed_at_ms = 0;
  scene.run([&] {
    scene.start(
      "remover", fifo(97),
      [&] {
        scene.sim.sleep_for(milliseconds(1));
        scene.engine.remove(scene.callbacks["a"]);
        EXPECT_TRUE(scene.engine.wait_until_idle(scene.callbacks["a"]));
        removed_at_ms = scene.sim.now().time_since_epoch() / milliseconds(1);
      },
      &remover);
    scene.bring("a");
    remover.reset();
  });
  EXPECT_EQ(removed_at_ms, 4);
}

TEST(InlineJobs, what_the_callback_throws_stops_the_engine_and_does_not_reach_the_thread)
{
  Scene scene;
  scene.add({"a", Duration{0}, milliseconds(1), {}, "", [] { throw std::runtime_error("no"); }});
  bool went_on = false;
  scene.run([&] {
    scene.bring("a");
    went_on = true;
  });
  EXPECT_TRUE(went_on);
  EXPECT_NE(scene.engine.take_exception(), nullptr);
  EXPECT_EQ(scene.statistics("a").exceptions, 1U);
}

// ---- Bad input

TEST(InlineJobs, timers_reentrant_groups_and_negative_bounds_are_errors_that_say_so)
{
  SimPlatform sim;
  Engine engine(sim, {});
  GroupOptions reentrant;
  reentrant.name = "many";
  reentrant.parallelism = 2;
  std::shared_ptr<Group> many;
  std::shared_ptr<Group> one;
  ASSERT_TRUE(engine.add_group(reentrant, &many).ok());
  ASSERT_TRUE(engine.add_group({}, &one).ok());
  CallbackOptions options;
  options.name = "a";
  options.run = [](const Job &) { return true; };
  options.inline_bound = milliseconds(1);
  std::shared_ptr<Callback> callback;
  EXPECT_NE(
    engine.add_timer(options, {}, one, &callback).message().find("it cannot be inline"),
    std::string::npos);
  EXPECT_NE(
    engine.add_callback(options, many, &callback).message().find("'many' is reentrant"),
    std::string::npos);
  options.inline_bound = Duration{-1};
  EXPECT_NE(
    engine.add_callback(options, one, &callback).message().find("is negative"), std::string::npos);
}

// ---- Many at once

TEST(InlineJobs, random_systems_run_every_job_once_and_keep_groups_and_places)
{
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::minstd_rand random(seed + 1);
    const auto below = [&random](unsigned limit) { return random() % limit; };
    EngineOptions options;
    options.model = static_cast<ExecutionModel>(below(3));
    options.max_threads = 1 + below(3);
    const std::size_t places = options.model == ExecutionModel::kPool     ? options.max_threads
                               : options.model == ExecutionModel::kEvents ? 1
                                                                          : 4;
    Scene scene(options, static_cast<int>(1 + below(3)));
    std::map<std::string, int> in_group;
    const std::size_t count = 2 + below(5);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string group = "group " + std::to_string(below(4));
      const Duration work = microseconds(below(900));
      scene.add(
        {"c" + std::to_string(i), Duration{0}, milliseconds(below(2) == 0 ? 0 : 2),
         fifo(static_cast<int>(1 + below(50))), group, [&scene, &in_group, group, work] {
           EXPECT_EQ(in_group[group]++, 0) << "another job of the group runs";
           scene.sim.work(work);
           --in_group[group];
         }});
    }
    uint64_t brought = 0;
    std::unique_ptr<Thread> second;
    const auto bring_some = [&] {
      for (int i = 0; i < 50; ++i) {
        scene.bring("c" + std::to_string(below(static_cast<unsigned>(count))));
        ++brought;
        scene.sim.sleep_for(microseconds(below(700)));
      }
    };
    scene.run(
      [&] {
        scene.start("second", scene.has, bring_some, &second);
        bring_some();
        second.reset();
      },
      milliseconds(500));
    EXPECT_EQ(scene.jobs.size(), brought) << "seed " << seed;
    EXPECT_LE(scene.most, static_cast<int>(places)) << "seed " << seed;
  }
}

// The thread sanitizer sees it if this is not so.
TEST(InlineJobs, on_real_threads_a_job_may_ask_where_it_runs_while_inline_callbacks_are_added)
{
  LinuxPlatform platform;
  Engine engine(platform, {});
  std::shared_ptr<Group> group;
  ASSERT_TRUE(engine.add_group({}, &group).ok());
  std::atomic<bool> is_there{false};
  std::atomic<bool> was_added{false};
  std::atomic<int> inline_answers{0};
  CallbackOptions options;
  options.name = "asks";
  options.run = [&](const Job &) {
    do {
      inline_answers += runs_inline() ? 1 : 0;
      is_there = true;
      std::this_thread::yield();
    } while (!was_added);
    return true;
  };
  std::shared_ptr<Callback> asks;
  ASSERT_TRUE(engine.add_callback(options, group, &asks).ok());
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  engine.notify(*asks);
  while (!is_there) {
    std::this_thread::yield();
  }
  options.name = "first";
  options.run = [](const Job &) { return true; };
  options.inline_bound = milliseconds(1);
  std::shared_ptr<Callback> first;
  EXPECT_TRUE(engine.add_callback(options, group, &first).ok());
  was_added = true;
  engine.stop();
  spinner.join();
  EXPECT_EQ(inline_answers, 0);
}

TEST(InlineJobs, on_real_threads_every_job_runs_once_while_spinning_begins_and_ends)
{
  LinuxPlatform platform;
  Engine engine(platform, {});
  std::shared_ptr<Callback> callbacks[3];
  std::atomic<int> inside[3] = {};
  uint64_t plain[3] = {};  // guarded by the group alone
  for (int i = 0; i < 3; ++i) {
    GroupOptions group_options;
    group_options.name = "group " + std::to_string(i);
    std::shared_ptr<Group> group;
    ASSERT_TRUE(engine.add_group(group_options, &group).ok());
    CallbackOptions options;
    options.name = "callback " + std::to_string(i);
    options.depth = 1'000'000;
    options.inline_bound = i == 2 ? Duration{0} : Duration(std::chrono::hours(1));
    options.run = [&, i](const Job &) {
      EXPECT_EQ(inside[i].fetch_add(1), 0);
      ++plain[i];
      inside[i].fetch_sub(1);
      return true;
    };
    ASSERT_TRUE(engine.add_callback(options, group, &callbacks[i]).ok());
  }
  std::atomic<bool> done{false};
  std::thread spinner([&] {
    while (!done) {
      EXPECT_TRUE(engine.spin().ok());
    }
  });
  constexpr int kEach = 3000;
  std::vector<std::thread> bringers;
  for (int i = 0; i < 3; ++i) {
    bringers.emplace_back([&, i] {
      const Attributes none;
      for (int n = 0; n < kEach; ++n) {
        const Delivery delivery(&none);
        engine.notify(*callbacks[(i + n) % 3]);
        if (n % 500 == 0) {
          engine.stop();  // in the middle of whatever it does
        }
      }
    });
  }
  for (std::thread & bringer : bringers) {
    bringer.join();
  }
  const auto executed = [&] {
    uint64_t all = 0;
    for (const auto & callback : callbacks) {
      all += engine.statistics(*callback).executed;
    }
    return all;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (executed() < uint64_t{3} * kEach && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(executed(), uint64_t{3} * kEach);
  done = true;
  engine.stop();
  spinner.join();
  EXPECT_EQ(plain[0] + plain[1] + plain[2], uint64_t{3} * kEach);
}

}  // namespace
}  // namespace rclrt_core
