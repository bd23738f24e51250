// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the engine relies on, promised by every platform.

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/sim_platform.hpp"

namespace rclrt_core
{
namespace
{

using std::chrono::milliseconds;

// How a test runs on a platform, and how its threads let time pass.
void run(LinuxPlatform &, const std::function<void()> & body) { body(); }
void run(SimPlatform & platform, const std::function<void()> & body)
{
  const Status status = platform.run(body);
  EXPECT_TRUE(status.ok()) << status.message();
}

void pause(LinuxPlatform & platform)
{
  const std::atomic<uint32_t> word{0};
  platform.wait(word, 0, platform.now() + std::chrono::microseconds(10));
}
void pause(SimPlatform & platform) { platform.sleep_for(std::chrono::microseconds(10)); }

template <typename P>
class PlatformConformance : public ::testing::Test
{
protected:
  std::unique_ptr<Thread> start(
    std::function<void()> body, const Attributes & attributes = {},
    const std::function<void(const Finding &)> & on_finding = nullptr)
  {
    ThreadOptions options;
    options.name = "worker";
    options.attributes = attributes;
    std::unique_ptr<Thread> thread;
    const Status status = platform.start_thread(options, std::move(body), on_finding, &thread);
    EXPECT_TRUE(status.ok()) << status.message();
    return thread;
  }

  void wait_while(const std::atomic<uint32_t> & word, uint32_t value)
  {
    while (word.load() == value) {
      platform.wait(word, value, kNever);
    }
  }

  void set_and_wake(std::atomic<uint32_t> & word, uint32_t value)
  {
    word.store(value);
    platform.wake_one(word);
  }

