// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Publications in ways that only rclcpp has, and libraries that do not see them: the rest is in the conformance suite.

#include <cstdio>
#include <string>

#include "conformance/publications.hpp"

namespace rclrt_rclcpp
{
namespace
{

class PublicationsOfRclcpp : public conformance::Publications
{
};
OVER_OUR_EXECUTORS(PublicationsOfRclcpp);

TEST_P(PublicationsOfRclcpp, of_serialized_messages_release_the_more_urgent_first)
{
  const auto publisher = low->create_publisher<conformance::Message>("topic", 10);
  subscribe_mid();
  subscribe_high();
  rclcpp::SerializedMessage bytes;
  const conformance::Message message;
  rclcpp::Serialization<conformance::Message>().serialize_message(&message, &bytes);
  expect_in_order(*publisher, [&] { publisher->publish(bytes); });
}

TEST_P(PublicationsOfRclcpp, of_a_program_that_links_the_library_are_no_finding)
{
  subscribe_high();
  spin();
  for (const auto & finding : conformance::ours(*executor).findings()) {
    EXPECT_NE(finding.subject, "publications") << to_string(finding);
  }
}

std::string output_of(const std::string & command)
{
  std::string text;
  char line[1024];
  std::FILE * const pipe = popen(command.c_str(), "r");
  while (pipe && std::fgets(line, sizeof line, pipe)) {
    text += line;
  }
  EXPECT_EQ(pipe ? pclose(pipe) : -1, 0) << command;
  return text;
}

TEST(LoadedLibrary, that_does_not_see_publications_says_so_and_what_helps)
{
  const std::string library = LOADED_EXECUTOR;
  const std::string program = std::string(LOADING_PROGRAM) + " " + library;
  const std::string finding = output_of(program);
  const std::string remedy = "LD_PRELOAD=" + library;
  EXPECT_NE(finding.find("rmw_publish() is not called through rclrt_rclcpp"), std::string::npos)
    << finding;
  EXPECT_NE(finding.find("rcl_clock_add_jump_callback() is not called"), std::string::npos)
    << finding;
  for (const char * subject : {"publications", "entities"}) {
    const auto at = finding.find(subject);
    EXPECT_NE(finding.find(remedy, at), std::string::npos) << subject << ": " << finding;
  }
  EXPECT_EQ(output_of(remedy + " " + program), "");
}

}  // namespace
}  // namespace rclrt_rclcpp
