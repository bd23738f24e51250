// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Chains of a parameters file, and what their proofs take for granted.

#include <gmock/gmock.h>

#include "machine_of.hpp"

namespace rclrt_config
{
namespace
{

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// One chain: its fields begin in column 13 of line 5.
std::string chain(const std::string & fields)
{
  return rclrt_file("      chains:\n        x: " + fields + "\n");
}

TEST(Chains, are_read_with_what_a_model_says_of_them)
{
  const Configuration configuration = parsed(rclrt_file(
    "      chains:\n"
    "        see and steer:\n"
    "          callbacks: [/see/timer/50ms, '/**/fuse/subscription/**', /steer/timer/20ms]\n"
    "          reads: ['/**/fuse/subscription/**']\n"
    "          joins: {'/**/fuse/subscription/**': 3}\n"
    "          semantics: latency\n"
    "          join: last\n"
    "          deadline: 110ms\n"
    "          bound: 87.000001ms\n"
    "          silent_after: 500.5ms\n"
    "          on_miss: {warn_after: 1, error_after: 3}\n"
    "        short: {callbacks: [/see/timer/50ms]}\n"));
  ASSERT_EQ(configuration.chains().size(), 2u);
  const Chain & chain = configuration.chains()[0];
  EXPECT_EQ(chain.name, "see and steer");
  EXPECT_EQ(chain.place, "f:5:9");
  EXPECT_EQ(chain.semantics, ChainSemantics::kLatency);
  EXPECT_EQ(chain.deadline, milliseconds(110));
  EXPECT_EQ(chain.bound, milliseconds(87) + std::chrono::nanoseconds(1));
  EXPECT_EQ(chain.silent_after, microseconds(500'500));
  EXPECT_EQ(chain.warn_after, 1u);
  EXPECT_EQ(chain.error_after, 3u);
  ASSERT_EQ(chain.links.size(), 3u);
  EXPECT_FALSE(chain.links[0].reads);
  EXPECT_TRUE(chain.links[1].reads);
  EXPECT_TRUE(chain.links[1].matches("/a/fuse/subscription/b/c"));
  EXPECT_FALSE(chain.links[1].matches("/a/fuse/timer/1s"));
  EXPECT_TRUE(chain.links[2].is_timer());
  EXPECT_FALSE(chain.links[1].is_timer());
  EXPECT_EQ(chain.links[1].inputs, 3u);
  EXPECT_EQ(chain.links[2].inputs, 0u);
  EXPECT_TRUE(chain.last_only);
  EXPECT_FALSE(configuration.chains()[1].last_only);
  EXPECT_EQ(configuration.chains()[1].semantics, ChainSemantics::kReaction);
  EXPECT_FALSE(configuration.chains()[1].deadline.has_value());
}

TEST(Chains, that_are_wrong_are_told_where_they_stand)
{
  struct
  {
    const char * fields;
    int column;
    const char * says;
  } const cases[] = {
    {"5", 12, "chain 'x': it must be a map"},
    {"{}", 12, "callbacks is missing or empty. List"},
    {"{callbacks: []}", 24, "callbacks is missing or empty"},
    {"{callbacks: /a/timer/1s}", 24, "callbacks must be a list; here is '/a/timer/1s'"},
    {"{callbacks: [[/a/timer/1s]]}", 25, "a list of words; here is a list"},
    {"{callbacks: [a/timer/1s]}", 25, "callbacks names 'a/timer/1s': it must begin with /"},
    {"{callbacks: [/a/timer/]}", 25, "Remove the extra slash"},
    {"{callbacks: [/a/tim*/1s]}", 25, "the wildcard in 'tim*' does not stand alone"},
    {"{callbacks: ['/**']}", 25, "this names no callback. Write the node's name, then timer"},
    {"{callbacks: [/a]}", 25, "this names no callback"},
    {"{callbacks: [/a/timer/1s, /b/timer/1s, /a/timer/1s]}", 51, "names '/a/timer/1s' twice"},
    {"{callbacks: [/a/timer/1s], reads: [/a/timer/1s]}", 47,
     "none of the callbacks after the first"},
    {"{callbacks: [/a/timer/1s], reads: [/b/timer/1s]}", 47, "Write it as it is there"},
    {"{callbacks: [/a/timer/1s], joins: [/a/timer/1s]}", 46, "joins: it must be a map"},
    {"{callbacks: [/a/timer/1s], joins: {/b/timer/1s: 2}}", 47, "unknown field '/b/timer/1s'"},
    {"{callbacks: [/a/timer/1s], joins: {/a/timer/1s: 0}}", 60, "from 1 to 1000"},
    {"{callbacks: [/a/timer/1s], joins: {/a/timer/1s: 2}}", 60, "'/a/timer/1s' is one input"},
    {"{callbacks: [/a/timer/1s], join: first}", 45, "join is 'first'. Use wait or last"},
    {"{callbacks: [/a/timer/1s], join: last}", 45, "for semantics: latency only"},
    {"{callbacks: [/a/timer/1s], semantics: slow}", 50, "Use reaction, age or latency"},
    {"{callbacks: [/a/timer/1s], deadline_ms: 5}", 39,
     "unknown field 'deadline_ms'. Use callbacks"},
    {"{callbacks: [/a/timer/1s], deadline: 0ms}", 49, "must be a time above 0"},
    {"{callbacks: [/a/timer/1s], deadline: -5ms}", 49, "here is '-5ms'"},
    {"{callbacks: [/a/timer/1s], deadline: 010ms}", 49, "here is '010ms'"},
    {"{callbacks: [/a/timer/1s], deadline: 00.5ms}", 49, "here is '00.5ms'"},
    {"{callbacks: [/a/timer/1s], on_miss: {warn_after: 03}}", 61, "here is '03'"},
    {"{callbacks: [/a/timer/1s], deadline: 5msms}", 49, "here is '5msms'"},
    {"{callbacks: [/a/timer/1s], deadline: .nan}", 49, "here is '.nan'"},
    {"{callbacks: [/a/timer/1s], deadline: 1.0000001ms}", 49, "here is '1.0000001ms'"},
    {"{callbacks: [/a/timer/1s], bound: 1e400ms}", 46, "here is '1e400ms'"},
    {"{callbacks: [/a/timer/1s], bound: 1e300ms}", 46, "less than 292 years"},
    {"{callbacks: [/a/timer/1s], bound: 9223372036855ms}", 46, "less than 292 years"},
    {"{callbacks: [/a/timer/1s], silent_after: [1]}", 53, "here is a list"},
    {"{callbacks: [/a/timer/1s], on_miss: 3}", 48, "on_miss: it must be a map"},
    {"{callbacks: [/a/timer/1s], on_miss: {warn_after: 0}}", 61, "from 1 to 1000000"},
    {"{callbacks: [/a/timer/1s], on_miss: {warn: 1}}", 49, "Use warn_after or error_after"},
    {"{callbacks: [/a/timer/1s], on_miss: {warn_after: 3, error_after: 2}}", 61,
     "warn_after is more than error_after"},
  };
  for (const auto & wrong : cases) {
    EXPECT_THAT(
      error_in(chain(wrong.fields)),
      AllOf(StartsWith("f:5:" + std::to_string(wrong.column) + ": "), HasSubstr(wrong.says)))
      << wrong.fields;
  }
}

TEST(Chains, may_have_times_below_a_millisecond)
{
  const Configuration configuration =
    parsed(chain("{callbacks: [/a/timer/1s], deadline: 0.05ms, bound: 9223372036853.5ms}"));
  EXPECT_EQ(configuration.chains()[0].deadline, microseconds(50));
  EXPECT_EQ(configuration.chains()[0].bound, microseconds(9'223'372'036'853'500));
}

TEST(Chains, have_one_name_each_and_stand_under_all_nodes)
{
  const std::string one = "        x: {callbacks: [/a/timer/1s]}\n";
  EXPECT_THAT(
    error_in(rclrt_file("      chains:\n" + one + one)),
    HasSubstr("f:6:9: chain 'x' is in line 5 already. Rename one of the two"));
  EXPECT_THAT(
    error_in("/a:\n  ros__parameters:\n    rclrt: {chains: {}}\n"),
    HasSubstr("Put 'chains' under '/**'"));
  EXPECT_THAT(
    error_in("/a:\n  ros__parameters:\n    rclrt: {diagnostics: true}\n"),
    HasSubstr("Put 'diagnostics' under '/**'"));
  EXPECT_THAT(
    error_in(rclrt_file("      diagnostics: 5\n")),
    HasSubstr("f:4:20: rclrt: diagnostics must be true or false"));
  EXPECT_THAT(
    error_in(rclrt_file("      chains: {\"a\\nb\": {callbacks: [/a/timer/1s]}}\n")),
    HasSubstr("all of them printable"));
  Configuration configuration = parsed(rclrt_file("      chains:\n" + one));
  EXPECT_EQ(
    configuration.parse(rclrt_file("      chains:\n" + one), "g", machine_of(4)).message(),
    "g:5:9: chain 'x' is in f:5:9 already. Rename one of the two");
  EXPECT_EQ(configuration.chains().size(), 1u);
}

TEST(Chains, without_end_are_told)
{
  std::string chains = "      chains:\n        c0: {callbacks: &l [";
  for (int i = 0; i < 1000; ++i) {
    chains += (i > 0 ? ", /a/timer/" : "/a/timer/") + std::to_string(i) + "s";
  }
  chains += "]}\n";
  for (int i = 1; i < 1000; ++i) {
    chains += "        c" + std::to_string(i) + ": {callbacks: *l}\n";
  }
  EXPECT_THAT(error_in(rclrt_file(chains)), HasSubstr("more than 100000 callbacks up to here"));
}

TEST(Chains, a_callback_that_nobody_has_is_told_with_the_nearest_name)
{
  Configuration configuration = parsed(chain("{callbacks: [/a/timer/1s, /b/timer/1s]}"));
  auto group_options = group("/a/group/default");
  configuration.apply(&group_options);
  auto options = callback("/a/timer/10s");
  ASSERT_TRUE(configuration.apply(&options).ok());
  const auto unmatched = configuration.unmatched();
  ASSERT_EQ(unmatched.size(), 1u) << "what is of another node may be in another process";
  EXPECT_EQ(unmatched[0].finding.subject, "f:5:9");
  EXPECT_EQ(
    unmatched[0].finding.what, "chain 'x': '/a/timer/1s' matches no callback of this executor");
  EXPECT_EQ(unmatched[0].finding.fix, "The name most like it is '/a/timer/10s'");
  EXPECT_TRUE(unmatched[0].node_is_here);
  options = callback("/a/timer/1s");
  ASSERT_TRUE(configuration.apply(&options).ok());
  EXPECT_THAT(configuration.unmatched(), IsEmpty());
}

TEST(Chains, of_which_nothing_is_here_are_noted)
{
  const auto unmatched = parsed(chain("{callbacks: [/a/timer/1s, /b/timer/1s]}")).unmatched();
  ASSERT_EQ(unmatched.size(), 1u);
  EXPECT_FALSE(unmatched[0].node_is_here);
  EXPECT_EQ(unmatched[0].finding.severity, rclrt_core::Severity::kNote);
  EXPECT_THAT(unmatched[0].finding.what, HasSubstr("'/b/timer/1s' matches no callback"));
}

TEST(Chains, have_diagnostics_unless_the_file_says_otherwise)
{
  EXPECT_FALSE(parsed("").diagnostics());
  EXPECT_TRUE(parsed(rclrt_file("      diagnostics: true\n")).diagnostics());
  EXPECT_TRUE(parsed(chain("{callbacks: [/a/timer/1s]}")).diagnostics());
  EXPECT_FALSE(
    parsed(chain("{callbacks: [/a/timer/1s]}") + "      diagnostics: false\n").diagnostics());
}

TEST(Assumptions, of_a_callback_are_put_over_each_other_field_by_field)
{
  const Configuration configuration =
    parsed(rclrt_file("      callbacks:\n"
                      "        /**/timer/*: {wcet: 1ms, response_bound: 9ms}\n"
                      "        /a/timer/1s: {scheduling_policy: fifo, priority: 7, wcet: 2.5ms, "
                      "min_period: 10ms}\n"));
  const Assumption assumption = configuration.assumption("/a/timer/1s");
  EXPECT_EQ(assumption.wcet, microseconds(2500));
  EXPECT_EQ(assumption.min_period, milliseconds(10));
  EXPECT_EQ(assumption.bound, milliseconds(9));
  EXPECT_EQ(assumption.attributes.priority, 7);
  EXPECT_FALSE(configuration.assumption("/b/timer/1s").min_period.has_value());
  EXPECT_THAT(
    error_in(rclrt_file("      callbacks:\n        /a/timer/1s: {wcet: none}\n")),
    StartsWith("f:5:29: callback '/a/timer/1s': wcet must be a time above 0"));
}

TEST(Assumptions, concern_the_chains_that_share_a_cpu_with_the_callback)
{
  const Configuration configuration =
    parsed(rclrt_file("      callbacks:\n"
                      "        /a/timer/1s: {cpu_affinity: [0]}\n"
                      "        /b/timer/1s: {cpu_affinity: [1]}\n"
                      "        /c/timer/1s: {cpu_affinity: [1]}\n"
                      "      chains:\n"
                      "        of a: {callbacks: [/a/timer/1s]}\n"
                      "        of b: {callbacks: [/b/timer/1s]}\n"
                      "        of both: {callbacks: [/a/timer/1s, /b/timer/1s]}\n"));
  EXPECT_THAT(configuration.chains_beside("/a/timer/1s"), ElementsAre("of a", "of both"));
  EXPECT_THAT(configuration.chains_beside("/c/timer/1s"), ElementsAre("of b", "of both"));
  EXPECT_THAT(configuration.chains_beside("/anywhere/timer/1s"), ::testing::SizeIs(3));
  EXPECT_THAT(parsed("").chains_beside("/a/timer/1s"), IsEmpty());
}

}  // namespace
}  // namespace rclrt_config
