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

TEST(Refusal, of_a_kernel_without_marks_names_kernels_that_are_good)
{
  const std::string said = explain_refusal(
    "libbpf: extern (func ksym) 'scx_bpf_create_dsq': func_proto [169] incompatible with vmlinux "
    "[48029]\n",
    "7.1.13");
  EXPECT_THAT(said, HasSubstr("this kernel, 7.1.13, cannot run the scheduler: "));
  EXPECT_THAT(said, HasSubstr("scx_bpf_create_dsq()"));
  EXPECT_THAT(said, HasSubstr("bpf_kfunc"));
  EXPECT_THAT(said, HasSubstr("Take 7.2.13 or newer"));
}

TEST(Refusal, of_a_kernel_that_lacks_a_function_names_it)
{
  const std::string said = explain_refusal(
    "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': not found in kernel or module BTFs\n", "6.11");
  EXPECT_THAT(said, HasSubstr("it lacks the function scx_bpf_kick_cpu()"));
  EXPECT_THAT(said, Not(HasSubstr("marks")));
}

TEST(Refusal, that_is_not_known_is_left_to_what_the_kernel_says)
{
  for (const char * said :
       {"", "libbpf: prog 'edf_enqueue': BPF program load failed", "extern (func ksym) '",
        "extern (func ksym) 'a': ambiguous",
        "extern (func ksym) 'a\n': incompatible with vmlinux"}) {
    EXPECT_EQ(explain_refusal(said, "7.3"), "") << said;
  }
}

}  // namespace
}  // namespace rclrt_scx
