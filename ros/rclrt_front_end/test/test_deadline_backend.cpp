// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// scheduling_policy ext from the file to the thread: which backend, and what else it changes.

#include <gmock/gmock.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "scx_deadlines.hpp"

namespace rclrt_front_end
{
namespace
{

using rclrt_core::Attributes;
using rclrt_core::AttributesMode;
using rclrt_core::EngineOptions;
using rclrt_core::Finding;
using rclrt_core::SchedulingPolicy;
using std::chrono::milliseconds;
using testing::HasSubstr;

rclrt_core::CallbackOptions callback(const std::string & name)
{
  rclrt_core::CallbackOptions options;
  options.name = name;
  options.kind = rclrt_core::CallbackKind::kSubscription;
  return options;
}

rclrt_core::GroupOptions group(const std::string & name)
{
  rclrt_core::GroupOptions options;
  options.name = name;
  return options;
}

class MiddlewareThread
{
public:
  explicit MiddlewareThread(const char * name = "dds.test") : name_(name)
  {
    while (id_ == 0) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  ~MiddlewareThread()
  {
    over_ = true;
    thread_.join();
  }
  MiddlewareThread(const MiddlewareThread &) = delete;
  MiddlewareThread & operator=(const MiddlewareThread &) = delete;

  rclrt_core::ThreadId id() const { return id_; }

private:
  const char * const name_;
  std::atomic<rclrt_core::ThreadId> id_{0};
  std::atomic<bool> over_{false};
  std::thread thread_{[this] {
    pthread_setname_np(pthread_self(), name_);
    rclrt_core::LinuxPlatform platform;
    id_ = platform.current_thread();
    while (!over_) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }};
};

class DeadlineBackendTest : public ::testing::Test
{
protected:
  void make(ConfiguredEngineOptions options = {})
  {
    const auto made = ConfiguredEngine::make(platform_, std::move(options), &engine_);
    ASSERT_TRUE(made.ok()) << made.message();
    ASSERT_TRUE(engine_->add_group(group("/a/group/g"), "", &group_).ok());
  }

  std::shared_ptr<rclrt_core::Callback> add(
    const std::string & name, SchedulingPolicy policy, int priority = 0)
  {
    rclrt_core::CallbackOptions options = callback(name);
    options.attributes.scheduling_policy = policy;
    options.attributes.priority = priority;
    options.relative_deadline = milliseconds(5);
    options.run = [this](const rclrt_core::Job &) {
      EXPECT_EQ(platform_.read_back(platform_.current_thread(), &seen_), 0);
      engine_->engine().stop();
      return true;
    };
    std::shared_ptr<rclrt_core::Callback> added;
    EXPECT_TRUE(engine_->add_callback(options, group_, &added).ok());
    return added;
  }

  std::string findings()
  {
    std::string text;
    for (const Finding & finding : engine_->findings()) {
      text += to_string(finding) + "\n";
    }
    return text;
  }

  /// Spins until one of the callbacks has run.
  void run(const std::shared_ptr<rclrt_core::Callback> & callback)
  {
    const auto begun = engine_->begin_spin([](const Finding &) {});
    ASSERT_TRUE(begun.ok()) << begun.message();
    std::thread spinner([this] { EXPECT_TRUE(engine_->engine().spin().ok()); });
    engine_->engine().notify(*callback);
    spinner.join();
    engine_->end_spin();
  }

  Attributes in_force(rclrt_core::ThreadId thread)
  {
    Attributes has;
    EXPECT_EQ(platform_.read_back(thread, &has), 0);
    return has;
  }
  std::vector<int> usable_cpus()
  {
    return in_force(platform_.current_thread()).cpu_affinity.cpus();
  }

