// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What is said of a kernel that does not load the scheduler. The first text is what libbpf says on a kernel of 7.1.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "refusal.hpp"

namespace rclrt_scx
{
namespace
{

using testing::HasSubstr;
using testing::Not;

Facts of_kernel(const char * release)
{
  Facts facts;
  facts.release = release;
  return facts;
}

TEST(Refusal, of_a_kernel_without_marks_names_kernels_that_are_good)
{
  const std::string said = explain_refusal(
    "libbpf: extern (func ksym) 'scx_bpf_create_dsq': func_proto [169] incompatible with vmlinux "
    "[48029]\n",
    of_kernel("7.1.13"));
  EXPECT_THAT(said, HasSubstr("this kernel, 7.1.13, cannot run the scheduler: "));
  EXPECT_THAT(said, HasSubstr("scx_bpf_create_dsq()"));
  EXPECT_THAT(said, HasSubstr("bpf_kfunc"));
  EXPECT_THAT(said, HasSubstr("Take 7.2.13 or newer"));
}

TEST(Refusal, of_a_kernel_that_lacks_a_function_names_it)
{
  const std::string said = explain_refusal(
    "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': not found in kernel or module BTFs\n",
    of_kernel("6.11"));
  EXPECT_THAT(said, HasSubstr("it lacks the function scx_bpf_kick_cpu()"));
  EXPECT_THAT(said, Not(HasSubstr("marks")));
}

TEST(Refusal, that_is_not_known_is_left_to_what_the_kernel_says)
{
  for (const char * said :
       {"", "libbpf: prog 'edf_enqueue': BPF program load failed", "extern (func ksym) '",
        "extern (func ksym) 'a': ambiguous",
        "extern (func ksym) 'a\n': incompatible with vmlinux"}) {
    EXPECT_EQ(explain_refusal(said, of_kernel("7.3.4")), "") << said;
  }
}

TEST(Refusal, of_a_kernel_that_is_known_as_bad_needs_no_log_of_the_verifier)
{
  for (const char * bad : {"7.1", "7.1.3-amd64", "7.2", "7.2.6+deb14-cloud-amd64", "7.2.12"}) {
    const std::string said =
      explain_refusal("libbpf: prog 'edf_init': failed to load: -EINVAL\n", of_kernel(bad));
    EXPECT_THAT(said, HasSubstr(std::string("this kernel, ") + bad + ", cannot run")) << bad;
    EXPECT_THAT(said, HasSubstr("Take 7.2.13 or newer"));
  }
  for (const char * good : {"7.2.13", "7.3.4", "7.0.13", "6.1", "8.1", ""}) {
    EXPECT_EQ(explain_refusal("libbpf: failed", of_kernel(good)), "") << good;
  }
}

TEST(Refusal, of_a_machine_that_is_locked_down_names_lockdown)
{
  Facts facts = of_kernel("7.3.4");
  facts.lockdown = "confidentiality";
  const char * const said =
    "231: (85) call bpf_probe_read#4\nprogram of this type cannot use helper bpf_probe_read#4\n";
  EXPECT_THAT(explain_refusal(said, facts), HasSubstr("lockdown says confidentiality"));
  facts.lockdown = "integrity";
  EXPECT_THAT(explain_refusal("something else", facts), HasSubstr("lockdown says integrity"));
  facts.release = "7.1";
  EXPECT_THAT(explain_refusal("something else", facts), Not(HasSubstr("lockdown")))
    << "that kernel is refused in any mode";
}

TEST(Refusal, that_is_not_known_is_told_by_the_lines_that_say_it)
{
  EXPECT_EQ(
    verdict_of("1: (85) call a#4\nR3 is bad\nprocessed 231 insns (limit 1)\n-- END PROG LOAD LOG "
               "--\nlibbpf: "
               "failed\n"),
    "\n1: (85) call a#4\nR3 is bad");
  EXPECT_EQ(
    verdict_of("1: x\n\nReason:\n  The helper is not allowed.\n\nAt:\n a @ b.h\n"),
    "\n  The helper is not allowed.");
  EXPECT_EQ(verdict_of("Reason:"), "\nReason:");
  EXPECT_EQ(verdict_of(""), "");
}

TEST(Refusal, says_what_this_process_may_not_or_cannot_see)
{
  const auto with = [](auto change) {
    Facts facts;
    change(facts);
    return why_not_here(facts);
  };
  EXPECT_EQ(why_not_here(Facts()), "");
  EXPECT_THAT(with([](Facts & f) { f.state = ""; }), HasSubstr("CONFIG_SCHED_CLASS_EXT"));
  EXPECT_THAT(
    with([](Facts & f) { f.has_sys = false, f.state = ""; }), HasSubstr("/sys is not mounted"));
  EXPECT_THAT(with([](Facts & f) { f.has_types = false; }), HasSubstr("CONFIG_DEBUG_INFO_BTF"));
  EXPECT_THAT(with([](Facts & f) { f.is_root = false; }), HasSubstr("needs root"));
  EXPECT_THAT(with([](Facts & f) { f.is_nested = true; }), HasSubstr("user namespace"));
  const std::string lacks = with([](Facts & f) { f.capabilities = 0xa80425fb; });
  EXPECT_THAT(lacks, HasSubstr("has not: CAP_SYS_ADMIN, CAP_BPF, CAP_PERFMON. Load it on the"));
  EXPECT_THAT(
    with([](Facts & f) { f.bpf_is_refused = f.is_filtered = true; }), HasSubstr("seccomp"));
  EXPECT_THAT(with([](Facts & f) { f.bpf_is_refused = true; }), HasSubstr("security module"));
  EXPECT_THAT(
    with([](Facts & f) { f.state = "enabled", f.scheduler = "scx_rusty"; }),
    HasSubstr("already in force: scx_rusty; unload that one"));
}

}  // namespace
}  // namespace rclrt_scx
