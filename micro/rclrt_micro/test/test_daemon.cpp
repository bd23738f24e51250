// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The pool, what goes on the line next, and what the ring keeps.
#include <gtest/gtest.h>

#include "captures.hpp"
#include "rig.hpp"

namespace
{
constexpr uint8_t kBestEffort = 0x01;

struct Streams
{
  explicit Streams(Rig & rig, uint8_t low_id = kBestEffort, uint8_t high_id = 0x02)
  {
    rclrt_daemon_add_output(&rig.daemon, &low, low_id);
    rclrt_daemon_add_output(&rig.daemon, &high, high_id);
    rig.open(0x01);
  }
  rclrt_output_stream low{};
  rclrt_output_stream high{};
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
    ASSERT_EQ(rig.write(streams.low, 1, number(i)), RCLRT_OK);
  }
  ASSERT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_OK);
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{1, 9, 2, 3}));
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Daemon, who_waits_for_the_line_is_woken_when_a_message_has_gone_out_and_when_one_comes)
{
  Rig rig;
  rclrt_output_stream output{};
  rclrt_daemon_add_output(&rig.daemon, &output, 0x03);
  rig.open(0x83);
  static int woken;
  woken = 0;
  rig.port.port.wake = [](void *) { woken++; };
  ASSERT_EQ(rig.write(output, 3, number(1)), RCLRT_OK);  // its echo comes much later
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
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  rig.settle(20);
  const auto answer = [&rig](const char * hex) {
    const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, from_hex(hex), 0);
    rclrt_daemon_received(&rig.daemon, frame.data(), frame.size());
  };
  answer("810000000a0105000000000181");  // number 0 is missing: sent again
  EXPECT_NE(rig.daemon.current, nullptr);
  answer("810000000a0105000100000081");  // no: it had arrived
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
  EXPECT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  EXPECT_EQ(rig.write(streams.high, 9, number(2)), RCLRT_OK);
  EXPECT_EQ(rig.daemon.counters.write_errors, 2U);
  rig.port.transport.write = works;
  rig.settle();
  EXPECT_EQ(written(rig), std::vector<int>{2});
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Daemon, a_line_that_is_stuck_makes_nobody_wait)
{
  RigOptions options;
  options.nodes = 3;
  Rig rig(options);
  Streams streams(rig, 0x01, 0x82);
  rig.port.transport.write = [](void *, const uint8_t *, size_t) -> ptrdiff_t { return 0; };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  }
  EXPECT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_ERR_AGAIN);
  EXPECT_EQ(rclrt_daemon_poll(&rig.daemon, 10 * kMs), RCLRT_OK);
  EXPECT_FALSE(rclrt_daemon_idle(&rig.daemon));
}

TEST(Daemon, best_effort_makes_room_for_what_is_more_urgent)
{
  RigOptions options;
  options.nodes = 3;
  Rig rig(options);
  Streams streams(rig);
  for (uint32_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(rig.write(streams.low, 1, number(i)), RCLRT_OK);
  }
  EXPECT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_OK);
  EXPECT_EQ(rig.daemon.counters.evicted, 1U);
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{1, 9, 3}));
}

TEST(Daemon, reliable_messages_are_never_evicted)
{
  RigOptions options;
  options.nodes = 3;
  Rig rig(options);
  Streams streams(rig, 0x81, 0x02);
  for (uint32_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(rig.write(streams.low, 1, number(i)), RCLRT_OK);
  }
  EXPECT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_ERR_AGAIN);
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{1, 2, 3}));
}

TEST(Daemon, the_reserve_is_kept_for_the_urgent)
{
  RigOptions options;
  options.nodes = 4;
  options.policy.reserve = 2;
  options.policy.reserve_priority = 8;
  Rig rig(options);
  Streams streams(rig, 0x81, 0x82);
  EXPECT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  EXPECT_EQ(rig.write(streams.low, 1, number(2)), RCLRT_OK);
  EXPECT_EQ(rig.write(streams.low, 1, number(3)), RCLRT_ERR_AGAIN);
  EXPECT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_OK);
  EXPECT_EQ(rig.write(streams.high, 9, number(8)), RCLRT_OK);
}

