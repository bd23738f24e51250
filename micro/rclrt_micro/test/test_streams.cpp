// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Reliable and best effort streams against the agent, over lines that lose, double and corrupt.
#include <gtest/gtest.h>

#include "captures.hpp"
#include "rig.hpp"

namespace
{
constexpr uint8_t kReliable = 0x83;

struct Endpoint
{
  explicit Endpoint(Rig & rig, uint8_t id = kReliable) : daemon(rig.daemon)
  {
    rclrt_daemon_add_output(&rig.daemon, &output, id);
    rclrt_daemon_add_input(&rig.daemon, &input, id, assembly.data(), 4096);
    rclrt_daemon_add_sink(&rig.daemon, &sink, 0x16, id, 3);
    rig.to_agent.faults = rig.to_client.faults = {};
    rig.open(id);
    rig.to_agent.faults = rig.to_client.faults = rig.options.faults;
  }
  std::vector<uint32_t> take()
  {
    std::vector<uint32_t> numbers;
    for (const auto & data : take_all(daemon, sink)) {
      numbers.push_back(number(data));
    }
    return numbers;
  }

  rclrt_daemon & daemon;
  rclrt_output_stream output{};
  rclrt_input_stream input{};
  rclrt_sink sink{};
  std::vector<uint8_t> assembly = std::vector<uint8_t>(4096);
};

RigOptions fast(rclrt_framing framing, double fault)
{
  RigOptions options;
  options.framing = framing;
  options.byte_ns = 1000;
  options.policy.answer_ns = 40'000;
  options.faults = {fault, 0, fault, 0};
  if (framing == RCLRT_FRAMING_SERIAL) {
    options.faults.corruption = fault;  // the other framings trust the layer below
  }
  options.ring = 16384;
  options.slots = 32;
  return options;
}

// A hundred thousand messages arrive once and in order, or it takes too long. `send` sends the next if it can.
template <typename Send, typename Take>
void hundred_thousand(Rig & rig, const Send & send, const Take & take)
{
  constexpr uint32_t kCount = 100'000;
  uint32_t next = 0;
  uint32_t arrived = 0;
  while (arrived < kCount) {
    ASSERT_LT(rig.world.now_ns(), 80'000'000 * kMs) << "stalled at " << arrived;
    while (next < kCount && send(next)) {
      next++;
    }
    rig.world.step(rig.world.now_ns() + 100 * kMs);
    for (const uint32_t each : take()) {
      ASSERT_EQ(each, arrived);
      arrived++;
    }
    rig.sent_by_agent.clear();
    rig.sent_by_client.clear();
  }
  EXPECT_EQ(arrived, kCount);
}

void hundred_thousand_to_the_agent(const RigOptions & options)
{
  Rig rig(options);
  Endpoint end(rig);
  std::vector<uint32_t> came, taken;
  rig.agent.on_data = [&came](const std::string &, const Agent::Bytes & data) {
    came.push_back(number(data));
  };
  hundred_thousand(
    rig, [&](uint32_t next) { return rig.write(end.output, 3, number(next)) == RCLRT_OK; },
    [&]() -> const auto & {
      taken.clear();
      taken.swap(came);
      return taken;
    });
  rig.settle(5000);
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &end.output));
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Streams, a_hundred_thousand_messages_reach_the_agent_once_and_in_order_over_a_bad_line)
{
  hundred_thousand_to_the_agent(fast(RCLRT_FRAMING_SERIAL, 0.3));
}

TEST(Streams, the_same_over_datagrams_that_also_overtake_each_other)
{
  RigOptions options = fast(RCLRT_FRAMING_DATAGRAM, 0.3);
  options.faults.jitter_ns = 50'000;
  hundred_thousand_to_the_agent(options);
}

TEST(Streams, a_hundred_thousand_messages_come_from_the_agent_once_and_in_order_over_a_bad_line)
{
  Rig rig(fast(RCLRT_FRAMING_SERIAL, 0.3));
  Endpoint end(rig);
  hundred_thousand(
    rig,
    [&](uint32_t next) {
      if (rig.agent.unacknowledged(kReliable) >= 16) {
        return false;
      }
      rig.publish("t", number(next));
      return true;
    },
    [&] { return end.take(); });
  EXPECT_GT(rig.daemon.counters.broken_frames + rig.daemon.counters.bad_checksums, 0U);
  EXPECT_GT(rig.daemon.counters.duplicates, 0U);
}

