// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The agent and rclrt_micro's client, end to end in virtual time.
#include <gtest/gtest.h>

#include "bench.hpp"

namespace
{
using rclrt_agent_test::Bench;

std::vector<uint32_t> up_to(uint32_t count)
{
  std::vector<uint32_t> numbers(count);
  for (uint32_t i = 0; i < count; ++i) {
    numbers[i] = i;
  }
  return numbers;
}

RigOptions fast(rclrt_framing framing = RCLRT_FRAMING_SERIAL)
{
  RigOptions with;
  with.framing = framing;
  with.byte_ns = 10'000;
  return with;
}

class Framing : public ::testing::TestWithParam<rclrt_framing>
{
};

TEST_P(Framing, what_a_client_publishes_reaches_ros_and_comes_back)
{
  for (const auto qos : {rclrt_qos_reliable(), rclrt_qos_best_effort()}) {
    Bench bench(fast(GetParam()));
    bench.start();
    rclrt_publisher publisher;
    Listener received(bench);
    ASSERT_EQ(rclrt_publisher_init(&publisher, &bench.node, &kBlob, "chatter", qos, 3), RCLRT_OK);
    ASSERT_EQ(received.init("chatter", qos), RCLRT_OK);
    ASSERT_EQ(received.add(), RCLRT_OK);
    for (uint32_t i = 0; i < 20; ++i) {
      const Blob blob{i, 40};
      ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
      bench.spin_for(20);
    }
    bench.spin_for(500);
    EXPECT_EQ(received.numbers, up_to(20));
    EXPECT_EQ(bench.backend.written["/chatter"].size(), 20U);
    EXPECT_EQ(rclrt_session_close(&bench.session), RCLRT_OK);
    EXPECT_TRUE(bench.agent.report(bench.now()).empty());
    EXPECT_TRUE(bench.backend.nodes.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
  All, Framing,
  ::testing::Values(RCLRT_FRAMING_SERIAL, RCLRT_FRAMING_DATAGRAM, RCLRT_FRAMING_LENGTH));

TEST(Agent, serves_a_client_that_puts_its_key_into_every_message)
{
  Bench bench(fast(), {}, 0x01);
  bench.start();
  EXPECT_EQ(rclrt_session_ping(&bench.session, 1000 * kMs), RCLRT_OK);
  EXPECT_EQ(bench.agent.counters().foreign, 0U);
}

TEST(Agent, is_found_before_there_is_a_session_and_tells_its_time)
{
  rclrt_agent::AgentOptions options;
  options.session.clock = [] { return int64_t{1'700'000'000'000'000'000}; };
  Bench bench(fast(), options);
  EXPECT_EQ(rclrt_session_ping(&bench.session, 1000 * kMs), RCLRT_OK);
  bench.start();
  ASSERT_EQ(rclrt_session_synchronize(&bench.session, 1000 * kMs), RCLRT_OK);
  EXPECT_NEAR(static_cast<double>(bench.session.clock_offset_ns), 1.7e18, 1e9);
}

TEST(Agent, makes_entities_from_xml_as_from_binary)
{
  Bench bench(fast());
  bench.node.representation = RCLRT_BY_XML;
  bench.start();
  rclrt_publisher publisher;
  Listener received(bench);
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &bench.node, &kBlob, "/a/b", rclrt_qos_reliable(), 0),
    RCLRT_OK);
  ASSERT_EQ(received.init("/a/b"), RCLRT_OK);
  ASSERT_EQ(received.add(), RCLRT_OK);
  const Blob blob{7, 12};
  ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
  bench.spin_for(200);
  EXPECT_EQ(received.numbers, std::vector<uint32_t>{7});
}

TEST(Agent, makes_entities_from_the_profiles_of_a_file)
{
  rclrt_agent::AgentOptions options;
  options.session.references = rclrt_agent::parse_references(
    "<profiles><data_writer profile_name=\"w\"><topic><name>rt/x</name><dataType>T</dataType>"
    "</topic></data_writer></profiles>");
  Bench bench(fast(), options);
  bench.start();
  rclrt_publisher publisher;
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &bench.node, &kBlob, "y", rclrt_qos_reliable(), 0), RCLRT_OK);
  rclrt_entity writer{};
  writer.name = "w";
  writer.representation = RCLRT_BY_REFERENCE;
  writer.parent = publisher.group.id;
  EXPECT_EQ(rclrt_session_create(&bench.session, &writer, RCLRT_DATAWRITER), RCLRT_OK);
  rclrt_entity unknown = {};
  unknown.name = "v";
  unknown.representation = RCLRT_BY_REFERENCE;
  unknown.parent = publisher.group.id;
  EXPECT_EQ(rclrt_session_create(&bench.session, &unknown, RCLRT_DATAWRITER), RCLRT_ERR_AGENT);
  EXPECT_EQ(bench.session.status, RCLRT_STATUS_UNKNOWN_REFERENCE);
}

