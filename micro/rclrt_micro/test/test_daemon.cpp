// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The pool, what goes on the line next, and what the ring keeps.
#include <gtest/gtest.h>

#include "rig.hpp"

namespace
{
constexpr uint8_t kBestEffort = 0x01;

struct Streams
{
  explicit Streams(Rig & rig, uint8_t low_id = kBestEffort, uint8_t high_id = 0x02)
  : low(rig, low_id), high(rig, high_id)
  {
  }
  Output low, high;
};

// The data bytes of the WRITE_DATA messages that reached the agent, in order.
std::vector<int> written(const Rig & rig)
{
  std::vector<int> data;
  for (const auto & message : rig.sent_by_client) {
    if (message[4] == RCLRT_WRITE_DATA) {
      data.push_back(message[12]);
    }
  }
  return data;
}

TEST(Daemon, a_more_urgent_message_overtakes_what_waits_but_not_what_is_on_the_line)
{
  Rig rig;
  Streams streams(rig);
  for (uint32_t i = 1; i <= 3; ++i) {
    must(streams.low.write(1, i));
  }
  must(streams.high.write(9, 9));
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{1, 9, 2, 3}));
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Daemon, who_waits_for_the_line_is_woken_when_a_message_has_gone_out_and_when_one_comes)
{
  Rig rig;
  Output output(rig, 0x03, 0x83);
  static int woken;
  woken = 0;
  rig.port.port.wake = [](void *) { woken++; };
  must(output.write(3, 1));  // its echo comes much later
  rig.settle(3);
  EXPECT_EQ(rig.daemon.counters.sent, 1U);
  EXPECT_EQ(woken, 1);
  const uint8_t byte = 0;
  rclrt_daemon_received(&rig.daemon, &byte, 1);
  EXPECT_EQ(woken, 2);
}

TEST(Daemon, a_message_acknowledged_while_it_is_sent_again_is_done_with)
{
  Rig rig;
  Streams streams(rig, 0x81, 0x82);
  rig.to_client.faults.loss = 1;  // the agent's own answers
  must(streams.low.write(1, 1));
  rig.settle(20);
  rig.receive(message_of(0, 0, {acknack(0x81, 0, 1)}));  // number 0 is missing: sent again
  EXPECT_NE(rig.daemon.current, nullptr);
  rig.receive(message_of(0, 0, {acknack(0x81, 1)}));  // no: it had arrived
  rig.settle(20);
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
  EXPECT_EQ(rig.daemon.free_count, rig.options.nodes);
}

TEST(Daemon, a_line_that_takes_nothing_loses_best_effort_but_not_what_is_reliable)
{
  Rig rig;
  Streams streams(rig, 0x01, 0x82);
  const auto works = rig.port.transport.write;
  rig.port.transport.write = [](void *, const uint8_t *, size_t) -> ptrdiff_t { return -1; };
  EXPECT_EQ(streams.low.write(1, 1), RCLRT_OK);
  EXPECT_EQ(streams.high.write(9, 2), RCLRT_OK);
  EXPECT_EQ(rig.daemon.counters.write_errors, 2U);
  rig.port.transport.write = works;
  rig.settle();
  EXPECT_EQ(written(rig), std::vector<int>{2});
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Daemon, a_line_that_is_stuck_makes_nobody_wait)
{
  Rig rig([](auto & with) { with.nodes = 3; });
  Streams streams(rig, 0x01, 0x82);
  rig.port.transport.write = [](void *, const uint8_t *, size_t) -> ptrdiff_t { return 0; };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(streams.low.write(1, 1), RCLRT_OK);
  }
  EXPECT_EQ(streams.low.write(1, 1), RCLRT_ERR_AGAIN);
  EXPECT_EQ(rclrt_daemon_poll(&rig.daemon, 10 * kMs), RCLRT_OK);
  EXPECT_FALSE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Daemon, best_effort_makes_room_for_what_is_more_urgent_and_what_is_reliable_never_does)
{
  for (const bool reliable : {false, true}) {
    Rig rig([](auto & with) { with.nodes = 3; });
    Streams streams(rig, reliable ? 0x81 : kBestEffort);
    for (uint32_t i = 1; i <= 3; ++i) {
      must(streams.low.write(1, i));
    }
    EXPECT_EQ(streams.high.write(9, 9), reliable ? RCLRT_ERR_AGAIN : RCLRT_OK);
    EXPECT_EQ(rig.daemon.counters.evicted, reliable ? 0U : 1U);
    rig.settle();
    EXPECT_EQ(written(rig), reliable ? (std::vector<int>{1, 2, 3}) : (std::vector<int>{1, 9, 3}));
  }
}

