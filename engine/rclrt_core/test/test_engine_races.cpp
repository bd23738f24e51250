// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a simulation cannot interleave (and for the thread sanitizer): threads that wake, bring, wait and fork at once.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "engine_on_linux.hpp"

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

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr ExecutionModel kModels[] = {
  ExecutionModel::kPriorityEvents, ExecutionModel::kPreemptive, ExecutionModel::kIsolated};

CallbackOptions with_priority(int priority, CallbackOptions options)
{
  options.attributes.scheduling_policy = SchedulingPolicy::kFifo;
  options.attributes.priority = priority;
  return options;
}

EngineOptions without_attributes(ExecutionModel model = ExecutionModel::kPreemptive)
{
  EngineOptions options;
  options.model = model;
  options.attributes_mode = AttributesMode::kOff;
  return options;
}

/// Several that collect wake-ups, lose their CPU on the way, and want the same few workers; and a timer that they reset.
TEST(Races, lose_no_job_among_many_who_wake_the_same_threads)
{
  constexpr int kNotifiers = 3;
  constexpr std::size_t kRounds = 1500;
  for (const ExecutionModel model : {ExecutionModel::kPreemptive, ExecutionModel::kIsolated}) {
    LinuxPlatform platform;
    EngineOptions options = without_attributes(model);
    options.max_threads = 2;
    options.trace_capacity = 0;
    Engine engine(platform, options);
    TimerOptions once;
    once.period = microseconds(50);
    once.one_shot = true;
    std::shared_ptr<Callback> timer;
    ASSERT_TRUE(
      engine.add_timer(doing("timer", [] {}), once, add_group(engine, "timer"), &timer).ok());
    std::vector<std::shared_ptr<Callback>> callbacks;
    for (const char * name : {"a", "b", "c"}) {
      callbacks.push_back(add(engine, doing(name, [] {})));
    }
    for (int spin = 0; spin < 2; ++spin) {
      std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
      std::vector<std::thread> notifiers;
      for (int n = 0; n < kNotifiers; ++n) {
        notifiers.emplace_back([&, n] {
          for (std::size_t round = 0; round < kRounds; ++round) {
            const Publication batch;
            engine.notify(*callbacks[round % 3]);
            if ((round + static_cast<std::size_t>(n)) % 3 == 0) {
              EXPECT_TRUE(engine.reset_timer(timer).ok());
              std::this_thread::yield();
            }
            engine.notify(*callbacks[round / 3 % 3]);
          }
        });
      }
      for (int look = 0; look < 100;
           ++look) {  // the thread sanitizer sees what others do meanwhile
        EXPECT_LE(engine.waiting().size(), 4u);
        engine.keep_cpus();
        EXPECT_EQ(engine.trace_source(callbacks[2]->id()).callbacks.size(), 1u);
        static_cast<void>(callbacks[0]->was_released());
      }
      for (std::thread & notifier : notifiers) {
        notifier.join();
      }
      EXPECT_TRUE(eventually([&] {
        uint64_t executed = 0;
        for (const auto & callback : callbacks) {
          executed += engine.statistics(*callback).executed;
        }
        return executed == static_cast<uint64_t>(spin + 1) * kNotifiers * kRounds * 2;
      }));
      engine.stop();
      spinner.join();
    }
  }
}

