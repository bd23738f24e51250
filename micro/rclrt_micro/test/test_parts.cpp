// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Messages with several submessages, and data that no reader is for.
#include <gtest/gtest.h>

#include "system.hpp"

namespace
{
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