TEST(Daemon, the_reserve_is_kept_for_the_urgent)
{
  Rig rig([](auto & with) {
    with.nodes = 4;
    with.policy.reserve = 2;
    with.policy.reserve_priority = 8;
  });
  Streams streams(rig, 0x81, 0x82);
  EXPECT_EQ(streams.low.write(1, 1), RCLRT_OK);
  EXPECT_EQ(streams.low.write(1, 2), RCLRT_OK);
  EXPECT_EQ(streams.low.write(1, 3), RCLRT_ERR_AGAIN);
  EXPECT_EQ(streams.high.write(9, 9), RCLRT_OK);
  EXPECT_EQ(streams.high.write(9, 8), RCLRT_OK);
}

TEST(Daemon, a_message_that_the_pool_can_never_hold_without_its_reserve_is_refused_for_good)
{
  Rig rig([](auto & with) {
    with.capacity = 64;
    with.nodes = 4;
    with.policy.reserve = 3;
    with.policy.reserve_priority = 8;
  });
  Streams streams(rig, 0x81, 0x82);
  constexpr size_t kThree = 3 * 56;  // 60 bytes behind the header, 4 of them the fragment's
  EXPECT_EQ(streams.low.send_long(7, kThree), RCLRT_ERR_STORAGE) << "it needs two at a time";
  EXPECT_EQ(rig.daemon.shortage.limit, 4U);
  EXPECT_EQ(rig.daemon.shortage.needed, 5U);
  rig.daemon.config.reserve = 2;
  EXPECT_EQ(streams.high.send_long(8, kThree), RCLRT_OK);
}

TEST(Daemon, times_of_the_policy_may_be_forever)
{
  Rig rig([](auto & with) {
    with.policy.heartbeat_ns = UINT64_MAX;
    with.policy.lifetime_ns = UINT64_MAX;
    with.policy.hold_off_ns = UINT64_MAX;
  });
  Streams streams(rig, 0x81, 0x82);
  rig.to_agent.faults.loss = 1;
  must(streams.high.write(9, 9));
  rig.settle();
  must(streams.low.write(1, 1));
  rig.settle();
  EXPECT_EQ(rclrt_daemon_tick(&rig.daemon), UINT64_MAX);
  EXPECT_EQ(rig.daemon.counters.sent, 1U) << "no heartbeat, and the other is held off";
  EXPECT_EQ(rig.daemon.counters.abandoned, 0U);
}

TEST(Daemon, a_reliable_stream_has_at_most_a_window_on_its_way)
{
  Rig rig([](auto & with) { with.nodes = 20; });
  Streams streams(rig, 0x81, 0x82);
  for (uint32_t i = 0; i < RCLRT_WINDOW; ++i) {
    must(streams.low.write(1, i));
  }
  EXPECT_EQ(streams.low.write(1, 99), RCLRT_ERR_AGAIN);
  EXPECT_EQ(streams.high.write(1, 100), RCLRT_OK) << "another stream has its own";
}

TEST(Daemon, after_an_urgent_reliable_message_nothing_less_urgent_begins_before_its_answer)
{
  Rig rig([&](auto & with) {
    with.policy.hold_off_ns = 3 * kMs;
    with.agent_delay_ns = 300'000;
  });
  Streams streams(rig, 0x81, 0x82);
  rig.agent.refuse = [first = true](uint8_t stream, uint16_t) mutable {
    return stream == 0x82 && std::exchange(first, false);
  };
  must(streams.high.write(9, 9));
  must(streams.low.write(1, 1));
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{9, 9, 1})) << "the repeat did not wait";
  EXPECT_EQ(rig.daemon.counters.retransmitted, 1U);
}

