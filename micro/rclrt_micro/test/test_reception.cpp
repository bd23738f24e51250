// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Frames of reliable streams when slots are few, readers go, and storage changes; and two priorities
// on one stream.
#include <gtest/gtest.h>

#include <cstring>

#include "system.hpp"

namespace
{
// A DATA message for object `object` on a stream.
Agent::Bytes data_on(uint8_t stream, uint16_t sequence, uint8_t object = 0x16)
{
  const auto low = static_cast<uint8_t>(sequence);
  return {0x81,       stream, low, static_cast<uint8_t>(sequence >> 8),
          RCLRT_DATA, 1,      8,   0,
          0,          1,      0,   object,
          low,        0,      0,   0};
}

TEST(Slots, the_frame_that_fills_a_gap_takes_the_slot_of_the_one_furthest_ahead)
{
  for (const uint16_t slots : {uint16_t{1}, uint16_t{2}, uint16_t{8}}) {
    SCOPED_TRACE(slots);
    RigOptions options;
    options.slots = slots;
    Rig rig(options);
    Reader reader(rig);
    for (uint16_t n = 1; n <= slots; ++n) {
      reader.receive(data_on(0x83, n));
      EXPECT_TRUE(reader.take().empty()) << "held: number 0 was lost";
    }
    reader.receive(data_on(0x83, 0));
    std::vector<int> expected;
    for (int n = 0; n < slots; ++n) {
      expected.push_back(n);
    }
    EXPECT_EQ(reader.take(), expected);
    // The one dropped is missing, and is asked for.
    EXPECT_EQ(reader.input.expected, slots);
    reader.receive(data_on(0x83, slots));
    EXPECT_EQ(reader.take(), std::vector<int>{slots});
    EXPECT_EQ(rig.daemon.counters.dropped_frames, 1U);
  }
}

TEST(Slots, of_the_held_frames_those_of_the_least_urgent_reader_go_first)
{
  RigOptions options;
  options.slots = 2;
  Rig rig(options);
  Reader low(rig, 0x83, 0x16, 1);
  Reader high(rig, 0x84, 0x26, 9);
  low.receive(data_on(0x83, 1));
  EXPECT_TRUE(low.take().empty());
  high.receive(data_on(0x84, 1, 0x26));
  EXPECT_TRUE(high.take().empty());
  // Less urgent ones take nothing from more urgent ones, not even to fill a gap.
  high.receive(data_on(0x84, 2, 0x26));
  EXPECT_TRUE(high.take().empty()) << "in the slot that low had";
  low.receive(data_on(0x83, 0));
  EXPECT_TRUE(low.take().empty());
  high.receive(data_on(0x84, 0, 0x26));
  EXPECT_EQ(high.take(), (std::vector<int>{0, 1}));
  low.receive(data_on(0x83, 0));
  EXPECT_EQ(low.take(), std::vector<int>{0});
}

TEST(Slots, a_stream_over_a_bad_line_arrives_in_order_with_two)
{
  RigOptions options;
  options.byte_ns = 1000;
  options.slots = 2;
  options.ring = 16384;
  Rig rig(options);
  rclrt_input_stream input{};
  rclrt_sink sink{};
  rclrt_daemon_add_input(&rig.daemon, &input, 0x83, nullptr, 0);
  rclrt_daemon_add_sink(&rig.daemon, &sink, 0x16, 0x83, 3);
  rig.open(0x83);
  rig.to_client.faults.loss = 0.2;
  constexpr uint32_t kCount = 60;
  for (uint32_t i = 0; i < kCount; ++i) {
    rig.agent.publish("t", number(i));
  }
  rig.arm_agent();
  uint32_t arrived = 0;
  for (int i = 0; i < 100'000 && arrived < kCount; ++i) {
    rig.world.step(rig.world.now_ns() + 100 * kMs);
    for (const auto & data : take_all(rig.daemon, sink)) {
      ASSERT_EQ(number(data), arrived);
      arrived++;
    }
  }
  EXPECT_EQ(arrived, kCount);
}

TEST(Slots, what_waits_for_a_reader_that_goes_does_not_stop_its_streams)
{
  Rig rig;
  // As on stream 80, which many readers may share: the stream stays, one of them goes.
  rclrt_input_stream input{};
  auto gone = std::make_unique<rclrt_sink>();
  rclrt_daemon_add_input(&rig.daemon, &input, 0x80, nullptr, 0);
  rclrt_daemon_add_sink(&rig.daemon, gone.get(), 0x26, 0, 3);
  Reader reader(rig);
  for (uint16_t n = 1; n <= 3; ++n) {
    reader.receive(data_on(0x80, n, 0x26));
    if (n < 3) {
      EXPECT_TRUE(take_all(rig.daemon, *gone).empty()) << "held";
    }
  }
  rclrt_daemon_remove_sink(&rig.daemon, gone.get());
  std::memset(gone.get(), 0xEE, sizeof(*gone));
  EXPECT_NE(input.waiting, 0U) << "number 3 has not been taken";
  reader.receive(data_on(0x80, 0, 0x26));
  EXPECT_TRUE(reader.take().empty());
  EXPECT_EQ(input.expected, 4U);
  EXPECT_EQ(input.waiting, 0U);
  uint16_t free_slots = 0;
  for (auto * link = rclrt_list_first(&rig.daemon.free_slots); link != nullptr;
       link = rclrt_list_next(&rig.daemon.free_slots, link)) {
    free_slots++;
  }
  EXPECT_EQ(free_slots, rig.options.slots);
  reader.receive(data_on(0x80, 4));
  EXPECT_EQ(reader.take(), std::vector<int>{4}) << "the stream goes on";
}

TEST(Fragments, storage_that_is_exchanged_in_the_middle_of_a_message_gets_no_half_message)
{
  RigOptions options;
  options.capacity = 128;
  System system(options);
  ASSERT_NO_FATAL_FAILURE(system.start());
  Listener listener(system);
  rclrt_subscription & subscription = listener.subscription;
  std::vector<uint8_t> large(1008);
  std::vector<uint8_t> small(1008, 0xEE);
  constexpr uint16_t kSmall = 64;
  ASSERT_EQ(listener.init(), RCLRT_OK);
  ASSERT_EQ(rclrt_subscription_accept_long(&subscription, large.data(), 1008), RCLRT_OK);
  ASSERT_EQ(listener.add(), RCLRT_OK);
  system.spin_for(200);
  Agent::Bytes data(400);
  data[0] = 7;
  system.agent.publish("rt/t", data);
  system.arm_agent();
  for (int i = 0; i < 200 && subscription.stream.assembly_length == 0; ++i) {
    system.spin_for(1);
  }
  ASSERT_GT(subscription.stream.assembly_length, kSmall) << "the first piece";
  rclrt_executor_remove(&system.executor, &subscription.callback);
  ASSERT_EQ(rclrt_subscription_accept_long(&subscription, small.data(), kSmall), RCLRT_OK);
  ASSERT_EQ(listener.add(), RCLRT_OK);
  system.spin_for(500);
  EXPECT_EQ(std::count(small.begin() + kSmall, small.end(), 0xEE), 1008 - kSmall)
    << "nothing behind its end";
  EXPECT_EQ(system.daemon.counters.unassembled, 1U);
  system.agent.publish("rt/t", number(8));
  system.arm_agent();
  system.spin_for(500);
  EXPECT_EQ(listener.numbers, std::vector<uint32_t>{8});
}

TEST(SharedStream, two_priorities_on_one_stream_are_both_acknowledged)
{
  // Also where numbers wrap.
  for (const uint16_t first : {uint16_t{0}, uint16_t{0xFFFE}, uint16_t{0xFFFF}}) {
    SCOPED_TRACE(first);
    Rig rig;
    rclrt_output_stream stream{};
    rclrt_daemon_add_output(&rig.daemon, &stream, 0x80);
    rig.open(0x01);
    stream.next = stream.sent = stream.first_unacked = first;
    std::vector<int> sent;
    rig.to_agent.deliver = [&sent](const Agent::Bytes & frame) {
      if (frame.at(9) == RCLRT_WRITE_DATA) {
        sent.push_back(frame.at(17));
      }
    };
    ASSERT_EQ(rig.write(stream, 1, number(1)), RCLRT_OK);
    ASSERT_EQ(rig.write(stream, 1, number(2)), RCLRT_OK);
    ASSERT_EQ(rig.write(stream, 9, number(3)), RCLRT_OK);
    rig.settle(30);
    EXPECT_EQ(sent, (std::vector<int>{1, 3, 2})) << "the third overtook the second";
    const auto next = static_cast<uint16_t>(first + 3);
    EXPECT_EQ(stream.sent, next);
    const Agent::Bytes ack = {
      0x81,
      0,
      0,
      0,
      RCLRT_ACKNACK,
      1,
      5,
      0,
      static_cast<uint8_t>(next),
      static_cast<uint8_t>(next >> 8),
      0,
      0,
      0x80};
    const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, ack, 0);
    rclrt_daemon_received(&rig.daemon, frame.data(), frame.size());
    EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &stream));
    EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
  }
}

TEST(SharedStream, as_published_two_priorities_share_a_stream_and_the_agent_gets_both)
{
  RigOptions options;
  options.policy.mode = RCLRT_MODE_PAPER;
  Rig rig(options);
  rig.agent.options.acknowledge_everything = false;
  rclrt_output_stream stream{};
  rclrt_daemon_add_output(&rig.daemon, &stream, 0x80);
  rig.open(0x01);
  std::vector<uint32_t> arrived;
  rig.agent.on_data = [&arrived](const std::string &, const Agent::Bytes & data) {
    arrived.push_back(number(data));
  };
  ASSERT_EQ(rig.write(stream, 1, number(1)), RCLRT_OK);
  ASSERT_EQ(rig.write(stream, 1, number(2)), RCLRT_OK);
  ASSERT_EQ(rig.write(stream, 9, number(3)), RCLRT_OK);
  rig.settle(2000);
  EXPECT_EQ(arrived, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &stream));
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}
}  // namespace
