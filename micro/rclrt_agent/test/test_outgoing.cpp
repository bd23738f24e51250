// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// In which order messages for a client go.
#include <gtest/gtest.h>

#include <chrono>

#include "outgoing.hpp"

namespace
{
using namespace rclrt_agent;
using std::chrono::milliseconds;

constexpr TimePoint kBegin = rclrt_core::time_point_of(1'000'000'000);

Bytes data(uint8_t value, std::size_t size = 4)
{
  const Bytes bytes(size, value);
  rclrt_submessage sub{};
  sub.id = RCLRT_DATA;
  sub.of.data = view_of(bytes);
  return write(sub);
}

// What goes now: for data its first byte, for fragments -1, for acknowledgements -10, for heartbeats -11.
int next(Outgoing & outgoing, TimePoint now = kBegin)
{
  Bytes message;
  if (!outgoing.next(now, &message)) {
    return -100;
  }
  const uint8_t id = message.at(4);
  return id == RCLRT_DATA ? message.at(12) : id == RCLRT_FRAGMENT ? -1 : -static_cast<int>(id);
}

TEST(Outgoing, sends_the_most_urgent_first_also_of_one_stream)
{
  for (const uint8_t stream : {uint8_t{0x01}, uint8_t{0x80}}) {
    Outgoing outgoing({});
    outgoing.put(stream, 3, data(1));
    outgoing.put(stream, 3, data(2));
    outgoing.put(stream, 20, data(3));
    EXPECT_EQ(next(outgoing), 3);
    EXPECT_EQ(next(outgoing), 1);
    EXPECT_EQ(next(outgoing), 2);
    EXPECT_EQ(next(outgoing), -100);
  }
}

TEST(Outgoing, an_urgent_message_passes_between_the_fragments_of_another_stream)
{
  OutgoingOptions options;
  options.piece = 64;
  Outgoing outgoing(options);
  outgoing.put(0x84, 1, data(1, 700));
  EXPECT_EQ(next(outgoing), -1);
  outgoing.put(0xA0, 8, data(2));
  EXPECT_EQ(next(outgoing), 2);
  EXPECT_EQ(next(outgoing), -1);
}

TEST(Outgoing, what_a_client_takes_in_one_message_is_not_cut)
{
  OutgoingOptions options;
  options.piece = 64;
  Outgoing outgoing(options);
  outgoing.put(0x84, 1, data(7, 480));
  EXPECT_EQ(next(outgoing), 7) << "it may have no storage for fragments";
}

TEST(Outgoing, fragments_lend_from_what_waits_behind_them)
{
  Outgoing outgoing({});
  outgoing.put(RCLRT_STREAM_RELIABLE, 1, data(1, 700));
  EXPECT_EQ(next(outgoing), -1);
  outgoing.put(0x88, 5, data(5));
  outgoing.put(RCLRT_STREAM_RELIABLE, 9, data(9));
  EXPECT_EQ(next(outgoing), -1) << "the rest, because the most urgent message waits for it";
  EXPECT_EQ(next(outgoing), 9);
  EXPECT_EQ(next(outgoing), 5);
}

TEST(Outgoing, a_young_acknowledgement_waits_for_data_and_an_old_one_does_not)
{
  Outgoing outgoing({});
  const auto owe = [&outgoing] { outgoing.owe_acknack({1, 0, 0x80}, 0, kBegin); };
  owe();
  outgoing.put(1, 0, data(1));
  EXPECT_EQ(next(outgoing), 1);
  EXPECT_EQ(next(outgoing), -RCLRT_ACKNACK) << "nothing else waits";
  owe();
  outgoing.put(1, 0, data(1));
  outgoing.put(1, 9, data(9));
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(15)), 9)
    << "more urgent than what is acknowledged";
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(15)), -RCLRT_ACKNACK);
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(15)), 1);
}

TEST(Outgoing, urgent_data_without_end_does_not_starve_an_acknowledgement)
{
  Outgoing outgoing({});
  for (int i = 0; i < 8; ++i) {
    outgoing.owe_acknack({1, 0, 0x80}, 0, kBegin);
  }
  outgoing.put(1, 31, data(1));
  EXPECT_EQ(next(outgoing), -RCLRT_ACKNACK) << "half a window";
  outgoing.owe_acknack({1, 0, 0x80}, 0, kBegin);
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(40)), -RCLRT_ACKNACK) << "four times its delay";
}