TEST(Daemon, an_answer_that_does_not_come_holds_others_off_no_longer_than_said)
{
  Rig rig([&](auto & with) { with.policy.hold_off_ns = 3 * kMs; });
  Streams streams(rig, 0x01, 0x82);
  rig.to_client.faults.loss = 1;
  must(streams.high.write(9, 9));
  must(streams.low.write(1, 1));
  rig.settle(10);
  EXPECT_EQ(written(rig), (std::vector<int>{9, 1}));
}

TEST(Daemon, an_urgent_stream_that_has_used_up_its_budget_lets_others_pass)
{
  Rig rig([](auto & with) { with.nodes = 10; });
  Streams streams(rig);
  rclrt_budget budget;
  rclrt_budget_init(
    &budget, 40, 1000 * kMs);  // two messages of 16 bytes, and the one that exceeds it
  streams.high.stream.budget = &budget;
  for (uint32_t i = 0; i < 5; ++i) {
    must(streams.high.write(9, 10 + i));
  }
  must(streams.low.write(1, 1));
  must(streams.low.write(1, 2));
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{10, 11, 12, 1, 2, 13, 14}));
  EXPECT_EQ(budget.exhausted, 1U);
}

TEST(Daemon, repeats_without_end_do_not_starve_others_if_they_have_a_budget)
{
  for (const bool limited : {false, true}) {
    Rig rig([&](auto & with) { with.policy.hold_off_ns = 3 * kMs; });
    Streams streams(rig, 0x01, 0x82);
    rclrt_budget budget;
    rclrt_budget_init(&budget, 100, 100 * kMs);
    streams.high.stream.budget = limited ? &budget : nullptr;
    std::vector<int> arrived;
    // An agent that never gets the urgent one right.
    rig.to_agent.deliver = [&](const Agent::Bytes & frame) {
      arrived.push_back(frame[6]);
      if (frame[6] == 0x82) {
        rig.receive_later(message_of(0, 0, {acknack(0x82, 0, 1)}));
      }
    };
    must(streams.high.write(9, 9));
    for (uint32_t i = 0; i < 8; ++i) {
      must(streams.low.write(1, i));
    }
    rig.settle(90);
    EXPECT_EQ(std::count(arrived.begin(), arrived.end(), 0x01), limited ? 8 : 0);
    EXPECT_GT(std::count(arrived.begin(), arrived.end(), 0x82), 7);
  }
}

TEST(Daemon, what_outlives_its_time_is_given_up_told_and_does_not_stall_the_stream)
{
  Rig rig([&](auto & with) { with.policy.lifetime_ns = 250 * kMs; });
  Streams streams(rig, 0x81, 0x82);
  rig.to_agent.faults.loss = 1;
  must(streams.low.write(1, 1));
  must(streams.low.write(1, 2));
  rig.settle(400);
  EXPECT_EQ(rig.abandoned, (std::vector<std::pair<uint8_t, uint16_t>>{{0x81, 0}, {0x81, 1}}));
  EXPECT_EQ(rig.daemon.counters.abandoned, 2U);
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
  rig.to_agent.faults.loss = 0;
  must(streams.low.write(1, 3));
  rig.settle(1000);
  EXPECT_EQ(written(rig).back(), 3);
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &streams.low.stream))
    << "the agent has skipped them";
}