  const MiddlewareThread middleware_;
  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<ConfiguredEngine> engine_;
  std::shared_ptr<rclrt_core::Group> group_;
  Attributes seen_;
};

class DeadlineBackendWithPermission : public DeadlineBackendTest
{
protected:
  void SetUp() override
  {
    Attributes fifo;
    fifo.scheduling_policy = SchedulingPolicy::kFifo;
    fifo.priority = 50;
    int refused = 0;
    std::thread([&] { refused = platform_.apply(platform_.current_thread(), fifo); }).join();
    if (refused != 0) {
      GTEST_SKIP() << "SCHED_FIFO 50 is not permitted here (RLIMIT_RTPRIO)";
    }
  }
};

ConfiguredEngineOptions fifo_bands()
{
  ConfiguredEngineOptions options;
  options.engine.policy = &rclrt_core::edf_policy();
  options.middleware = Middleware::of("rmw_fastrtps_cpp");
  options.deadline_scheduler = DeadlineBackend::kFifoBands;
  return options;
}

TEST_F(DeadlineBackendWithPermission, fifo_bands_give_an_ext_callback_the_run_priority)
{
  make(fifo_bands());
  const auto callback = add("/a/subscription/b", SchedulingPolicy::kExt);
  EXPECT_EQ(engine_->deadline_scheduler(), "");
  run(callback);
  EXPECT_EQ(engine_->deadline_scheduler(), "fifo bands");
  EXPECT_EQ(seen_.scheduling_policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(seen_.priority, 49);
}

TEST_F(
  DeadlineBackendWithPermission, is_chosen_for_the_first_ext_callback_that_comes_while_it_spins)
{
  make(fifo_bands());
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  EXPECT_EQ(engine_->deadline_scheduler(), "");
  std::thread spinner([this] { EXPECT_TRUE(engine_->engine().spin().ok()); });
  for (int i = 0; i < 10000 && !engine_->engine().is_spinning(); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  std::this_thread::sleep_for(milliseconds(20));  // its threads have been asleep before
  const auto callback = add("/a/subscription/b", SchedulingPolicy::kExt);
  EXPECT_EQ(engine_->deadline_scheduler(), "fifo bands");
  engine_->engine().notify(*callback);
  spinner.join();
  engine_->end_spin();
  EXPECT_EQ(seen_.scheduling_policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(seen_.priority, 49);
  EXPECT_EQ(findings(), "");
}

/// Another one is made by an attribute that changes: the same.
TEST_F(DeadlineBackendTest, is_chosen_when_a_callback_becomes_ext_while_it_spins)
{
  make(fifo_bands());
  const auto callback = add("/a/subscription/b", SchedulingPolicy::kOther);
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  EXPECT_EQ(engine_->deadline_scheduler(), "");
  Attributes ext;
  ext.scheduling_policy = SchedulingPolicy::kExt;
  EXPECT_TRUE(engine_->set_attributes(callback, ext).ok());
  EXPECT_EQ(engine_->deadline_scheduler(), "fifo bands");
  engine_->end_spin();
}

/// Orders nothing, and says so when it is told to.
class MortalScheduler final : public rclrt_core::DeadlineScheduler
{
public:
  const char * name() const noexcept override { return "mortal"; }
  Attributes above() const noexcept override
  {
    Attributes attributes;  // as of the one in the kernel
    attributes.scheduling_policy = SchedulingPolicy::kFifo;
    attributes.priority = 1;
    return attributes;
  }
  rclrt_core::Status enter(Slot *) override { return {}; }
  void leave(Slot) noexcept override {}
  int start(Slot, rclrt_core::TimePoint) noexcept override { return 0; }
  void stop(Slot) noexcept override {}
  void forget(Slot) noexcept override {}
  bool in_force() const noexcept override { return alive; }
  std::vector<Finding> findings() const override
  {
    return alive ? std::vector<Finding>{} : std::vector<Finding>{{"ext", "was ejected", 0, ""}};
  }
  std::atomic<bool> alive{true};
};

TEST_F(DeadlineBackendTest, that_is_ejected_is_told_at_once_and_chosen_anew_for_the_next_spin)
{
  std::vector<std::shared_ptr<MortalScheduler>> made;
  ConfiguredEngineOptions options = fifo_bands();
  options.make_deadline_scheduler = [&](auto, auto &, const auto &) {
    made.push_back(std::make_shared<MortalScheduler>());
    return made.back();
  };
  make(options);
  const auto callback = add("/a/subscription/b", SchedulingPolicy::kExt);
  run(callback);
  run(callback);
  ASSERT_EQ(made.size(), 1u) << "it is in force still";
  EXPECT_EQ(engine_->deadline_scheduler(), "mortal");
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  made[0]->alive = false;
  EXPECT_EQ(engine_->deadline_scheduler(), "mortal (not in force any more)");
  EXPECT_THAT(findings(), HasSubstr("was ejected"));
  add("/a/subscription/c", SchedulingPolicy::kExt);
  EXPECT_EQ(made.size(), 1u) << "its threads have slots of the old one";
  engine_->end_spin();
  run(callback);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(engine_->deadline_scheduler(), "mortal");
  EXPECT_THAT(findings(), HasSubstr("was ejected")) << "and stays told";
}

TEST_F(DeadlineBackendTest, of_the_user_is_never_replaced)
{
  const auto theirs = std::make_shared<MortalScheduler>();
  ConfiguredEngineOptions options = fifo_bands();
  options.engine.deadlines = theirs;
  make(options);
  const auto callback = add("/a/subscription/b", SchedulingPolicy::kExt);
  theirs->alive = false;
  run(callback);
  EXPECT_EQ(engine_->engine().deadline_scheduler(), theirs);
}

/// In full mode threads of the middleware that are not real-time would be background to the kernel's
/// scheduler, behind every job that they feed.
TEST_F(
  DeadlineBackendWithPermission, threads_of_the_middleware_are_raised_above_ext_or_are_a_finding)
{
  Attributes has;
  for (const bool is_kernels : {true, false}) {
    for (const auto mode : {AttributesMode::kPrefer, AttributesMode::kOff}) {
      ConfiguredEngineOptions options = fifo_bands();
      options.middleware_threads.mode = mode;
      if (is_kernels) {
        options.engine.deadlines = std::make_shared<MortalScheduler>();
      }
      make(options);
      add("/a/subscription/b", SchedulingPolicy::kExt);
      ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
      has = in_force(middleware_.id());
      if (mode == AttributesMode::kPrefer) {
        EXPECT_EQ(has.scheduling_policy, SchedulingPolicy::kFifo);
        EXPECT_EQ(has.priority, is_kernels ? 1 : 50);
        EXPECT_EQ(findings(), "");
      } else {
        EXPECT_EQ(has.scheduling_policy, SchedulingPolicy::kOther);
        EXPECT_THAT(findings(), HasSubstr("middleware threads dds.test"));
      }
      engine_->end_spin();
      has = in_force(middleware_.id());
      EXPECT_EQ(has.scheduling_policy, SchedulingPolicy::kOther) << "it gets back what it had";
    }
  }
  // A spin is refused if the attributes it must set would leave the middleware's threads behind.
  ConfiguredEngineOptions options = fifo_bands();
  options.middleware_threads.mode = AttributesMode::kRequire;
  options.middleware_threads.attributes.emplace().scheduling_policy = SchedulingPolicy::kOther;
  options.engine.deadlines = std::make_shared<MortalScheduler>();
  make(options);
  add("/a/subscription/b", SchedulingPolicy::kExt);
  EXPECT_FALSE(engine_->begin_spin([](const Finding &) {}).ok());
}

/// Until it has run, a new thread has the name of the one that made it.
TEST_F(
  DeadlineBackendWithPermission,
  threads_of_the_middleware_that_get_their_names_late_are_raised_as_well)
{
  make(fifo_bands());
  add("/a/subscription/b", SchedulingPolicy::kFifo, 30);
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  const MiddlewareThread late("dds.ev.0");
  EXPECT_TRUE(engine_->look_at_threads()) << "none that receives is there";
  Attributes has = in_force(late.id());
  EXPECT_EQ(has.scheduling_policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(has.priority, 31);
  engine_->end_spin();
  has = in_force(late.id());
  EXPECT_EQ(has.scheduling_policy, SchedulingPolicy::kOther) << "it gets back what it had";
  EXPECT_EQ(findings(), "");
}

TEST_F(
  DeadlineBackendWithPermission,
  that_threads_of_the_middleware_are_outranked_is_told_if_it_is_so_later)
{
  ConfiguredEngineOptions options = fifo_bands();
  options.middleware_threads.attributes.emplace().scheduling_policy = SchedulingPolicy::kOther;
  make(options);
  add("/a/subscription/b", SchedulingPolicy::kFifo, 30);
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  EXPECT_EQ(findings(), "") << "they may not have their names yet";
  for (int i = 0; i < 5; ++i) {
    engine_->look_at_threads();
  }
  EXPECT_THAT(findings(), HasSubstr("middleware threads dds.test: are not more urgent"));
  engine_->end_spin();
}

TEST_F(
  DeadlineBackendWithPermission,
  threads_of_the_middleware_are_let_go_with_an_engine_whose_spin_was_not_ended)
{
  make(fifo_bands());
  add("/a/subscription/b", SchedulingPolicy::kFifo, 30);
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  Attributes has = in_force(middleware_.id());
  EXPECT_EQ(has.scheduling_policy, SchedulingPolicy::kFifo);
  group_.reset();
  engine_.reset();
  has = in_force(middleware_.id());
  EXPECT_EQ(has.scheduling_policy, SchedulingPolicy::kOther);
}

TEST_F(DeadlineBackendTest, is_not_made_for_executors_without_ext_callbacks)
{
  make(fifo_bands());
  run(add("/a/subscription/b", SchedulingPolicy::kOther));
  EXPECT_EQ(engine_->deadline_scheduler(), "");
}

TEST_F(DeadlineBackendWithPermission, the_timer_thread_outranks_every_ext_callback)
{
  make(fifo_bands());
  add("/a/subscription/b", SchedulingPolicy::kExt);
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  Attributes timers;
  const auto look = [&] {
    for (const auto & thread : engine_->engine().threads()) {
      if (thread.name == "rclrt timers") {
        timers = thread.in_force;
      }
    }
  };
  std::thread spinner([this] { EXPECT_TRUE(engine_->engine().spin().ok()); });
  for (int i = 0; i < 10000 && timers.priority != 50; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    look();
  }
  engine_->engine().stop();
  spinner.join();
  engine_->end_spin();
  EXPECT_EQ(timers.scheduling_policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(timers.priority, 50);
}

TEST_F(DeadlineBackendTest, sched_ext_that_is_not_loaded_is_a_finding_with_a_remedy)
{
  const auto present =
    make_deadline_scheduler(DeadlineBackend::kSchedExt, platform_, [](const Finding &) {});
  if (present) {
    GTEST_SKIP() << "the scheduler is loaded on this machine";
  }
  ConfiguredEngineOptions options = fifo_bands();
  options.deadline_scheduler = DeadlineBackend::kSchedExt;
  make(options);
  run(add("/a/subscription/b", SchedulingPolicy::kExt));
  EXPECT_EQ(engine_->deadline_scheduler(), "");
  EXPECT_THAT(findings(), HasSubstr("rclrt scx load"));
}

TEST_F(DeadlineBackendTest, auto_takes_what_is_there)
{
  std::string told;
  const auto chosen = make_deadline_scheduler(
    DeadlineBackend::kAuto, platform_, [&](const Finding & finding) { told += finding.what; });
  ASSERT_NE(chosen, nullptr) << told;
  const auto in_kernel =
    make_deadline_scheduler(DeadlineBackend::kSchedExt, platform_, [](const Finding &) {});
  EXPECT_STREQ(chosen->name(), in_kernel ? "sched_ext" : "fifo bands");
}

TEST_F(DeadlineBackendTest, auto_tells_why_the_loaded_scheduler_is_not_used)
{
  for (const std::string reason : {"may not open", "speaks version 1"}) {
    for (const bool is_loaded : {true, false}) {
      const KernelDeadlines kernel{
        [&](auto &, std::string * why) {
          *why = reason;
          return nullptr;
        },
        [&] { return is_loaded; }};
      std::string told;
      const auto chosen = make_deadline_scheduler_with(
        kernel, DeadlineBackend::kAuto, platform_,
        [&](const Finding & finding) { told += to_string(finding); });
      ASSERT_NE(chosen, nullptr);
      EXPECT_STREQ(chosen->name(), "fifo bands");
      if (is_loaded) {
        EXPECT_THAT(told, HasSubstr("cannot be used from here: " + reason));
        EXPECT_THAT(told, HasSubstr("deadline_scheduler fifo_bands"));
      } else {
        EXPECT_EQ(told, "") << "the usual case";
      }
    }
  }
}

TEST_F(DeadlineBackendTest, priorities_among_the_bands_and_another_order_of_waiting_are_findings)
{
  ConfiguredEngineOptions options = fifo_bands();
  options.engine.policy = &rclrt_core::fixed_priority_policy();
  make(options);
  add("/a/subscription/among", SchedulingPolicy::kFifo, 49);
  add("/a/subscription/above", SchedulingPolicy::kFifo, 60);
  add("/a/subscription/b", SchedulingPolicy::kExt);
  ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
  engine_->end_spin();
  EXPECT_THAT(findings(), HasSubstr("'/a/subscription/among'"));
  EXPECT_THAT(findings(), testing::Not(HasSubstr("'/a/subscription/above'")));
  EXPECT_THAT(findings(), HasSubstr("fixed_priority"));
}

TEST_F(DeadlineBackendTest, an_affinity_that_the_bands_cannot_heed_is_a_finding)
{
  if (platform_.usable_cpus() < 2) {
    GTEST_SKIP() << "needs 2 CPUs";
  }
  const int one = usable_cpus().front();
  for (const bool is_kernels : {false, true}) {
    ConfiguredEngineOptions options = fifo_bands();
    if (is_kernels) {
      options.engine.deadlines = std::make_shared<MortalScheduler>();
    }
    make(options);
    for (const std::vector<int> & cpus : {std::vector<int>{}, {one}, usable_cpus()}) {
      rclrt_core::CallbackOptions confined =
        callback("/a/subscription/" + std::to_string(cpus.size()));
      confined.run = [](const rclrt_core::Job &) { return true; };
      confined.attributes.scheduling_policy = SchedulingPolicy::kExt;
      confined.attributes.cpu_affinity = rclrt_core::CpuSet(cpus);
      std::shared_ptr<rclrt_core::Callback> added;
      EXPECT_TRUE(engine_->add_callback(confined, group_, &added).ok());
    }
    ASSERT_TRUE(engine_->begin_spin([](const Finding &) {}).ok());
    engine_->end_spin();
    const std::string told = findings();
    EXPECT_THAT(told, testing::Not(HasSubstr("/a/subscription/0")));
    EXPECT_THAT(
      told, testing::Not(HasSubstr("/a/subscription/" + std::to_string(usable_cpus().size()))));
    if (is_kernels) {
      EXPECT_THAT(told, testing::Not(HasSubstr("cpu_affinity")));
    } else {
      EXPECT_THAT(
        told,
        HasSubstr("'/a/subscription/1': its cpu_affinity " + std::to_string(one) + " is narrower"));
    }
  }
}

}  // namespace
}  // namespace rclrt_front_end
