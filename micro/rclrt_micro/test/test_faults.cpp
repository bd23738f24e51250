// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Bad input, an agent that does not answer, and storage that is used again.
#include <gtest/gtest.h>

#include <deque>

#include "program.hpp"

namespace
{
// For the reader of object 0x16.
Agent::Bytes data_for_reader(uint8_t value, uint8_t stream = 0)
{
  return message_of(stream, 0, {data_for(0x16, value)});
}

TEST(Line, a_frame_of_escapes_without_end_is_broken_and_the_next_one_is_found)
{
  Rig rig;
  Reader reader(rig);
  Agent::Bytes flood = {0x7E, 0, 1, 16, 0};
  flood.insert(flood.end(), 20'000, 0x7D);
  rclrt_daemon_received(&rig.daemon, flood.data(), flood.size());
  EXPECT_EQ(rig.daemon.counters.broken_frames, 1U);
  reader.receive(data_for_reader(5));
  EXPECT_EQ(reader.take(), std::vector<int>{5});
}

TEST(Line, the_longest_frame_fits_the_smallest_ring_also_if_every_byte_is_stuffed)
{
  Rig rig([&](auto & with) {
    with.capacity = 504;  // a frame takes up to 2 * (504 + 6) + 1 = 1021 bytes
    with.ring = 1024;
  });
  Reader reader(rig);
  Agent::Bytes message = {0x81, 0, 0, 0, RCLRT_DATA, 1, 0, 0, 0, 1, 0, 0x16};
  message.resize(504, 0x7E);
  for (int i = 0; i < 3; ++i) {
    reader.receive(message);
    const auto data = take_all(rig.daemon, reader.sink);
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(data[0], Agent::Bytes(492, 0x7E));
  }
  EXPECT_EQ(rig.daemon.counters.overwritten, 0U);
}

// The checksum does not cover addresses: an agent answers a question whose address the line has spoilt, and
// tells that other address that it does not know it.
TEST(Line, a_frame_for_another_address_is_left)
{
  Rig rig;
  Reader reader(rig);
  auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, data_for_reader(5), RCLRT_FRAME_AGENT);
  ASSERT_EQ(frame.at(2), RCLRT_FRAME_CLIENT);
  frame[2] = RCLRT_FRAME_CLIENT ^ 8U;
  rclrt_daemon_received(&rig.daemon, frame.data(), frame.size());
  EXPECT_TRUE(reader.take().empty());
  EXPECT_EQ(rig.daemon.counters.broken_frames, 1U);
  EXPECT_EQ(rig.daemon.counters.received, 0U) << "nor was the agent heard";
  reader.receive(data_for_reader(6));
  EXPECT_EQ(reader.take(), std::vector<int>{6});
}

TEST(Line, a_buffer_that_is_shorter_than_a_frame_is_refused_and_the_frame_stays)
{
  Rig rig;
  Reader reader(rig);
  reader.receive(data_for_reader(5, 0x83));
  std::vector<uint8_t> buffer(rig.options.capacity - 1U);
  rclrt_message taken;
  EXPECT_EQ(
    rclrt_daemon_take(&rig.daemon, &reader.sink, buffer.data(), buffer.size(), &taken),
    RCLRT_ERR_STORAGE);
  EXPECT_EQ(rig.shortage(), "the buffer: 511 of 512");
  EXPECT_EQ(reader.take(), std::vector<int>{5});
}

TEST(Line, a_heartbeat_that_shares_a_message_with_data_is_answered)
{
  for (const bool first : {true, false}) {
    Started system;
    Listener listener(system, "t", rclrt_qos_best_effort());
    system.spin_for(500);
    // The agent has something on stream 80 that never came.
    const uint16_t next = system.session.reliable_in.expected;
    const auto asks = heartbeat(0x80, next, next);
    const auto data = data_for(listener.subscription.reader.id, 7);
    system.sent_by_client.clear();
    system.receive(message_of(0, 0, {first ? asks : data, first ? data : asks}));
    system.spin_for(50);
    ASSERT_EQ(system.sent_by_client.size(), 1U);
    EXPECT_EQ(system.sent_by_client[0][4], RCLRT_ACKNACK);
    EXPECT_EQ(system.sent_by_client[0][8], next) << "the first that is missing";
    EXPECT_EQ(listener.numbers, std::vector<uint32_t>{7});
    EXPECT_EQ(system.daemon.counters.malformed, 0U);
  }
}

// Three fragments of a message to the reader, from number `sequence` on.
std::vector<Agent::Bytes> fragments(uint16_t sequence, uint8_t value)
{
  const Agent::Bytes whole = data_for(0x16, value, 100);
  std::vector<Agent::Bytes> all;
  for (auto at = whole.begin(); at < whole.end(); at += 36) {
    const uint8_t flags = at + 36 < whole.end() ? 1 : 1 | RCLRT_FLAG_LAST_FRAGMENT;
    const auto part = submessage(RCLRT_FRAGMENT, flags, {at, at + 36});
    all.push_back(message_of(0x83, sequence++, {part}));
  }
  return all;
}

void receive_all(Reader & reader, const std::vector<Agent::Bytes> & messages)
{
  for (const auto & message : messages) {
    reader.receive(message);
  }
}

Agent::Bytes skip_to(uint8_t first, uint8_t last)
{
  return message_of(0, 0, {heartbeat(0x83, first, last)});
}

TEST(Fragments, of_a_message_with_a_gap_nothing_is_delivered)
{
  for (const bool taken_before : {true, false}) {
    Rig rig;
    Reader reader(rig);
    const auto two = fragments(3, 2);
    reader.receive(fragments(0, 1)[0]);
    EXPECT_TRUE(!taken_before || reader.take().empty());
    // The agent gives up the rest of the first and the begin of the second.
    reader.receive(skip_to(4, 5));
    receive_all(reader, {two[1], two[2]});
    receive_all(reader, fragments(6, 3));
    EXPECT_EQ(take_all(rig.daemon, reader.sink), std::vector<Agent::Bytes>{Agent::Bytes(100, 3)});
    EXPECT_EQ(rig.daemon.counters.unassembled, 1U);
    EXPECT_EQ(rig.daemon.counters.skipped, taken_before ? 3U : 4U);
  }
}

TEST(Fragments, after_a_gap_an_unfragmented_message_says_where_messages_begin)
{
  Rig rig;
  Reader reader(rig);
  reader.receive(fragments(0, 1)[0]);
  EXPECT_TRUE(reader.take().empty());
  reader.receive(skip_to(3, 3));
  reader.receive(message_of(0x83, 3, {data_for(0x16, 9)}));
  receive_all(reader, fragments(4, 2));
  const auto data = take_all(rig.daemon, reader.sink);
  ASSERT_EQ(data.size(), 2U);
  EXPECT_EQ(data[1], Agent::Bytes(100, 2));
}

TEST(Fragments, of_a_message_with_one_that_makes_no_sense_nothing_is_delivered)
{
  for (const size_t bad : {0U, 1U, 2U}) {
    Rig rig;
    Reader reader(rig);
    auto broken = fragments(0, 1);
    broken[bad][6] = 40;  // longer than it is
    receive_all(reader, broken);
    receive_all(reader, fragments(3, 2));
    EXPECT_EQ(take_all(rig.daemon, reader.sink), std::vector<Agent::Bytes>{Agent::Bytes(100, 2)});
    EXPECT_EQ(rig.daemon.counters.malformed, 1U);
    EXPECT_EQ(rig.daemon.counters.unassembled, 1U);
  }
}

// A message has four fragments, or twenty, of which six have been cut when it is given up.
TEST(Fragments, a_message_is_given_up_with_all_of_them)
{
  for (const bool long_ : {false, true}) {
    Rig rig([&](auto & with) {
      with.nodes = long_ ? 12 : 16;
      with.capacity = 64;
      with.policy.lifetime_ns = 250 * kMs;
      with.policy.hold_off_ns = 1;
    });
    Output output(rig, 0x81);
    rig.settle(1000);  // so that there is a time before
    rig.to_agent.faults.loss = 1;
    must(output.send_long(3, long_ ? 1100 : 208));
    // The first one outlives its time before the last one has left.
    rig.world.step(rig.world.now_ns() + 6 * kMs);
    ASSERT_LT(output.stream.sent, 4);
    rig.nodes[0].timestamp_ns -= 249 * kMs;
    rig.settle(8);
    rig.arm();
    EXPECT_EQ(rig.abandoned.size(), long_ ? 6U : 4U);
    EXPECT_EQ(output.stream.first_unacked, long_ ? 7 : 4)
      << "a number that is never sent tells of the gap";
    rig.to_agent.faults.loss = 0;
    must(output.write(3, 1));
    rig.settle(500);
    EXPECT_EQ(numbers_of(rig), std::vector<uint32_t>{1});
    EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
    EXPECT_EQ(rig.daemon.free_count, rig.options.nodes);
  }
}

TEST(Fragments, between_those_of_a_less_urgent_message_an_urgent_one_passes)
{
  Rig rig([](auto & with) { with.capacity = 64; });
  Output low(rig, 0x81), high(rig, 0x02);
  must(low.send_long(1, 504));
  must(high.write(9, 9));
  const uint64_t asked_ns = rig.world.now_ns();
  while (rig.sent_by_client.empty() || rig.sent_by_client.back()[1] != 0x02) {
    ASSERT_TRUE(rig.world.step(asked_ns + 100 * kMs));
  }
  // A fragment on the line, itself, and a byte of stuffing each.
  EXPECT_LE(rig.world.now_ns() - asked_ns, (64 + 7 + 1 + 16 + 7 + 1) * kByte115200);
}

TEST(Again, an_init_that_failed_can_be_tried_again_and_leaves_nothing_behind)
{
  Started system;
  system.session.answer_timeout_ns = 50 * kMs;
  rclrt_publisher publisher;
  rclrt_subscription subscription;
  rclrt_service service;
  const auto qos = rclrt_qos_reliable();
  // Each fails at another of its entities: the line breaks after so many messages of the agent.
  for (size_t answers = 0; answers < 3; ++answers) {
    size_t left = answers;
    system.on_agent_message = [&left](const Agent::Bytes & message) {
      return message[4] == RCLRT_STATUS && (left == 0 || left-- == 0);
    };
    EXPECT_EQ(
      rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", qos, 1), RCLRT_ERR_TIMEOUT);
    left = answers;
    EXPECT_EQ(
      rclrt_subscription_init(&subscription, &system.node, &kBlob, "t", qos), RCLRT_ERR_TIMEOUT);
    left = 0;
    EXPECT_EQ(rclrt_service_init(&service, &system.node, &kBlob, &kBlob, "/s"), RCLRT_ERR_TIMEOUT);
    system.on_agent_message = nullptr;
    system.settle(1000);
    rclrt_session_handle(&system.session);
    system.settle(1000);
    rclrt_session_handle(&system.session);
  }
  EXPECT_EQ(rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", qos, 1), RCLRT_OK);
  EXPECT_EQ(rclrt_subscription_init(&subscription, &system.node, &kBlob, "t", qos), RCLRT_OK);
  EXPECT_EQ(rclrt_service_init(&service, &system.node, &kBlob, &kBlob, "/s"), RCLRT_OK);
  // What there is now is created again at a new agent: no more, and it ends.
  system.agent.restart();
  EXPECT_EQ(rclrt_session_keep_alive(&system.session, 5000 * kMs), RCLRT_OK);
  EXPECT_EQ(system.agent.objects(), 8U) << "participant, twice three, one";
}

TEST(Again, an_init_waits_for_room_as_for_its_answer)
{
  Started system;
  // What is asked for is done at once; that it arrived is said late.
  system.agent.options.acknowledge_everything = false;
  system.daemon.config.heartbeat_ns = 500 * kMs;
  std::deque<Talker> talkers;
  std::deque<Listener> listeners;
  for (int i = 0; i < 20; ++i) {
    talkers.emplace_back(system);
    listeners.emplace_back(system, "t");
  }
  for (auto & talker : talkers) {
    EXPECT_EQ(rclrt_publisher_fini(&talker.self), RCLRT_OK);
  }
  EXPECT_GT(system.daemon.counters.refused, 0U) << "there was not always room";
}

TEST(Again, what_was_finished_can_be_made_anew)
{
  Started system;
  rclrt_service service;
  rclrt_client client;
  const auto qos = rclrt_qos_reliable();
  for (uint32_t round = 1; round <= 3; ++round) {
    SCOPED_TRACE(round);
    Talker publisher(system, "t", qos);
    Listener listener(system, "t");
    must(rclrt_service_init(&service, &system.node, &kBlob, &kBlob, "/s"));
    must(rclrt_client_init(&client, &system.node, &kBlob, &kBlob, "/s", 1));
    const Blob blob{round, 20};
    system.spin_for(100);
    must(rclrt_publish(&publisher.self, &blob));
    system.spin_for(100);
    EXPECT_EQ(listener.numbers, std::vector<uint32_t>{round});
    listener.numbers.clear();
    // Something is still on its way when they are finished.
    must(rclrt_publish(&publisher.self, &blob));
    EXPECT_EQ(rclrt_publisher_fini(&publisher.self), RCLRT_OK);
    EXPECT_EQ(rclrt_subscription_fini(&listener.subscription), RCLRT_OK);
    EXPECT_EQ(rclrt_service_fini(&service), RCLRT_OK);
    EXPECT_EQ(rclrt_client_fini(&client), RCLRT_OK);
    EXPECT_EQ(rclrt_publish(&publisher.self, &blob), RCLRT_ERR_ARGUMENT);
    EXPECT_EQ(rclrt_publisher_fini(&publisher.self), RCLRT_ERR_ARGUMENT) << "once is enough";
    EXPECT_EQ(rclrt_subscription_fini(&listener.subscription), RCLRT_ERR_ARGUMENT);
    EXPECT_EQ(system.agent.objects(), 1U) << "the participant";
    system.spin_for(500);
    EXPECT_EQ(system.daemon.free_count, system.options.nodes);
  }
}

TEST(Again, a_subscription_that_could_not_ask_for_its_data_can_be_added_again)
{
  Started system;
  Listener listener(system);
  must(listener.init());
  system.settle(500);  // whatever waits for its acknowledgement
  std::vector<rclrt_node *> taken(system.options.nodes);
  for (auto & node : taken) {
    must(rclrt_daemon_acquire(&system.daemon, &system.session.none, 31, &node));
  }
  EXPECT_EQ(listener.add(), RCLRT_ERR_AGAIN);
  for (auto * node : taken) {  // what does not fit gives its node back
    rclrt_writer writer = rclrt_daemon_writer(&system.daemon, node);
    writer.failed = true;
    EXPECT_EQ(rclrt_daemon_commit(&system.daemon, node, &writer), RCLRT_ERR_STORAGE);
  }
  EXPECT_EQ(listener.add(), RCLRT_OK);
  EXPECT_EQ(listener.add(), RCLRT_ERR_ARGUMENT) << "it is there";
}

TEST(Again, a_timer_that_is_removed_like_any_callback_is_silent)
{
  Started system;
  rclrt_timer timer{};
  int calls = 0;
  must(rclrt_executor_add_timer(
    &system.executor, &timer, 10 * kMs, 1,
    [](void * context, rclrt_timer *) { ++*static_cast<int *>(context); }, &calls));
  system.spin_for(25);
  rclrt_executor_remove(&system.executor, &timer.callback);
  system.spin_for(50);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(system.executor.timers.size, 0);
}

TEST(Limits, a_callback_that_publishes_more_than_the_pool_holds_is_told_each_time_and_goes_on)
{
  Started system([](auto & with) { with.nodes = 4; });
  struct Flood
  {
    explicit Flood(System & of) : talker(of) {}
    Talker talker;
    int accepted = 0, refused = 0;
  } flood(system);
  rclrt_timer timer{};
  must(rclrt_executor_add_timer(
    &system.executor, &timer, 1000 * kMs, 1,
    [](void * context, rclrt_timer *) {
      auto & self = *static_cast<Flood *>(context);
      for (uint32_t i = 0; i < 50; ++i) {
        const auto ret = self.talker.publish(i);
        EXPECT_TRUE(ret == RCLRT_OK || ret == RCLRT_ERR_AGAIN);
        (ret == RCLRT_OK ? self.accepted : self.refused)++;
      }
    },
    &flood));
  const uint64_t before = system.world.now_ns();
  system.spin_for(1500);
  EXPECT_EQ(flood.accepted, 4);
  EXPECT_EQ(flood.refused, 46);
  EXPECT_EQ(system.daemon.counters.refused, 46U);
  EXPECT_EQ(system.written.size(), 4U) << "what was accepted arrives";
  EXPECT_EQ(system.world.now_ns() - before, 1500 * kMs) << "nothing waited";
}

TEST(Limits, errors_about_storage_name_the_limit_and_what_is_needed)
{
  Started system([](auto & with) {
    with.capacity = 128;
    with.nodes = 6;
  });
  Talker reliable(system), best_effort(system, "u", rclrt_qos_best_effort());
  EXPECT_EQ(best_effort.publish(1, 1000), RCLRT_ERR_UNSUPPORTED);
  EXPECT_EQ(system.shortage(), "message_capacity: 128 of 1012");
  EXPECT_EQ(reliable.publish(1, 3000), RCLRT_ERR_STORAGE);
  EXPECT_EQ(system.shortage(), "the session's buffer: 2048 of 3008");
  const std::string name(100, 'n');
  rclrt_publisher more;
  EXPECT_EQ(
    rclrt_publisher_init(&more, &system.node, &kBlob, name.c_str(), rclrt_qos_reliable(), 0),
    RCLRT_ERR_STORAGE);
  EXPECT_EQ(system.shortage().substr(0, 15), "RCLRT_NAME_MAX:");
  std::vector<rclrt_timer> timers(17);
  auto ret = RCLRT_OK;
  for (auto & timer : timers) {
    ret = rclrt_executor_add_timer(
      &system.executor, &timer, kMs, 1, [](void *, rclrt_timer *) {}, nullptr);
  }
  EXPECT_EQ(ret, RCLRT_ERR_STORAGE);
  EXPECT_EQ(system.shortage(), "timer_count: 16 of 17");
}

TEST(Limits, the_buffer_for_long_messages_is_for_one_at_a_time)
{
  Started system([](auto & with) { with.capacity = 128; });
  Talker talker(system);
  // A context that preempts the session while it reads an answer.
  auto during = RCLRT_OK;
  bool once = false;
  system.port.on_leave = [&] {
    if (system.session.buffer_taken && !std::exchange(once, true)) {
      during = talker.publish(1, 500);
    }
  };
  EXPECT_EQ(rclrt_session_ping(&system.session, 1000 * kMs), RCLRT_OK);
  system.port.on_leave = nullptr;
  EXPECT_TRUE(once);
  EXPECT_EQ(during, RCLRT_ERR_AGAIN);
  EXPECT_EQ(talker.publish(1, 500), RCLRT_OK);
}

TEST(Limits, a_timeout_may_be_forever)
{
  System system;
  EXPECT_EQ(rclrt_session_connect(&system.session, UINT64_MAX), RCLRT_OK);
  EXPECT_EQ(rclrt_session_ping(&system.session, UINT64_MAX), RCLRT_OK);
  EXPECT_EQ(rclrt_session_synchronize(&system.session, UINT64_MAX), RCLRT_OK);
}

TEST(Limits, null_pointers_are_errors_everywhere)
{
  const auto bad = RCLRT_ERR_ARGUMENT;
  uint8_t bytes[4] = {};
  rclrt_message message;
  expect_all(
    bad, {rclrt_daemon_add_output(nullptr, nullptr, 1),
          rclrt_daemon_add_input(nullptr, nullptr, 1, nullptr, 0),
          rclrt_daemon_add_sink(nullptr, nullptr, 1, 1, 1),
          rclrt_daemon_acquire(nullptr, nullptr, 1, nullptr),
          rclrt_daemon_commit(nullptr, nullptr, nullptr),
          rclrt_daemon_send_long(nullptr, nullptr, 1, bytes, 4),
          rclrt_daemon_take(nullptr, nullptr, bytes, 4, &message),
          rclrt_session_init(nullptr, nullptr, 1, bytes, bytes, 4),
          rclrt_session_close(nullptr),
          rclrt_session_ping(nullptr, 1),
          rclrt_session_keep_alive(nullptr, 1),
          rclrt_session_synchronize(nullptr, 1),
          rclrt_session_create(nullptr, nullptr, RCLRT_TOPIC),
          rclrt_session_delete(nullptr, nullptr),
          rclrt_session_read(nullptr, nullptr),
          rclrt_executor_init(nullptr, nullptr, nullptr, 0, nullptr),
          rclrt_executor_spin(nullptr, nullptr),
          rclrt_executor_spin_some(nullptr, 1),
          rclrt_batch_spin_some(nullptr, 1),
          rclrt_executor_set_trigger(nullptr, RCLRT_TRIGGER_ANY, nullptr),
          rclrt_executor_set_semantics(nullptr, RCLRT_SEMANTICS_LET),
          rclrt_executor_add_timer(nullptr, nullptr, 1, 1, nullptr, nullptr),
          rclrt_executor_add_guard(nullptr, nullptr, 1, nullptr, nullptr),
          rclrt_callback_set_budget(nullptr, nullptr),
          rclrt_publisher_set_budget(nullptr, nullptr),
          rclrt_publisher_fini(nullptr),
          rclrt_subscription_fini(nullptr),
          rclrt_service_fini(nullptr),
          rclrt_client_fini(nullptr),
          rclrt_service_respond(nullptr, nullptr, nullptr),
          rclrt_client_request(nullptr, nullptr, nullptr),
          rclrt_daemon_poll(nullptr, 1)});
  EXPECT_EQ(rclrt_daemon_tick(nullptr), UINT64_MAX);
  EXPECT_EQ(rclrt_executor_collect(nullptr), UINT64_MAX);
  EXPECT_EQ(rclrt_executor_run_level(nullptr, 0), UINT64_MAX);
  EXPECT_EQ(rclrt_executor_spin_period(nullptr, 1, nullptr), bad);
  EXPECT_EQ(rclrt_session_connect(nullptr, 1), bad);
  EXPECT_EQ(rclrt_publish(nullptr, nullptr), bad);
  rclrt_daemon_reset(nullptr, 0, nullptr);
  rclrt_daemon_received(nullptr, bytes, 4);
  rclrt_daemon_transmitted(nullptr);
  rclrt_session_handle(nullptr);
  rclrt_timer_cancel(nullptr);
  rclrt_guard_trigger(nullptr);
  rclrt_executor_remove(nullptr, nullptr);
}
}  // namespace