TEST(Daemon, a_message_that_the_pool_can_never_hold_without_its_reserve_is_refused_for_good)
{
  RigOptions options;
  options.capacity = 64;
  options.nodes = 4;
  options.policy.reserve = 2;
  options.policy.reserve_priority = 8;
  Rig rig(options);
  Streams streams(rig, 0x81, 0x82);
  const Agent::Bytes three(3 * 56);  // 60 bytes behind the header, 4 of them the fragment's
  rig.daemon.config.reserve = 3;
  EXPECT_EQ(
    rclrt_daemon_send_long(&rig.daemon, &streams.low, 7, three.data(), three.size()),
    RCLRT_ERR_STORAGE)
    << "it needs two at a time";
  EXPECT_EQ(rig.daemon.shortage.limit, 4U);
  EXPECT_EQ(rig.daemon.shortage.needed, 5U);
  rig.daemon.config.reserve = 2;
  EXPECT_EQ(
    rclrt_daemon_send_long(&rig.daemon, &streams.high, 8, three.data(), three.size()), RCLRT_OK);
}

TEST(Daemon, times_of_the_policy_may_be_forever)
{
  RigOptions options;
  options.policy.heartbeat_ns = UINT64_MAX;
  options.policy.lifetime_ns = UINT64_MAX;
  options.policy.hold_off_ns = UINT64_MAX;
  Rig rig(options);
  Streams streams(rig, 0x81, 0x82);
  rig.to_agent.faults.loss = 1;
  ASSERT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_OK);
  rig.settle();
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  rig.settle();
  EXPECT_EQ(rclrt_daemon_tick(&rig.daemon), UINT64_MAX);
  EXPECT_EQ(rig.daemon.counters.sent, 1U) << "no heartbeat, and the other is held off";
  EXPECT_EQ(rig.daemon.counters.abandoned, 0U);
}

TEST(Daemon, a_reliable_stream_has_at_most_a_window_on_its_way)
{
  RigOptions options;
  options.nodes = 20;
  Rig rig(options);
  Streams streams(rig, 0x81, 0x82);
  for (uint32_t i = 0; i < RCLRT_WINDOW; ++i) {
    ASSERT_EQ(rig.write(streams.low, 1, number(i)), RCLRT_OK);
  }
  EXPECT_EQ(rig.write(streams.low, 1, number(99)), RCLRT_ERR_AGAIN);
  EXPECT_EQ(rig.write(streams.high, 1, number(100)), RCLRT_OK) << "another stream has its own";
}

TEST(Daemon, after_an_urgent_reliable_message_nothing_less_urgent_begins_before_its_answer)
{
  RigOptions options;
  options.policy.hold_off_ns = 3 * kMs;
  options.agent_delay_ns = 300'000;
  Rig rig(options);
  Streams streams(rig, 0x81, 0x82);
  rig.agent.refuse = [first = true](uint8_t stream, uint16_t) mutable {
    return stream == 0x82 && std::exchange(first, false);
  };
  ASSERT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_OK);
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{9, 9, 1})) << "the repeat did not wait";
  EXPECT_EQ(rig.daemon.counters.retransmitted, 1U);
}

TEST(Daemon, an_answer_that_does_not_come_holds_others_off_no_longer_than_said)
{
  RigOptions options;
  options.policy.hold_off_ns = 3 * kMs;
  Rig rig(options);
  Streams streams(rig, 0x01, 0x82);
  rig.to_client.faults.loss = 1;
  ASSERT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_OK);
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  rig.settle(10);
  EXPECT_EQ(written(rig), (std::vector<int>{9, 1}));
}

TEST(Daemon, an_urgent_stream_that_has_used_up_its_budget_lets_others_pass)
{
  RigOptions options;
  options.nodes = 10;
  Rig rig(options);
  Streams streams(rig);
  rclrt_budget budget;
  rclrt_budget_init(
    &budget, 40, 1000 * kMs);  // two messages of 16 bytes, and the one that exceeds it
  streams.high.budget = &budget;
  for (uint32_t i = 0; i < 5; ++i) {
    ASSERT_EQ(rig.write(streams.high, 9, number(10 + i)), RCLRT_OK);
  }
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  ASSERT_EQ(rig.write(streams.low, 1, number(2)), RCLRT_OK);
  rig.settle();
  EXPECT_EQ(written(rig), (std::vector<int>{10, 11, 12, 1, 2, 13, 14}));
  EXPECT_EQ(budget.exhausted, 1U);
}

