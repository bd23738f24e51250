// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Whether a plan is as it was made. That this program and ./rclrt plan mean the same hash is tested in
// see/rclrt_tools/test/test_watch_inside.py.

#include "plan_header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine_of.hpp"

namespace rclrt_config
{
namespace
{

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kBody = rclrt_file("      callbacks: {/a/timer/1s: {cpu_affinity: [1]}}\n");

std::string plan(const std::string & body, const std::string & proved, int version = 1)
{
  return "# A plan of ./rclrt plan for robot.yaml.\n# plan: " + std::to_string(version) +
         "\n# model: sha256:00\n# content: sha256:" + sha256(proved) +
         "\n# machine: {\"cpus\": 8, \"kernel\": \"6.1\"}\n#\n" + body;
}

TEST(Sha256, is_that_of_the_standard)
{
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
    sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
    sha256(std::string(1'000'000, 'a')),
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(PlanHeader, a_plan_that_is_as_it_was_made_is_proved)
{
  const Configuration configuration = parsed(plan(kBody, kBody));
  EXPECT_FALSE(configuration.proof_is_void());
  EXPECT_THAT(configuration.notes(), IsEmpty());
  EXPECT_FALSE(parsed(kBody).proof_is_void()) << "no plan";
}

TEST(PlanHeader, an_edited_plan_is_told_with_the_remedy)
{
  std::string edited = kBody;
  edited.replace(edited.find("[1]"), 3, "[0]");
  const Configuration configuration = parsed(plan(edited, kBody));
  EXPECT_TRUE(configuration.proof_is_void());
  ASSERT_THAT(configuration.notes(), SizeIs(1));
  EXPECT_EQ(configuration.notes()[0].subject, "f:4:1");
  EXPECT_THAT(configuration.notes()[0].what, HasSubstr("edited after it was made"));
  EXPECT_THAT(configuration.notes()[0].fix, HasSubstr("plan again"));
  EXPECT_EQ(configuration.notes()[0].severity, rclrt_core::Severity::kWarning);
}

TEST(PlanHeader, a_plan_of_a_newer_program_is_told)
{
  const Configuration configuration = parsed(plan(kBody, kBody, 2));
  EXPECT_TRUE(configuration.proof_is_void());
  EXPECT_THAT(
    configuration.notes()[0].what, HasSubstr("a plan of version 2, this program reads 1"));
}

TEST(PlanHeader, a_plan_for_a_machine_with_more_cpus_does_not_start_here)
{
  EXPECT_THAT(
    error_in(plan(kBody, kBody), 1),
    ::testing::AllOf(
      StartsWith("f:10:"), HasSubstr("names CPU '1', but this machine has CPUs 0 to 0"),
      HasSubstr("a plan for a machine with 8 CPUs: plan for this one")));
  EXPECT_THAT(error_in(plan(kBody, kBody), 1), ::testing::Not(HasSubstr("edited")));
}

TEST(PlanHeader, whatever_stands_there_is_told_or_passed_over)
{
  for (const std::string header :
       {"# plan: \n# content: \n", "# plan: x\n# content: y\n",
        "# plan: 99999999999999\n# content: \n", "# plan: 1\n# content: sha256:\n",
        "# machine: {\"cpus\": x}\n", "#", "# plan: 1"}) {
    EXPECT_EQ(error_in(header + "\n" + kBody), "") << header;
  }
}

}  // namespace
}  // namespace rclrt_config
