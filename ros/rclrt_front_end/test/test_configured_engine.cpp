// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the engine does not know of its configuration. The rest is tested through the front ends.

#include "rclrt_front_end/configured_engine.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rclrt_core/sim_platform.hpp"

namespace rclrt_front_end
{
namespace
{

using rclrt_core::AttributesMode;
using rclrt_core::SchedulingPolicy;

TEST(ConfiguredEngine, knows_the_names_of_callbacks_that_are_gone_but_not_for_ever)
{
  rclrt_core::SimPlatform sim;
  std::unique_ptr<ConfiguredEngine> engine;
  ASSERT_TRUE(ConfiguredEngine::make(sim, {}, &engine).ok());
  std::shared_ptr<rclrt_core::Group> group;
  rclrt_core::GroupOptions group_options;
  group_options.name = "group";
  ASSERT_TRUE(engine->add_group(group_options, "", &group).ok());
  uint32_t first = 0;
  uint32_t last = 0;
  for (int i = 0; i < 1100; ++i) {
    rclrt_core::CallbackOptions options;
    options.name = "callback " + std::to_string(i);
    options.run = [](const rclrt_core::Job &) { return true; };
    std::shared_ptr<rclrt_core::Callback> callback;
    ASSERT_TRUE(engine->add_callback(options, group, &callback).ok());
    (i == 0 ? first : last) = callback->id();
    engine->remove(callback);
  }
  const auto names = engine->callback_names();
  EXPECT_EQ(names.size(), 1024U);
  EXPECT_EQ(names.count(first), 0U);
  EXPECT_EQ(names.at(last), "callback 1099");
}

TEST(ConfiguredEngine, keeps_the_latest_release_of_a_timer_and_all_of_others_unless_told_otherwise)
{
  using rclrt_core::CallbackStatistics;
  using rclrt_core::OverrunRule;
  const auto after_three_releases = [](bool is_timer, std::optional<OverrunRule> rule) {
    rclrt_core::SimPlatform sim;
    std::unique_ptr<ConfiguredEngine> engine;
    EXPECT_TRUE(ConfiguredEngine::make(sim, {}, &engine).ok());
    std::shared_ptr<rclrt_core::Group> group;
    EXPECT_TRUE(engine->add_group({}, "", &group).ok());
    rclrt_core::CallbackOptions options;
    options.name = "/a/waitable/b";
    options.run = [](const rclrt_core::Job &) { return true; };
    options.depth = 10;
    options.overrun_rule = rule;
    std::shared_ptr<rclrt_core::Callback> callback;
    rclrt_core::TimerOptions timer;
    timer.period = std::chrono::seconds(1000);
    EXPECT_TRUE((is_timer ? engine->add_timer(options, timer, group, &callback)
                          : engine->add_callback(options, group, &callback))
                  .ok());
    engine->engine().notify(*callback, 3);
    return engine->engine().statistics(*callback).skipped;
  };
  EXPECT_EQ(after_three_releases(true, {}), 2U);
  EXPECT_EQ(after_three_releases(true, OverrunRule::kQueueAll), 0U);
  EXPECT_EQ(after_three_releases(false, {}), 0U);
  EXPECT_EQ(after_three_releases(false, OverrunRule::kKeepLatest), 2U);
}

TEST(ConfiguredEngine, a_group_that_comes_back_with_another_budget_has_that_one)
{
  rclrt_core::SimPlatform sim;
  std::unique_ptr<ConfiguredEngine> engine;
  ASSERT_TRUE(ConfiguredEngine::make(sim, {}, &engine).ok());
  const auto of = std::make_shared<int>();
  rclrt_core::GroupOptions options;
  std::vector<std::shared_ptr<rclrt_core::Group>> groups;
  for (const int runtime_ms : {1, 1, 2}) {
    options.budget.runtime = std::chrono::milliseconds(runtime_ms);
    options.budget.period = std::chrono::milliseconds(10);
    ASSERT_TRUE(engine->add_group(options, "", &groups.emplace_back(), of).ok());
    EXPECT_EQ(groups.back()->options().budget, options.budget);
    ASSERT_TRUE(engine->remove_group(groups.back()).ok());
  }
  EXPECT_EQ(groups[0], groups[1]);
}

// ---- inline_bound

struct InlineCase
{
  explicit InlineCase(
    const std::string & rmw, LocalPublishers publishers, const std::string & file = "")
  {
    ConfiguredEngineOptions options;
    options.configuration_file = file;
    options.middleware = Middleware::of(rmw);
    EXPECT_TRUE(ConfiguredEngine::make(sim, options, &engine).ok());
    EXPECT_TRUE(engine->add_group({}, "", &group).ok());
    status = add(rclrt_core::CallbackKind::kSubscription, publishers);
  }
  rclrt_core::Status add(rclrt_core::CallbackKind kind, const LocalPublishers & publishers)
  {
    rclrt_core::CallbackOptions options;
    options.name = "/a/" + std::string(to_string(kind)) + "/b";
    options.kind = kind;
    options.inline_bound = std::chrono::milliseconds(1);
    options.run = [](const rclrt_core::Job &) { return true; };
    return engine->add_callback(options, group, &callback, publishers);
  }
  bool says(const std::string & text) const
  {
    for (const rclrt_core::Finding & finding : engine->findings()) {
      if (finding.what.find(text) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

  rclrt_core::SimPlatform sim;
  std::unique_ptr<ConfiguredEngine> engine;
  std::shared_ptr<rclrt_core::Group> group;
  std::shared_ptr<rclrt_core::Callback> callback;
  rclrt_core::Status status;
};

TEST(ConfiguredEngine, says_why_a_callback_that_asks_to_be_inline_is_queued)
{
  const LocalPublishers nobody = local_publishers("/nobody");
  const InlineCase fine("rmw_fastrtps_cpp", nobody);
  EXPECT_TRUE(fine.status.ok()) << fine.status.message();
  EXPECT_FALSE(fine.says("is queued"));
  EXPECT_TRUE(
    InlineCase("rmw_cyclonedds_cpp", nobody).says("which locks rmw_cyclonedds_cpp holds"));
  EXPECT_TRUE(
    InlineCase("rmw_fastrtps_cpp", nullptr).says("whether this process publishes on its topic"));
  const PublisherHere publisher("/nobody");
  EXPECT_TRUE(fine.says("this process publishes on its topic itself"));
  fine.engine->remove(fine.callback);
  EXPECT_FALSE(fine.says("this process publishes on its topic itself"));
}

TEST(ConfiguredEngine, says_that_bounds_of_chains_do_not_count_an_inline_callback)
{
  const auto says_so_with = [](const std::string & bound) {
    const std::string file = testing::TempDir() + "inline_" + std::to_string(getpid()) + ".yaml";
    std::ofstream(file)
      << "/**:\n  ros__parameters:\n    rclrt:\n      chains:\n        grab: "
         "{callbacks: [/look/timer/10ms, /act/subscription/goal], semantics: latency, "
         "deadline: 20ms"
      << bound << "}\n";
    const InlineCase test("rmw_fastrtps_cpp", local_publishers("/nobody"), file);
    std::remove(file.c_str());
    EXPECT_TRUE(test.status.ok()) << test.status.message();
    return test.says("The bounds of this file's chains do not count that");
  };
  EXPECT_TRUE(says_so_with(", bound: 10ms"));
  EXPECT_FALSE(says_so_with(""));
}

TEST(ConfiguredEngine, has_no_inline_callbacks_but_subscriptions)
{
  InlineCase test("rmw_fastrtps_cpp", local_publishers("/nobody"));
  for (const auto kind :
       {rclrt_core::CallbackKind::kService, rclrt_core::CallbackKind::kClient,
        rclrt_core::CallbackKind::kWaitable}) {
    const rclrt_core::Status status = test.add(kind, local_publishers("/nobody"));
    EXPECT_NE(status.message().find("is for subscriptions only"), std::string::npos);
  }
}

TEST(ConfiguredEngine, says_so_when_it_finds_no_thread_of_the_middleware_to_put_above_its_callbacks)
{
  rclrt_core::SimPlatform sim;
  const auto told = [&](
                      AttributesMode mode, SchedulingPolicy policy, int priority,
                      const std::string & rmw = "rmw_of_a_friend") {
    ConfiguredEngineOptions options;
    options.middleware = Middleware::of(rmw);
    options.middleware_threads.mode = mode;
    std::unique_ptr<ConfiguredEngine> engine;
    EXPECT_TRUE(ConfiguredEngine::make(sim, options, &engine).ok());
    std::shared_ptr<rclrt_core::Group> group;
    EXPECT_TRUE(engine->add_group({}, "", &group).ok());
    rclrt_core::CallbackOptions callback;
    callback.name = "/a/subscription/b";
    callback.run = [](const rclrt_core::Job &) { return true; };
    callback.attributes.scheduling_policy = policy;
    callback.attributes.priority = priority;
    std::shared_ptr<rclrt_core::Callback> added;
    EXPECT_TRUE(engine->add_callback(callback, group, &added).ok());
    const rclrt_core::Status begun = engine->begin_spin([](const rclrt_core::Finding &) {});
    std::string text = begun.ok() ? "" : "refused: " + begun.message() + "\n";
    engine->end_spin();  // tells what was to be looked at again
    for (const rclrt_core::Finding & finding : engine->findings()) {
      text += to_string(finding) + "\n";
    }
    return text;
  };
  const std::string finding = told(AttributesMode::kPrefer, SchedulingPolicy::kFifo, 30);
  EXPECT_EQ(finding.rfind("middleware threads: none was found", 0), 0U) << finding;
  EXPECT_NE(finding.find("'/a/subscription/b' (fifo 30)"), std::string::npos) << finding;
  EXPECT_NE(
    finding.find("the names of rmw_of_a_friend's threads are not known"), std::string::npos);
  EXPECT_NE(finding.find("RMW_IMPLEMENTATION"), std::string::npos) << finding;
  // This process has no middleware, so no thread of that name either.
  const std::string known =
    told(AttributesMode::kPrefer, SchedulingPolicy::kFifo, 30, "rmw_cyclonedds_cpp");
  EXPECT_NE(known.find("no thread has a name of rmw_cyclonedds_cpp (recv, "), std::string::npos)
    << known;
  EXPECT_EQ(known.find("are not known"), std::string::npos) << known;
  EXPECT_EQ(
    told(AttributesMode::kRequire, SchedulingPolicy::kFifo, 30), "refused: " + finding + finding);
  EXPECT_EQ(told(AttributesMode::kOff, SchedulingPolicy::kFifo, 30), "");
  EXPECT_EQ(told(AttributesMode::kPrefer, SchedulingPolicy::kOther, 0), "");
}

// ---- A CPU that may not be used costs neither the start nor the priority.

using rclrt_core::Attributes;
using rclrt_core::CpuSet;
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
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
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