TEST(Outgoing, acknowledgements_of_several_streams_share_a_message)
{
  Outgoing outgoing({});
  for (const uint8_t stream : {uint8_t{0x80}, uint8_t{0x81}, uint8_t{0x82}}) {
    outgoing.owe_acknack({1, 0, stream}, 0, kBegin);
  }
  Bytes message;
  ASSERT_TRUE(outgoing.next(kBegin, &message));
  EXPECT_EQ(message.size(), 4U + 3 * 12 - 3);
  EXPECT_FALSE(outgoing.next(kBegin, &message));
}

TEST(Outgoing, heartbeats_back_off_and_share_a_message)
{
  Outgoing outgoing({});
  outgoing.put(0x84, 0, data(1));
  outgoing.put(0x88, 0, data(2));
  next(outgoing), next(outgoing);
  std::vector<long> times;
  std::vector<std::vector<long>> again(3);
  for (TimePoint now = kBegin; now < kBegin + std::chrono::seconds(8); now += milliseconds(10)) {
    const int what = next(outgoing, now);
    if (what == -RCLRT_HEARTBEAT) {
      times.push_back((now - kBegin) / milliseconds(1));
    } else if (what != -100) {
      again.at(static_cast<std::size_t>(what)).push_back((now - kBegin) / milliseconds(1));
    }
  }
  EXPECT_EQ(times, (std::vector<long>{100, 300, 700, 1500, 3100, 5100, 7100}));
  EXPECT_EQ(outgoing.counters().heartbeats, 14U);
  // After two in vain, what they ask about goes along.
  EXPECT_EQ(again[1], (std::vector<long>{710, 1510, 3110, 5110, 7110}));
  EXPECT_EQ(again[2], (std::vector<long>{720, 1520, 3120, 5120, 7120}));
}

TEST(Outgoing, of_what_nobody_acknowledges_only_the_first_goes_again_with_a_heartbeat)
{
  Outgoing outgoing({});
  for (int i = 1; i <= 3; ++i) {
    outgoing.put(0x84, 0, data(static_cast<uint8_t>(i)));
    next(outgoing);
  }
  const auto after = [&](long ms) { return next(outgoing, kBegin + milliseconds(ms)); };
  EXPECT_EQ(after(100), -RCLRT_HEARTBEAT);
  EXPECT_EQ(after(300), -RCLRT_HEARTBEAT);
  EXPECT_EQ(after(301), -100);
  EXPECT_EQ(after(700), -RCLRT_HEARTBEAT);
  EXPECT_EQ(after(701), 1);
  EXPECT_EQ(after(702), -100);
  outgoing.on_acknack({1, 0, 0x84}, kBegin + milliseconds(703));
  EXPECT_EQ(after(803), -RCLRT_HEARTBEAT);
  EXPECT_EQ(after(804), -100) << "the client answers again";
}

TEST(Outgoing, the_next_heartbeat_comes_after_round_trips_that_were_measured)
{
  Outgoing outgoing({});
  outgoing.put(0x84, 0, data(1));
  outgoing.put(0x84, 0, data(2));
  next(outgoing), next(outgoing);
  ASSERT_EQ(outgoing.due(), kBegin + milliseconds(100)) << "nothing is known yet";
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(100)), -RCLRT_HEARTBEAT);
  outgoing.on_acknack({0, 0x1, 0x84}, kBegin + milliseconds(110));  // the first one is lost
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(110)), 1);
  EXPECT_EQ(outgoing.due(), kBegin + milliseconds(150)) << "four times the heartbeat's 10 ms";
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(150)), -RCLRT_HEARTBEAT);
  EXPECT_EQ(outgoing.due(), kBegin + milliseconds(230)) << "and twice that in silence";

  // Both have been under way for long, but neither for one round trip: repeated, and held up behind the gap.
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(230)), -RCLRT_HEARTBEAT);
  outgoing.on_acknack({2, 0, 0x84}, kBegin + milliseconds(1000));
  outgoing.put(0x84, 0, data(3));
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(1000)), 3);
  EXPECT_EQ(outgoing.due(), kBegin + milliseconds(1040));
}

