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

TEST(System, publishes_messages_longer_than_a_frame_if_it_has_room_for_them)
{
  for (const bool has_room : {false, true}) {
    Board board(has_room ? system_with_long_messages() : system_without_long_messages());
    ASSERT_EQ(board.start(5000 * kMs), RCLRT_OK);
    rclrt_publisher publisher;
    ASSERT_EQ(
      rclrt_publisher_init(&publisher, board.system->node, &kBlob, "t", rclrt_qos_reliable(), 1),
      RCLRT_OK);
    size_t came = 0;
    board.rig.agent.on_data = [&came](const std::string &, const Agent::Bytes & data) {
      came = data.size();
    };
    const Blob blob{1, 900};
    EXPECT_EQ(rclrt_publish(&publisher, &blob), has_room ? RCLRT_OK : RCLRT_ERR_STORAGE);
    board.rig.settle(2000);
    EXPECT_EQ(came, has_room ? 900U : 0U);
    if (!has_room) {
      EXPECT_STREQ(board.system->daemon->shortage.what, "message_capacity");
    }
    EXPECT_EQ(rclrt_session_close(board.system->session), RCLRT_OK);
  }
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
