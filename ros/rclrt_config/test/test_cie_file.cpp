// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "machine_of.hpp"
#include "rclrt_config/cie_group_id.hpp"

namespace rclrt_config
{
namespace
{

using rclrt_core::CallbackKind;
using rclrt_core::SchedulingPolicy;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::vector<CieMember> kScanAndTimer = {
  {CallbackKind::kTimer, "", milliseconds(100)},
  {CallbackKind::kWaitable, "", {}},
  {CallbackKind::kSubscription, "/scan", {}},
};

rclrt_core::Attributes attributes_of(Configuration & configuration, const std::string & cie_id)
{
  rclrt_core::GroupOptions options = group("/node/group/1");
  configuration.apply(&options, cie_id);
  return options.attributes;
}

rclrt_core::Attributes attributes_in(const std::string & file, const std::string & cie_id)
{
  Configuration configuration = parsed(file);
  return attributes_of(configuration, cie_id);
}

TEST(CieGroupId, is_the_node_and_its_members_in_order)
{
  EXPECT_EQ(
    cie_group_id("/ns/node", kScanAndTimer), "/ns/node@Subscription(/scan)@Timer(100000000)");
  EXPECT_EQ(
    cie_group_id(
      "/node", {{CallbackKind::kService, "/node/go", {}}, {CallbackKind::kClient, "/b", {}}}),
    "/node@Client(/b)@Service(/node/go)");
  EXPECT_EQ(cie_group_id("/node", {}), "/node");
}

TEST(CieFile, each_policy_becomes_attributes_of_the_group)
{
  const struct
  {
    const char * fields;
    const char * expected;
  } cases[] = {
    {"policy: SCHED_FIFO, priority: 90, affinity: [0, 1]", "fifo, priority 90, cpu_affinity 0-1"},
    {"policy: SCHED_RR, priority: 1", "rr, priority 1"},
    {"policy: SCHED_OTHER, nice: -10", "other, nice -10"},
    {"policy: SCHED_OTHER, priority: -10", "other, nice -10"},  // as it used to be
    {"policy: SCHED_BATCH, nice: 10", "batch, nice 10"},
    {"policy: SCHED_IDLE, nice: 3", "idle"},
    {"policy: SCHED_DEADLINE, runtime: 5000000, deadline: 50000000, period: 100000000000",
     "deadline, runtime 5000000 ns, deadline 50000000 ns, period 100000000000 ns"},
    // What a template leaves behind:
    {"affinity: ~, policy: SCHED_FIFO, priority: 5, nice: 0", "fifo, priority 5"},
    {"affinity: [], policy: SCHED_OTHER, nice: 3, priority: 0, runtime: 0", "other, nice 3"},
  };
  for (const auto & c : cases) {
    Configuration configuration = parsed(
      std::string("callback_groups:\n  - {id: /a@Timer(5), ") + c.fields + "}\nnon_ros_threads:\n");
    const auto attributes = attributes_of(configuration, "/a@Timer(5)");
    EXPECT_EQ(to_string(attributes), c.expected);
    EXPECT_GE(attributes.priority, 0) << "the nice value of an old file is no priority";
    EXPECT_TRUE(configuration.unmatched().empty());
    EXPECT_TRUE(configuration.notes().empty());
  }
}

TEST(CieFile, order_and_waitables_in_an_id_do_not_matter)
{
  const auto attributes = attributes_in(
    "callback_groups:\n"
    "  - id: /node@Timer(100000000)@Subscription(/scan)@Waitable@Waitable\n"
    "    policy: SCHED_FIFO\n"
    "    priority: 5\n",
    cie_group_id("/node", kScanAndTimer));
  EXPECT_EQ(attributes.priority, 5);
}

TEST(CieFile, services_that_every_node_has_do_not_matter)
{
  const std::string of_every_node =
    "@Service(/node/describe_parameters)@Service(/node/get_parameters)"
    "@Subscription(/parameter_events)";
  const std::string file =
    "callback_groups:\n"
    "  - {id: /node@Subscription(/scan)" +
    of_every_node +
    ", policy: SCHED_FIFO, priority: 5}\n"
    "  - {id: /other" +
    of_every_node + ", policy: SCHED_FIFO, priority: 6}\n";
  EXPECT_EQ(attributes_in(file, "/node@Subscription(/scan)").priority, 5);
  EXPECT_EQ(
    attributes_in(file, "/node@Service(/node/get_type_description)@Subscription(/scan)").priority,
    5);
  // Parameter services of another node are services like any other.
  EXPECT_EQ(
    attributes_in(file, "/node@Service(/x/get_parameters)@Subscription(/scan)").scheduling_policy,
    SchedulingPolicy::kUnchanged);
}

TEST(CieFile, the_same_id_goes_before_the_same_purpose)
{
  const std::string file =
    "callback_groups:\n"
    "  - {id: /n@Timer(5), policy: SCHED_FIFO, priority: 5}\n"
    "  - {id: /n@Timer(5)@Service(/n/get_parameters), policy: SCHED_FIFO, priority: 6}\n";
  EXPECT_EQ(attributes_in(file, "/n@Timer(5)").priority, 5);
  EXPECT_EQ(attributes_in(file, "/n@Service(/n/get_parameters)@Timer(5)").priority, 6);
  // Either may be meant, so neither is taken, and both are told.
  Configuration configuration = parsed(file);
  EXPECT_EQ(
    attributes_of(configuration, "/n@Service(/n/set_parameters)@Timer(5)").scheduling_policy,
    SchedulingPolicy::kUnchanged);
  EXPECT_EQ(configuration.unmatched().size(), 2u);
}

TEST(CieFile, an_entry_that_matched_nothing_is_told_with_its_place_and_the_nearest_id)
{
  Configuration configuration = parsed(
    "callback_groups:\n"
    "  - {id: /node@Timer(5), policy: SCHED_FIFO, priority: 5}\n"
    "  - {id: /elsewhere@Timer(5), policy: SCHED_FIFO, priority: 5}\n");
  attributes_of(configuration, "/node@Timer(6)");
  const auto unmatched = configuration.unmatched();
  ASSERT_EQ(unmatched.size(), 2u);
  EXPECT_EQ(unmatched[0].finding.subject, "f:2:5");
  EXPECT_THAT(unmatched[0].finding.fix, HasSubstr("'/node@Timer(6)'"));
  EXPECT_TRUE(unmatched[0].node_is_here);
  EXPECT_FALSE(unmatched[1].node_is_here);
}

TEST(CieFile, a_file_for_another_machine_is_refused)
{
  EXPECT_EQ(error_in("hardware_info: {model_name: Abacus 3, model: 7, cpu_max_mhz: 1.0}\n"), "");
  EXPECT_THAT(
    error_in("hardware_info:\n  model: 7\n  model_name: Abacus 4\n"),
    AllOf(StartsWith("f:3:15: "), HasSubstr("'Abacus 4', this one has 'Abacus 3'")));
}

TEST(CieFile, throttling_other_than_expected_is_noted_with_the_command)
{
  EXPECT_TRUE(parsed("rt_throttling: {period_us: 1000000, runtime_us: 950000}\n").notes().empty());
  const auto notes = parsed("rt_throttling:\n  runtime_us: -1\n").notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].subject, "f:2:15");
  EXPECT_THAT(notes[0].fix, HasSubstr("sysctl -w kernel.sched_rt_runtime_us=-1"));
}