TEST(Outgoing, only_what_is_asked_for_is_repeated_and_once)
{
  Outgoing outgoing({});
  for (uint8_t i = 0; i < 3; ++i) {
    outgoing.put(0x84, 0, data(static_cast<uint8_t>(i)));
    next(outgoing);
  }
  const rclrt_acknack gap{1, 0x1, 0x84};
  outgoing.on_acknack(gap, kBegin + milliseconds(10));
  outgoing.on_acknack(gap, kBegin + milliseconds(11));
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(11)), 1);
  outgoing.on_acknack(gap, kBegin + milliseconds(12));
  EXPECT_EQ(next(outgoing, kBegin + milliseconds(12)), -100) << "it cannot have arrived yet";
  outgoing.on_acknack({3, 0, 0x84}, kBegin + milliseconds(30));
  EXPECT_EQ(outgoing.unacknowledged(), 0U);
}

TEST(Outgoing, acknowledgements_of_what_was_never_sent_are_ignored)
{
  Outgoing outgoing({});
  outgoing.put(0x84, 0, data(0));
  next(outgoing);
  outgoing.on_acknack({2, 0, 0x84}, kBegin);
  outgoing.on_acknack({0xFFFF, 0, 0x84}, kBegin);
  outgoing.on_acknack({1, 0, 0x85}, kBegin);
  EXPECT_EQ(outgoing.unacknowledged(), 1U);
}

TEST(Outgoing, a_window_bounds_what_is_on_its_way)
{
  Outgoing outgoing({});
  for (int i = 0; i < 8; ++i) {
    outgoing.put(RCLRT_STREAM_RELIABLE, 0, data(7));
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(next(outgoing), 7);
  }
  EXPECT_EQ(next(outgoing), -100);
  outgoing.on_acknack({1, 0, RCLRT_STREAM_RELIABLE}, kBegin);
  EXPECT_EQ(next(outgoing), 7);
}

TEST(Outgoing, a_full_reliable_stream_refuses_and_says_when_there_is_room)
{
  Outgoing outgoing({});
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(outgoing.put(0x84, 0, data(1)), Outgoing::Put::kTaken);
  }
  EXPECT_EQ(outgoing.put(0x84, 0, data(1)), Outgoing::Put::kFull);
  int calls = 0;
  outgoing.when_room(0x84, 6, [&calls] { ++calls; });
  EXPECT_EQ(calls, 0);
  next(outgoing);
  EXPECT_EQ(calls, 1);
  next(outgoing);
  EXPECT_EQ(calls, 1) << "once";
}

TEST(Outgoing, a_full_best_effort_stream_drops_the_oldest_of_the_least_urgent)
{
  Outgoing outgoing({});
  outgoing.put(1, 9, data(100));
  for (uint8_t i = 0; i < 16; ++i) {
    outgoing.put(1, 2, data(i));
  }
  EXPECT_EQ(outgoing.counters().dropped, 1U);
  EXPECT_EQ(next(outgoing), 100);
  EXPECT_EQ(next(outgoing), 1);
  outgoing.put(1, 0, data(200));
  outgoing.put(1, 0, data(201));
  outgoing.put(1, 2, data(16));
  EXPECT_EQ(outgoing.counters().dropped, 2U) << "200";
}

TEST(Outgoing, messages_longer_than_the_mtu_are_cut_or_if_best_effort_counted)
{
  Outgoing outgoing({});
  EXPECT_EQ(outgoing.put(1, 0, data(1, 600)), Outgoing::Put::kTooLong);
  EXPECT_EQ(outgoing.counters().too_long, 1U);
  outgoing.put(RCLRT_STREAM_RELIABLE, 0, data(1, 600));
  Bytes message;
  ASSERT_TRUE(outgoing.next(kBegin, &message));
  EXPECT_LE(message.size(), 508U);
  EXPECT_EQ(message.at(5) & RCLRT_FLAG_LAST_FRAGMENT, 0);
  ASSERT_TRUE(outgoing.next(kBegin, &message));
  EXPECT_EQ(message.at(5) & RCLRT_FLAG_LAST_FRAGMENT, RCLRT_FLAG_LAST_FRAGMENT);
}

