// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What is wrong with a file is told with its place and a remedy, whatever it is.

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "machine_of.hpp"

namespace rclrt_config
{
namespace
{

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Wrong
{
  const char * text;
  const char * place;  ///< "line:column" the error must begin with
  const char * says;   ///< and what it must contain
};

/// Errors of one entry: `column` is that of the wrong place in the line of the entry.
struct WrongFields
{
  const char * fields;
  int column;
  const char * says;
};

void expect_told(const std::string & before, int line, std::initializer_list<WrongFields> all_wrong)
{
  for (const WrongFields & wrong : all_wrong) {
    EXPECT_THAT(
      error_in(rclrt_file(before + wrong.fields + "\n")),
      AllOf(
        StartsWith("f:" + std::to_string(line) + ":" + std::to_string(wrong.column) + ": "),
        HasSubstr(wrong.says)))
      << wrong.fields;
  }
}

TEST(ParametersFile, every_field_is_in_the_reference)
{
  std::ifstream file(RCLRT_CONFIG_README);
  const std::string readme(std::istreambuf_iterator<char>(file), {});
  for (const char * section :
       {"callbacks: {/a/timer/b: {x: 1}}", "groups: {/a/group/b: {x: 1}}", "executor: {x: 1}",
        "executor: {middleware_threads: {x: 1}}", "trace: {x: 1}", "chains: {a: {x: 1}}",
        "callbacks: {/a/timer/b: {budget: {x: 1}}}"}) {
    const std::string error = error_in(rclrt_file(std::string("      ") + section + "\n"));
    const std::regex word("[a-z_]+");
    const std::size_t known = error.find(". Use ");
    ASSERT_NE(known, std::string::npos) << error;
    for (std::sregex_iterator at(error.begin() + known + 6, error.end(), word), end; at != end;
         ++at) {
      EXPECT_TRUE(
        at->str() == "or" || std::regex_search(readme, std::regex("[`{ ]" + at->str() + "[`:]")))
        << at->str() << " of " << section;
    }
  }
}

TEST(ParametersFile, wrong_fields_of_a_callback_are_told_where_they_stand)
{
  const std::initializer_list<WrongFields> cases = {
    {"{}", 9, "the entry is empty"},
    {"5", 28, "must be a map"},
    {"[1]", 28, "here is a list"},
    {"{[1]: 2}", 29, "must be a word"},
    {"{prio: 5}", 29, "unknown field 'prio'. Use scheduling_policy, priority"},
    {"{name: x}", 29, "unknown field 'name'"},
    {"{nice: 1, nice: 2}", 38, "'nice' appears twice"},
    {"{scheduling_policy: fast}", 48, "scheduling_policy is 'fast'. Use other, batch"},
    {"{scheduling_policy: SCHED_FIFO}", 48, "Use other, batch, idle, fifo, rr, deadline or ext"},
    {"{scheduling_policy: ext, deadline: 1ms}", 63, "Rename it"},
    {"{scheduling_policy: ext, priority: 1}", 63, "does not go with"},
    {"{scheduling_policy: [fifo]}", 48, "must be a word; here is a list"},
    {"{scheduling_policy: fifo}", 48, "scheduling_policy fifo needs the field priority"},
    {"{scheduling_policy: rr}", 48, "needs the field priority"},
    {"{scheduling_policy: fifo, priority: 0}", 64, "from 1 to 99; here is '0'"},
    {"{scheduling_policy: fifo, priority: 100}", 64, "from 1 to 99; here is '100'"},
    {"{scheduling_policy: fifo, priority: -1}", 64, "from 1 to 99"},
    {"{scheduling_policy: fifo, priority: 5.5}", 64, "whole number"},
    {"{scheduling_policy: fifo, priority: high}", 64, "here is 'high'"},
    {"{scheduling_policy: fifo, priority: 0x10}", 64, "here is '0x10'"},
    {"{scheduling_policy: fifo, priority: 99999999999999999999}", 64, "from 1 to 99"},
    {"{scheduling_policy: fifo, priority: [5]}", 64, "here is a list"},
    {"{scheduling_policy: fifo, priority: ~}", 54, "here is nothing"},
    {"{scheduling_policy: fifo, priority: 5, nice: 1}", 73, "nice does not go with"},
    {"{scheduling_policy: fifo, priority: 5, period: 1ms}", 75, "period does not go with"},
    {"{scheduling_policy: other, priority: 5}", 65, "priority does not go with"},
    {"{scheduling_policy: idle, nice: 5}", 60, "nice does not go with scheduling_policy idle"},
    {"{scheduling_policy: batch, runtime: 5ms}", 64, "runtime does not go with"},
    {"{nice: 20}", 35, "from -20 to 19"},
    {"{nice: -21}", 35, "from -20 to 19"},
    {"{cpu_affinity: 1}", 43, "must be a list of CPU numbers"},
    {"{cpu_affinity: []}", 43, "an empty list"},
    {"{cpu_affinity: {a: 1}}", 43, "here is a map"},
    {"{cpu_affinity: [4]}", 44, "names CPU '4', but this machine has CPUs 0 to 3"},
    {"{cpu_affinity: [0, -1]}", 47, "names CPU '-1'"},
    {"{cpu_affinity: [0, x]}", 47, "names CPU 'x'"},
    {"{cpu_affinity: [0, [1]]}", 47, "names CPU a list"},
    {"{cpu_affinity: [1, 2, 1]}", 50, "names CPU '1' twice"},
    {"{scheduling_policy: deadline, runtime: 1ms, period: 2ms}", 48, "needs the field deadline"},
    {"{scheduling_policy: deadline, deadline: 1ms, period: 2ms}", 48, "needs the field runtime"},
    {"{scheduling_policy: deadline, runtime: 3ms, deadline: 2ms, period: 9ms}", 48,
     "deadline is 2000000 ns, must be at least the runtime"},
    {"{scheduling_policy: deadline, runtime: 1ms, deadline: 9ms, period: 8ms}", 48,
     "period is 8000000 ns, must be at least the deadline"},
    {"{scheduling_policy: deadline, runtime: 100ns, deadline: 9ms, period: 9ms}", 48,
     "runtime is 100 ns, must be at least"},
    {"{scheduling_policy: deadline, priority: 5, runtime: 1ms, deadline: 9ms, period: 9ms}", 68,
     "priority does not go with"},
    {"{deadline_from: header}", 44,
     "deadline_from is 'header'. Use release, source_stamp or header_stamp"},
    {"{clock_error: -1ms}", 42, "or 0 for the same clock"},
    {"{runtime: 0}", 38, "runtime must be a time above 0"},
    {"{runtime: -5ms}", 38, "here is '-5ms'"},
    {"{runtime: 5 m}", 38, "ns, us, ms or s"},
    {"{runtime: 5.5}", 38, "here is '5.5'"},
    {"{runtime: 1.5.5ms}", 38, "here is '1.5.5ms'"},
    {"{runtime: .5ms}", 38, "here is '.5ms'"},
    {"{runtime: 5000000}", 38, "Write its unit: 5000000ns"},
    {"{runtime: 5 ms}", 38, "here is '5 ms'"},
    {"{runtime: 5.ms}", 38, "here is '5.ms'"},
    {"{runtime: 1.5ns}", 38, "here is '1.5ns'"},
    {"{runtime: 0.0000000001s}", 38, "above 0"},
    {"{runtime: ms}", 38, "here is 'ms'"},
    {"{runtime: 1e6}", 38, "here is '1e6'"},
    {"{runtime: 10000000000s}", 38, "here is '10000000000s'"},
    {"{runtime: 0.0ms}", 38, "above 0"},
    {"{runtime: [1]}", 38, "here is a list"},
    {"{relative_deadline: -1}", 48, "above 0, or 0 for"},
    {"{overruns: drop}", 39, "overruns is 'drop'. Use queue_all, keep_latest or skip"},
    {"{inline_bound: 100}", 43, "here is '100'. Write its unit: 100ns"},
    {"{inline_bound: true}", 43, "above 0, or 0 for no inline run"},
    {"{inherit_priority: 2}", 47, "must be true or false; here is '2'"},
    {"{inherit_priority: ~}", 29, "here is nothing"},
    {"{budget: 2ms}", 37, "must be a map"},
    {"{budget: {}}", 37, "budget: runtime is missing"},
    {"{budget: {runtime: 2ms}}", 37, "budget: period is missing"},
    {"{budget: {period: 2ms, runtime: x}}", 60, "runtime must be a time"},
    {"{budget: {runtime: 2ms, period: 1ms}}", 37, "must be 100 us to the period"},
    {"{budget: {runtime: 2ms, period: 9ms, on_overrun: abort}}", 77, "Use demote or notify"},
    {"{budget: {runtime: 2ms, period: 9ms, deadline: 9ms}}", 65, "unknown field 'deadline'"},
    {"{lock_memory: true}", 29, "unknown field 'lock_memory'"},
  };
  expect_told("      callbacks:\n        /a/subscription/b: ", 5, cases);
}

TEST(ParametersFile, wrong_names_are_told_where_they_stand)
{
  const struct
  {
    const char * section;
    const char * name;
    const char * says;
  } cases[] = {
    {"callbacks", "/a/scan", "nothing can have this name. Write the node's name, then timer"},
    {"callbacks", "/a/group/default", "nothing can have this name"},
    {"callbacks", "/a/timer/", "Remove the extra slash"},
    {"callbacks", "/a//timer/x", "Remove the extra slash"},
    {"callbacks", "/a/timer/1*", "the wildcard in '1*' does not stand alone"},
    {"callbacks", "''", "Remove the extra slash"},
    {"groups", "/a/subscription/b", "nothing can have this name"},
    {"groups", "/a", "then group, then the group's name"},
  };
  for (const auto & c : cases) {
    const std::string text =
      std::string("      ") + c.section + ":\n        " + c.name + ": {nice: 1}\n";
    EXPECT_THAT(error_in(rclrt_file(text)), AllOf(StartsWith("f:5:9: "), HasSubstr(c.says)))
      << c.name;
  }
}

TEST(ParametersFile, wrong_budgets_of_groups_and_chains_are_told_where_they_stand)
{
  expect_told(
    "      groups:\n        /a/group/b: ", 5,
    {{"{budget: {runtime: 2ms, period: 1ms}}", 30, "group '/a/group/b'"},
     {"{budget: {runtime: 2ms, period: 1ms}}", 30, "100 us to the period"},
     {"{budget: {runtime: 2ms, period: 9ms, on_overrun: abort}}", 70, "Use demote or notify"}});
  const std::string chain = "      chains:\n        c: ";
  expect_told(
    chain, 5,
    {{"{callbacks: [/a/timer/1s], budget: {runtime: 2ms, period: 9ms, on: miss}}", 75,
      "Use runtime, period or on_overrun"},
     {"{callbacks: [/a/timer/1s], budget: {runtime: 2ms, period: 1ms}}", 47,
      "must be 100 us to the period"}});
  EXPECT_EQ(
    error_in(rclrt_file(
      chain + "{callbacks: [/a/timer/1s], budget: {runtime: 2ms, period: 9ms, on_overrun: "
              "notify}}\n")),
    "");
}

TEST(ParametersFile, names_of_any_length_are_told_with_the_limit)
{
  const std::string longest = "/" + std::string(990, 'a') + "/timer/5s";
  const std::string entry = "{scheduling_policy: fifo, priority: 1}\n";
  ASSERT_EQ(longest.size(), 1000u);
  EXPECT_EQ(error_in(rclrt_file("      callbacks:\n        " + longest + ": " + entry)), "");
  const std::string many(1'000'000, '/');
  for (const std::string & name : {"/a" + longest, "/a" + many}) {
    const std::string key = "        ? " + name + "\n        : " + entry;  // No length is too much.
    const std::string said = error_in(rclrt_file("      callbacks:\n" + key));
    EXPECT_THAT(said, AllOf(StartsWith("f:5:11: "), HasSubstr("names have 1000 at most")));
    EXPECT_LT(said.size(), 400u);
  }
}

TEST(ParametersFile, wrong_fields_of_an_executor_are_told_where_they_stand)
{
  const std::initializer_list<WrongFields> cases = {
    {"5", 17, "must be a map"},
    {"{thread: 4}", 18, "unknown field 'thread'. Use policy, max_threads"},
    {"{threads: 4}", 27, "threads: it must be a map"},
    {"{policy: best}", 26,
     "Use first_come, fixed_priority, edf, rate_monotonic or deadline_monotonic"},
    {"{max_threads: 0}", 31, "from 1 to 1000"},
    {"{max_threads: 1001}", 31, "from 1 to 1000"},
    {"{attributes: maybe}", 30, "Use require, prefer or off"},
    {"{lock_memory: 1}", 31, "true or false"},
    {"{stack_size: 100}", 30, "from 65536"},
    {"{wait: long}", 24, "Use block, spin or adaptive"},
    {"{spin: 0}", 24, "spin"},
    {"{spin: -1ms}", 24, "spin"},
    {"{timer_thread: 5}", 32, "timer_thread: it must be a map"},
    {"{beat: 10us}", 24, "beat is below 50us"},
    {"{timer_thread: {nice: 5}}", 32, "timer_thread: scheduling_policy is missing"},
    {"{middleware_thread: {scheduling_policy: fifo}}", 57, "needs the field priority"},
    {"{middleware_thread: {scheduling_policy: fifo, priority: 100}}", 73, "from 1 to 99"},
    {"{threads: {rclrt*: {scheduling_policy: idle}}}", 28, "are threads of executors"},
    {"{threads: {a_name_that_is_too_long: {scheduling_policy: idle}}}", 28, "no name of a thread"},
    {"{threads: {a: {scheduling_policy: idle}, a: {scheduling_policy: idle}}}", 58, "twice"},
    {"{threads: {a: {priority: 4}}}", 31, "scheduling_policy is missing"},
    {"{middleware_thread: {overruns: skip}}", 38, "unknown field 'overruns'"},
  };
  expect_told("      executor: ", 4, cases);
}

TEST(ParametersFile, says_what_is_recorded_and_leaves_the_rest_to_the_code)
{
  const Configuration configuration =
    parsed(rclrt_file("      trace: {directory: /tmp/traces, keep: 10s, on_miss: false,\n"
                      "        on_signal: SIGUSR2, limit: 5000000}\n"));
  TraceOptions options;
  configuration.apply(&options);
  EXPECT_EQ(options.directory, "/tmp/traces");
  EXPECT_EQ(options.keep, std::chrono::seconds(10));
  EXPECT_FALSE(options.on_miss);
  EXPECT_EQ(options.on_signal, SIGUSR2);
  EXPECT_EQ(options.limit, 5'000'000u);
  options.on_miss = true;
  parsed(rclrt_file("      trace: {keep: 1s}\n")).apply(&options);
  EXPECT_EQ(options.keep, std::chrono::seconds(1));
  EXPECT_EQ(options.directory, "/tmp/traces");
  EXPECT_EQ(options.limit, 5'000'000u);
  EXPECT_TRUE(options.on_miss);
}

TEST(ParametersFile, wrong_fields_of_the_trace_are_told_where_they_stand)
{
  const std::initializer_list<WrongFields> cases = {
    {"here", 14, "must be a map"},
    {"{folder: x}", 15, "unknown field 'folder'. Use directory, keep, on_miss"},
    {"{on_miss: 1}", 24, "true or false"},
    {"{keep: long}", 21, "keep"},
    {"{on_signal: SIGKILL}", 26, "Use SIGUSR1, SIGUSR2 or SIGHUP"},
    {"{limit: 10}", 22, "from 1000000"},
  };
  expect_told("      trace: ", 4, cases);
}

TEST(ParametersFile, wrong_structure_is_told_where_it_stands)
{
  const Wrong cases[] = {
    {"a: [1, 2\n", "2:1", "this is not YAML"},
    {"a: \"\\q\"\n", "1:7", "this is not YAML"},
    {"a:\n\tb: 1\n", "2:3", "this is not YAML"},
    {"/a:\n  ros__parameters: {}\n   x: 1\n", "3:4", "this is not YAML"},
    {"- 1\n- 2\n", "1:1", "file: it must be a map"},
    {"just words\n", "1:1", "it must be a map"},
    {"/a: 5\n", "1:1", "'/a' stands outside of ros__parameters"},
    {"ros__parameters: {x: 1}\n", "1:1", "ros__parameters of which node?"},
    {"rclrt: {executor: {lock_memory: true}}\n", "1:20", "'lock_memory' stands outside"},
    {"/a:\n  ros__parameters: 5\n", "2:20", "must be a map"},
    {"/a:\n  ros__parameters:\n    rclrt: 5\n", "3:12", "must be a map"},
    {"/a:\n  ros__parameters:\n    rclrt: {callback: {}}\n", "3:13", "unknown field 'callback'"},
    {"/a:\n  ros__parameters:\n    rclrt.executor.lock_memory: true\n", "3:5",
     "would be passed over"},
    {"/a:\n  ros__parameters:\n    rclrt: {}\n    rclrt: {}\n", "4:5", "'rclrt' appears twice"},
    {"/a:\n  ros__parameters:\n    rclrt: {groups: 5}\n", "3:21", "groups: it must be a map"},
    {"/a:\n  ros__parameters:\n    rclrt: {executor: {}}\n", "3:13", "Put 'executor' under '/**'"},
    {"/a:\n  ros__parameters:\n    rclrt: {callbacks: {/b/timer/x: {nice: 1}}}\n", "3:25",
     "under the node '/a' names go on from the node's"},
    {"/a*:\n  ros__parameters:\n    rclrt: {}\n", "3:5", "the wildcard in 'a*'"},
    {"/**:\n  ros__parameters:\n    rclrt: {callbacks: {/b/timer/x: {nice: 1},\n"
     "      /b/timer/x: {nice: 2}}}\n",
     "4:7", "has an entry in line 3 already"},
    {"/**:\n  ros__parameters:\n    rclrt: {groups: {/b/group/x: {nice: 1}}}\n"
     "/b:\n  ros__parameters:\n    rclrt: {groups: {group/x: {nice: 1}}}\n",
     "6:22", "has an entry in line 3 already"},
    {"/**:\n  ros__parameters: {rclrt: {executor: {}}}\n"
     "/**:\n  ros__parameters: {rclrt: {executor: {}}}\n",
     "4:29", "'executor' is in line 2 already"},
    {"/a:\n  ros__parameters:\n    rclrt: {trace: {}}\n", "3:13", "Put 'trace' under '/**'"},
    {"/**:\n  ros__parameters: {rclrt: {trace: {}}}\n"
     "/**:\n  ros__parameters: {rclrt: {trace: {}}}\n",
     "4:29", "'trace' is in line 2 already"},
    {"/a: {ros__parameters: {}}\n---\n/b: {ros__parameters: {}}\n", "3:1", "a second document"},
    {"/a: &a\n  b: *a\n", "2:3", "nested without end"},
    {"? [1]\n: 5\n", "1:3", "the name of a field must be a word"},
  };
  for (const Wrong & wrong : cases) {
    EXPECT_THAT(
      error_in(wrong.text),
      AllOf(StartsWith("f:" + std::string(wrong.place) + ": "), HasSubstr(wrong.says)))
      << wrong.text;
  }
}

TEST(ParametersFile, ordinary_parameters_are_passed_over)
{
  const Configuration configuration = parsed(
    "/**:\n"
    "  ros__parameters: {use_sim_time: true, executor: 5, callbacks: [a], gains: {p: 1.5}}\n"
    "ns:\n"
    "  /nested:\n"
    "    planner:\n"
    "      ros__parameters: {speed: 2, speed: 3}\n"
    "threads:\n"
    "  ros__parameters: {rclrt: {irqs: {24: {cpu_affinity: [0]}}, kernel_threads: ~,\n"
    "    non_ros_threads: {velodyne*/recv*: {scheduling_policy: fifo, priority: 40}}}}\n"
    "empty:\n"
    "  ros__parameters:\n");
  EXPECT_TRUE(configuration.empty());
}

TEST(ParametersFile, nothing_at_all_is_no_error)
{
  for (const char * text : {"", "# only a remark\n", "{}", "---\n", "~"}) {
    EXPECT_TRUE(parsed(text).empty()) << text;
  }
}

TEST(ParametersFile, endless_depth_is_told)
{
  EXPECT_THAT(error_in("a: " + std::string(100'000, '[')), HasSubstr("this is not YAML"));
  std::string laughs = "a0: &a0 {b: {ros__parameters: {x: 1}}}\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {x: " + before +
              ", y: " + before + "}\n";
  }
  EXPECT_THAT(error_in(laughs), HasSubstr("nested without end"));
}

TEST(ParametersFile, any_cut_of_a_good_file_is_either_good_or_told_with_a_place)
{
  const std::string text = rclrt_file(
    "      executor: {policy: edf, timer_thread: {scheduling_policy: rr, priority: 7}}\n"
    "      callbacks:\n"
    "        \"/a/subscription/b\": {scheduling_policy: fifo, priority: 80, cpu_affinity: [1]}\n"
    "        /a/timer/*: {relative_deadline: 5ms, overruns: 'skip'}\n");
  EXPECT_EQ(error_in(text), "");
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string error = error_in(text.substr(0, length));
    EXPECT_TRUE(error.empty() || error.rfind("f:", 0) == 0) << error;
  }
}

TEST(ParametersFile, any_changed_byte_is_either_good_or_told_with_a_place)
{
  const std::string text = rclrt_file(
    "      executor: {policy: edf, max_threads: 7}\n"
    "      callbacks: {/a/timer/x: {scheduling_policy: fifo, priority: 80, cpu_affinity: [1]}}\n");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', '\t', '\n', '\xff', '*', '&', '{', ']', ':', '#', '-', '/', '9'}) {
      std::string changed = text;
      changed[i] = c;
      const std::string error = error_in(changed);
      EXPECT_TRUE(error.empty() || error.rfind("f:", 0) == 0) << error;
    }
  }
}

}  // namespace
}  // namespace rclrt_config