TEST(CieFile, threads_that_are_no_executors_are_kept_if_something_is_asked_for_them)
{
  const auto configuration = parsed(
    "non_ros_threads:\n"
    "  - {id: idle_one, policy: SCHED_OTHER, nice: 0, affinity: ~}\n"
    "  - {name: driver, policy: SCHED_FIFO, priority: 085, affinity: [03, 1, 3]}\n");
  ASSERT_EQ(configuration.threads().size(), 1u);
  EXPECT_EQ(configuration.threads()[0].name, "driver");
  EXPECT_EQ(
    to_string(configuration.threads()[0].attributes), "fifo, priority 85, cpu_affinity 1,3");
}

TEST(CieFile, what_is_not_for_executors_is_told_once_for_each_list)
{
  const auto configuration = parsed(
    "callback_groups: ~\n"
    "kernel_threads:\n"
    "  - {comm: 'migration/0', policy: UNMANAGEABLE, affinity: UNMANAGEABLE}\n"
    "  - {comm: 'irq/24-eth0', policy: SCHED_FIFO, priority: 50, nice: UNMANAGEABLE}\n"
    "  - {comm: rcu_preempt, affinity: [0]}\n"
    "irqs:\n"
    "  - {irq: 024, name: eth0, affinity: [1, 0]}\n"
    "  - {irq: 8, name: ~, affinity: ~}\n");
  const auto notes = configuration.notes();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].subject, "f:4:5");
  EXPECT_EQ(notes[0].what, "entries of kernel_threads that are not an executor's: 2");
  EXPECT_EQ(notes[1].what, "entries of irqs that are not an executor's: 1");
  EXPECT_THAT(notes[1].fix, HasSubstr("rclrt apply"));
}

