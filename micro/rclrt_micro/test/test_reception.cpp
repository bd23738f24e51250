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
Agent::Bytes data_on(uint8_t stream, uint16_t sequence, uint8_t object = 0x16)
{
  return message_of(stream, sequence, {data_for(object, low_byte(sequence))});
}

TEST(Slots, the_frame_that_fills_a_gap_takes_the_slot_of_the_one_furthest_ahead)
{
  for (const uint16_t slots : {uint16_t{1}, uint16_t{2}, uint16_t{8}}) {
    SCOPED_TRACE(slots);
    Rig rig([&](auto & with) { with.slots = slots; });
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
  Rig rig([](auto & with) { with.slots = 2; });
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
  Rig rig([](auto & with) {
    with.byte_ns = 1000;
    with.slots = 2;
    with.ring = 16384;
  });
  Reader reader(rig);
  rig.open(0x83);
  rig.to_client.faults.loss = 0.2;
  constexpr uint8_t kCount = 60;
  for (uint32_t i = 0; i < kCount; ++i) {
    rig.agent.publish("t", number(i));
  }
  rig.arm_agent();
  int arrived = 0;
  for (int i = 0; i < 100'000 && arrived < kCount; ++i) {
    rig.world.step(rig.world.now_ns() + 100 * kMs);
    for (const int value : reader.take()) {
      ASSERT_EQ(value, arrived++);
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
  EXPECT_EQ(length_of(rig.daemon.free_slots), rig.options.slots);
  reader.receive(data_on(0x80, 4));
  EXPECT_EQ(reader.take(), std::vector<int>{4}) << "the stream goes on";
}

TEST(Fragments, storage_that_is_exchanged_in_the_middle_of_a_message_gets_no_half_message)
{
  Started system([](auto & with) { with.capacity = 128; });
  Listener listener(system);
  rclrt_subscription & subscription = listener.subscription;
  std::vector<uint8_t> large(1008);
  std::vector<uint8_t> small(1008, 0xEE);
  constexpr uint16_t kSmall = 64;
  must(listener.init());
  must(rclrt_subscription_accept_long(&subscription, large.data(), 1008));
  must(listener.add());
  system.spin_for(200);
  Agent::Bytes data(400);
  data[0] = 7;
  system.publish("rt/t", data);
  for (int i = 0; i < 200 && subscription.stream.assembly_length == 0; ++i) {
    system.spin_for(1);
  }
  ASSERT_GT(subscription.stream.assembly_length, kSmall) << "the first piece";
  rclrt_executor_remove(&system.executor, &subscription.callback);
  must(rclrt_subscription_accept_long(&subscription, small.data(), kSmall));
  must(listener.add());
  system.spin_for(500);
  EXPECT_EQ(std::count(small.begin() + kSmall, small.end(), 0xEE), 1008 - kSmall)
    << "nothing behind its end";
  EXPECT_EQ(system.daemon.counters.unassembled, 1U);
  system.publish("rt/t", number(8));
  system.spin_for(500);
  EXPECT_EQ(listener.numbers, std::vector<uint32_t>{8});
}

TEST(SharedStream, two_priorities_on_one_stream_are_both_acknowledged)
{
  // Also where numbers wrap.
  for (const uint16_t first : {uint16_t{0}, uint16_t{0xFFFE}, uint16_t{0xFFFF}}) {
    SCOPED_TRACE(first);
    Rig rig;
    Output output(rig, 0x80);
    auto & stream = output.stream;
    stream.next = stream.sent = stream.first_unacked = first;
    std::vector<int> sent;
    rig.to_agent.deliver = [&sent](const Agent::Bytes & frame) {
      if (frame.at(9) == RCLRT_WRITE_DATA) {
        sent.push_back(frame.at(17));
      }
    };
    must(output.write(1, 1));
    must(output.write(1, 2));
    must(output.write(9, 3));
    rig.settle(30);
    EXPECT_EQ(sent, (std::vector<int>{1, 3, 2})) << "the third overtook the second";
    const auto next = static_cast<uint16_t>(first + 3);
    EXPECT_EQ(stream.sent, next);
    rig.receive(message_of(0, 0, {acknack(0x80, next)}));
    EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &stream));
    EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
  }
}

TEST(SharedStream, as_published_two_priorities_share_a_stream_and_the_agent_gets_both)
{
  Rig rig([](auto & with) { with.policy.mode = RCLRT_MODE_PAPER; });
  rig.agent.options.acknowledge_everything = false;
  Output output(rig, 0x80);
  must(output.write(1, 1));
  must(output.write(1, 2));
  must(output.write(9, 3));
  rig.settle(2000);
  EXPECT_EQ(numbers_of(rig), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &output.stream));
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}

// Messages with several submessages, and data that no reader is for.
using Values = std::vector<int>;