TEST(Agent, refuses_what_belongs_to_nothing_or_has_no_name_of_ros)
{
  Bench bench(fast());
  bench.start();
  rclrt_entity orphan{};
  orphan.name = "t";
  orphan.type = "T";
  orphan.parent = 0x7771;
  EXPECT_EQ(rclrt_session_create(&bench.session, &orphan, RCLRT_TOPIC), RCLRT_ERR_AGENT);
  EXPECT_EQ(bench.session.status, RCLRT_STATUS_UNKNOWN_REFERENCE);
  rclrt_publisher publisher;
  EXPECT_EQ(
    rclrt_publisher_init(&publisher, &bench.node, &kBlob, "a b", rclrt_qos_reliable(), 0),
    RCLRT_ERR_AGENT);
  EXPECT_EQ(bench.session.status, RCLRT_STATUS_INVALID_DATA);
}

struct Add
{
  Blob request, response;
  std::vector<uint32_t> answers;
};

TEST(Agent, carries_requests_and_answers_both_ways)
{
  Bench bench(fast());
  bench.start();
  rclrt_service service;
  rclrt_client client;
  Add server, asker;
  ASSERT_EQ(rclrt_service_init(&service, &bench.node, &kBlob, &kBlob, "add"), RCLRT_OK);
  ASSERT_EQ(rclrt_client_init(&client, &bench.node, &kBlob, &kBlob, "add", 1), RCLRT_OK);
  ASSERT_EQ(
    rclrt_executor_add_service(
      &bench.executor, &service, &server.request, &server.response,
      [](void *, const void * request, void * response) {
        static_cast<Blob *>(response)->number = static_cast<const Blob *>(request)->number + 1;
        return true;
      },
      &server, 3),
    RCLRT_OK);
  ASSERT_EQ(
    rclrt_executor_add_client(
      &bench.executor, &client, &asker.response,
      [](void * context, const void * response, uint16_t) {
        static_cast<Add *>(context)->answers.push_back(static_cast<const Blob *>(response)->number);
      },
      &asker, 2),
    RCLRT_OK);
  bench.spin_for(100);
  for (uint32_t i = 10; i < 15; ++i) {
    const Blob request{i, 4};
    ASSERT_EQ(rclrt_client_request(&client, &request, nullptr), RCLRT_OK);
    bench.spin_for(100);
  }
  EXPECT_EQ(asker.answers, (std::vector<uint32_t>{11, 12, 13, 14, 15}));
}

TEST(Agent, fragments_go_both_ways)
{
  RigOptions with = fast();
  with.capacity = 128;
  with.nodes = 48;
  Bench bench(with);
  bench.start();
  rclrt_publisher publisher;
  Listener received(bench);
  std::vector<uint8_t> storage(2048);
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &bench.node, &kBlob, "t", rclrt_qos_reliable(), 0), RCLRT_OK);
  ASSERT_EQ(received.init(), RCLRT_OK);
  ASSERT_EQ(rclrt_subscription_accept_long(&received.subscription, storage.data(), 2048), RCLRT_OK);
  ASSERT_EQ(received.add(), RCLRT_OK);
  for (uint32_t i = 0; i < 10; ++i) {
    const Blob blob{i, 1000 + i};
    ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
    bench.spin_for(500);
  }
  EXPECT_EQ(received.numbers, up_to(10));
  EXPECT_EQ(received.sizes.at(9) & ~3U, 1009U & ~3U);
}

// The whole path under a line that loses, doubles, and spoils 30 % of the frames in both directions, and lets streams
// overtake each other.
TEST(Agent, loses_nothing_that_is_reliable_over_a_line_that_spoils_a_third_of_the_frames)
{
  for (const uint32_t loss_only : {1U, 0U}) {
    RigOptions with = fast();
    with.faults = loss_only != 0 ? rclrt_micro::SimLine::Faults{0.3, 0, 0, 0, false}
                                 : rclrt_micro::SimLine::Faults{0.1, 0.3, 0.3, 20 * kMs, true};
    Bench bench(with);
    bench.session.answer_timeout_ns = 60'000 * kMs;
    ASSERT_EQ(rclrt_session_connect(&bench.session, 60'000 * kMs), RCLRT_OK);
    ASSERT_EQ(rclrt_node_init(&bench.node, &bench.session, "node", 0), RCLRT_OK);
    rclrt_publisher publisher;
    Listener received(bench);
    ASSERT_EQ(
      rclrt_publisher_init(&publisher, &bench.node, &kBlob, "t", rclrt_qos_reliable(), 3),
      RCLRT_OK);
    ASSERT_EQ(received.init(), RCLRT_OK);
    ASSERT_EQ(received.add(), RCLRT_OK);
    bench.spin_for(30'000);  // READ_DATA may have to be repeated
    for (uint32_t i = 0; i < 300; ++i) {
      const Blob blob{i, 40};
      while (rclrt_publish(&publisher, &blob) != RCLRT_OK) {
        bench.spin_for(50);
      }
    }
    for (int i = 0; i < 600 && received.numbers.size() < 300; ++i) {
      bench.spin_for(500);
    }
    EXPECT_EQ(received.numbers, up_to(300)) << "loss only: " << loss_only;
  }
}
}  // namespace
