// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What eProsima's client 2.4.2 has sent, captured with the agent of the same version: our agent gives the same
// answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "bench.hpp"
#include "captures.hpp"

namespace
{
// Request, object and status of every STATUS, in any order: acknowledgements and repeats are not the same.
using Statuses = std::set<std::tuple<int, int, int>>;

void collect(const ::Bytes & message, Statuses * statuses)
{
  rclrt_reader reader;
  rclrt_message_header header;
  rclrt_submessage sub;
  rclrt_reader_init(&reader, message.data(), message.size());
  rclrt_read_message_header(&reader, &header);
  while (rclrt_read_submessage(&reader, &sub)) {
    if (sub.id == RCLRT_STATUS) {
      statuses->insert({sub.request, sub.object, sub.of.result.status});
    }
  }
}

constexpr const char * kProfiles =
  "<profiles><participant profile_name=\"default_xrce_participant\"><rtps><name>n</name></rtps>"
  "</participant><topic profile_name=\"shapetype_topic\"><name>Square</name>"
  "<dataType>ShapeType</dataType></topic>"
  "<data_writer profile_name=\"shapetype_data_writer\"><topic><name>Square</name>"
  "<dataType>ShapeType</dataType></topic></data_writer>"
  "<data_reader profile_name=\"shapetype_data_reader\"><topic><name>Square</name>"
  "<dataType>ShapeType</dataType></topic></data_reader></profiles>";

TEST(Captures, of_another_client_are_answered_as_its_own_agent_answers)
{
  std::map<std::string, std::vector<CapturedMessage>> captures;
  for (const auto & message : read_captures()) {
    captures[message.capture].push_back(message);
  }
  ASSERT_GE(captures.size(), 10U);
  for (const auto & [name, messages] : captures) {
    rclrt_agent::AgentOptions options;
    options.session.references = rclrt_agent::parse_references(kProfiles);
    rclrt_agent_test::AgentRig rig(options);
    Statuses expected, ours;
    for (const auto & captured : messages) {
      if (!captured.from_client) {
        collect(captured.message, &expected);
        continue;
      }
      rig.now += std::chrono::milliseconds(600);
      rig.receive(1, captured.message);
      const auto jobs = rig.jobs;
      rig.work();
      for (const auto & job : jobs) {
        ::Bytes answer;
        while (job->outgoing().next(rig.now, &answer)) {
          collect(answer, &ours);
        }
      }
    }
    Statuses missing, more;
    std::set_difference(
      expected.begin(), expected.end(), ours.begin(), ours.end(),
      std::inserter(missing, missing.begin()));
    std::set_difference(
      ours.begin(), ours.end(), expected.begin(), expected.end(),
      std::inserter(more, more.begin()));
    EXPECT_EQ(missing, Statuses{}) << name;
    EXPECT_EQ(more, Statuses{}) << name;
    EXPECT_EQ(rig.agent.counters().malformed, 0U) << name;
  }
}
}  // namespace