// Two readers on one stream, as on 80, and one on another.
struct Readers
{
  // With `slots`, or as many as usual.
  explicit Readers(uint16_t slots = 24, uint16_t capacity = 512)
  : rig([&](auto & with) {
      with.slots = slots;
      with.capacity = capacity;
      with.ring = 8192;
    }),
    daemon(rig.daemon)
  {
    rclrt_daemon_add_input(&daemon, &shared, 0x80, nullptr, 0);
    rclrt_daemon_add_input(&daemon, &best_effort, 0x01, nullptr, 0);
    rclrt_daemon_add_sink(&daemon, &low, 0x16, 0, 1);
    rclrt_daemon_add_sink(&daemon, &high, 0x26, 0, 9);
    rclrt_daemon_reset(&daemon, RCLRT_SESSION_DEFAULT, kKey);
  }

  // The value of the next message for the sink; -1 for none.
  int take_one(rclrt_sink & sink)
  {
    uint8_t buffer[512];
    rclrt_message message;
    if (rclrt_daemon_take(&daemon, &sink, buffer, sizeof(buffer), &message) != RCLRT_OK) {
      return -1;
    }
    EXPECT_EQ(message.submessages.data[0], RCLRT_DATA);
    EXPECT_EQ(message.submessages.size, 12U) << "one part";
    return message.submessages.data[8];
  }
  Values take(rclrt_sink & sink)
  {
    Values values;
    for (int value = take_one(sink); value >= 0; value = take_one(sink)) {
      values.push_back(value);
    }
    return values;
  }

  // The first submessage of what is for no reader; -1 for none.
  int take_other()
  {
    uint8_t buffer[512];
    rclrt_message message;
    const auto ret = rclrt_daemon_take(&daemon, &daemon.others, buffer, sizeof(buffer), &message);
    return ret == RCLRT_OK ? message.submessages.data[0] : -1;
  }

  void receive(uint8_t stream, uint16_t sequence, const std::vector<Agent::Bytes> & parts)
  {
    rig.receive(message_of(stream, sequence, parts));
  }
  void expect_all_slots_free() const { EXPECT_EQ(length_of(daemon.free_slots), rig.options.slots); }

  Rig rig;
  rclrt_daemon & daemon;
  rclrt_input_stream shared{}, best_effort{};
  rclrt_sink low{}, high{};
};

TEST(Parts, several_data_of_a_message_are_taken_one_by_one_and_acknowledged_with_the_last)
{
  for (const uint8_t stream : {uint8_t{0x80}, uint8_t{0x01}, uint8_t{0x00}}) {
    SCOPED_TRACE(int{stream});
    Readers readers;
    readers.receive(stream, 0, {data_for(0x16, 1), data_for(0x16, 2), data_for(0x16, 3)});
    readers.receive(stream, 1, {data_for(0x16, 4)});
    EXPECT_EQ(readers.take_one(readers.low), 1);
    EXPECT_EQ(readers.take_one(readers.low), 2);
    EXPECT_EQ(readers.shared.expected, 0U) << "not yet";
    EXPECT_EQ(readers.take(readers.low), (Values{3, 4}));
    EXPECT_EQ(readers.shared.expected, stream == 0x80 ? 2U : 0U);
    readers.expect_all_slots_free();
    EXPECT_EQ(readers.daemon.counters.malformed + readers.daemon.counters.late, 0U);
  }
}

TEST(Parts, each_goes_to_the_reader_it_is_for_in_the_order_of_the_stream)
{
  Readers readers;
  readers.receive(0x80, 0, {data_for(0x16, 1), data_for(0x26, 2), data_for(0x16, 3)});
  readers.receive(0x80, 1, {data_for(0x26, 4)});
  EXPECT_EQ(readers.take_one(readers.high), -1) << "number 1 is held, 0 waits for low";
  EXPECT_EQ(readers.take_one(readers.low), 1);
  EXPECT_EQ(readers.take_one(readers.low), -1) << "high is next";
  EXPECT_EQ(readers.take_one(readers.high), 2);
  EXPECT_EQ(readers.take_one(readers.high), -1);
  EXPECT_EQ(readers.take_one(readers.low), 3);
  EXPECT_EQ(readers.take_one(readers.high), 4);
  EXPECT_EQ(readers.shared.expected, 2U);
}

