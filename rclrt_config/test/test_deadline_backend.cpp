// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// scheduling_policy ext from the file to the thread: which backend, and what else it changes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "machine_of.hpp"
#include "rclrt_config/configured_engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_config
{
namespace
{

using rclrt_core::Attributes;
using rclrt_core::EngineOptions;
using rclrt_core::Finding;
using rclrt_core::SchedulingPolicy;
using std::chrono::milliseconds;
using testing::HasSubstr;

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
    options.attributes.policy = policy;
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

  static bool may_have_priorities()
  {
    rclrt_core::LinuxPlatform platform;
    Attributes fifo;
    fifo.policy = SchedulingPolicy::kFifo;
    fifo.priority = 50;
    int refused = 0;
    std::thread([&] { refused = platform.apply(platform.current_thread(), fifo); }).join();
    return refused == 0;
  }

  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<ConfiguredEngine> engine_;
  std::shared_ptr<rclrt_core::Group> group_;
  Attributes seen_;
};

ConfiguredEngineOptions fifo_bands()
{
  ConfiguredEngineOptions options;
  options.engine.policy = &rclrt_core::edf_policy();
  options.deadline_scheduler = DeadlineBackend::kFifoBands;
  return options;
}

TEST_F(DeadlineBackendTest, fifo_bands_give_an_ext_callback_the_run_priority)
{
  if (!may_have_priorities()) {
    GTEST_SKIP() << "SCHED_FIFO 50 is not permitted here (RLIMIT_RTPRIO)";
  }
  make(fifo_bands());
  const auto callback = add("/a/subscription/b", SchedulingPolicy::kExt);
  EXPECT_EQ(engine_->deadline_scheduler(), "");
  run(callback);
  EXPECT_EQ(engine_->deadline_scheduler(), "fifo bands");
  EXPECT_EQ(seen_.policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(seen_.priority, 49);
}

TEST_F(DeadlineBackendTest, is_not_made_for_executors_without_ext_callbacks)
{
  make(fifo_bands());
  run(add("/a/subscription/b", SchedulingPolicy::kOther));
  EXPECT_EQ(engine_->deadline_scheduler(), "");
}

TEST_F(DeadlineBackendTest, the_timer_thread_outranks_every_ext_callback)
{
  if (!may_have_priorities()) {
    GTEST_SKIP() << "SCHED_FIFO 50 is not permitted here (RLIMIT_RTPRIO)";
  }
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
  EXPECT_EQ(timers.policy, SchedulingPolicy::kFifo);
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

TEST(DeadlineBackendFile, ext_in_the_file_makes_the_executor_order_by_deadline)
{
  const std::string entry =
    "      callbacks:\n        /a/*/*: {scheduling_policy: ext, relative_deadline: 5ms}\n";
  Configuration configuration = parsed(rclrt_file(entry));
  EngineOptions options;
  ASSERT_TRUE(configuration.apply(&options).ok());
  EXPECT_EQ(options.policy, &rclrt_core::edf_policy());
  auto ext = callback("/a/subscription/b");
  ASSERT_TRUE(configuration.apply(&ext).ok());
  EXPECT_EQ(ext.attributes.policy, SchedulingPolicy::kExt);
  EXPECT_EQ(ext.relative_deadline, milliseconds(5));

  configuration =
    parsed(rclrt_file("      executor: {policy: fifo, deadline_scheduler: sched_ext}\n" + entry));
  ASSERT_TRUE(configuration.apply(&options).ok());
  EXPECT_EQ(options.policy, &rclrt_core::fifo_policy());
  EXPECT_EQ(configuration.deadline_scheduler(), DeadlineBackend::kSchedExt);
  EXPECT_THAT(
    error_in(rclrt_file("      executor: {deadline_scheduler: edf}\n")),
    HasSubstr("Use auto, sched_ext or fifo_bands"));
}

}  // namespace
}  // namespace rclrt_config
