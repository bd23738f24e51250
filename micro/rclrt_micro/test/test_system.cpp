// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything in one (system.h), and what a program has that does not link the rest.
#include <gtest/gtest.h>

#include "system.hpp"
#include "systems.h"

namespace
{
// A simulated line and its agent for a system that has a daemon of its own.
struct Board
{
  explicit Board(const rclrt_system * of) : system(of)
  {
    rig.to_client.deliver = [this](const Agent::Bytes & bytes) {
      rclrt_daemon_received(system->daemon, bytes.data(), bytes.size());
    };
    rig.port.transmitted = [this] { rclrt_daemon_transmitted(system->daemon); };
  }

  rclrt_ret start(uint64_t timeout_ns)
  {
    return rclrt_system_start_serial(
      system, &rig.port.port, &rig.port.transport, 7, "board", timeout_ns);
  }

  Rig rig;
  const rclrt_system * system;
};

// A number, and bytes of which each differs from those of the fragments around it.
Agent::Bytes text_of(const Blob & blob)
{
  Agent::Bytes bytes = number(blob.number);
  while (bytes.size() < blob.size) {
    bytes.push_back(static_cast<uint8_t>(bytes.size() * 31 + bytes.size() / 113 + blob.number));
  }
  return bytes;
}
const rclrt_type kText = {
  "test_msgs::msg::dds_::Text_",
  [](const void * message, rclrt_writer * writer) {
    const auto bytes = text_of(*static_cast<const Blob *>(message));
    rclrt_write_bytes(writer, bytes.data(), bytes.size());
  },
  nullptr};

TEST(System, publishes_messages_longer_than_a_frame_if_it_has_room_for_them)
{
  for (const bool has_room : {false, true}) {
    Board board(has_room ? system_with_long_messages() : system_without_long_messages());
    ASSERT_EQ(board.start(5000 * kMs), RCLRT_OK);
    rclrt_publisher publisher;
    ASSERT_EQ(
      rclrt_publisher_init(&publisher, board.system->node, &kText, "t", rclrt_qos_reliable(), 1),
      RCLRT_OK);
    std::vector<Agent::Bytes> came;
    board.rig.agent.on_data = [&came](const std::string &, const Agent::Bytes & data) {
      came.push_back(data);
    };
    // Of four nodes of 128 bytes: one, several, 16, 17 and 157 fragments.
    for (const uint32_t size : {100U, 300U, 1900U, 1980U, 18'000U}) {
      const Blob blob{size, size};
      const bool fits = has_room || size < 120;
      EXPECT_EQ(rclrt_publish(&publisher, &blob), fits ? RCLRT_OK : RCLRT_ERR_STORAGE);
      for (int i = 0; i < 200 && !rclrt_daemon_idle(board.system->daemon); ++i) {
        board.rig.settle(20);
      }
      ASSERT_EQ(came.size(), fits ? 1U : 0U) << size;
      EXPECT_TRUE(came.empty() || came.at(0) == text_of(blob)) << size;
      came.clear();
    }
    const Blob longer{1, 18'001};
    EXPECT_EQ(rclrt_publish(&publisher, &longer), RCLRT_ERR_STORAGE);
    const auto & shortage = board.system->daemon->shortage;
    EXPECT_STREQ(shortage.what, has_room ? "the session's buffer" : "message_capacity");
    EXPECT_EQ(rclrt_session_close(board.system->session), RCLRT_OK);
  }
}

// While it goes, others pass it, entities come to be, and its own stream takes nothing that would be among it.
TEST(System, goes_on_with_all_else_while_a_long_message_is_sent)
{
  Board board(system_with_long_messages());
  ASSERT_EQ(board.start(5000 * kMs), RCLRT_OK);
  rclrt_publisher bulk, urgent, late;
  const auto node = board.system->node;
  const auto qos = rclrt_qos_reliable();
  ASSERT_EQ(rclrt_publisher_init(&bulk, node, &kText, "bulk", qos, 1), RCLRT_OK);
  ASSERT_EQ(rclrt_publisher_init(&urgent, node, &kText, "urgent", qos, 9), RCLRT_OK);
  std::vector<std::pair<std::string, Agent::Bytes>> came;
  board.rig.agent.on_data = [&came](const std::string & topic, const Agent::Bytes & data) {
    came.emplace_back(topic, data);
  };
  const Blob blob{1, 18'000};
  const Blob brief{2, 40};
  ASSERT_EQ(rclrt_publish(&bulk, &blob), RCLRT_OK);
  EXPECT_EQ(rclrt_publish(&bulk, &brief), RCLRT_ERR_AGAIN);
  EXPECT_EQ(rclrt_publish(&urgent, &blob), RCLRT_ERR_AGAIN) << "one at a time";
  board.rig.settle(100);
  EXPECT_EQ(rclrt_publish(&urgent, &brief), RCLRT_OK);
  EXPECT_EQ(rclrt_publisher_init(&late, node, &kText, "late", qos, 1), RCLRT_OK);
  EXPECT_FALSE(rclrt_daemon_confirmed(board.system->daemon, bulk.stream));
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0], std::make_pair(std::string("rt/urgent"), text_of(brief)));
  board.rig.settle(3000);
  ASSERT_EQ(came.size(), 2U);
  EXPECT_EQ(came[1].second, text_of(blob));
  // A publisher that goes, and an agent that forgets, end it; then others can be sent.
  ASSERT_EQ(rclrt_publish(&bulk, &blob), RCLRT_OK);
  EXPECT_EQ(rclrt_publisher_fini(&bulk), RCLRT_OK);
  ASSERT_EQ(rclrt_publish(&urgent, &blob), RCLRT_OK);
  board.rig.settle(100);
  board.rig.agent.restart();
  for (int i = 0; i < 100; ++i) {
    board.rig.settle(20);
    rclrt_session_handle(board.system->session);
  }
  EXPECT_TRUE(board.system->session->connected);
  came.clear();
  ASSERT_EQ(rclrt_publish(&urgent, &blob), RCLRT_OK);
  board.rig.settle(3000);
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].second, text_of(blob));
  EXPECT_EQ(board.system->daemon->free_count, board.system->config->node_count);
  EXPECT_EQ(rclrt_session_close(board.system->session), RCLRT_OK);
}