TEST(CieFile, an_entry_is_for_the_domain_that_it_names)
{
  const std::string file =
    "callback_groups:\n"
    "  - {id: /n@Timer(5), domain_id: ~, policy: SCHED_FIFO, priority: 5}\n"
    "  - {id: /n@Timer(5), domain_id: 7, policy: SCHED_FIFO, priority: 6}\n"
    "  - {id: /n@Timer(6), domain_id: 0, policy: SCHED_FIFO, priority: 7}\n";
  EXPECT_EQ(attributes_in(file, "/n@Timer(5)").priority, 5);
  EXPECT_EQ(attributes_in(file, "/n@Timer(6)").priority, 7);
  Machine machine = machine_of(4);
  machine.domain_id = 7;
  Configuration configuration;
  EXPECT_THAT(configuration.parse(file, "f", machine).message(), HasSubstr("line 2 already"));
  ASSERT_TRUE(configuration
                .parse(
                  file.substr(0, 17) + file.substr(file.find("  - {id: /n@Timer(5), domain_id: 7")),
                  "f", machine)
                .ok());
  EXPECT_EQ(attributes_of(configuration, "/n@Timer(5)").priority, 6);
  EXPECT_EQ(attributes_of(configuration, "/n@Timer(6)").priority, 0);
  ASSERT_EQ(configuration.notes().size(), 1u);
  EXPECT_THAT(configuration.notes()[0].what, HasSubstr("another domain than this process's, 7: 1"));
  EXPECT_TRUE(configuration.unmatched().empty());
}

TEST(CieFile, a_node_and_a_star_are_all_of_its_groups_that_have_no_entry_of_their_own)
{
  const std::string file =
    "callback_groups:\n"
    "  - {id: /ns/n/*, policy: SCHED_FIFO, priority: 5}\n"
    "  - {id: /ns/n@Timer(5), policy: SCHED_FIFO, priority: 6}\n";
  EXPECT_EQ(attributes_in(file, "/ns/n@Timer(5)").priority, 6);
  EXPECT_EQ(attributes_in(file, "/ns/n@Timer(9)").priority, 5);
  EXPECT_EQ(attributes_in(file, "/ns/n").priority, 5);
  EXPECT_EQ(attributes_in(file, "/ns/n/m@Timer(9)").priority, 0);
  EXPECT_EQ(attributes_in(file, "/ns@Timer(9)").priority, 0);
}