TEST(Streams, messages_longer_than_a_frame_survive_a_bad_line_in_both_directions)
{
  RigOptions options = fast(RCLRT_FRAMING_SERIAL, 0.2);
  options.capacity = 128;
  Rig rig(options);
  Endpoint end(rig);
  uint32_t echoed = 0;
  uint32_t next = 0;
  // Most have four fragments. Every tenth has 18: more than the window, so nodes hold a part of it.
  const auto words_of = [](uint32_t of) { return of % 10 == 9 ? 520U : 100U; };
  Agent::Bytes submessage;
  // What reaches the agent comes back to the reader, for it is on the same topic.
  while (echoed < 500) {
    ASSERT_LT(rig.world.now_ns(), 8'000'000 * kMs) << "stalled at " << echoed;
    if (
      next < 500 && rig.daemon.rest.stream == nullptr) {  // it stays as it is until its end is cut
      const auto length = static_cast<uint16_t>(4 + 4 * words_of(next));
      submessage = {RCLRT_WRITE_DATA, 1, low_byte(length), high_byte(length), 0, 14, 0, 0x15};
      for (uint32_t i = 0; i < words_of(next); ++i) {
        const auto word = number(next + i);
        submessage.insert(submessage.end(), word.begin(), word.end());
      }
      next += rclrt_daemon_send_long(
                &rig.daemon, &end.output, 3, submessage.data(), submessage.size()) == RCLRT_OK
                ? 1U
                : 0U;
    }
    rig.arm();
    rig.world.step(rig.world.now_ns() + 100 * kMs);
    rig.arm_agent();
    for (const auto & data : take_all(rig.daemon, end.sink)) {
      ASSERT_EQ(data.size(), 4 * words_of(echoed));
      ASSERT_EQ(number(data), echoed);
      ASSERT_EQ(number(Agent::Bytes(data.end() - 4, data.end())), echoed + words_of(echoed) - 1);
      echoed++;
    }
  }
}

TEST(Streams, fragments_have_the_bytes_of_the_peer)
{
  Rig rig([](auto & with) { with.capacity = 508; });
  Endpoint end(rig, 0x80);
  end.output.next = end.output.sent = end.output.first_unacked = 8;  // where the capture is
  Agent::Bytes submessage = {RCLRT_WRITE_DATA, 1, 0xB4, 0x04, 0x00, 0x16, 0x00, 0x15};
  for (int i = 0; i < 1200; ++i) {
    submessage.push_back(static_cast<uint8_t>(i));
  }
  must(rclrt_daemon_send_long(&rig.daemon, &end.output, 3, submessage.data(), submessage.size()));
  rig.settle(200);
  std::vector<Agent::Bytes> expected;
  for (const auto & captured : read_captures()) {
    if (
      captured.capture == "serial-frag" && captured.section == "now the write" &&
      captured.from_client && captured.message[4] == RCLRT_FRAGMENT) {
      expected.push_back(captured.message);
    }
  }
  ASSERT_EQ(expected.size(), 3U);
  // The agent has not seen what came before, so there are heartbeats between them.
  std::vector<Agent::Bytes> fragments;
  for (const auto & message : rig.sent_by_client) {
    if (message[1] == 0x80 && fragments.size() < 3) {
      fragments.push_back(message);
    }
  }
  EXPECT_EQ(fragments, expected);
}

// Messages of one capture's section, from one side, without the session's start.
std::vector<Agent::Bytes> captured(const std::string & section, bool from_client)
{
  std::vector<Agent::Bytes> messages;
  for (const auto & message : read_captures()) {
    if (
      message.capture == "udp-nack" && message.section.find(section) != std::string::npos &&
      message.from_client == from_client) {
      messages.push_back(message.message);
    }
  }
  return messages;
}