// The domain that CREATE asks for.
int domain_of(const rclrt_system * system)
{
  Board board(system);
  EXPECT_EQ(board.start(5000 * kMs), RCLRT_OK);
  EXPECT_EQ(rclrt_session_close(system->session), RCLRT_OK);
  for (const auto & message : board.rig.sent_by_client) {
    rclrt_submessage sub{};
    rclrt_reader reader;
    rclrt_reader_init(&reader, message.data() + 4, message.size() - 4);
    if (rclrt_read_submessage(&reader, &sub) && sub.id == RCLRT_CREATE) {
      return sub.of.create.domain;
    }
  }
  return -1;
}

TEST(System, is_in_the_domain_of_the_agent_unless_it_is_told_another)
{
  EXPECT_EQ(domain_of(system_without_long_messages()), RCLRT_DOMAIN_OF_AGENT);
  rclrt_system other = *system_without_long_messages();
  other.domain = 42;
  EXPECT_EQ(domain_of(&other), 42);
}

TEST(System, has_room_for_bytes_that_are_read_only_if_the_line_is_polled)
{
  EXPECT_EQ(system_with_long_messages()->config->input, nullptr);
  EXPECT_EQ(system_with_long_messages()->config->input_size, 0);
  EXPECT_EQ(system_without_long_messages()->config->input_size, 128);
}

// In virtual time.
TEST(System, the_time_for_its_start_is_for_greeting_and_node_together)
{
  for (const uint64_t timeout : {300 * kMs, 4000 * kMs}) {
    Board board(system_without_long_messages());
    board.rig.on_agent_message = [](const Agent::Bytes & message) {
      return message.at(1) == RCLRT_STREAM_RELIABLE;  // lost; it is the answer to CREATE
    };
    const uint64_t begin = board.rig.world.now_ns();
    EXPECT_EQ(board.start(timeout), RCLRT_ERR_TIMEOUT);
    EXPECT_TRUE(board.system->session->connected) << "it is the node that is missing";
    const uint64_t took = board.rig.world.now_ns() - begin;
    EXPECT_GE(took, timeout);
    EXPECT_LE(took, timeout + 50 * kMs);
  }
}

// A STATUS on the session's reliable stream.
Agent::Bytes status(uint16_t sequence, uint8_t value)
{
  const auto low = static_cast<uint8_t>(sequence);
  return {0x81, 0x80,  low, static_cast<uint8_t>(sequence >> 8), RCLRT_STATUS, 1, 6, 0, 0, 1, 0,
          1,    value, 0};
}

TEST(Answers, ahead_of_their_turn_come_again_where_nothing_is_read)
{
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  const auto receive = [&](const Agent::Bytes & message) {
    const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0);
    rclrt_daemon_received(&system.daemon, frame.data(), frame.size());
    rclrt_session_handle(&system.session);
  };
  const rclrt_input_stream & stream = system.session.reliable_in;
  const uint16_t next = stream.expected;
  system.session.status = 0;
  receive(status(static_cast<uint16_t>(next + 1U), 2));
  EXPECT_EQ(stream.expected, next);
  EXPECT_EQ(system.session.status, 0);
  EXPECT_EQ(stream.waiting, 0U) << "both are asked for";
  EXPECT_EQ(system.daemon.counters.dropped_frames, 1U);
  receive(status(next, 1));
  EXPECT_EQ(system.session.status, 1);
  receive(status(static_cast<uint16_t>(next + 1U), 2));
  EXPECT_EQ(system.session.status, 2);
  EXPECT_EQ(stream.expected, static_cast<uint16_t>(next + 2U));
}

TEST(Answers, reach_a_program_that_only_publishes_over_a_bad_line)
{
  RigOptions bad;
  bad.faults.loss = 0.2;
  bad.faults.duplication = 0.2;
  bad.faults.corruption = 0.1;
  System system(bad);
  system.session.answer_timeout_ns = 60'000 * kMs;
  ASSERT_EQ(rclrt_session_connect(&system.session, 60'000 * kMs), RCLRT_OK);
  ASSERT_EQ(rclrt_node_init(&system.node, &system.session, "node", 0), RCLRT_OK);
  rclrt_publisher publisher;
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 1), RCLRT_OK);
  std::vector<uint32_t> numbers;
  system.agent.on_data = [&numbers](const std::string &, const Agent::Bytes & data) {
    numbers.push_back(number(data));
  };
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < 100; ++i) {
    const Blob blob{i, 20};
    while (rclrt_publish(&publisher, &blob) != RCLRT_OK) {
      system.spin_for(100);
    }
    wanted.push_back(i);
  }
  system.spin_for(60'000);
  EXPECT_EQ(numbers, wanted);
}
}  // namespace