TEST(Daemon, as_published_a_heartbeat_follows_every_reliable_message_and_the_next_waits)
{
  RigOptions options;
  options.policy.mode = RCLRT_MODE_PAPER;
  Rig rig(options);
  rig.agent.options.acknowledge_everything = false;
  Streams streams(rig, 0x81, 0x82);
  must(streams.low.write(1, 1));
  must(streams.high.write(9, 2));
  rig.settle();
  std::vector<int> kinds;
  for (const auto & message : rig.sent_by_client) {
    kinds.push_back(message[4]);
  }
  EXPECT_EQ(
    kinds,
    (std::vector<int>{RCLRT_WRITE_DATA, RCLRT_HEARTBEAT, RCLRT_WRITE_DATA, RCLRT_HEARTBEAT}));
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Daemon, as_published_an_expired_message_makes_room_when_the_pool_is_empty)
{
  Rig rig([&](auto & with) {
    with.policy.mode = RCLRT_MODE_PAPER;
    with.policy.lifetime_ns = 300 * kMs;
    with.nodes = 2;
  });
  Streams streams(rig, 0x81, 0x82);
  rig.to_agent.faults.loss = 1;
  must(streams.low.write(1, 1));
  must(streams.low.write(1, 2));
  EXPECT_EQ(streams.low.write(1, 3), RCLRT_ERR_AGAIN) << "not old enough";
  rig.settle(400);
  EXPECT_EQ(streams.low.write(1, 3), RCLRT_OK);
  EXPECT_EQ(rig.daemon.counters.abandoned, 1U);
}

TEST(Daemon, a_writer_that_failed_gives_its_node_back_and_the_size_needed)
{
  Rig rig([](auto & with) {
    with.nodes = 1;
    with.capacity = 64;
  });
  Streams streams(rig);
  rclrt_node * node = nullptr;
  must(rclrt_daemon_acquire(&rig.daemon, &streams.low.stream, 1, &node));
  rclrt_writer writer = rclrt_daemon_writer(&rig.daemon, node);
  const Agent::Bytes data(100);
  const size_t begin = rclrt_data_begin(&writer, RCLRT_WRITE_DATA, 14, 0x15);
  rclrt_write_bytes(&writer, data.data(), data.size());
  rclrt_submessage_end(&writer, begin);
  EXPECT_EQ(writer.at, 112U);
  EXPECT_EQ(rclrt_daemon_commit(&rig.daemon, node, &writer), RCLRT_ERR_STORAGE);
  must(rclrt_daemon_acquire(&rig.daemon, &streams.low.stream, 1, &node));
}

TEST(Daemon, configurations_that_cannot_work_are_refused)
{
  Rig rig;
  const std::string argument = rclrt_ret_text(RCLRT_ERR_ARGUMENT);
  using Config = rclrt_daemon_config;
  static uint8_t input[100];
  const std::pair<std::string, void (*)(Config &)> rows[] = {
    {rclrt_ret_text(RCLRT_OK), [](Config &) {}},
    {argument, [](Config & config) { config.nodes = nullptr; }},
    {argument, [](Config & config) { config.ring = nullptr; }},
    {"node_count: 0 of 1", [](Config & config) { config.node_count = 0; }},
    {"node_count, more than reserve: 16 of 17",
     [](Config & config) { config.reserve = config.node_count; }},
    {"slot_count: 0 of 1", [](Config & config) { config.slot_count = 0; }},
    {"message_capacity: 60 of 64", [](Config & config) { config.message_capacity = 63; }},
    {"message_capacity, a multiple of 4: 68 of 70",
     [](Config & config) { config.message_capacity = 70; }},
    {"ring_size, a power of two: 0 of 1037", [](Config & config) { config.ring_size = 3000; }},
    {"ring_size, a power of two: 1024 of 1037", [](Config & config) { config.ring_size = 1024; }},
    {"piece_size: 8 of 16", [](Config & config) { config.piece_size = 8; }},
    {"input_size: 100 of 512",
     [](Config & config) {
       config.framing = RCLRT_FRAMING_DATAGRAM;
       config.input = input;
       config.input_size = sizeof(input);
     }},
  };
  const Config works = rig.daemon.config;
  for (const auto & [wanted, change] : rows) {
    Config config = works;
    change(config);
    rig.daemon = {};
    const auto ret = rclrt_daemon_init(&rig.daemon, &config, &rig.port.port, &rig.port.transport);
    EXPECT_EQ(ret == RCLRT_ERR_STORAGE ? rig.shortage() : rclrt_ret_text(ret), wanted);
  }
  EXPECT_EQ(rclrt_daemon_init(nullptr, nullptr, nullptr, nullptr), RCLRT_ERR_ARGUMENT);
}

struct Reception
{
  explicit Reception(Rig & rig) : urgent(rig, 0x83, 0x16, 9, 0), other(rig, 0x84, 0x26, 1, 0) {}