TEST(Parts, what_was_taken_before_the_frame_lost_its_slot_is_not_taken_again)
{
  Readers readers(1);
  const std::vector<Agent::Bytes> message = {
    data_for(0x16, 1), data_for(0x26, 2), data_for(0x16, 3)};
  readers.receive(0x80, 0, message);
  EXPECT_EQ(readers.take_one(readers.low), 1);
  EXPECT_EQ(readers.take_one(readers.high), 2);
  readers.receive(0x00, 0, {data_for(0x26, 9)});  // more urgent: takes the slot
  EXPECT_EQ(readers.take_one(readers.low), -1);
  EXPECT_EQ(readers.take_one(readers.high), 9);
  EXPECT_EQ(readers.shared.waiting, 0U) << "it will be asked for again";
  readers.receive(0x80, 0, message);
  EXPECT_EQ(readers.take(readers.low), Values{3});
  EXPECT_EQ(readers.take(readers.high), Values{});
  EXPECT_EQ(readers.shared.expected, 1U);
  readers.receive(0x80, 1, {data_for(0x16, 5)});
  EXPECT_EQ(readers.take(readers.low), Values{5});
}

TEST(Parts, of_a_message_that_is_given_up_in_between_the_rest_is_skipped)
{
  Readers readers;
  readers.receive(0x80, 0, {data_for(0x16, 1), data_for(0x16, 2)});
  EXPECT_EQ(readers.take_one(readers.low), 1);
  readers.receive(0, 0, {heartbeat(0x80, 1, 1)});  // numbers before 1 will not come again
  readers.receive(0x80, 1, {data_for(0x16, 3), data_for(0x16, 4)});
  EXPECT_EQ(readers.take(readers.low), (Values{3, 4}));
  EXPECT_EQ(readers.daemon.counters.skipped, 1U);
  readers.expect_all_slots_free();
}

TEST(Parts, a_message_of_nothing_but_headers_ends)
{
  Readers readers(24, 2048);
  // 500 parts, none with data.
  readers.receive(0x80, 0, std::vector<Agent::Bytes>(500, submessage(RCLRT_FRAGMENT, 1, {})));
  for (int i = 0; i < 1000 && readers.shared.expected == 0; ++i) {
    take_all(readers.daemon, readers.low);
  }
  EXPECT_EQ(readers.shared.expected, 1U);
  readers.expect_all_slots_free();
}

TEST(Parts, every_data_of_a_message_runs_its_callback_once)
{
  for (const bool let : {false, true}) {
    SCOPED_TRACE(let);
    Started system;
    must(rclrt_executor_set_semantics(
      &system.executor, let ? RCLRT_SEMANTICS_LET : RCLRT_SEMANTICS_RCLCPP));
    Listener listener(system, "t");
    const rclrt_subscription & of = listener.subscription;
    system.spin_for(500);
    system.receive(message_of(
      of.stream.id, 0,
      {heartbeat(0x80, 0, 0xFFFF), data_for(of.reader.id, 7), data_for(of.reader.id, 8)}));
    system.spin_for(50);
    EXPECT_EQ(listener.numbers, (std::vector<uint32_t>{7, 8}));
    EXPECT_EQ(system.daemon.counters.malformed, 0U);
    EXPECT_EQ(of.stream.expected, 1U);
  }
}

TEST(Parts, an_answer_behind_data_reaches_who_waits_for_it)
{
  Readers readers;
  readers.receive(0x80, 0, {data_for(0x16, 1), status(0x11, 0)});
  EXPECT_EQ(readers.take(readers.low), Values{1});
  EXPECT_EQ(readers.take_other(), RCLRT_STATUS);
  EXPECT_EQ(readers.shared.expected, 1U);
}

TEST(Unread, data_without_a_reader_takes_no_slot_from_any)
{
  Readers readers(2);
  readers.receive(0x00, 0, {data_for(0x16, 1)});
  readers.receive(0x00, 0, {data_for(0x16, 2)});
  readers.receive(0x01, 0, {data_for(0x36, 7)});  // nobody's
  EXPECT_EQ(readers.daemon.counters.malformed, 1U) << "dropped at once";
  readers.receive(0x80, 0, {data_for(0x36, 7)});
  EXPECT_EQ(readers.daemon.counters.dropped_frames, 1U) << "it comes again";
  EXPECT_EQ(readers.take(readers.low), (Values{1, 2}));
  // In a free slot it waits for whoever throws it away, so that its stream goes on.
  readers.receive(0x80, 0, {data_for(0x36, 7)});
  readers.receive(0x80, 1, {data_for(0x16, 3)});
  EXPECT_EQ(readers.take_other(), RCLRT_DATA);
  EXPECT_EQ(readers.shared.expected, 1U);
  EXPECT_EQ(readers.take(readers.low), Values{3});
}

TEST(Unread, what_the_agent_answers_takes_the_slot_of_any_data)
{
  Readers readers(1);
  readers.receive(0x00, 0, {data_for(0x26, 1)});
  readers.receive(0x00, 0, {status(0x11, 0)});
  EXPECT_EQ(readers.take(readers.high), Values{});
  EXPECT_EQ(readers.take_other(), RCLRT_STATUS);
}
}  // namespace