TEST(CieFile, what_is_wrong_is_told_where_it_stands)
{
  const struct
  {
    const char * entry;  ///< begins in column 3 of line 2
    const char * place;
    const char * says;
  } cases[] = {
    {"- 5", "2:5", "must be a map"},
    {"- {policy: SCHED_FIFO, priority: 5}", "2:5", "id is missing"},
    {"- {id: x, priority: 5}", "2:5", "policy is missing"},
    {"- {id: x, policy: FIFO}", "2:21", "policy is 'FIFO'. Use SCHED_OTHER"},
    {"- {id: x, policy: SCHED_EXT}", "2:21", "Use SCHED_OTHER"},
    {"- {id: x, policy: SCHED_FIFO}", "2:21", "SCHED_FIFO needs the field priority"},
    {"- {id: x, policy: SCHED_OTHER}", "2:21", "SCHED_OTHER needs the field nice"},
    {"- {id: x, policy: SCHED_IDLE}", "2:21", "SCHED_IDLE needs the field nice"},
    {"- {id: x, policy: SCHED_FIFO, priority: 0}", "2:43", "from 1 to 99"},
    {"- {id: x, policy: SCHED_OTHER, nice: 20}", "2:40", "from -20 to 19"},
    {"- {id: x, policy: SCHED_OTHER, priority: -21}", "2:44", "from -20 to 19"},
    {"- {id: x, policy: SCHED_DEADLINE, runtime: 5}", "2:21", "needs the field deadline"},
    {"- {id: x, policy: SCHED_DEADLINE, runtime: 5000, deadline: 4000, period: 9000}", "2:21",
     "deadline is 4000 ns"},
    {"- {id: x, policy: SCHED_DEADLINE, runtime: 5ms, deadline: 5, period: 5}", "2:46",
     "whole number"},
    {"- {id: x, policy: SCHED_FIFO, priority: 5, affinity: [9]}", "2:57", "names CPU '9'"},
    {"- {id: x, policy: SCHED_FIFO, priority: 5, affinity: &a [*a]}", "2:56", "names CPU a list"},
    {"- {id: x, policy: SCHED_FIFO, priority: 5, afinity: [1]}", "2:46", "unknown field"},
    {"- {id: x, policy: SCHED_FIFO, priority: 5}\n  - {id: x, policy: SCHED_FIFO, priority: 6}",
     "3:5", "the group 'x' has an entry in line 2 already"},
    {"- {id: x, policy: SCHED_FIFO, priority: 0x32}", "2:43", "from 1 to 99"},
    {"- {id: x, policy: SCHED_OTHER, nice: ~}", "2:21", "SCHED_OTHER needs the field nice"},
    {"- {id: x, policy: UNMANAGEABLE}", "2:21", "policy is 'UNMANAGEABLE'"},
    {"- {id: x, domain_id: -1, policy: SCHED_FIFO, priority: 5}", "2:24", "from 0 to"},
    {"- {id: '/x/*/*', policy: SCHED_FIFO, priority: 5}", "2:10", "a * can only stand at the end"},
    {"- {id: '/x*', policy: SCHED_FIFO, priority: 5}", "2:10", "a * can only stand at the end"},
    {"- {id: '/x@Timer(5)/*', policy: SCHED_FIFO, priority: 5}", "2:10", "a * can only stand"},
    {"- {name: x, policy: SCHED_FIFO, priority: 5}", "2:6", "unknown field 'name'"},
    {"{x: 5}", "2:3", "must be a list"},
    {"~\nkernel_threads:\n  - {comm: x, priority: 5}", "4:25", "priority needs a policy"},
    {"~\nkernel_threads:\n  - {policy: SCHED_RR, priority: 5}", "4:5", "comm is missing"},
    {"~\nirqs:\n  - {irq: eth0, affinity: [1]}", "4:11", "irq must be a whole number"},
    {"~\nirqs:\n  - {irq: 5, policy: SCHED_RR}", "4:14", "unknown field 'policy'"},
  };
  for (const auto & c : cases) {
    EXPECT_THAT(
      error_in(std::string("callback_groups:\n  ") + c.entry + "\n"),
      AllOf(StartsWith(std::string("f:") + c.place + ": "), HasSubstr(c.says)))
      << c.entry;
  }
  EXPECT_THAT(
    error_in("callback_groups: []\n/a: {ros__parameters: {}}\n"),
    AllOf(StartsWith("f:2:1: "), HasSubstr("unknown field '/a'")));
}

TEST(Machine, this_one_can_be_asked)
{
  const Machine machine = Machine::here();
  EXPECT_GE(machine.cpu_count, 1);
  EXPECT_FALSE(machine.kernel_setting("no_such_setting"));
  for (const auto & [name, value] : machine.hardware()) {
    EXPECT_FALSE(value.empty()) << name;
  }
}

}  // namespace
}  // namespace rclrt_config
