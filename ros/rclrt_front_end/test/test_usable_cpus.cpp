// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A CPU that may not be used costs neither the start nor the priority.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/sim_platform.hpp"
#include "rclrt_front_end/configured_engine.hpp"

namespace rclrt_front_end
{
namespace
{

using rclrt_core::Attributes;
using rclrt_core::AttributesMode;
using rclrt_core::CpuSet;
using rclrt_core::SchedulingPolicy;
using rclrt_core::Status;
using testing::HasSubstr;

/// Four CPUs, of which the last two are offline.
class HalfMachine : public rclrt_core::SimPlatform
{
public:
  HalfMachine() : SimPlatform(4) {}
  CpuSet usable_cpu_set() override { return CpuSet({0, 1}); }
};

Attributes fifo_on(const std::vector<int> & cpus)
{
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = 50;
  attributes.cpu_affinity = CpuSet(cpus);
  return attributes;
}

class UsableCpus : public ::testing::Test
{
protected:
  Status make(ConfiguredEngineOptions options = {})
  {
    return ConfiguredEngine::make(machine_, options, &engine_);
  }

  Status add(const Attributes & attributes)
  {
    std::shared_ptr<rclrt_core::Group> group;
    EXPECT_TRUE(engine_->add_group({}, "", &group).ok());
    rclrt_core::CallbackOptions options;
    options.name = "/a/timer";
    options.run = [](const rclrt_core::Job &) { return true; };
    options.attributes = attributes;
    return engine_->add_callback(options, group, &callback_);
  }

  Attributes given() const { return engine_->engine().attributes(*callback_); }

  std::string findings() const
  {
    std::string text;
    for (const auto & finding : engine_->findings()) {
      text += to_string(finding) + "\n";
    }
    return text;
  }

  HalfMachine machine_;
  std::unique_ptr<ConfiguredEngine> engine_;
  std::shared_ptr<rclrt_core::Callback> callback_;
};

TEST_F(UsableCpus, are_kept_with_the_priority_and_the_others_left_out_with_a_finding)
{
  ASSERT_TRUE(make().ok());
  ASSERT_TRUE(add(fifo_on({1, 3})).ok());
  EXPECT_EQ(given(), fifo_on({1}));
  EXPECT_THAT(findings(), HasSubstr("'/a/timer': its cpu_affinity 1,3 names CPUs"));
  EXPECT_THAT(findings(), HasSubstr("of the process: 3. They are left out. Switch them on"));
}

TEST_F(UsableCpus, are_all_there_is_if_none_of_those_that_are_asked_for_may_be_used)
{
  ASSERT_TRUE(make().ok());
  ASSERT_TRUE(add(fifo_on({2, 3})).ok());
  EXPECT_EQ(given(), fifo_on({}));
  EXPECT_THAT(findings(), HasSubstr("left out, so it may run on every CPU of the process, 0-1"));
}

TEST_F(UsableCpus, are_nothing_to_talk_about)
{
  ASSERT_TRUE(make().ok());
  ASSERT_TRUE(add(fifo_on({0, 1})).ok());
  EXPECT_EQ(given(), fifo_on({0, 1}));
  EXPECT_EQ(findings(), "");
}

TEST_F(UsableCpus, do_not_include_those_that_the_machine_has_not_which_is_an_error)
{
  ASSERT_TRUE(make().ok());
  EXPECT_THAT(add(fifo_on({3, 9})).message(), HasSubstr("CPU 9, but this machine has CPUs 0 to 3"));
}

TEST_F(UsableCpus, are_needed_if_attributes_are_required)
{
  ConfiguredEngineOptions options;
  options.engine.attributes_mode = AttributesMode::kRequire;
  ASSERT_TRUE(make(options).ok());
  EXPECT_THAT(add(fifo_on({1, 3})).message(), HasSubstr("of the process: 3"));
}

TEST_F(UsableCpus, do_not_matter_if_the_operating_system_is_not_to_be_asked)
{
  ConfiguredEngineOptions options;
  options.engine.attributes_mode = AttributesMode::kOff;
  ASSERT_TRUE(make(options).ok());
  ASSERT_TRUE(add(fifo_on({1, 3})).ok());
  EXPECT_EQ(findings(), "");
}

TEST_F(UsableCpus, are_kept_when_attributes_are_changed_later)
{
  ASSERT_TRUE(make().ok());
  ASSERT_TRUE(add(fifo_on({0})).ok());
  ASSERT_TRUE(engine_->set_attributes(callback_, fifo_on({0, 2})).ok());
  EXPECT_EQ(given(), fifo_on({0}));
  EXPECT_THAT(findings(), HasSubstr("of the process: 2"));
}

TEST_F(UsableCpus, are_kept_for_groups_which_come_back_as_they_were)
{
  ASSERT_TRUE(make().ok());
  rclrt_core::GroupOptions options;
  options.name = "g";
  options.attributes = fifo_on({1, 3});
  std::shared_ptr<rclrt_core::Group> group;
  ASSERT_TRUE(engine_->add_group(options, "", &group).ok());
  EXPECT_EQ(group->options().attributes, fifo_on({1}));
  EXPECT_THAT(findings(), HasSubstr("group 'g': its cpu_affinity 1,3"));
  EXPECT_FALSE(engine_->has_other_options(options, "", *group));
}

TEST_F(UsableCpus, are_kept_for_the_timer_thread_and_those_of_the_middleware)
{
  ConfiguredEngineOptions options;
  options.engine.timer_thread = fifo_on({1, 3});
  options.middleware_threads.attributes = fifo_on({2});
  ASSERT_TRUE(make(options).ok());
  EXPECT_THAT(findings(), HasSubstr("the timer thread: its cpu_affinity 1,3"));
  EXPECT_THAT(findings(), HasSubstr("middleware threads: its cpu_affinity 2"));
}

}  // namespace
}  // namespace rclrt_front_end