  P platform;
};

using Platforms = ::testing::Types<LinuxPlatform, SimPlatform>;
TYPED_TEST_SUITE(PlatformConformance, Platforms);

TYPED_TEST(
  PlatformConformance, a_more_urgent_thread_begins_before_the_one_that_has_started_it_goes_on)
{
  const auto fifo_on_cpu_0 = [](int priority) {
    Attributes attributes;
    attributes.scheduling_policy = SchedulingPolicy::kFifo;
    attributes.priority = priority;
    attributes.cpu_affinity = CpuSet({0});
    return attributes;
  };
  bool is_refused = false;
  std::atomic<bool> began{false};
  bool had_begun = false;
  run(this->platform, [&] {
    const auto starter = this->start(
      [&] {
        const auto urgent = this->start([&] { began = true; }, fifo_on_cpu_0(11));
        had_begun = began.load();  // one CPU: nobody else runs meanwhile
        urgent->join();
      },
      fifo_on_cpu_0(10), [&](const Finding &) { is_refused = true; });
    starter->join();
  });
  if (is_refused) {
    GTEST_SKIP() << "no permission for SCHED_FIFO 10 on CPU 0";
  }
  EXPECT_TRUE(had_begun);
}

/// With the alarm that a platform has if it does not make its own.
struct WordAlarms : LinuxPlatform
{
  std::unique_ptr<Alarm> make_alarm() override { return Platform::make_alarm(); }
};

template <typename P>
using AlarmConformance = PlatformConformance<P>;
using PlatformsWithAlarms = ::testing::Types<LinuxPlatform, SimPlatform, WordAlarms>;
TYPED_TEST_SUITE(AlarmConformance, PlatformsWithAlarms);

TYPED_TEST(AlarmConformance, goes_off_at_the_time_that_was_set_last)
{
  const std::unique_ptr<Alarm> alarm = this->platform.make_alarm();
  run(this->platform, [&] {
    const TimePoint begin = this->platform.now();
    std::vector<TimePoint> times;
    std::atomic<uint32_t> rounds{0};
    const auto sleeper = this->start([&] {
      for (int round = 0; round < 3; ++round) {
        alarm->wait();
        times.push_back(this->platform.now());
        alarm->set(kNever);
        this->set_and_wake(rounds, rounds.load() + 1);
      }
    });
    const auto let_pass = [&](milliseconds time) {
      const std::atomic<uint32_t> word{0};
      const TimePoint until = this->platform.now() + time;
      while (this->platform.now() < until) {
        this->platform.wait(word, 0, until);
      }
    };
    let_pass(milliseconds(5));
    alarm->set(begin + milliseconds(100));
    let_pass(milliseconds(1));
    alarm->set(begin + milliseconds(130));  // later, while it sleeps
    this->wait_while(rounds, 0);
    alarm->set(begin + std::chrono::hours(1));
    let_pass(milliseconds(1));
    alarm->set(this->platform.now() + milliseconds(5));  // nearer
    this->wait_while(rounds, 1);
    alarm->set(TimePoint());  // over
    sleeper->join();
    EXPECT_EQ(times.size(), 3U);
    EXPECT_GE(times.at(0), begin + milliseconds(130));
    EXPECT_LT(times.at(2), begin + std::chrono::minutes(30));
  });
}

TEST(LinuxAlarm, goes_off_in_time_also_if_the_program_has_closed_its_descriptor)
{
  LinuxPlatform platform;
  const int next = dup(1);  // what the alarm gets is the same one
  close(next);
  const std::unique_ptr<Alarm> alarm = platform.make_alarm();
  ASSERT_EQ(close(next), 0);
  const TimePoint time = platform.now() + milliseconds(5);
  alarm->set(time);
  alarm->wait();
  EXPECT_GE(platform.now(), time);
}

TYPED_TEST(PlatformConformance, wait_returns_at_once_when_the_word_differs)
{
  run(this->platform, [&] {
    const std::atomic<uint32_t> word{1};
    this->platform.wait(word, 0, kNever);
  });
}

TYPED_TEST(PlatformConformance, wait_returns_at_once_when_the_time_has_passed)
{
  run(this->platform, [&] {
    const std::atomic<uint32_t> word{0};
    this->platform.wait(word, 0, this->platform.now());
    this->platform.wait(word, 0, time_point_of(0));
    this->platform.wait(word, 0, time_point_of(-1'500'000'000));
  });
}

// It may return early for no reason, but one that does so again and again does not sleep.
#ifdef RCLRT_SANITIZE_thread
constexpr int kForNoReason = 1000;  // every 100 ms, see LinuxPlatform::wait()
#else
constexpr int kForNoReason = 3;
#endif

TYPED_TEST(PlatformConformance, wait_times_out_not_before_its_time)
{
  run(this->platform, [&] {
    const std::atomic<uint32_t> word{0};
    const TimePoint until = this->platform.now() + milliseconds(5);
    int early = 0;
    this->platform.wait(word, 0, until);
    while (this->platform.now() < until && early <= kForNoReason) {
      ++early;
      this->platform.wait(word, 0, until);
    }
    EXPECT_LE(early, kForNoReason);
  });
}

TYPED_TEST(PlatformConformance, a_far_time_is_not_a_short_one)
{
  run(this->platform, [&] {
    for (const TimePoint far :
         {kNever, kNever - Duration(1), this->platform.now() + std::chrono::hours(1)}) {
      std::atomic<uint32_t> word{0};
      std::atomic<int> early{-1};
      const auto waiter = this->start([&] {
        while (word.load() == 0 && early.load() <= kForNoReason) {
          ++early;
          this->platform.wait(word, 0, far);
        }
      });
      while (early.load() < 0) {
        pause(this->platform);
      }
      for (int i = 0; i < 100; ++i) {
        pause(this->platform);
      }
      EXPECT_LE(early.load(), kForNoReason);
      this->set_and_wake(word, 1);
    }
  });
}

TYPED_TEST(PlatformConformance, no_wake_up_is_lost_between_two_threads)
{
  constexpr uint32_t kRounds = 2000;
  run(this->platform, [&] {
    std::atomic<uint32_t> ping{0};
    std::atomic<uint32_t> pong{0};
    const auto other = this->start([&] {
      for (uint32_t round = 0; round < kRounds; ++round) {
        this->wait_while(ping, round);
        this->set_and_wake(pong, round + 1);
      }
    });
    for (uint32_t round = 0; round < kRounds; ++round) {
      this->set_and_wake(ping, round + 1);
      this->wait_while(pong, round);
    }
    EXPECT_EQ(pong.load(), kRounds);
  });
}

TYPED_TEST(PlatformConformance, as_many_wakes_as_waiters_wake_them_all)
{
  constexpr int kWaiters = 4;
  run(this->platform, [&] {
    std::atomic<uint32_t> gate{0};
    std::vector<std::unique_ptr<Thread>> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.push_back(this->start([&] { this->wait_while(gate, 0); }));
    }
    pause(this->platform);
    gate.store(1);
    for (int i = 0; i < kWaiters; ++i) {
      this->platform.wake_one(gate);
    }
  });
}

TYPED_TEST(PlatformConformance, a_wake_on_another_word_is_not_for_this_one)
{
  run(this->platform, [&] {
    std::atomic<uint32_t> words[2] = {{0}, {0}};
    std::atomic<int> returned{0};
    const auto waiter = this->start([&] {
      while (words[0].load() == 0) {
        this->platform.wait(words[0], 0, kNever);
        ++returned;
      }
    });
    const auto other = this->start([&] { this->wait_while(words[1], 0); });
    for (int i = 0; i < 50; ++i) {
      pause(this->platform);
      this->platform.wake_one(words[1]);
    }
    EXPECT_LE(returned.load(), kForNoReason);
    this->set_and_wake(words[1], 1);
    other->join();
    this->set_and_wake(words[0], 1);
    waiter->join();
  });
}

TYPED_TEST(PlatformConformance, one_wake_is_for_one_thread)
{
  run(this->platform, [&] {
    std::atomic<uint32_t> word{0};
    std::atomic<int> returned{0};
    std::vector<std::unique_ptr<Thread>> waiters;
    for (int i = 0; i < 20; ++i) {
      waiters.push_back(this->start([&] {
        while (word.load() == 0) {
          this->platform.wait(word, 0, kNever);
          ++returned;
        }
      }));
    }
    for (int i = 0; i < 100; ++i) {
      pause(this->platform);
    }
    constexpr int kWakes = 8;
    for (int i = 0; i < kWakes; ++i) {
      this->platform.wake_one(word);
      pause(this->platform);
    }
    EXPECT_LE(returned.load(), kWakes + kForNoReason);
    word.store(1);
    for (std::size_t i = 0; i < waiters.size(); ++i) {
      this->platform.wake_one(word);
    }
  });
}

TYPED_TEST(PlatformConformance, mutex_excludes)
{
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  run(this->platform, [&] {
    const auto mutex = this->platform.make_mutex();
    int inside = 0;
    int total = 0;
    std::vector<std::unique_ptr<Thread>> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.push_back(this->start([&] {
        for (int round = 0; round < kRounds; ++round) {
          mutex->lock();
          EXPECT_EQ(++inside, 1);
          if (round % 50 == 0) {
            pause(this->platform);
          }
          --inside;
          ++total;
          mutex->unlock();
        }
      }));
    }
    threads.clear();
    EXPECT_EQ(total, kThreads * kRounds);
  });
}

TYPED_TEST(PlatformConformance, join_returns_after_the_body_and_its_captures_are_gone)
{
  run(this->platform, [&] {
    const auto alive = std::make_shared<int>(0);
    auto thread = this->start([&, alive] { pause(this->platform); });
    thread->join();
    EXPECT_EQ(alive.use_count(), 1);
    thread->join();
    thread.reset();
  });
}

TYPED_TEST(PlatformConformance, threads_have_numbers_of_their_own)
{
  run(this->platform, [&] {
    std::set<ThreadId> ids = {this->platform.current_thread()};
    std::vector<std::unique_ptr<Thread>> threads;
    std::atomic<ThreadId> id{0};
    std::atomic<uint32_t> gate{0};
    for (int i = 0; i < 3; ++i) {
      threads.push_back(this->start([&] {
        id.store(this->platform.current_thread());
        this->wait_while(gate, 0);
      }));
      while (id.load() == 0) {
        pause(this->platform);
      }
      ids.insert(id.exchange(0));
    }
    EXPECT_EQ(ids.size(), 4u);
    EXPECT_EQ(ids.count(0), 0u);
    gate.store(1);
    for (int i = 0; i < 3; ++i) {
      this->platform.wake_one(gate);
    }
  });
}

TYPED_TEST(PlatformConformance, callers_run_on_a_cpu_that_exists)
{
  run(this->platform, [&] {
    EXPECT_GE(this->platform.cpu_count(), 1);
    EXPECT_GE(this->platform.current_cpu(), 0);
    EXPECT_LT(this->platform.current_cpu(), this->platform.cpu_count());
  });
}

TYPED_TEST(PlatformConformance, what_was_applied_is_read_back)
{
  run(this->platform, [&] {
    Attributes before;
    ASSERT_EQ(this->platform.read_back(this->platform.current_thread(), &before), 0);
    EXPECT_FALSE(before.cpu_affinity.empty());
    const CpuSet one_cpu({before.cpu_affinity.cpus().front()});

    // Large values of nice: smaller ones than the present one need a permission.
    std::vector<Attributes> all(4);
    all[0].scheduling_policy = SchedulingPolicy::kOther;
    all[0].nice = 18;
    all[1].scheduling_policy = SchedulingPolicy::kBatch;
    all[1].nice = 19;
    all[2].scheduling_policy = SchedulingPolicy::kIdle;
    all[3].scheduling_policy = SchedulingPolicy::kUnchanged;
    all[3].cpu_affinity = one_cpu;
    for (const Attributes & attributes : all) {
      const auto worker = this->start([&] {
        const ThreadId self = this->platform.current_thread();
        Attributes in_force;
        EXPECT_EQ(this->platform.apply(self, attributes), 0);
        EXPECT_EQ(this->platform.read_back(self, &in_force), 0);
        if (attributes.scheduling_policy == SchedulingPolicy::kUnchanged) {
          EXPECT_EQ(in_force.cpu_affinity, one_cpu);
        } else {
          in_force.cpu_affinity = {};
          EXPECT_EQ(to_string(in_force), to_string(attributes));
        }
      });
    }
  });
}

TYPED_TEST(PlatformConformance, attributes_of_a_new_thread_are_in_force_before_its_body)
{
  run(this->platform, [&] {
    Attributes attributes;
    attributes.scheduling_policy = SchedulingPolicy::kBatch;
    attributes.nice = 17;
    const auto worker = this->start(
      [&] {
        Attributes in_force;
        EXPECT_EQ(this->platform.read_back(this->platform.current_thread(), &in_force), 0);
        EXPECT_EQ(in_force.scheduling_policy, SchedulingPolicy::kBatch);
        EXPECT_EQ(in_force.nice, 17);
      },
      attributes, [](const Finding & finding) { ADD_FAILURE() << to_string(finding); });
  });
}

TYPED_TEST(PlatformConformance, refused_attributes_of_a_new_thread_are_a_finding_before_its_body)
{
  run(this->platform, [&] {
    Attributes attributes;
    attributes.scheduling_policy = SchedulingPolicy::kFifo;
    attributes.priority = 0;  // no platform has it
    std::vector<std::string> events;
    ThreadId finder = 0;
    this
      ->start(
        [&] {
          events.push_back("body");
          EXPECT_EQ(finder, this->platform.current_thread());
        },
        attributes,
        [&](const Finding & finding) {
          finder = this->platform.current_thread();
          EXPECT_EQ(finding.subject, "worker");
          EXPECT_EQ(finding.what, "asked for fifo, priority 0");
          EXPECT_EQ(finding.error_number, EINVAL);
          EXPECT_FALSE(finding.fix.empty());
          events.push_back("finding");
        })
      ->join();
    EXPECT_THAT(events, ::testing::ElementsAre("finding", "body"));
  });
}

TYPED_TEST(PlatformConformance, a_refusal_without_a_listener_does_not_stop_the_thread)
{
  run(this->platform, [&] {
    Attributes attributes;
    attributes.scheduling_policy = SchedulingPolicy::kFifo;
    bool ran = false;
    this->start([&] { ran = true; }, attributes)->join();
    EXPECT_TRUE(ran);
  });
}

TYPED_TEST(PlatformConformance, a_thread_that_does_not_exist_is_ESRCH)
{
  run(this->platform, [&] {
    ThreadId ended = 0;
    this->start([&] { ended = this->platform.current_thread(); })->join();
    Attributes attributes;
    attributes.scheduling_policy = SchedulingPolicy::kOther;
    // A thread is joined a moment before the kernel has forgotten it.
    for (int i = 0; i < 5000 && this->platform.apply(ended, attributes) == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(this->platform.apply(ended, attributes), ESRCH);
    EXPECT_EQ(this->platform.read_back(ended, &attributes), ESRCH);
  });
}

TYPED_TEST(PlatformConformance, explain_names_subject_request_and_errno)
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = 42;
  const Finding finding = this->platform.explain("callback 'x'", attributes, EPERM);
  EXPECT_EQ(finding.subject, "callback 'x'");
  EXPECT_EQ(finding.what, "asked for fifo, priority 42");
  EXPECT_EQ(finding.error_number, EPERM);
  EXPECT_FALSE(finding.fix.empty());
}

}  // namespace
}  // namespace rclrt_core