TEST(Daemon, repeats_without_end_do_not_starve_others_if_they_have_a_budget)
{
  for (const bool limited : {false, true}) {
    RigOptions options;
    options.policy.hold_off_ns = 3 * kMs;
    Rig rig(options);
    Streams streams(rig, 0x01, 0x82);
    rclrt_budget budget;
    rclrt_budget_init(&budget, 100, 100 * kMs);
    streams.high.budget = limited ? &budget : nullptr;
    std::vector<int> arrived;
    // An agent that never gets the urgent one right.
    rig.to_agent.deliver = [&](const Agent::Bytes & frame) {
      arrived.push_back(frame[6]);
      if (frame[6] == 0x82) {
        rig.to_client.send(
          Deframer::frame(RCLRT_FRAMING_SERIAL, from_hex("810000000a0105000000000182"), 0));
      }
    };
    ASSERT_EQ(rig.write(streams.high, 9, number(9)), RCLRT_OK);
    for (uint32_t i = 0; i < 8; ++i) {
      ASSERT_EQ(rig.write(streams.low, 1, number(i)), RCLRT_OK);
    }
    rig.settle(90);
    EXPECT_EQ(std::count(arrived.begin(), arrived.end(), 0x01), limited ? 8 : 0);
    EXPECT_GT(std::count(arrived.begin(), arrived.end(), 0x82), 7);
  }
}

struct Abandoned
{
  std::vector<int> sequences;
  static void on(void * context, const rclrt_output_stream *, uint16_t sequence)
  {
    static_cast<Abandoned *>(context)->sequences.push_back(sequence);
  }
};

TEST(Daemon, what_outlives_its_time_is_given_up_told_and_does_not_stall_the_stream)
{
  RigOptions options;
  options.policy.lifetime_ns = 250 * kMs;
  Rig rig(options);
  Abandoned abandoned;
  rig.daemon.on_abandoned = Abandoned::on;
  rig.daemon.on_abandoned_context = &abandoned;
  Streams streams(rig, 0x81, 0x82);
  rig.to_agent.faults.loss = 1;
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  ASSERT_EQ(rig.write(streams.low, 1, number(2)), RCLRT_OK);
  rig.settle(400);
  EXPECT_EQ(abandoned.sequences, (std::vector<int>{0, 1}));
  EXPECT_EQ(rig.daemon.counters.abandoned, 2U);
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
  rig.to_agent.faults.loss = 0;
  ASSERT_EQ(rig.write(streams.low, 1, number(3)), RCLRT_OK);
  rig.settle(1000);
  EXPECT_EQ(written(rig).back(), 3);
  EXPECT_TRUE(rclrt_daemon_confirmed(&rig.daemon, &streams.low)) << "the agent has skipped them";
}

TEST(Daemon, as_published_a_heartbeat_follows_every_reliable_message_and_the_next_waits)
{
  RigOptions options;
  options.policy.mode = RCLRT_MODE_PAPER;
  Rig rig(options);
  rig.agent.options.acknowledge_everything = false;
  Streams streams(rig, 0x81, 0x82);
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  ASSERT_EQ(rig.write(streams.high, 9, number(2)), RCLRT_OK);
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
  RigOptions options;
  options.policy.mode = RCLRT_MODE_PAPER;
  options.policy.lifetime_ns = 300 * kMs;
  options.nodes = 2;
  Rig rig(options);
  Streams streams(rig, 0x81, 0x82);
  rig.to_agent.faults.loss = 1;
  ASSERT_EQ(rig.write(streams.low, 1, number(1)), RCLRT_OK);
  ASSERT_EQ(rig.write(streams.low, 1, number(2)), RCLRT_OK);
  EXPECT_EQ(rig.write(streams.low, 1, number(3)), RCLRT_ERR_AGAIN) << "not old enough";
  rig.settle(400);
  EXPECT_EQ(rig.write(streams.low, 1, number(3)), RCLRT_OK);
  EXPECT_EQ(rig.daemon.counters.abandoned, 1U);
}