TEST(Outgoing, best_effort_data_of_many_streams_that_nobody_fetches_is_bounded_in_bytes)
{
  OutgoingOptions options;
  options.mtu = 65'000;
  options.bytes = 100'000;
  Outgoing outgoing(options);
  for (const std::size_t size : {std::size_t{8}, std::size_t{60'000}}) {
    for (int i = 0; i < 16; ++i) {
      for (uint8_t stream = 1; stream < 0x80; ++stream) {
        outgoing.put(stream, 1, data(1, size));
      }
    }
  }
  std::size_t all = 0;
  for (Bytes message; outgoing.next(kBegin, &message);) {
    all += message.size();
  }
  EXPECT_LE(all, 2 * options.bytes + options.mtu);
  EXPECT_GT(all, options.bytes) << "the newest takes the place of older ones";
}
TEST(Outgoing, what_is_not_acknowledged_counts_as_bytes_that_wait)
{
  OutgoingOptions options;
  options.bytes = 1000;
  Outgoing outgoing(options);
  unsigned taken = 0;
  for (unsigned i = 0; i < 64; ++i) {
    const auto stream = static_cast<uint8_t>(0x80 + i);
    taken += outgoing.put(stream, 1, data(1, 96)) == Outgoing::Put::kTaken ? 1 : 0;
    (void)next(outgoing);
  }
  EXPECT_EQ(taken, 10U) << "of 104 bytes each";
  outgoing.on_acknack({1, 0, 0x80}, kBegin);
  EXPECT_EQ(outgoing.put(0x80, 1, data(1, 96)), Outgoing::Put::kTaken);
  EXPECT_EQ(outgoing.put(0x80, 1, data(1, 96)), Outgoing::Put::kFull);
}

TEST(Outgoing, fragments_count_until_they_are_acknowledged)
{
  OutgoingOptions options;
  options.bytes = 1000;
  Outgoing outgoing(options);
  outgoing.put(0x81, 1, data(1, 980));
  EXPECT_EQ(next(outgoing), -1);
  EXPECT_EQ(next(outgoing), -1);
  outgoing.put(0x82, 1, data(1, 4));
  EXPECT_EQ(outgoing.put(0x82, 1, data(1, 4)), Outgoing::Put::kFull);
  outgoing.on_acknack({2, 0, 0x81}, kBegin);
  EXPECT_EQ(next(outgoing), 1);
  outgoing.on_acknack({1, 0, 0x82}, kBegin);
  EXPECT_EQ(outgoing.put(0x83, 1, data(1, 980)), Outgoing::Put::kTaken) << "nothing is left over";
  EXPECT_EQ(outgoing.put(0x83, 1, data(1, 4)), Outgoing::Put::kTaken) << "988 of 1000";
}

TEST(Outgoing, room_in_bytes_is_told_to_all_streams)
{
  OutgoingOptions options;
  options.bytes = 100;
  Outgoing outgoing(options);
  outgoing.put(0x81, 1, data(1, 92));
  bool told = false;
  outgoing.when_room(0x82, 7, [&told] { told = true; });
  EXPECT_EQ(next(outgoing), 1);
  EXPECT_FALSE(told) << "it is not acknowledged";
  outgoing.on_acknack({1, 0, 0x81}, kBegin);
  EXPECT_TRUE(told);
}

TEST(Outgoing, messages_of_which_a_reset_loses_fragments_are_counted)
{
  Outgoing outgoing({});
  const auto reset = [&outgoing] {
    outgoing.reset(true);
    return outgoing.counters().given_up;
  };
  outgoing.put(0x81, 1, data(1, 700));
  EXPECT_EQ(next(outgoing), -1);
  EXPECT_EQ(reset(), 1U) << "the rest had not gone yet";
  outgoing.put(0x81, 1, data(1, 700));
  outgoing.put(0x81, 1, data(2, 700));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(next(outgoing), -1);
  }
  EXPECT_EQ(reset(), 3U) << "one whole, one half";
  outgoing.put(0x81, 1, data(3));
  EXPECT_EQ(next(outgoing), 3);
  EXPECT_EQ(reset(), 3U);
  EXPECT_EQ(next(outgoing), 3) << "a whole message goes again";
}

TEST(Outgoing, messages_that_a_new_beginning_loses_are_counted)
{
  OutgoingOptions options;
  options.window = 2;
  Outgoing outgoing(options);
  outgoing.put(0x81, 1, data(1));
  outgoing.put(0x81, 1, data(2));
  outgoing.put(0x81, 1, data(3));
  outgoing.put(0x82, 1, data(4, 700));
  rclrt_submessage status{};
  status.id = RCLRT_STATUS;
  outgoing.put(RCLRT_STREAM_RELIABLE, 31, write(status));
  for (int i = 0; i < 4; ++i) {
    (void)next(outgoing);
  }
  outgoing.on_acknack({1, 0, 0x81}, kBegin);
  outgoing.reset(false);
  EXPECT_EQ(outgoing.counters().given_up, 3U) << "one not acknowledged, one waiting, one half";
  EXPECT_EQ(next(outgoing), -100);
}

// The gaps that an acknowledgement asks for; -1 if none goes.
int asked(Outgoing & outgoing, TimePoint now = kBegin)
{
  Bytes message;
  rclrt_reader reader;
  rclrt_message_header header;
  rclrt_submessage sub{};
  if (!outgoing.next(now, &message)) {
    return -1;
  }
  rclrt_reader_init(&reader, message.data(), message.size());
  rclrt_read_message_header(&reader, &header);
  return rclrt_read_submessage(&reader, &sub) && sub.id == RCLRT_ACKNACK ? sub.of.acknack.missing
                                                                         : -1;
}

TEST(Outgoing, a_gap_is_asked_for_once_and_again_when_the_client_wants_to_know)
{
  Outgoing outgoing({});
  outgoing.owe_acknack({10, 0x0001, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0x0001);
  outgoing.owe_acknack({10, 0x0001, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0) << "more came behind the gap";
  outgoing.owe_acknack({10, 0x0005, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0x0004) << "a second gap";
  outgoing.owe_acknack({12, 0x0001, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0) << "the first is filled, the second asked for";
  outgoing.owe_acknack({12, 0x0001, 0x80}, 0, kBegin, true);
  EXPECT_EQ(asked(outgoing), 0x0001);
  for (const uint16_t first : {uint16_t{30000}, uint16_t{60000}, uint16_t{9}}) {
    outgoing.owe_acknack({first, 0, 0x80}, 0, kBegin);
  }
  outgoing.owe_acknack({9, 0x0001, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0x0001) << "numbers begin again";
}

TEST(Outgoing, a_gap_is_asked_for_although_more_came_before_that_went)
{
  Outgoing outgoing({});
  outgoing.owe_acknack({10, 0x0001, 0x80}, 0, kBegin);
  outgoing.owe_acknack({10, 0x0001, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0x0001);
  outgoing.owe_acknack({10, 0x0001, 0x80}, 0, kBegin, true);
  outgoing.owe_acknack({10, 0x0001, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0x0001) << "nor is a heartbeat forgotten";
}
TEST(Outgoing, a_gap_is_asked_for_again_and_again_although_no_heartbeat_comes)
{
  Outgoing outgoing({});
  outgoing.owe_acknack({10, 0x0001, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0x0001);
  for (const int after : {100, 300, 700, 1500, 3100, 5100, 7100}) {
    const TimePoint at = kBegin + milliseconds(after);
    EXPECT_EQ(asked(outgoing, at - milliseconds(1)), -1) << after;
    EXPECT_EQ(outgoing.due(), at) << after;
    EXPECT_EQ(asked(outgoing, at), 0x0001) << after;
  }
  outgoing.owe_acknack({11, 0, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0);
  EXPECT_EQ(outgoing.due(), rclrt_core::kNever) << "it is filled";
}
TEST(Outgoing, acknowledgements_of_a_stream_keep_their_distance)
{
  OutgoingOptions options;
  options.acknack_spacing = milliseconds(40);
  Outgoing outgoing(options);
  const auto later = kBegin + milliseconds(40);
  outgoing.owe_acknack({10, 0, 0x80}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0) << "the first goes at once";
  outgoing.owe_acknack({11, 0x0001, 0x80}, 0, kBegin);
  outgoing.owe_acknack({1, 0, 0x81}, 0, kBegin);
  EXPECT_EQ(asked(outgoing), 0) << "of another stream";
  EXPECT_EQ(asked(outgoing, later - milliseconds(1)), -1);
  EXPECT_EQ(outgoing.due(), later);
  EXPECT_EQ(asked(outgoing, later), 0x0001);
}
}  // namespace