  Reader urgent, other;
};

Agent::Bytes data(uint8_t object, uint8_t value, size_t size = 4)
{
  return message_of(0, 0, {data_for(object, value, size)});
}

TEST(Reception, frames_are_lined_up_at_their_reader_by_their_first_bytes_alone)
{
  Rig rig;
  Reception reception(rig);
  // 7E and 7D in front move every later byte.
  Agent::Bytes stuffed = data(0x16, 1);
  stuffed[2] = 0x7E;
  stuffed[3] = 0x7D;
  stuffed[9] = 0x7D;
  rig.receive(stuffed);
  rig.receive(data(0x26, 2));
  EXPECT_EQ(reception.urgent.take(), std::vector<int>{1});
  EXPECT_EQ(reception.other.take(), std::vector<int>{2});
}

TEST(Reception, what_the_ring_overwrites_before_it_is_taken_is_counted)
{
  Rig rig([](auto & with) {
    with.ring = 1024;
    with.capacity = 256;
  });
  Reception reception(rig);
  for (uint8_t i = 0; i < 10; ++i) {
    rig.receive(data(0x26, i, 180));  // 199 bytes each: five fit
  }
  EXPECT_EQ(reception.other.take(), (std::vector<int>{5, 6, 7, 8, 9})) << "the newest five";
  EXPECT_EQ(rig.daemon.counters.overwritten, 5U);
}

TEST(Reception, when_slots_run_out_frames_of_the_least_urgent_go_first)
{
  Rig rig([](auto & with) { with.slots = 3; });
  Reception reception(rig);
  for (uint8_t i = 0; i < 3; ++i) {
    rig.receive(data(0x26, i));
  }
  rig.receive(data(0x16, 9));
  rig.receive(data(0x26, 3));
  EXPECT_EQ(rig.daemon.counters.dropped_frames, 2U);
  EXPECT_EQ(reception.urgent.take(), std::vector<int>{9});
  EXPECT_EQ(reception.other.take(), (std::vector<int>{0, 1}));
}

TEST(Reception, every_single_bit_error_costs_at_most_its_own_frame)
{
  const auto first = Deframer::frame(RCLRT_FRAMING_SERIAL, data(0x16, 1), 0);
  for (size_t bit = 0; bit < first.size() * 8; ++bit) {
    Rig rig;
    Reception reception(rig);
    Agent::Bytes line = first;
    line[bit / 8] = static_cast<uint8_t>(line[bit / 8] ^ 1U << bit % 8);
    rclrt_daemon_received(&rig.daemon, line.data(), line.size());
    rig.receive(data(0x16, 2));
    const auto values = reception.urgent.take();
    ASSERT_GE(values.size(), 1U) << "bit " << bit;
    ASSERT_EQ(values.back(), 2) << "bit " << bit;
    // Source and destination are covered by no check: see frame.h.
    ASSERT_TRUE(values.size() == 1 || bit / 8 == 1 || bit / 8 == 2) << "bit " << bit;
  }
}

TEST(Reception, what_is_not_ours_or_makes_no_sense_is_counted_and_passed_over)
{
  Rig rig;
  Reception reception(rig);
  const auto & counters = rig.daemon.counters;
  auto foreign = data(0x16, 1);
  foreign[0] = 0x82;
  rig.receive(foreign);
  EXPECT_EQ(counters.foreign, 1U);
  foreign[0] = 0x01;  // carries a key: not ours
  rig.receive(foreign);
  EXPECT_EQ(counters.foreign, 2U);
  rig.receive({0x81, 0, 0});
  EXPECT_EQ(counters.malformed, 1U);
  rig.receive({0x81, 0, 0, 0, RCLRT_ACKNACK, 1, 0xFF, 0});  // longer than its message
  EXPECT_EQ(counters.malformed, 2U);
  rig.receive(data(0x16, 1, 600));  // longer than a message may be
  EXPECT_EQ(counters.broken_frames, 1U);
  rig.receive(data(0x16, 3));
  EXPECT_EQ(reception.urgent.take(), std::vector<int>{3});
}
}  // namespace
