// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Which files are read, which names a pattern means, and whether a plan is as it was made. That this program and
// ./rclrt plan mean the same hash is tested in see/rclrt_tools/test/test_watch_inside.py.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "configuration_impl.hpp"
#include "document.hpp"
#include "machine_of.hpp"

extern "C" const char rclrt_test_folder[];  // of the package

namespace rclrt_config
{
namespace
{

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Find : public ::testing::Test
{
protected:
  void SetUp() override
  {
    folder_ = ::testing::TempDir() + "rclrt_config_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    unsetenv("RCLRT_CONFIGURATION");
  }
  void TearDown() override
  {
    std::filesystem::remove_all(folder_);
    unsetenv("RCLRT_CONFIGURATION");
  }

  /// A file that gives /a/timer/x this queue_priority.
  std::string file(const std::string & name, int priority)
  {
    return write(
      name,
      rclrt_file(
        "      callbacks: {/a/timer/x: {queue_priority: " + std::to_string(priority) + "}}\n"));
  }

  std::string write(const std::string & name, const std::string & text)
  {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  int found(const std::string & given, const std::vector<std::string> & parameter_files)
  {
    Configuration configuration;
    const auto status = configuration.find(given, parameter_files, machine_of(2));
    EXPECT_TRUE(status.ok()) << status.message();
    auto options = callback("/a/timer/x");
    EXPECT_TRUE(configuration.apply(&options).ok());
    return options.queue_priority;
  }

  std::string error(
    const std::string & given, const std::vector<std::string> & parameter_files = {})
  {
    return Configuration().find(given, parameter_files, machine_of(2)).message();
  }

  std::string folder_;
};

TEST_F(Find, code_goes_before_the_environment_and_that_before_parameter_files)
{
  const std::string one = file("one.yaml", 1);
  const std::string two = file("two.yaml", 2);
  const std::string three = file("three.yaml", 3);
  EXPECT_EQ(found("", {}), 0);
  EXPECT_EQ(found("", {three}), 3);
  setenv("RCLRT_CONFIGURATION", two.c_str(), 1);
  EXPECT_EQ(found("", {three}), 2);
  EXPECT_EQ(found(one, {three}), 1);
  setenv("RCLRT_CONFIGURATION", "", 1);
  EXPECT_EQ(found("", {three}), 0) << "set to nothing: none";
}

TEST_F(Find, of_several_parameter_files_the_last_wins_and_those_without_entries_do_not_matter)
{
  const std::string plain = write("plain.yaml", "/a: {ros__parameters: {speed: 2}}\n");
  EXPECT_EQ(found("", {file("one.yaml", 1), plain, file("two.yaml", 2), plain}), 2);
  EXPECT_EQ(found("", {plain}), 0);
}

TEST_F(Find, a_file_that_is_asked_for_must_be_there_and_have_entries)
{
  const std::string missing = folder_ + "/missing.yaml";
  EXPECT_THAT(error(missing), AllOf(HasSubstr(missing), HasSubstr("cannot be read")));
  EXPECT_THAT(error(folder_), HasSubstr("cannot be read"));
  EXPECT_THAT(
    error(write("plain.yaml", "/a: {ros__parameters: {speed: 2}}\n")),
    HasSubstr("plain.yaml: nothing in it is for an executor"));
  setenv("RCLRT_CONFIGURATION", missing.c_str(), 1);
  EXPECT_THAT(error(""), StartsWith("RCLRT_CONFIGURATION: parameters file"));
}

TEST_F(Find, an_error_names_the_file_it_is_in)
{
  const std::string wrong = write("wrong.yaml", rclrt_file("      executors: {}\n"));
  EXPECT_THAT(error("", {file("one.yaml", 1), wrong}), StartsWith(wrong + ":4:7: "));
}

TEST_F(Find, a_file_without_end_is_refused)
{
  EXPECT_THAT(error("/dev/zero"), HasSubstr("longer than 16 MiB"));
}

TEST(NamePattern, stars_stand_for_whole_parts_as_in_parameters_files)
{
  const std::string path = std::string(rclrt_test_folder) + "/name_cases.txt";
  std::ifstream file(path);
  int names = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line[0] == '/' ? line.find(':') : line.size();
    std::istringstream words(line.substr(std::min(colon + 1, line.size())));
    for (std::string name; words >> name; ++names) {
      const NamePattern pattern(line.substr(0, colon));
      EXPECT_EQ(pattern.matches(name.substr(1)), name[0] == '+') << line << " " << name;
    }
  }
  EXPECT_EQ(names, 26) << path;
}

TEST(NamePattern, many_stars_against_a_long_name_end_soon)
{
  std::string pattern;
  std::string name;
  for (int i = 0; i < 40; ++i) {
    pattern += "/**/a";
  }
  for (int i = 0; i < 2000; ++i) {
    name += "/a";
  }
  EXPECT_FALSE(NamePattern(pattern + "/b").matches(name));
  EXPECT_TRUE(NamePattern(pattern).matches(name));
}

TEST(NamePattern, a_node_is_named_only_part_by_part)
{
  EXPECT_TRUE(NamePattern("/ns/a/timer/x").names_node("/ns/a"));
  EXPECT_TRUE(NamePattern("/*/a/timer/x").names_node("/ns/a"));
  EXPECT_FALSE(NamePattern("/ns/b/timer/x").names_node("/ns/a"));
  EXPECT_FALSE(NamePattern("/**/timer/x").names_node("/ns/a"));
  EXPECT_FALSE(NamePattern("/ns").names_node("/ns/a"));
}

TEST(NamePattern, what_is_no_pattern_is_told)
{
  EXPECT_EQ(NamePattern::problem_with("/a/*/**/b#2"), "");
  EXPECT_NE(NamePattern::problem_with(""), "");
  EXPECT_NE(NamePattern::problem_with("a/b"), "");
  EXPECT_NE(NamePattern::problem_with("/"), "");
  EXPECT_NE(NamePattern::problem_with("/a//b"), "");
  EXPECT_NE(NamePattern::problem_with("/a/"), "");
  EXPECT_NE(NamePattern::problem_with("/a/sc*"), "");
  EXPECT_NE(NamePattern::problem_with("/a/***"), "");
}

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kBody = rclrt_file("      callbacks: {/a/timer/1s: {cpu_affinity: [1]}}\n");

std::string plan(const std::string & body, const std::string & proved, int version = 1)
{
  return "# A plan of rclrt plan for robot.yaml.\n# plan: " + std::to_string(version) +
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