TEST(Daemon, a_writer_that_failed_gives_its_node_back_and_the_size_needed)
{
  RigOptions options;
  options.nodes = 1;
  options.capacity = 64;
  Rig rig(options);
  Streams streams(rig);
  rclrt_node * node = nullptr;
  ASSERT_EQ(rclrt_daemon_acquire(&rig.daemon, &streams.low, 1, &node), RCLRT_OK);
  rclrt_writer writer = rclrt_daemon_writer(&rig.daemon, node);
  const Agent::Bytes data(100);
  const size_t begin = rclrt_data_begin(&writer, RCLRT_WRITE_DATA, 14, 0x15);
  rclrt_write_bytes(&writer, data.data(), data.size());
  rclrt_submessage_end(&writer, begin);
  EXPECT_EQ(writer.at, 112U);
  EXPECT_EQ(rclrt_daemon_commit(&rig.daemon, node, &writer), RCLRT_ERR_STORAGE);
  ASSERT_EQ(rclrt_daemon_acquire(&rig.daemon, &streams.low, 1, &node), RCLRT_OK);
}

TEST(Daemon, configurations_that_cannot_work_are_refused)
{
  Rig rig;
  const auto init = [&rig](auto && change) {
    rclrt_daemon_config config = rig.daemon.config;
    change(config);
    rclrt_daemon daemon{};
    const auto ret = rclrt_daemon_init(&daemon, &config, &rig.port.port, &rig.port.transport);
    const auto & missing = daemon.shortage;
    return ret == RCLRT_ERR_STORAGE
             ? missing.what + std::string(": ") + std::to_string(missing.limit) + " of " +
                 std::to_string(missing.needed)
             : rclrt_ret_text(ret);
  };
  const std::string ok = rclrt_ret_text(RCLRT_OK);
  const std::string argument = rclrt_ret_text(RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(init([](auto &) {}), ok);
  EXPECT_EQ(init([](auto & config) { config.nodes = nullptr; }), argument);
  EXPECT_EQ(init([](auto & config) { config.ring = nullptr; }), argument);
  EXPECT_EQ(init([](auto & config) { config.node_count = 0; }), "node_count: 0 of 1");
  EXPECT_EQ(
    init([](auto & config) { config.reserve = config.node_count; }),
    "node_count, more than reserve: 16 of 17");
  EXPECT_EQ(init([](auto & config) { config.slot_count = 0; }), "slot_count: 0 of 1");
  EXPECT_EQ(
    init([](auto & config) { config.message_capacity = 63; }), "message_capacity: 60 of 64");
  EXPECT_EQ(
    init([](auto & config) { config.message_capacity = 70; }),
    "message_capacity, a multiple of 4: 68 of 70");
  EXPECT_EQ(
    init([](auto & config) { config.ring_size = 3000; }), "ring_size, a power of two: 0 of 1037");
  EXPECT_EQ(
    init([](auto & config) { config.ring_size = 1024; }),
    "ring_size, a power of two: 1024 of 1037");
  EXPECT_EQ(init([](auto & config) { config.piece_size = 8; }), "piece_size: 8 of 16");
  EXPECT_EQ(
    init([](auto & config) {
      static uint8_t input[100];
      config.framing = RCLRT_FRAMING_DATAGRAM;
      config.input = input;
      config.input_size = sizeof(input);
    }),
    "input_size: 100 of 512");
  EXPECT_EQ(rclrt_daemon_init(nullptr, nullptr, nullptr, nullptr), RCLRT_ERR_ARGUMENT);
}

struct Reception
{
  explicit Reception(Rig & of) : daemon(of.daemon)
  {
    rclrt_daemon_add_sink(&daemon, &urgent, 0x16, 0, 9);
    rclrt_daemon_add_sink(&daemon, &other, 0x26, 0, 1);
    rclrt_daemon_reset(&daemon, RCLRT_SESSION_DEFAULT, kKey);
  }

  // A DATA message on stream 0, framed.
  static Agent::Bytes data(uint8_t object, uint8_t value, size_t size = 4)
  {
    Agent::Bytes message = {0x81, 0, 0, 0, RCLRT_DATA, 1, static_cast<uint8_t>(size + 4),
                            0,    0, 1, 0, object};
    message.resize(message.size() + size, value);
    return message;
  }

  void receive(const Agent::Bytes & message)
  {
    const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0);
    rclrt_daemon_received(&daemon, frame.data(), frame.size());
  }

  rclrt_daemon & daemon;
  rclrt_sink urgent{};
  rclrt_sink other{};
};

