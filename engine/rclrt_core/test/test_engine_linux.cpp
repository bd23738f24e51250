// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The engine on real threads. The rules are tested on the simulated platform; here it is about what
// only real concurrency shows: nothing lost, nothing twice, nothing left behind. Written to be run
// under the thread and address sanitizers. Bounded in work, not in time.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "engine_on_linux.hpp"

namespace rclrt_core
{
namespace
{

using std::chrono::microseconds;
using std::chrono::milliseconds;

class EngineOnLinux : public ::testing::TestWithParam<ExecutionModel>
{
protected:
  EngineOptions options()
  {
    EngineOptions options;
    options.model = GetParam();
    options.attributes_mode = AttributesMode::kOff;
    return options;
  }

  LinuxPlatform platform_;
};

TEST_P(EngineOnLinux, every_release_runs_exactly_once_whoever_notifies)
{
  Engine engine(platform_, options());
  constexpr int kNotifiers = 4;
  constexpr int kCallbacks = 5;
  constexpr int kEach = 2000;
  std::vector<std::shared_ptr<Callback>> callbacks;
  std::atomic<int> ran{0};
  for (int i = 0; i < kCallbacks; ++i) {
    const auto group = add_group(engine, "g" + std::to_string(i));
    callbacks.push_back(add(engine, doing("c" + std::to_string(i), [&] { ++ran; }), group));
  }
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  std::vector<std::thread> notifiers;
  for (int n = 0; n < kNotifiers; ++n) {
    notifiers.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        engine.notify(*callbacks[static_cast<std::size_t>(i % kCallbacks)]);
      }
    });
  }
  for (std::thread & notifier : notifiers) {
    notifier.join();
  }
  EXPECT_TRUE(eventually([&] { return ran == kNotifiers * kEach; })) << ran;
  engine.stop();
  spinner.join();
  for (const auto & callback : callbacks) {
    EXPECT_EQ(engine.statistics(*callback).executed, unsigned{kNotifiers * kEach / kCallbacks});
  }
}

