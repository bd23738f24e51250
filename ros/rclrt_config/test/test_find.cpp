// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Which files are read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "machine_of.hpp"

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

  /// A file that gives /a/timer/x this rank.
  std::string file(const std::string & name, int priority)
  {
    return write(
      name,
      rclrt_file("      callbacks: {/a/timer/x: {priority: " + std::to_string(priority) + "}}\n"));
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
    return options.priority;
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
  EXPECT_THAT(error(""), StartsWith("RCLRT_CONFIGURATION: configuration file"));
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

}  // namespace
}  // namespace rclrt_config