// A stream 0x80 that has come as far as the capture: `next` is the number of its next message.
void fast_forward(Rig & rig, Endpoint & end, uint16_t next)
{
  for (uint16_t i = 0; i < next; ++i) {
    must(rig.write(end.output, 3, number(0)));
    rig.settle(50);
    (void)take_all(rig.daemon, end.sink);
    (void)take_all(rig.daemon, rig.daemon.others);
  }
  rig.settle(500);
  (void)take_all(rig.daemon, end.sink);
  rig.settle(500);
  rig.sent_by_client.clear();
  rig.sent_by_agent.clear();
}

RigOptions datagrams()
{
  RigOptions options;
  options.framing = RCLRT_FRAMING_DATAGRAM;
  options.byte_ns = 1000;
  return options;
}

// Only writes: what comes back to the reader is not of interest here.
void forget_reader(Rig & rig)
{
  rclrt_submessage cancel{};
  cancel.id = RCLRT_READ_DATA;
  cancel.object = 0x16;
  cancel.of.read_data.has_delivery = true;
  Agent::Bytes bytes(64);
  rclrt_writer writer;
  rclrt_writer_init(&writer, bytes.data(), bytes.size());
  const rclrt_message_header header{RCLRT_SESSION_DEFAULT, 0, 0, {}};
  rclrt_write_message_header(&writer, &header);
  rclrt_write_submessage(&writer, &cancel);
  bytes.resize(writer.at);
  rig.agent.receive(bytes);
}

TEST(Streams, a_message_lost_between_two_others_is_the_only_one_sent_again)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x80);
  forget_reader(rig);
  fast_forward(rig, end, 5);
  const auto expected = captured("3 reliable messages", true);
  must(rig.write(end.output, 3, number(0x60), 19));
  rig.settle(5);
  rig.to_agent.faults.loss = 1;
  must(rig.write(end.output, 3, number(0x61), 20));
  rig.settle(5);
  rig.to_agent.faults.loss = 0;
  must(rig.write(end.output, 3, number(0x62), 21));
  rig.settle(50);
  ASSERT_EQ(expected.size(), 3U);
  EXPECT_EQ(rig.sent_by_client, (std::vector<Agent::Bytes>{expected[0], expected[2], expected[1]}));
  EXPECT_EQ(rig.daemon.counters.retransmitted, 1U);
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &end.output));
  // If two messages are lost, the older one goes first.
  rig.sent_by_client.clear();
  rig.to_agent.faults.loss = 1;
  must(rig.write(end.output, 3, number(0x63), 22));
  must(rig.write(end.output, 3, number(0x64), 23));
  rig.settle(5);
  rig.to_agent.faults.loss = 0;
  must(rig.write(end.output, 3, number(0x65), 24));
  rig.settle(50);
  ASSERT_EQ(rig.sent_by_client.size(), 3U);
  EXPECT_LT(rig.sent_by_client[1][2], rig.sent_by_client[2][2]);
}

TEST(Streams, a_lost_acknowledgement_is_asked_for_after_silence)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x80);
  forget_reader(rig);
  fast_forward(rig, end, 8);
  rig.to_client.faults.loss = 1;
  must(rig.write(end.output, 3, number(0x70), 22));
  rig.settle(50);
  rig.to_client.faults.loss = 0;
  rig.settle(60);
  EXPECT_EQ(rig.sent_by_client, captured("whose ACKNACK is dropped", true));
  EXPECT_EQ(rig.sent_by_agent, captured("whose ACKNACK is dropped", false));
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &end.output));
  EXPECT_EQ(rig.daemon.counters.retransmitted, 0U);
}

TEST(Streams, a_lost_last_message_is_found_by_a_heartbeat)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x80);
  forget_reader(rig);
  fast_forward(rig, end, 9);
  rig.to_agent.faults.loss = 1;
  must(rig.write(end.output, 3, number(0x71), 23));
  rig.settle(50);
  rig.to_agent.faults.loss = 0;
  rig.settle(100);
  auto expected = captured("1 reliable message itself dropped", true);
  expected.erase(expected.begin());  // the one that never arrived
  EXPECT_EQ(rig.sent_by_client, expected);
  EXPECT_EQ(rig.sent_by_agent, captured("1 reliable message itself dropped", false));
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &end.output));
}