TEST_P(EngineOnLinux, callbacks_of_an_exclusive_group_never_overlap)
{
  Engine engine(platform_, options());
  const auto group = add_group(engine, "exclusive");
  int unprotected = 0;  // a data race here is what the thread sanitizer would report
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  const auto body = [&] {
    overlapped = overlapped || inside.fetch_add(1) != 0;
    ++unprotected;
    inside.fetch_sub(1);
  };
  const auto a = add(engine, doing("a", body), group);
  const auto b = add(engine, doing("b", body), group);
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  std::thread other([&] {
    for (int i = 0; i < 3000; ++i) {
      engine.notify(*a);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    engine.notify(*b);
  }
  other.join();
  EXPECT_TRUE(eventually(
    [&] { return engine.statistics(*a).executed + engine.statistics(*b).executed == 6000; }));
  engine.stop();
  spinner.join();
  EXPECT_EQ(unprotected, 6000);
  EXPECT_FALSE(overlapped);
}

TEST_P(EngineOnLinux, callbacks_and_groups_come_and_go_while_others_run)
{
  Engine engine(platform_, options());
  std::atomic<int> ran{0};
  const auto steady = add(engine, doing("steady", [&] { ++ran; }));
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  std::atomic<bool> done{false};
  std::thread notifier([&] {
    do {  // once at least: on a busy machine all rounds may be over before this thread begins
      engine.notify(*steady);
      std::this_thread::sleep_for(microseconds(50));
    } while (!done);
  });
  for (int round = 0; round < 60; ++round) {
    const std::string name = "round " + std::to_string(round);
    const auto group = add_group(engine, name, 1 + static_cast<uint32_t>(round % 3));
    auto resource = std::make_shared<int>(round);
    const auto callback = add(engine, doing(name, [resource] { EXPECT_GE(*resource, 0); }), group);
    engine.notify(*callback, 3);
    if (round % 2 == 0) {
      EXPECT_TRUE(eventually([&] { return engine.statistics(*callback).executed > 0; }));
    }
    engine.remove(callback);
    EXPECT_TRUE(engine.remove_group(group).ok());
  }
  done = true;
  notifier.join();
  EXPECT_TRUE(eventually([&] { return ran > 0; }));
  engine.stop();
  spinner.join();
}

/// A machine that gives this process no more threads than a number that can be changed.
class ScarcePlatform : public LinuxPlatform
{
public:
  Status start_thread(
    const ThreadOptions & options, std::function<void()> body,
    const std::function<void(const Finding &)> & on_finding,
    std::unique_ptr<Thread> * thread) override
  {
    if (alive == most) {
      return Status::error("no more threads");
    }
    ++alive;
    const auto counted = [this, body = std::move(body)] {
      body();
      --alive;
    };
    return LinuxPlatform::start_thread(options, counted, on_finding, thread);
  }

  std::atomic<int> alive{0};
  std::atomic<int> most{1000};
};

TEST_P(EngineOnLinux, a_group_whose_threads_cannot_be_had_leaves_none_behind)
{
  ScarcePlatform platform;
  Engine engine(platform, options());
  std::atomic<int> ran{0};
  const auto steady = add(engine, doing("steady", [&] { ++ran; }));
  engine.notify(*steady);
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  EXPECT_TRUE(eventually([&] { return ran == 1; }));
  const int before = platform.alive;
  platform.most = before + 2;
  GroupOptions wide;
  wide.name = "wide";
  wide.parallelism = 1000;
  std::shared_ptr<Group> group;
  const Status refused = engine.add_group(wide, &group);
  if (GetParam() == ExecutionModel::kIsolated) {  // the others have a bound of their own
    EXPECT_NE(refused.message().find("no more threads"), std::string::npos) << refused.message();
    EXPECT_EQ(group, nullptr);
    EXPECT_TRUE(eventually([&] { return platform.alive == before; }));
  }
  platform.most = before + 10;
  const auto again = add(engine, doing("again", [&] { ++ran; }));
  engine.notify(*again);
  engine.notify(*steady);
  EXPECT_TRUE(eventually([&] { return ran == 3; }));
  engine.stop();
  spinner.join();
  EXPECT_EQ(platform.alive, 0);
}

TEST_P(EngineOnLinux, timers_fire_while_being_reset_and_cancelled_from_another_thread)
{
  Engine engine(platform_, options());
  const auto group = add_group(engine, "timers", 2);
  std::atomic<int> ran{0};
  std::vector<std::shared_ptr<Callback>> timers;
  for (int i = 0; i < 8; ++i) {
    CallbackOptions callback;
    callback.name = "t" + std::to_string(i);
    callback.overrun_rule = OverrunRule::kKeepLatest;
    callback.run = [&](const Job &) {
      ++ran;
      return true;
    };
    TimerOptions timer;
    timer.period = microseconds(500 + 100 * i);
    std::shared_ptr<Callback> added;
    ASSERT_TRUE(engine.add_timer(callback, timer, group, &added).ok());
    timers.push_back(added);
  }
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  for (int i = 0; i < 400; ++i) {
    const auto & timer = timers[static_cast<std::size_t>(i % 8)];
    EXPECT_TRUE((i % 3 == 0 ? engine.cancel_timer(timer) : engine.reset_timer(timer)).ok());
    std::this_thread::sleep_for(microseconds(100));
  }
  for (const auto & timer : timers) {
    EXPECT_TRUE(engine.reset_timer(timer).ok());
  }
  ran = 0;
  EXPECT_TRUE(eventually([&] { return ran > 20; }));
  for (const auto & timer : timers) {
    EXPECT_TRUE(engine.cancel_timer(timer).ok());
    EXPECT_TRUE(eventually([&] {
      const CallbackStatistics so_far = engine.statistics(*timer);
      return so_far.executed + so_far.skipped + so_far.dropped == so_far.released;
    }));
  }
  const int after_cancel = ran;
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(ran, after_cancel);
  engine.stop();
  spinner.join();
}

TEST_P(EngineOnLinux, stop_from_several_threads_at_any_moment_ends_spin)
{
  for (int round = 0; round < 30; ++round) {
    Engine engine(platform_, options());
    const auto callback = add(engine, doing("a", [] {}));
    std::thread notifier([&] {
      for (int i = 0; i < 200; ++i) {
        engine.notify(*callback);
      }
      engine.stop();
    });
    std::thread stopper([&] {
      std::this_thread::sleep_for(microseconds(20 * round));
      engine.stop();
    });
    EXPECT_TRUE(engine.spin().ok());
    notifier.join();
    stopper.join();
    EXPECT_TRUE(engine.threads().empty());
  }
}

// A thread whose group has gone is joined by whoever comes first: the end of the spin, or the next group.
TEST_P(EngineOnLinux, spin_ends_while_groups_come_and_go)
{
  constexpr int kSpins = 100;
  Engine engine(platform_, options());
  std::atomic<bool> done{false};
  std::thread changing([&] {
    for (int i = 0; !done.load(); ++i) {
      const auto group = add_group(engine, "group " + std::to_string(i));
      const auto callback = add(engine, doing("callback " + std::to_string(i), [] {}), group);
      engine.notify(*callback);
      engine.remove(callback);
      EXPECT_TRUE(engine.remove_group(group).ok());
    }
  });
  std::thread spinning([&] {
    for (int i = 0; i < kSpins; ++i) {
      const Status status = engine.spin();
      EXPECT_TRUE(status.ok()) << status.message();
    }
    done = true;
  });
  while (!done.load()) {
    std::this_thread::sleep_for(microseconds(500));
    engine.stop();
  }
  spinning.join();
  changing.join();
  EXPECT_TRUE(engine.threads().empty());
}

TEST_P(EngineOnLinux, the_thread_that_spins_is_given_back_whole)
{
  EngineOptions prefer = options();
  prefer.attributes_mode = AttributesMode::kPrefer;
  Engine engine(platform_, prefer);
  CallbackOptions fifo;
  fifo.name = "fifo";
  fifo.attributes.scheduling_policy = SchedulingPolicy::kFifo;
  fifo.attributes.priority = 5;
  Attributes within;
  fifo.run = [&](const Job &) {
    EXPECT_EQ(platform_.read_back(platform_.current_thread(), &within), 0);
    engine.stop();
    return true;
  };
  std::shared_ptr<Callback> callback;
  ASSERT_TRUE(engine.add_callback(fifo, add_group(engine, "group"), &callback).ok());
  engine.notify(*callback);
  Attributes before;
  Attributes after;
  std::thread([&] {
    EXPECT_EQ(platform_.read_back(platform_.current_thread(), &before), 0);
    EXPECT_TRUE(engine.spin().ok());
    EXPECT_EQ(platform_.read_back(platform_.current_thread(), &after), 0);
    if (platform_.apply(platform_.current_thread(), before) == EPERM) {
      after.inherited_by_children = before.inherited_by_children;  // none but the privileged may
    }
  }).join();
  if (within.scheduling_policy != SchedulingPolicy::kFifo) {
    GTEST_SKIP() << "SCHED_FIFO is not permitted";
  }
  EXPECT_FALSE(within.inherited_by_children) << "what a callback starts is not SCHED_FIFO";
  EXPECT_EQ(to_string(after), to_string(before));
  EXPECT_EQ(after.inherited_by_children, before.inherited_by_children) << "reset-on-fork";
}

TEST_P(EngineOnLinux, an_exception_leaves_no_thread_behind)
{
  Engine engine(platform_, options());
  const auto callback =
    add(engine, doing("a", [] { throw std::runtime_error("from the callback"); }));
  engine.notify(*callback);
  EXPECT_TRUE(engine.spin().ok());
  EXPECT_TRUE(engine.threads().empty());
  const std::exception_ptr exception = engine.take_exception();
  ASSERT_TRUE(exception);
  EXPECT_THROW(std::rethrow_exception(exception), std::runtime_error);
}

TEST_P(EngineOnLinux, the_trace_is_read_while_it_is_written)
{
  EngineOptions small = options();
  small.trace_capacity = 8;
  Engine engine(platform_, small);
  const auto callback = add(engine, doing("a", [] {}));
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  std::atomic<bool> done{false};
  std::atomic<uint64_t> read{0};
  const auto read_all = [&] {
    engine.read_trace([&](const rclrt_job_record & record) {
      EXPECT_EQ(record.callback, callback->id());
      EXPECT_LE(record.release_ns, record.start_ns);
      EXPECT_LE(record.start_ns, record.end_ns);
      ++read;
    });
  };
  std::thread reader([&] {
    while (!done) {
      read_all();
    }
  });
  for (int i = 0; i < 5000; ++i) {
    engine.notify(*callback);
  }
  EXPECT_TRUE(eventually([&] { return engine.statistics(*callback).executed == 5000; }));
  done = true;
  reader.join();
  engine.stop();
  spinner.join();
  read_all();
  EXPECT_EQ(read + engine.trace_source().dropped, 5000u);
}

TEST_P(EngineOnLinux, a_wake_batch_loses_nothing)
{
  Engine engine(platform_, options());
  std::atomic<int> ran{0};
  std::vector<std::shared_ptr<Callback>> callbacks;
  for (int i = 0; i < 6; ++i) {
    const std::string name = std::to_string(i);
    callbacks.push_back(add(engine, doing(name, [&] { ++ran; })));
  }
  std::thread spinner([&] { EXPECT_TRUE(engine.spin().ok()); });
  for (int i = 0; i < 500; ++i) {
    const Publication outer;
    for (const auto & callback : callbacks) {
      const Publication inner;
      engine.notify(*callback);
    }
  }
  EXPECT_TRUE(eventually([&] { return ran == 3000; })) << ran;
  engine.stop();
  spinner.join();
}

INSTANTIATE_TEST_SUITE_P(
  Models, EngineOnLinux,
  ::testing::Values(
    ExecutionModel::kPriorityEvents, ExecutionModel::kPreemptive, ExecutionModel::kIsolated),
  [](const auto & model) { return std::string(to_string(model.param)); });

}  // namespace
}  // namespace rclrt_core