// The child of a process that forks while it publishes has a copy of what was to be done at the end of the publication; all
// of that is the parent's.
TEST(Races, a_publication_in_which_the_process_forks_is_ended_by_the_parent_alone)
{
  class Counting : public LinuxPlatform
  {
  public:
    int apply(ThreadId, const Attributes &) noexcept override
    {
      ++calls;
      return 0;
    }
    void wake_one(const std::atomic<uint32_t> & word) noexcept override
    {
      ++calls;
      LinuxPlatform::wake_one(word);
    }
    std::atomic<int> calls{0};
  };
  Counting platform;
  Engine engine(platform, {});
  int status = -1;
  int calls_of_the_parent = 0;
  const auto high = add(engine, with_priority(80, doing("high", [&] { engine.stop(); })));
  const auto publishes = [&] {
    pid_t child = 0;
    int before = 0;
    {
      const Publication publication;
      engine.notify(*high);
      child = fork();
      before = platform.calls;
    }
    calls_of_the_parent = platform.calls - before;
    if (child == 0) {
      _exit(calls_of_the_parent);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
  };
  engine.notify(*add(engine, with_priority(10, doing("publishes", publishes))));
  EXPECT_TRUE(engine.spin().ok());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "calls of the child";
  EXPECT_GE(calls_of_the_parent, 2) << "it wakes, and gives back";
}

// ---- Threads that look for work before they sleep

TEST(LinuxSpin, ends_when_the_word_changes_and_when_the_time_is_up)
{
  LinuxPlatform linux;
  std::atomic<uint32_t> word{0};
  const TimePoint until = linux.now() + milliseconds(2);
  if (linux.spin(word, 0, until)) {  // else another thread took the CPU
    EXPECT_GE(linux.now(), until);
  }
  std::thread other([&] { word.store(1, std::memory_order_release); });
  while (word.load() == 0) {
    linux.spin(word, 0, kNever);  // returns early only if the CPU was taken
  }
  other.join();
}

TEST(LinuxSpin, no_job_is_lost_between_looking_and_sleeping)
{
  constexpr int kJobs = 3000;
  for (const ExecutionModel model : kModels) {
    LinuxPlatform linux;
    EngineOptions options;
    options.model = model;
    options.waiting.kind = Waiting::kSpin;
    options.waiting.spin = microseconds(50);
    Engine engine(linux, options);
    std::atomic<int> ran{0};
    const auto count = [&ran] { ++ran; };
    const std::shared_ptr<Callback> callbacks[] = {
      add(engine, with_priority(10, doing("refused without permission", count))),
      add(engine, doing("a", count)), add(engine, doing("b", count))};
    std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
    std::minstd_rand random(1);
    for (int i = 0; i < kJobs; ++i) {
      engine.notify(*callbacks[random() % 3]);
      const TimePoint next = linux.now() + microseconds(random() % 120);
      while (linux.now() < next) {
      }
    }
    EXPECT_TRUE(eventually([&] { return ran == kJobs; })) << ran;
    engine.stop();
    spinner.join();
  }
}

// ---- Jobs on the thread that brings their work

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

TEST(InlineJobs, what_is_told_of_the_bound_is_not_made_up_under_the_lock_of_the_jobs)
{
#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
  GTEST_SKIP() << "a counting allocator cannot coexist with a sanitizer's";
#endif
  WatchedPlatform platform;
  Engine engine(platform, without_attributes());
  CallbackOptions options = doing("a name that is too long for the inside of a string", [] {
    std::this_thread::sleep_for(milliseconds(1));
  });
  options.depth = 1;
  options.inline_bound = Duration(1);
  const auto callback = add(engine, options);
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  const Attributes none;
  allocations_under_a_lock = 0;
  while (engine.statistics(*callback).over_bound == 0) {
    if (engine.notify(*callback, 1, &none)) {
      engine.run_inline();
    }
    // The first may come before the engine spins: it is queued, and so are all that come while it runs.
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_EQ(allocations_under_a_lock, 0U);
  engine.stop();
  spinner.join();
  EXPECT_EQ(engine.findings().size(), 1U);
}

// The thread sanitizer sees it if this is not so.
TEST(InlineJobs, a_job_may_ask_where_it_runs_while_inline_callbacks_are_added)
{
  LinuxPlatform platform;
  Engine engine(platform, {});
  const auto group = add_group(engine, "group");
  std::atomic<bool> is_there{false};
  std::atomic<bool> was_added{false};
  std::atomic<int> inline_answers{0};
  const auto asks = [&] {
    do {
      inline_answers += runs_inline() ? 1 : 0;
      is_there = true;
      std::this_thread::yield();
    } while (!was_added);
  };
  const auto callback = add(engine, doing("asks", asks), group);
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  engine.notify(*callback);
  EXPECT_TRUE(eventually([&] { return is_there.load(); }));
  CallbackOptions first = doing("first", [] {});
  first.inline_bound = milliseconds(1);
  add(engine, first, group);
  was_added = true;
  engine.stop();
  spinner.join();
  EXPECT_EQ(inline_answers, 0);
}

TEST(InlineJobs, every_job_runs_once_while_spinning_begins_and_ends)
{
  LinuxPlatform platform;
  Engine engine(platform, {});
  std::shared_ptr<Callback> callbacks[3];
  std::atomic<int> inside[3] = {};
  uint64_t plain[3] = {};  // guarded by the group alone
  for (int i = 0; i < 3; ++i) {
    CallbackOptions options = doing("callback " + std::to_string(i), [&, i] {
      EXPECT_EQ(inside[i].fetch_add(1), 0);
      ++plain[i];
      inside[i].fetch_sub(1);
    });
    options.inline_bound = i == 2 ? Duration{0} : Duration(std::chrono::hours(1));
    callbacks[i] = add(engine, options);
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
        const bool is_bound = engine.notify(*callbacks[(i + n) % 3], 1, &none);
        if (n % 500 == 0) {
          engine.stop();  // in the middle of whatever it does
        }
        if (is_bound) {
          engine.run_inline();
        }
      }
    });
  }
  for (std::thread & bringer : bringers) {
    bringer.join();
  }
  EXPECT_TRUE(eventually([&] {
    uint64_t all = 0;
    for (const auto & callback : callbacks) {
      all += engine.statistics(*callback).executed;
    }
    return all == uint64_t{3} * kEach;
  }));
  done = true;
  engine.stop();
  spinner.join();
  EXPECT_EQ(plain[0] + plain[1] + plain[2], uint64_t{3} * kEach);
}

}  // namespace
}  // namespace rclrt_core