TEST(Streams, data_that_was_lost_is_asked_for_when_the_agent_sends_a_heartbeat)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x80);
  // As far as the capture: seven messages from the agent before.
  for (int i = 0; i < 7; ++i) {
    rig.agent.publish("t", number(0));
    rig.settle(10);
    (void)take_all(rig.daemon, end.sink);
    rig.settle(10);
  }
  EXPECT_EQ(end.input.expected, 7);
  rig.sent_by_client.clear();
  rig.sent_by_agent.clear();
  rig.to_client.faults.loss = 1;
  rig.agent.publish("t", number(0x57));
  rig.settle(10);
  rig.to_client.faults.loss = 0;
  rig.arm_agent();
  rig.settle(250);
  const auto numbers = end.take();
  rig.settle(10);
  EXPECT_EQ(numbers, std::vector<uint32_t>{0x57U});
  auto expected = captured("DATA on the reliable stream dropped", true);
  expected.erase(expected.begin());  // the write that caused it
  EXPECT_EQ(rig.sent_by_client, expected);
}

TEST(Streams, frames_that_wait_for_their_reader_are_not_asked_for_again)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x80);
  rig.arm_agent();
  for (uint32_t i = 0; i < 5; ++i) {
    rig.agent.publish("t", number(i));
  }
  rig.arm_agent();
  rig.settle(950);  // several heartbeats of the agent
  EXPECT_EQ(rig.sent_by_agent.size(), 5U + 4U) << "five messages, four heartbeats, no repeats";
  EXPECT_EQ(take_all(rig.daemon, end.sink).size(), 5U);
  // Messages that were taken and wait for one before them are not asked for, either.
  rig.to_client.faults.loss = 1;
  rig.agent.publish("t", number(5));
  rig.settle(5);
  rig.to_client.faults.loss = 0;
  rig.agent.publish("t", number(6));
  rig.settle(5);
  EXPECT_EQ(take_all(rig.daemon, end.sink).size(), 0U);
  rig.settle(50);
  EXPECT_EQ(take_all(rig.daemon, end.sink).size(), 2U);
  EXPECT_EQ(rig.daemon.counters.duplicates, 0U);
  rig.settle(300);
  EXPECT_EQ(rig.agent.unacknowledged(0x80), 0U);
}

TEST(Streams, best_effort_data_that_was_overtaken_is_dropped_and_counted)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x02);
  rig.agent.publish("t", number(1));
  rig.agent.publish("t", number(2));
  ASSERT_EQ(rig.sent_by_agent.size(), 2U);
  rig.receive(rig.sent_by_agent[1]);
  rig.receive(rig.sent_by_agent[0]);
  const auto numbers = end.take();
  EXPECT_EQ(numbers, std::vector<uint32_t>{2U});
  EXPECT_EQ(rig.daemon.counters.late, 1U);
}

TEST(Streams, what_the_agent_gives_up_is_skipped_and_counted)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x80);
  rig.to_client.faults.loss = 1;
  rig.agent.publish("t", number(0));
  rig.settle(1);
  rig.to_client.faults.loss = 0;
  rig.agent.publish("t", number(1));
  rig.settle(1);
  EXPECT_TRUE(take_all(rig.daemon, end.sink).empty()) << "number 0 is missing";
  rig.receive(message_of(0, 0, {heartbeat(0x80, 1, 1)}));
  const auto numbers = end.take();
  EXPECT_EQ(numbers, std::vector<uint32_t>{1U});
  EXPECT_EQ(rig.daemon.counters.skipped, 1U);
}

TEST(Streams, acknowledgements_of_what_was_never_sent_change_nothing)
{
  Rig rig(datagrams());
  Endpoint end(rig, 0x80);
  forget_reader(rig);
  rig.to_agent.faults.loss = 1;
  must(rig.write(end.output, 3, number(1)));
  rig.settle(1);
  for (const auto & part : {acknack(0x80, 5), acknack(0x80, 0x7FFF, 0xFFFF), acknack(0x81, 0)}) {
    rig.receive(message_of(0, 0, {part}));
  }
  EXPECT_FALSE(rclrt_daemon_confirmed(&rig.daemon, &end.output));
  rig.to_agent.faults.loss = 0;
  rig.settle(500);
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &end.output));
}
}  // namespace
