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

// Messages with several submessages, and data that no reader is for.
using Values = std::vector<int>;

Agent::Bytes header(uint8_t stream, uint16_t sequence)
{
  return {0x81, stream, static_cast<uint8_t>(sequence), static_cast<uint8_t>(sequence >> 8)};
}

Agent::Bytes data(uint8_t object, uint8_t value)
{
  return {RCLRT_DATA, 1, 8, 0, 0, 1, 0, object, value, 0, 0, 0};
}

Agent::Bytes heartbeat(uint8_t of)
{
  return {RCLRT_HEARTBEAT, 1, 5, 0, 0, 0, 0xFF, 0xFF, of, 0, 0, 0};
}

Agent::Bytes join(const std::vector<Agent::Bytes> & parts)
{
  Agent::Bytes all;
  for (const auto & part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Two readers on one stream, as on 80, and one on another.
struct Readers
{
  explicit Readers(const RigOptions & options = {}) : rig(options), daemon(rig.daemon)
  {
    rclrt_daemon_add_input(&daemon, &shared, 0x80, nullptr, 0);
    rclrt_daemon_add_input(&daemon, &best_effort, 0x01, nullptr, 0);
    rclrt_daemon_add_sink(&daemon, &low, 0x16, 0, 1);
    rclrt_daemon_add_sink(&daemon, &high, 0x26, 0, 9);
    rclrt_daemon_reset(&daemon, RCLRT_SESSION_DEFAULT, kKey);
  }

  void receive(const Agent::Bytes & message)
  {
    const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0);
    rclrt_daemon_received(&daemon, frame.data(), frame.size());
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

  size_t free_slots()
  {
    size_t count = 0;
    for (auto * link = rclrt_list_first(&daemon.free_slots); link != nullptr;
         link = rclrt_list_next(&daemon.free_slots, link)) {
      count++;
    }
    return count;
  }

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
    readers.receive(join({header(stream, 0), data(0x16, 1), data(0x16, 2), data(0x16, 3)}));
    readers.receive(join({header(stream, 1), data(0x16, 4)}));
    EXPECT_EQ(readers.take_one(readers.low), 1);
    EXPECT_EQ(readers.take_one(readers.low), 2);
    EXPECT_EQ(readers.shared.expected, 0U) << "not yet";
    EXPECT_EQ(readers.take(readers.low), (Values{3, 4}));
    EXPECT_EQ(readers.shared.expected, stream == 0x80 ? 2U : 0U);
    EXPECT_EQ(readers.free_slots(), readers.rig.options.slots);
    EXPECT_EQ(readers.daemon.counters.malformed + readers.daemon.counters.late, 0U);
  }
}

TEST(Parts, each_goes_to_the_reader_it_is_for_in_the_order_of_the_stream)
{
  Readers readers;
  readers.receive(join({header(0x80, 0), data(0x16, 1), data(0x26, 2), data(0x16, 3)}));
  readers.receive(join({header(0x80, 1), data(0x26, 4)}));
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
  RigOptions options;
  options.slots = 1;
  Readers readers(options);
  const auto message = join({header(0x80, 0), data(0x16, 1), data(0x26, 2), data(0x16, 3)});
  readers.receive(message);
  EXPECT_EQ(readers.take_one(readers.low), 1);
  EXPECT_EQ(readers.take_one(readers.high), 2);
  readers.receive(join({header(0x00, 0), data(0x26, 9)}));  // more urgent: takes the slot
  EXPECT_EQ(readers.take_one(readers.low), -1);
  EXPECT_EQ(readers.take_one(readers.high), 9);
  EXPECT_EQ(readers.shared.waiting, 0U) << "it will be asked for again";
  readers.receive(message);
  EXPECT_EQ(readers.take(readers.low), Values{3});
  EXPECT_EQ(readers.take(readers.high), Values{});
  EXPECT_EQ(readers.shared.expected, 1U);
  readers.receive(join({header(0x80, 1), data(0x16, 5)}));
  EXPECT_EQ(readers.take(readers.low), Values{5});
}

TEST(Parts, of_a_message_that_is_given_up_in_between_the_rest_is_skipped)
{
  Readers readers;
  readers.receive(join({header(0x80, 0), data(0x16, 1), data(0x16, 2)}));
  EXPECT_EQ(readers.take_one(readers.low), 1);
  readers.receive(  // numbers before 1 will not come again
    {0x81, 0, 0, 0, RCLRT_HEARTBEAT, 1, 5, 0, 1, 0, 1, 0, 0x80});
  readers.receive(join({header(0x80, 1), data(0x16, 3), data(0x16, 4)}));
  EXPECT_EQ(readers.take(readers.low), (Values{3, 4}));
  EXPECT_EQ(readers.daemon.counters.skipped, 1U);
  EXPECT_EQ(readers.free_slots(), readers.rig.options.slots);
}

TEST(Parts, a_message_of_nothing_but_headers_ends)
{
  RigOptions options;
  options.capacity = 2048;
  options.ring = 8192;
  Readers readers(options);
  Agent::Bytes message = header(0x80, 0);
  for (int i = 0; i < 500; ++i) {  // 500 parts, none with data
    message.insert(message.end(), {RCLRT_FRAGMENT, 1, 0, 0});
  }
  readers.receive(message);
  for (int i = 0; i < 1000 && readers.shared.expected == 0; ++i) {
    take_all(readers.daemon, readers.low);
  }
  EXPECT_EQ(readers.shared.expected, 1U);
  EXPECT_EQ(readers.free_slots(), readers.rig.options.slots);
}

TEST(Parts, every_data_of_a_message_runs_its_callback_once)
{
  for (const bool let : {false, true}) {
    SCOPED_TRACE(let);
    System system;
    ASSERT_NO_FATAL_FAILURE(system.start());
    Listener listener(system);
    const rclrt_subscription & subscription = listener.subscription;
    ASSERT_EQ(
      rclrt_executor_set_semantics(
        &system.executor, let ? RCLRT_SEMANTICS_LET : RCLRT_SEMANTICS_RCLCPP),
      RCLRT_OK);
    ASSERT_EQ(listener.init(), RCLRT_OK);
    ASSERT_EQ(listener.add(), RCLRT_OK);
    system.spin_for(500);
    auto one = data(0, 7);
    one[6] = static_cast<uint8_t>(subscription.reader.id >> 8);
    one[7] = static_cast<uint8_t>(subscription.reader.id);
    auto other = one;
    other[8] = 8;
    const auto frame = Deframer::frame(
      RCLRT_FRAMING_SERIAL, join({header(subscription.stream.id, 0), heartbeat(0x80), one, other}),
      0);
    rclrt_daemon_received(&system.daemon, frame.data(), frame.size());
    system.spin_for(50);
    EXPECT_EQ(listener.numbers, (std::vector<uint32_t>{7, 8}));
    EXPECT_EQ(system.daemon.counters.malformed, 0U);
    EXPECT_EQ(subscription.stream.expected, 1U);
  }
}

TEST(Parts, an_answer_behind_data_reaches_who_waits_for_it)
{
  Readers readers;
  const Agent::Bytes status = {RCLRT_STATUS, 1, 6, 0, 0, 10, 0, 0x11, 0, 0};
  readers.receive(join({header(0x80, 0), data(0x16, 1), status}));
  EXPECT_EQ(readers.take(readers.low), Values{1});
  EXPECT_EQ(readers.take_other(), RCLRT_STATUS);
  EXPECT_EQ(readers.shared.expected, 1U);
}

TEST(Unread, data_without_a_reader_takes_no_slot_from_any)
{
  RigOptions options;
  options.slots = 2;
  Readers readers(options);
  readers.receive(join({header(0x00, 0), data(0x16, 1)}));
  readers.receive(join({header(0x00, 0), data(0x16, 2)}));
  readers.receive(join({header(0x01, 0), data(0x36, 7)}));  // nobody's
  EXPECT_EQ(readers.daemon.counters.malformed, 1U) << "dropped at once";
  readers.receive(join({header(0x80, 0), data(0x36, 7)}));
  EXPECT_EQ(readers.daemon.counters.dropped_frames, 1U) << "it comes again";
  EXPECT_EQ(readers.take(readers.low), (Values{1, 2}));
  // In a free slot it waits for whoever throws it away, so that its stream goes on.
  readers.receive(join({header(0x80, 0), data(0x36, 7)}));
  readers.receive(join({header(0x80, 1), data(0x16, 3)}));
  EXPECT_EQ(readers.take_other(), RCLRT_DATA);
  EXPECT_EQ(readers.shared.expected, 1U);
  EXPECT_EQ(readers.take(readers.low), Values{3});
}

TEST(Unread, what_the_agent_answers_takes_the_slot_of_any_data)
{
  RigOptions options;
  options.slots = 1;
  Readers readers(options);
  readers.receive(join({header(0x00, 0), data(0x26, 1)}));
  readers.receive(join({header(0x00, 0), {RCLRT_STATUS, 1, 6, 0, 0, 10, 0, 0x11, 0, 0}}));
  EXPECT_EQ(readers.take(readers.high), Values{});
  EXPECT_EQ(readers.take_other(), RCLRT_STATUS);
}
}  // namespace