TEST(Reception, frames_are_lined_up_at_their_reader_by_their_first_bytes_alone)
{
  Rig rig;
  Reception reception(rig);
  // 7E and 7D in front move every later byte.
  Agent::Bytes stuffed = Reception::data(0x16, 1);
  stuffed[2] = 0x7E;
  stuffed[3] = 0x7D;
  stuffed[9] = 0x7D;
  reception.receive(stuffed);
  reception.receive(Reception::data(0x26, 2));
  EXPECT_EQ(take_all(rig.daemon, reception.urgent).at(0).at(0), 1);
  EXPECT_EQ(take_all(rig.daemon, reception.other).at(0).at(0), 2);
}

TEST(Reception, what_the_ring_overwrites_before_it_is_taken_is_counted)
{
  RigOptions options;
  options.ring = 1024;
  options.capacity = 256;
  Rig rig(options);
  Reception reception(rig);
  for (uint8_t i = 0; i < 10; ++i) {
    reception.receive(Reception::data(0x26, i, 180));  // 199 bytes each: five fit
  }
  const auto data = take_all(rig.daemon, reception.other);
  EXPECT_EQ(data.size(), 5U);
  EXPECT_EQ(data.at(0).at(0), 5) << "the newest five";
  EXPECT_EQ(rig.daemon.counters.overwritten, 5U);
}

TEST(Reception, when_slots_run_out_frames_of_the_least_urgent_go_first)
{
  RigOptions options;
  options.slots = 3;
  Rig rig(options);
  Reception reception(rig);
  for (uint8_t i = 0; i < 3; ++i) {
    reception.receive(Reception::data(0x26, i));
  }
  reception.receive(Reception::data(0x16, 9));
  reception.receive(Reception::data(0x26, 3));
  EXPECT_EQ(rig.daemon.counters.dropped_frames, 2U);
  EXPECT_EQ(take_all(rig.daemon, reception.urgent).size(), 1U);
  const auto rest = take_all(rig.daemon, reception.other);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[1][0], 1);
}

TEST(Reception, every_single_bit_error_costs_at_most_its_own_frame)
{
  const auto first = Deframer::frame(RCLRT_FRAMING_SERIAL, Reception::data(0x16, 1), 0);
  const auto second = Deframer::frame(RCLRT_FRAMING_SERIAL, Reception::data(0x16, 2), 0);
  for (size_t bit = 0; bit < first.size() * 8; ++bit) {
    Rig rig;
    Reception reception(rig);
    Agent::Bytes line = first;
    line[bit / 8] = static_cast<uint8_t>(line[bit / 8] ^ 1U << bit % 8);
    line.insert(line.end(), second.begin(), second.end());
    rclrt_daemon_received(&rig.daemon, line.data(), line.size());
    const auto data = take_all(rig.daemon, reception.urgent);
    ASSERT_GE(data.size(), 1U) << "bit " << bit;
    ASSERT_EQ(data.back()[0], 2) << "bit " << bit;
    // Source and destination are covered by no check: see frame.h.
    ASSERT_TRUE(data.size() == 1 || bit / 8 == 1 || bit / 8 == 2) << "bit " << bit;
  }
}

TEST(Reception, what_is_not_ours_or_makes_no_sense_is_counted_and_passed_over)
{
  Rig rig;
  Reception reception(rig);
  auto foreign = Reception::data(0x16, 1);
  foreign[0] = 0x82;
  reception.receive(foreign);
  EXPECT_EQ(rig.daemon.counters.foreign, 1U);
  foreign[0] = 0x01;  // carries a key: not ours
  reception.receive(foreign);
  EXPECT_EQ(rig.daemon.counters.foreign, 2U);
  reception.receive({0x81, 0, 0});
  EXPECT_EQ(rig.daemon.counters.malformed, 1U);
  reception.receive(from_hex("810000000a01ff00"));  // an ACKNACK longer than its message
  EXPECT_EQ(rig.daemon.counters.malformed, 2U);
  reception.receive(Reception::data(0x16, 1, 600));  // longer than a message may be
  EXPECT_EQ(rig.daemon.counters.broken_frames, 1U);
  reception.receive(Reception::data(0x16, 3));
  EXPECT_EQ(take_all(rig.daemon, reception.urgent).at(0).at(0), 3);
}
}  // namespace
