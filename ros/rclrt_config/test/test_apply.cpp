// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What entries do to what the code says.

#include <gmock/gmock.h>

#include "machine_of.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/sim_platform.hpp"

namespace rclrt_config
{
namespace
{

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using rclrt_core::Attributes;
using rclrt_core::AttributesMode;
using rclrt_core::CallbackKind;
using rclrt_core::CallbackOptions;
using rclrt_core::CpuSet;
using rclrt_core::EngineOptions;
using rclrt_core::ExecutionModel;
using rclrt_core::OverrunRule;
using rclrt_core::PriorityKey;
using rclrt_core::PriorityTask;
using rclrt_core::SchedulingPolicy;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Entries of callbacks, each on a line of its own from line 5 on.
std::string callbacks_file(const std::vector<std::string> & lines)
{
  std::string text = "      callbacks:\n";
  for (const std::string & line : lines) {
    text += "        " + line + "\n";
  }
  return rclrt_file(text);
}

CallbackOptions applied(const std::vector<std::string> & lines, CallbackOptions options)
{
  Configuration configuration = parsed(callbacks_file(lines));
  const auto status = configuration.apply(&options);
  EXPECT_TRUE(status.ok()) << status.message();
  return options;
}

/// What an engine on 4 CPUs has against what the file makes of this.
std::string refusal_of(Configuration & configuration, CallbackOptions options)
{
  EXPECT_TRUE(configuration.apply(&options).ok());
  options.run = [](const rclrt_core::Job &) { return true; };
  rclrt_core::SimPlatform platform(4);
  rclrt_core::Engine engine(platform, {});
  std::shared_ptr<rclrt_core::Group> group;
  EXPECT_TRUE(engine.add_group({}, &group).ok());
  std::shared_ptr<rclrt_core::Callback> callback;
  return engine.add_callback(std::move(options), group, &callback).message();
}

TEST(Apply, each_field_of_a_callback_arrives)
{
  const CallbackOptions options = applied(
    {"/p/subscription/scan: {scheduling_policy: fifo, priority: 80, cpu_affinity: [1, 3], "
     "relative_deadline: 1.5ms, deadline_from: header_stamp, clock_error: 0, overruns: skip, "
     "budget: {runtime: 2ms, period: 20ms, on_overrun: "
     "notify}, "
     "inherit_priority: true}"},
    callback("/p/subscription/scan"));
  EXPECT_EQ(options.budget.runtime, 2ms);
  EXPECT_EQ(options.budget.period, 20ms);
  EXPECT_EQ(options.budget.on_overrun, rclrt_core::OnOverrun::kNotify);
  EXPECT_EQ(to_string(options.attributes), "fifo, priority 80, cpu_affinity 1,3");
  EXPECT_EQ(options.queue_priority, 0);
  EXPECT_EQ(options.relative_deadline, 1500us);
  EXPECT_EQ(options.deadline_from, rclrt_core::DeadlineFrom::kHeaderStamp);
  EXPECT_EQ(options.clock_error, 0us);
  EXPECT_EQ(options.overrun_rule, OverrunRule::kSkip);
  EXPECT_TRUE(options.inherit_priority);
}

TEST(Apply, a_budget_demotes_unless_told_otherwise_and_the_last_entry_wins)
{
  const CallbackOptions options = applied(
    {"/p/timer/*: {budget: {runtime: 2ms, period: 20ms, on_overrun: notify}}",
     "/p/timer/x: {budget: {runtime: 3ms, period: 30ms}}"},
    callback("/p/timer/x"));
  EXPECT_EQ(options.budget.runtime, 3ms);
  EXPECT_EQ(options.budget.period, 30ms);
  EXPECT_EQ(options.budget.on_overrun, rclrt_core::OnOverrun::kDemote);
}

TEST(Apply, each_policy_arrives)
{
  const struct
  {
    const char * fields;
    const char * expected;
  } cases[] = {
    {"scheduling_policy: other", "other, nice 0"},
    {"scheduling_policy: other, nice: -20", "other, nice -20"},
    {"scheduling_policy: batch, nice: 19", "batch, nice 19"},
    {"scheduling_policy: idle", "idle"},
    {"scheduling_policy: fifo, priority: 99", "fifo, priority 99"},
    {"scheduling_policy: rr, priority: 1", "rr, priority 1"},
    {"scheduling_policy: deadline, runtime: 5ms, deadline: 10000us, period: 0.02s",
     "deadline, runtime 5000000 ns, deadline 10000000 ns, period 20000000 ns"},
    {"scheduling_policy: deadline, runtime: 5000us, deadline: 10ms, period: 20000000ns",
     "deadline, runtime 5000000 ns, deadline 10000000 ns, period 20000000 ns"},
  };
  for (const auto & c : cases) {
    const CallbackOptions options =
      applied({std::string("/p/timer/x: {") + c.fields + "}"}, callback("/p/timer/x"));
    EXPECT_EQ(to_string(options.attributes), c.expected);
  }
}

TEST(Apply, what_the_file_does_not_name_stays_as_the_code_says_but_a_policy_starts_afresh)
{
  CallbackOptions code = callback("/p/timer/x");
  code.attributes.scheduling_policy = SchedulingPolicy::kFifo;
  code.attributes.priority = 20;
  code.attributes.cpu_affinity = CpuSet({2});
  code.queue_priority = 50;
  code.relative_deadline = 3ms;
  code.overrun_rule = OverrunRule::kKeepLatest;
  code.depth = 7;
  const CallbackOptions options = applied({"/p/timer/x: {priority: 30}"}, code);
  EXPECT_EQ(to_string(options.attributes), "fifo, priority 30, cpu_affinity 2");
  EXPECT_EQ(options.queue_priority, 0) << "that of the priority";
  EXPECT_EQ(options.relative_deadline, 3ms);
  EXPECT_EQ(options.overrun_rule, OverrunRule::kKeepLatest);
  EXPECT_EQ(options.depth, 7u);
  EXPECT_EQ(applied({"/p/timer/y: {priority: 30}"}, code).attributes, code.attributes);
  const CallbackOptions afresh = applied({"/p/timer/x: {scheduling_policy: other, nice: 5}"}, code);
  EXPECT_EQ(to_string(afresh.attributes), "other, nice 5, cpu_affinity 2");
  EXPECT_EQ(afresh.queue_priority, 0);
}

TEST(
  Apply,
  the_place_in_the_queue_needs_no_policy_and_is_that_of_the_priority_unless_the_entry_says_it)
{
  CallbackOptions code = callback("/p/timer/x");
  code.queue_priority = 5;
  const auto place = [&](const std::string & entry) {
    const CallbackOptions options = applied({"/p/timer/x: " + entry}, code);
    return to_string(options.attributes) + ": " + std::to_string(options.queue_priority);
  };
  EXPECT_EQ(place("{queue_priority: 30}"), "unchanged: 30");
  EXPECT_EQ(place("{scheduling_policy: rr, priority: 30}"), "rr, priority 30: 0");
  EXPECT_EQ(
    place("{scheduling_policy: fifo, priority: 30, queue_priority: 7}"), "fifo, priority 30: 7");
}

TEST(Apply, the_last_match_in_the_file_wins_field_by_field)
{
  const std::vector<std::string> lines = {
    "/p/timer/*: {scheduling_policy: fifo, priority: 60, overruns: skip, cpu_affinity: [0]}",
    "/p/timer/x: {priority: 70, cpu_affinity: [1]}",
    "/**/timer/x: {priority: 50}",
    "/p/timer/z: {priority: 99}",
  };
  const CallbackOptions x = applied(lines, callback("/p/timer/x"));
  EXPECT_EQ(to_string(x.attributes), "fifo, priority 50, cpu_affinity 1");
  EXPECT_EQ(x.overrun_rule, OverrunRule::kSkip);
  EXPECT_EQ(
    to_string(applied(lines, callback("/p/timer/y")).attributes),
    "fifo, priority 60, cpu_affinity 0");
}

TEST(Apply, names_under_a_node_go_on_from_its_name)
{
  Configuration configuration = parsed(
    "/**:\n  ros__parameters: {rclrt: {callbacks: {timer/*: {queue_priority: 1}}}}\n"
    "/ns/p:\n  ros__parameters: {speed: 2, rclrt: {callbacks: {timer/x: {queue_priority: 2}}}}\n"
    "ns:\n  q:\n    ros__parameters: {rclrt: {callbacks: {timer/x: {queue_priority: 3}}}}\n"
    "/*/r:\n  ros__parameters: {rclrt: {callbacks: {timer/x: {queue_priority: 4}}}}\n");
  const auto priority_of = [&](const std::string & name) {
    CallbackOptions options = callback(name);
    EXPECT_TRUE(configuration.apply(&options).ok());
    return options.queue_priority;
  };
  EXPECT_EQ(priority_of("/other/timer/x"), 1);
  EXPECT_EQ(priority_of("/ns/p/timer/y"), 1);
  EXPECT_EQ(priority_of("/ns/p/timer/x"), 2);
  EXPECT_EQ(priority_of("/ns/q/timer/x"), 3);
  EXPECT_EQ(priority_of("/any/r/timer/x"), 4);
  EXPECT_EQ(priority_of("/any/r/subscription/x"), 0);
}

TEST(Apply, what_the_engine_refuses_is_told_with_the_places_of_all_entries)
{
  const struct
  {
    std::vector<std::string> lines;
    const char * start;
    const char * reason;
  } cases[] = {
    {{"/p/*/*: {scheduling_policy: other, nice: 5}", "/p/subscription/x: {priority: 70}"},
     "f:6:9 (put over f:5:9): callback '/p/subscription/x': ",
     "only scheduling_policy fifo and rr have one"},
    {{"/p/subscription/x: {relative_deadline: 5ms, deadline_from: source_stamp, clock_error: 5ms}"},
     "f:5:9: callback '/p/subscription/x': deadline_from source_stamp: a clock_error",
     ""},
    {{"/p/subscription/x: {nice: 5}"},
     "f:5:9: ",
     "only scheduling_policy other and batch have one"},
    {{"/p/subscription/y: {nice: 5}", "/p/subscription/x: {priority: 5}"},
     "f:6:9: ",
     "only scheduling_policy fifo and rr"},
    {{"/p/subscription/x: {priority: 5}"}, "f:5:9: ", "queue_priority orders"},
  };
  for (const auto & c : cases) {
    Configuration configuration = parsed(callbacks_file(c.lines));
    EXPECT_THAT(
      refusal_of(configuration, callback("/p/subscription/x")),
      AllOf(StartsWith(c.start), HasSubstr(c.reason)));
  }
}

TEST(Apply, groups_have_entries_and_budgets_of_their_own_and_the_last_entry_wins)
{
  Configuration configuration =
    parsed(rclrt_file("      groups:\n"
                      "        /**/group/*: {scheduling_policy: rr, priority: 10, "
                      "budget: {runtime: 2ms, period: 20ms, on_overrun: notify}}\n"
                      "        /p/group/default: {budget: {runtime: 3ms, period: 30ms}}\n"
                      "        /p/group/*: {priority: 11, cpu_affinity: [2]}\n"));
  rclrt_core::GroupOptions options = group("/p/group/default");
  configuration.apply(&options);
  EXPECT_EQ(to_string(options.attributes), "rr, priority 11, cpu_affinity 2");
  EXPECT_EQ(options.budget, (rclrt_core::Budget{3ms, 30ms, rclrt_core::OnOverrun::kDemote}));
  options = group("/q/group/1");
  configuration.apply(&options);
  EXPECT_EQ(to_string(options.attributes), "rr, priority 10");
  EXPECT_EQ(options.budget, (rclrt_core::Budget{2ms, 20ms, rclrt_core::OnOverrun::kNotify}));
}

TEST(Apply, the_callbacks_of_a_chain_share_its_budget)
{
  const std::string chains =
    "      chains:\n"
    "        c: {callbacks: [/p/timer/x, /q/subscription/*], budget: {runtime: 2ms, period: 20ms, "
    "on_overrun: notify}}\n"
    "        d: {callbacks: [/p/timer/x, /r/timer/x]}\n";
  Configuration configuration = parsed(rclrt_file(chains));
  for (const char * name : {"/p/timer/x", "/q/subscription/y"}) {
    CallbackOptions options = callback(name);
    ASSERT_TRUE(configuration.apply(&options).ok());
    EXPECT_EQ(options.chain, "c");
    EXPECT_EQ(options.budget, (rclrt_core::Budget{2ms, 20ms, rclrt_core::OnOverrun::kNotify}));
  }
  CallbackOptions other = callback("/r/timer/x");
  ASSERT_TRUE(configuration.apply(&other).ok());
  EXPECT_FALSE(other.budget.exists());

  const char * const two[] = {
    "        e: {callbacks: [/p/timer/x], budget: {runtime: 1ms, period: 20ms}}\n",
    "      callbacks:\n        /p/timer/x: {budget: {runtime: 1ms, period: 20ms}}\n"};
  for (const char * more : two) {
    Configuration wrong = parsed(rclrt_file(chains + more));
    CallbackOptions options = callback("/p/timer/x");
    const auto status = wrong.apply(&options);
    EXPECT_THAT(
      status.message(),
      AllOf(HasSubstr("'/p/timer/x', too, which has one already"), HasSubstr("Remove one")));
    EXPECT_FALSE(options.budget.exists()) << "unchanged";
  }
}

TEST(Apply, a_priority_of_a_group_without_a_policy_is_told)
{
  Configuration configuration =
    parsed(rclrt_file("      groups: {/p/group/default: {priority: 11}}\n"));
  rclrt_core::GroupOptions options = group("/p/group/default");
  configuration.apply(&options);
  rclrt_core::SimPlatform platform(4);
  rclrt_core::Engine engine(platform, {});
  std::shared_ptr<rclrt_core::Group> group;
  EXPECT_THAT(
    engine.add_group(options, &group).message(),
    AllOf(StartsWith("f:4:16: group '/p/group/default'"), HasSubstr("fifo and rr")));
}

TEST(Apply, each_field_of_an_executor_arrives)
{
  Configuration configuration = parsed(rclrt_file(
    "      executor:\n"
    "        policy: edf\n"
    "        max_threads: 16\n"
    "        attributes: require\n"
    "        lock_memory: true\n"
    "        stack_size: 262144\n"
    "        wait: adaptive\n"
    "        spin: 200us\n"
    "        timer_thread: {scheduling_policy: fifo, priority: 91}\n"
    "        middleware_thread: {scheduling_policy: fifo, priority: 90, cpu_affinity: [3]}\n"
    "        threads: {spdlog*: {scheduling_policy: other, nice: 5, cpu_affinity: [0]}}\n"));
  EngineOptions options;
  ASSERT_TRUE(configuration.apply(&options).ok());
  EXPECT_EQ(options.policy, &rclrt_core::edf_policy());
  EXPECT_EQ(options.max_threads, 16u);
  EXPECT_EQ(options.attributes_mode, AttributesMode::kRequire);
  EXPECT_TRUE(options.lock_memory);
  EXPECT_EQ(options.stack_size, 262'144u);
  EXPECT_EQ(options.waiting.kind, rclrt_core::Waiting::kAdaptive);
  EXPECT_EQ(options.waiting.spin, std::chrono::microseconds(200));
  EXPECT_EQ(to_string(options.timer_thread), "fifo, priority 91");
  const auto threads = configuration.threads();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].name, "spdlog*");
  EXPECT_EQ(to_string(threads[0].attributes), "other, nice 5, cpu_affinity 0");
  ASSERT_TRUE(configuration.middleware_thread());
  EXPECT_EQ(to_string(*configuration.middleware_thread()), "fifo, priority 90, cpu_affinity 3");
  EXPECT_TRUE(configuration.notes().empty());
}

TEST(Apply, each_policy_and_mode_of_an_executor_arrives)
{
  const auto policy = [](const std::string & word) {
    Configuration configuration = parsed(rclrt_file("      executor: {policy: " + word + "}\n"));
    EngineOptions options;
    EXPECT_TRUE(configuration.apply(&options).ok());
    return std::pair(std::string(options.policy->name()), configuration.priority_key());
  };
  using Key = std::optional<PriorityKey>;
  EXPECT_EQ(policy("first_come"), std::pair(std::string("first_come"), Key()));
  EXPECT_EQ(policy("edf"), std::pair(std::string("edf"), Key()));
  EXPECT_EQ(policy("fixed_priority"), std::pair(std::string("fixed_priority"), Key()));
  EXPECT_EQ(
    policy("rate_monotonic"),
    std::pair(std::string("fixed_priority"), Key(PriorityKey::kRateMonotonic)));
  EXPECT_EQ(
    policy("deadline_monotonic"),
    std::pair(std::string("fixed_priority"), Key(PriorityKey::kDeadlineMonotonic)));

  const auto mode = [](const std::string & word) {
    Configuration configuration =
      parsed(rclrt_file("      executor: {attributes: " + word + "}\n"));
    EngineOptions options;
    EXPECT_TRUE(configuration.apply(&options).ok());
    return options.attributes_mode;
  };
  EXPECT_EQ(mode("require"), AttributesMode::kRequire);
  EXPECT_EQ(mode("prefer"), AttributesMode::kPrefer);
  EXPECT_EQ(mode("off"), AttributesMode::kOff);
}

TEST(Apply, bounds_of_a_pool_that_is_none_are_noted)
{
  Configuration configuration = parsed(rclrt_file("      executor: {max_threads: 8}\n"));
  EngineOptions options;
  options.model = ExecutionModel::kIsolated;
  ASSERT_TRUE(configuration.apply(&options).ok());
  ASSERT_EQ(configuration.notes().size(), 1u);
  EXPECT_THAT(configuration.notes()[0].what, HasSubstr("the model is isolated"));
}

TEST(Apply, entries_that_matched_nothing_are_told_with_their_place_and_the_nearest_name)
{
  Configuration configuration = parsed(callbacks_file(
    {"/p/subscription/scan: {queue_priority: 1}", "/p/subscription/skan: {queue_priority: 1}",
     "/q/timer/x: {queue_priority: 1}", "/**/service/*: {queue_priority: 1}"}));
  EXPECT_EQ(configuration.unmatched().size(), 4u);
  rclrt_core::GroupOptions of_p = group("/p/group/default");
  CallbackOptions scan = callback("/p/subscription/scan");
  configuration.apply(&of_p);
  ASSERT_TRUE(configuration.apply(&scan).ok());
  const auto unmatched = configuration.unmatched();
  ASSERT_EQ(unmatched.size(), 3u);
  EXPECT_EQ(unmatched[0].finding.subject, "f:6:9");
  EXPECT_THAT(unmatched[0].finding.what, HasSubstr("'/p/subscription/skan' matches no callback"));
  EXPECT_THAT(unmatched[0].finding.fix, HasSubstr("'/p/subscription/scan'"));
  EXPECT_TRUE(unmatched[0].node_is_here);
  EXPECT_EQ(unmatched[0].finding.severity, rclrt_core::Severity::kWarning);
  EXPECT_EQ(unmatched[1].finding.subject, "f:7:9");
  EXPECT_FALSE(unmatched[1].node_is_here) << "/q may be in another process";
  EXPECT_EQ(unmatched[1].finding.severity, rclrt_core::Severity::kNote);
  EXPECT_FALSE(unmatched[2].node_is_here) << "a default for all nodes";
}

TEST(Derive, timers_are_ranked_by_period_or_by_deadline_within_the_range)
{
  const Configuration configuration =
    parsed(rclrt_file("      executor: {policy: rate_monotonic}\n"));
  std::vector<PriorityTask> timers(4);
  timers[0].period = 100ms;
  timers[1].period = 10ms;
  timers[2].period = 100ms;
  timers[2].relative_deadline = 1ms;  // does not count here
  timers[3].period = 0ms;             // always due
  std::vector<PriorityTask> same = timers;
  ASSERT_TRUE(configuration.derive_priorities(&timers).ok());
  EXPECT_EQ(timers[1].priority, Configuration::kHighestDerived);
  EXPECT_EQ(timers[0].priority, Configuration::kHighestDerived - 1);
  EXPECT_EQ(timers[2].priority, Configuration::kHighestDerived - 1);
  EXPECT_EQ(timers[3].priority, Configuration::kLowestDerived);

  const Configuration by_deadline =
    parsed(rclrt_file("      executor: {policy: deadline_monotonic}\n"));
  ASSERT_TRUE(by_deadline.derive_priorities(&same).ok());
  EXPECT_GT(same[2].priority, same[1].priority);
}

TEST(Derive, only_what_nobody_gave_a_priority_is_derived)
{
  const Configuration without = parsed("");
  const Configuration with = parsed(rclrt_file("      executor: {policy: rate_monotonic}\n"));
  CallbackOptions plain = callback("/p/timer/x", CallbackKind::kTimer);
  EXPECT_TRUE(with.is_derived(plain, {}));
  EXPECT_FALSE(without.is_derived(plain, {}));
  CallbackOptions ranked = plain;
  ranked.queue_priority = 5;
  EXPECT_FALSE(with.is_derived(ranked, {}));
  CallbackOptions given = plain;
  given.attributes.scheduling_policy = SchedulingPolicy::kOther;
  EXPECT_FALSE(with.is_derived(given, {}));
  EXPECT_FALSE(with.is_derived(plain, given.attributes)) << "its group has a policy";
  CallbackOptions odd = plain;
  odd.attributes.nice = 5;
  EXPECT_FALSE(with.is_derived(odd, {})) << "the engine has to see that, and to refuse it";
}

TEST(Derive, what_is_no_timer_inherits_from_the_lowest_on)
{
  CallbackOptions options = callback("/p/subscription/x");
  options.attributes.cpu_affinity = CpuSet({1});
  Configuration::inherit_from_publishers(&options);
  EXPECT_EQ(to_string(options.attributes), "fifo, priority 10, cpu_affinity 1");
  EXPECT_TRUE(options.inherit_priority);
}

TEST(Apply, ext_in_the_file_makes_the_executor_order_by_deadline)
{
  const std::string entry =
    "      callbacks:\n        /a/*/*: {scheduling_policy: ext, relative_deadline: 5ms}\n";
  Configuration configuration = parsed(rclrt_file(entry));
  EngineOptions options;
  ASSERT_TRUE(configuration.apply(&options).ok());
  EXPECT_EQ(options.policy, &rclrt_core::edf_policy());
  auto ext = callback("/a/subscription/b");
  ASSERT_TRUE(configuration.apply(&ext).ok());
  EXPECT_EQ(ext.attributes.scheduling_policy, SchedulingPolicy::kExt);
  EXPECT_EQ(ext.relative_deadline, 5ms);

  configuration = parsed(
    rclrt_file("      executor: {policy: first_come, deadline_scheduler: sched_ext}\n" + entry));
  ASSERT_TRUE(configuration.apply(&options).ok());
  EXPECT_EQ(options.policy, &rclrt_core::first_come_policy());
  EXPECT_EQ(configuration.deadline_scheduler(), DeadlineBackend::kSchedExt);
  EXPECT_THAT(
    error_in(rclrt_file("      executor: {deadline_scheduler: edf}\n")),
    HasSubstr("Use auto, sched_ext or fifo_bands"));
}

}  // namespace
}  // namespace rclrt_config
