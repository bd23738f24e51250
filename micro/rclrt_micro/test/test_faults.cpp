// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Bad input, an agent that does not answer, and storage that is used again.
#include <gtest/gtest.h>

#include "captures.hpp"
#include "system.hpp"

namespace
{
// A DATA message for object 0x16 on stream 0.
Agent::Bytes data_for_reader(uint8_t value)
{
  return {0x81, 0, 0, 0, RCLRT_DATA, 1, 8, 0, 0, 1, 0, 0x16, value, 0, 0, 0};
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
  EXPECT_EQ(take_all(rig.daemon, reader.sink).at(0).at(0), 5);
}

TEST(Line, the_longest_frame_fits_the_smallest_ring_also_if_every_byte_is_stuffed)
{
  RigOptions options;
  options.capacity = 504;  // a frame takes up to 2 * (504 + 6) + 1 = 1021 bytes
  options.ring = 1024;
  Rig rig(options);
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
  auto message = data_for_reader(5);
  message[1] = 0x83;
  reader.receive(message);
  std::vector<uint8_t> buffer(rig.options.capacity - 1U);
  rclrt_message taken;
  EXPECT_EQ(
    rclrt_daemon_take(&rig.daemon, &reader.sink, buffer.data(), buffer.size(), &taken),
    RCLRT_ERR_STORAGE);
  EXPECT_STREQ(rig.daemon.shortage.what, "the buffer");
  EXPECT_EQ(rig.daemon.shortage.limit, 511U);
  EXPECT_EQ(rig.daemon.shortage.needed, 512U);
  EXPECT_EQ(reader.take(), std::vector<int>{5});
}

TEST(Line, a_heartbeat_that_shares_a_message_with_data_is_answered)
{
  for (const bool first : {true, false}) {
    System system;
    system.start();
    Listener listener(system);
    ASSERT_EQ(listener.init("t", rclrt_qos_best_effort()), RCLRT_OK);
    ASSERT_EQ(listener.add(), RCLRT_OK);
    system.spin_for(500);
    // Of stream 80 the agent has something that never came.
    const auto next = static_cast<uint8_t>(system.session.reliable_in.expected);
    const Agent::Bytes heartbeat = {RCLRT_HEARTBEAT, 1, 5, 0, next, 0, next, 0, 0x80, 0, 0, 0};
    Agent::Bytes data = data_for_reader(7);
    data.erase(data.begin(), data.begin() + 4);
    data[6] = static_cast<uint8_t>(listener.subscription.reader.id >> 8);
    data[7] = static_cast<uint8_t>(listener.subscription.reader.id);
    Agent::Bytes both = {0x81, 0, 0, 0};
    const Agent::Bytes & one = first ? heartbeat : data;
    const Agent::Bytes & other = first ? data : heartbeat;
    both.insert(both.end(), one.begin(), one.end());
    both.insert(both.end(), other.begin(), other.end());
    ASSERT_EQ(both.size() % 4, 0U);
    system.sent_by_client.clear();
    const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, both, 0);
    rclrt_daemon_received(&system.daemon, frame.data(), frame.size());
    system.spin_for(50);
    ASSERT_EQ(system.sent_by_client.size(), 1U);
    EXPECT_EQ(system.sent_by_client[0][4], RCLRT_ACKNACK);
    EXPECT_EQ(system.sent_by_client[0][8], next) << "the first that is missing";
    EXPECT_EQ(listener.numbers, std::vector<uint32_t>{7});
    EXPECT_EQ(system.daemon.counters.malformed, 0U);
  }
}

// Fragments of a message to the reader, of `count` bytes in all, from number `sequence` on.
std::vector<Agent::Bytes> fragments(uint16_t sequence, uint8_t value)
{
  Agent::Bytes whole = {RCLRT_DATA, 1, 104, 0, 0, 1, 0, 0x16};
  whole.resize(108, value);
  std::vector<Agent::Bytes> all;
  for (size_t at = 0; at < whole.size(); at += 36) {
    const auto flags = static_cast<uint8_t>(at + 36 >= whole.size() ? 3 : 1);
    Agent::Bytes message = {
      0x81,
      0x83,
      static_cast<uint8_t>(sequence),
      static_cast<uint8_t>(sequence >> 8),
      RCLRT_FRAGMENT,
      flags,
      36,
      0};
    message.insert(
      message.end(), whole.begin() + static_cast<std::ptrdiff_t>(at),
      whole.begin() + static_cast<std::ptrdiff_t>(at + 36));
    all.push_back(message);
    sequence++;
  }
  return all;
}

Agent::Bytes skip_to(uint8_t first, uint8_t last)
{
  return {0x81, 0, 0, 0, RCLRT_HEARTBEAT, 1, 5, 0, first, 0, last, 0, 0x83};
}

TEST(Fragments, of_a_message_with_a_gap_nothing_is_delivered)
{
  for (const bool taken_before : {true, false}) {
    Rig rig;
    Reader reader(rig);
    const auto one = fragments(0, 1);
    const auto two = fragments(3, 2);
    const auto three = fragments(6, 3);
    reader.receive(one[0]);
    if (taken_before) {
      EXPECT_TRUE(take_all(rig.daemon, reader.sink).empty());
    }
    // The agent gives up the rest of the first and the begin of the second.
    reader.receive(skip_to(4, 5));
    reader.receive(two[1]);
    reader.receive(two[2]);
    for (const auto & fragment : three) {
      reader.receive(fragment);
    }
    const auto data = take_all(rig.daemon, reader.sink);
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(data[0], Agent::Bytes(100, 3));
    EXPECT_EQ(rig.daemon.counters.unassembled, 1U);
    EXPECT_EQ(rig.daemon.counters.skipped, taken_before ? 3U : 4U);
  }
}

TEST(Fragments, after_a_gap_an_unfragmented_message_says_where_messages_begin)
{
  Rig rig;
  Reader reader(rig);
  reader.receive(fragments(0, 1)[0]);
  EXPECT_TRUE(take_all(rig.daemon, reader.sink).empty());
  reader.receive(skip_to(3, 3));
  auto whole = data_for_reader(9);
  whole[1] = 0x83;
  whole[2] = 3;
  reader.receive(whole);
  for (const auto & fragment : fragments(4, 2)) {
    reader.receive(fragment);
  }
  const auto data = take_all(rig.daemon, reader.sink);
  ASSERT_EQ(data.size(), 2U);
  EXPECT_EQ(data[1], Agent::Bytes(100, 2));
}

TEST(Fragments, of_a_message_with_one_that_makes_no_sense_nothing_is_delivered)
{
  for (const size_t bad : {size_t{0}, size_t{1}, size_t{2}}) {
    Rig rig;
    Reader reader(rig);
    auto broken = fragments(0, 1);
    broken[bad][6] = 40;  // longer than it is
    for (const auto & fragment : broken) {
      reader.receive(fragment);
    }
    for (const auto & fragment : fragments(3, 2)) {
      reader.receive(fragment);
    }
    const auto data = take_all(rig.daemon, reader.sink);
    ASSERT_EQ(data.size(), 1U) << bad;
    EXPECT_EQ(data[0], Agent::Bytes(100, 2));
    EXPECT_EQ(rig.daemon.counters.malformed, 1U);
    EXPECT_EQ(rig.daemon.counters.unassembled, 1U);
  }
}

// Of four fragments; and of twenty, of which six have been cut when it is given up.
TEST(Fragments, a_message_is_given_up_with_all_of_them)
{
  for (const bool long_ : {false, true}) {
    RigOptions options;
    options.nodes = long_ ? 12 : 16;
    options.capacity = 64;
    options.policy.lifetime_ns = 250 * kMs;
    options.policy.hold_off_ns = 1;
    Rig rig(options);
    rclrt_output_stream stream{};
    rclrt_daemon_add_output(&rig.daemon, &stream, 0x81);
    rig.open(0x01);
    rig.settle(1000);  // so that there is a time before
    int abandoned = 0;
    rig.daemon.on_abandoned_context = &abandoned;
    rig.daemon.on_abandoned = [](void * context, const rclrt_output_stream *, uint16_t) {
      ++*static_cast<int *>(context);
    };
    rig.to_agent.faults.loss = 1;
    Agent::Bytes submessage = {RCLRT_WRITE_DATA, 1, 204, 0, 0, 14, 0, 0x15};
    submessage.resize(long_ ? 1100 : 208, 1);
    ASSERT_EQ(
      rclrt_daemon_send_long(&rig.daemon, &stream, 3, submessage.data(), submessage.size()),
      RCLRT_OK);
    rig.arm();
    // The first one outlives its time before the last one has left.
    rig.world.step(rig.world.now_ns() + 6 * kMs);
    ASSERT_LT(stream.sent, 4);
    rig.nodes[0].timestamp_ns -= 249 * kMs;
    rig.settle(8);
    rig.arm();
    EXPECT_EQ(abandoned, long_ ? 6 : 4);
    EXPECT_EQ(stream.first_unacked, long_ ? 7 : 4)
      << "a number that is never sent tells of the gap";
    rig.to_agent.faults.loss = 0;
    std::vector<size_t> arrived;
    rig.agent.on_data = [&arrived](const std::string &, const Agent::Bytes & data) {
      arrived.push_back(data.size());
    };
    ASSERT_EQ(rig.write(stream, 3, number(1)), RCLRT_OK);
    rig.settle(500);
    EXPECT_EQ(arrived, std::vector<size_t>{4});
    EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
    EXPECT_EQ(rig.daemon.free_count, rig.options.nodes);
  }
}

TEST(Fragments, between_those_of_a_less_urgent_message_an_urgent_one_passes)
{
  RigOptions options;
  options.capacity = 64;
  Rig rig(options);
  rclrt_output_stream low{};
  rclrt_output_stream high{};
  rclrt_daemon_add_output(&rig.daemon, &low, 0x81);
  rclrt_daemon_add_output(&rig.daemon, &high, 0x02);
  rig.open(0x01);
  Agent::Bytes submessage = {RCLRT_WRITE_DATA, 1, 244, 1, 0, 14, 0, 0x15};
  submessage.resize(504, 1);
  ASSERT_EQ(
    rclrt_daemon_send_long(&rig.daemon, &low, 1, submessage.data(), submessage.size()), RCLRT_OK);
  rig.arm();
  ASSERT_EQ(rig.write(high, 9, number(9)), RCLRT_OK);
  const uint64_t asked_ns = rig.world.now_ns();
  while (rig.sent_by_client.empty() || rig.sent_by_client.back()[1] != 0x02) {
    ASSERT_TRUE(rig.world.step(asked_ns + 100 * kMs));
  }
  // A fragment on the line, itself, and a byte of stuffing each.
  EXPECT_LE(rig.world.now_ns() - asked_ns, (64 + 7 + 1 + 16 + 7 + 1) * kByte115200);
}

TEST(Again, an_init_that_failed_can_be_tried_again_and_leaves_nothing_behind)
{
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
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
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  // What is asked for is done at once; that it arrived is said late.
  system.agent.options.acknowledge_everything = false;
  system.daemon.config.heartbeat_ns = 500 * kMs;
  std::vector<rclrt_publisher> publishers(20);
  std::vector<rclrt_subscription> subscriptions(20);
  for (size_t i = 0; i < publishers.size(); ++i) {
    const auto qos = rclrt_qos_reliable();
    EXPECT_EQ(rclrt_publisher_init(&publishers[i], &system.node, &kBlob, "t", qos, 1), RCLRT_OK);
    EXPECT_EQ(rclrt_subscription_init(&subscriptions[i], &system.node, &kBlob, "t", qos), RCLRT_OK);
    Blob blob;
    EXPECT_EQ(
      rclrt_executor_add_subscription(
        &system.executor, &subscriptions[i], &blob, [](void *, const void *) {}, nullptr, 1,
        RCLRT_ON_NEW_DATA),
      RCLRT_OK);
  }
  for (auto & publisher : publishers) {
    EXPECT_EQ(rclrt_publisher_fini(&publisher), RCLRT_OK);
  }
  EXPECT_GT(system.daemon.counters.refused, 0U) << "there was not always room";
}

TEST(Again, what_was_finished_can_be_made_anew)
{
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  rclrt_publisher publisher;
  Listener listener(system);
  rclrt_service service;
  rclrt_client client;
  const auto qos = rclrt_qos_reliable();
  for (uint32_t round = 1; round <= 3; ++round) {
    SCOPED_TRACE(round);
    ASSERT_EQ(rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", qos, 1), RCLRT_OK);
    ASSERT_EQ(listener.init(), RCLRT_OK);
    ASSERT_EQ(rclrt_service_init(&service, &system.node, &kBlob, &kBlob, "/s"), RCLRT_OK);
    ASSERT_EQ(rclrt_client_init(&client, &system.node, &kBlob, &kBlob, "/s", 1), RCLRT_OK);
    ASSERT_EQ(listener.add(), RCLRT_OK);
    const Blob blob{round, 20};
    system.spin_for(100);
    ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
    system.spin_for(100);
    EXPECT_EQ(listener.numbers, std::vector<uint32_t>{round});
    listener.numbers.clear();
    // Something is still on its way when they are finished.
    ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
    EXPECT_EQ(rclrt_publisher_fini(&publisher), RCLRT_OK);
    EXPECT_EQ(rclrt_subscription_fini(&listener.subscription), RCLRT_OK);
    EXPECT_EQ(rclrt_service_fini(&service), RCLRT_OK);
    EXPECT_EQ(rclrt_client_fini(&client), RCLRT_OK);
    EXPECT_EQ(rclrt_publish(&publisher, &blob), RCLRT_ERR_ARGUMENT);
    EXPECT_EQ(rclrt_publisher_fini(&publisher), RCLRT_ERR_ARGUMENT) << "once is enough";
    EXPECT_EQ(rclrt_subscription_fini(&listener.subscription), RCLRT_ERR_ARGUMENT);
    EXPECT_EQ(system.agent.objects(), 1U) << "the participant";
    system.spin_for(500);
    EXPECT_EQ(system.daemon.free_count, system.options.nodes);
  }
}

TEST(Again, a_subscription_that_could_not_ask_for_its_data_can_be_added_again)
{
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  Listener listener(system);
  ASSERT_EQ(listener.init(), RCLRT_OK);
  system.settle(500);  // whatever waits for its acknowledgement
  std::vector<rclrt_node *> taken(system.options.nodes);
  for (auto & node : taken) {
    ASSERT_EQ(rclrt_daemon_acquire(&system.daemon, &system.session.none, 31, &node), RCLRT_OK);
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
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  rclrt_timer timer{};
  int calls = 0;
  ASSERT_EQ(
    rclrt_executor_add_timer(
      &system.executor, &timer, 10 * kMs, 1,
      [](void * context, rclrt_timer *) { ++*static_cast<int *>(context); }, &calls),
    RCLRT_OK);
  system.spin_for(25);
  rclrt_executor_remove(&system.executor, &timer.callback);
  system.spin_for(50);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(system.executor.timers.size, 0);
}

TEST(Limits, a_callback_that_publishes_more_than_the_pool_holds_is_told_each_time_and_goes_on)
{
  RigOptions options;
  options.nodes = 4;
  System system(options);
  ASSERT_NO_FATAL_FAILURE(system.start());
  rclrt_publisher publisher;
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 1), RCLRT_OK);
  struct Flood
  {
    rclrt_publisher * publisher;
    int accepted = 0, refused = 0;
  } flood{&publisher};
  rclrt_timer timer{};
  ASSERT_EQ(
    rclrt_executor_add_timer(
      &system.executor, &timer, 1000 * kMs, 1,
      [](void * context, rclrt_timer *) {
        auto & self = *static_cast<Flood *>(context);
        for (uint32_t i = 0; i < 50; ++i) {
          const Blob blob{i, 20};
          const auto ret = rclrt_publish(self.publisher, &blob);
          EXPECT_TRUE(ret == RCLRT_OK || ret == RCLRT_ERR_AGAIN);
          (ret == RCLRT_OK ? self.accepted : self.refused)++;
        }
      },
      &flood),
    RCLRT_OK);
  int arrived = 0;
  system.agent.on_data = [&arrived](const std::string &, const Agent::Bytes &) { arrived++; };
  const uint64_t before = system.world.now_ns();
  system.spin_for(1500);
  EXPECT_EQ(flood.accepted, 4);
  EXPECT_EQ(flood.refused, 46);
  EXPECT_EQ(system.daemon.counters.refused, 46U);
  EXPECT_EQ(arrived, 4) << "what was accepted arrives";
  EXPECT_EQ(system.world.now_ns() - before, 1500 * kMs) << "nothing waited";
}

TEST(Limits, errors_about_storage_name_the_limit_and_what_is_needed)
{
  RigOptions options;
  options.capacity = 128;
  options.nodes = 6;
  System system(options);
  ASSERT_NO_FATAL_FAILURE(system.start());
  rclrt_publisher reliable;
  rclrt_publisher best_effort;
  ASSERT_EQ(
    rclrt_publisher_init(&reliable, &system.node, &kBlob, "t", rclrt_qos_reliable(), 0), RCLRT_OK);
  ASSERT_EQ(
    rclrt_publisher_init(&best_effort, &system.node, &kBlob, "u", rclrt_qos_best_effort(), 0),
    RCLRT_OK);
  const auto shortage = [&system] {
    const auto & last = system.daemon.shortage;
    return last.what + std::string(": ") + std::to_string(last.limit) + " of " +
           std::to_string(last.needed);
  };
  const Blob blob{1, 1000};
  EXPECT_EQ(rclrt_publish(&best_effort, &blob), RCLRT_ERR_UNSUPPORTED);
  EXPECT_EQ(shortage(), "message_capacity: 128 of 1012");
  const Blob huge{1, 3000};
  EXPECT_EQ(rclrt_publish(&reliable, &huge), RCLRT_ERR_STORAGE);
  EXPECT_EQ(shortage(), "the session's buffer: 2048 of 3008");
  const std::string name(100, 'n');
  rclrt_publisher more;
  EXPECT_EQ(
    rclrt_publisher_init(&more, &system.node, &kBlob, name.c_str(), rclrt_qos_reliable(), 0),
    RCLRT_ERR_STORAGE);
  EXPECT_EQ(shortage().substr(0, 15), "RCLRT_NAME_MAX:");
  std::vector<rclrt_timer> timers(17);
  auto ret = RCLRT_OK;
  for (auto & timer : timers) {
    ret = rclrt_executor_add_timer(
      &system.executor, &timer, kMs, 1, [](void *, rclrt_timer *) {}, nullptr);
  }
  EXPECT_EQ(ret, RCLRT_ERR_STORAGE);
  EXPECT_EQ(shortage(), "timer_count: 16 of 17");
}

TEST(Limits, the_buffer_for_long_messages_is_for_one_at_a_time)
{
  RigOptions options;
  options.capacity = 128;
  System system(options);
  ASSERT_NO_FATAL_FAILURE(system.start());
  rclrt_publisher publisher;
  ASSERT_EQ(
    rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 0), RCLRT_OK);
  const Blob blob{1, 500};
  // A context that preempts the session while it reads an answer.
  auto during = RCLRT_OK;
  bool once = false;
  system.port.on_leave = [&] {
    if (system.session.buffer_taken && !once) {
      once = true;
      during = rclrt_publish(&publisher, &blob);
    }
  };
  EXPECT_EQ(rclrt_session_ping(&system.session, 1000 * kMs), RCLRT_OK);
  system.port.on_leave = nullptr;
  EXPECT_TRUE(once);
  EXPECT_EQ(during, RCLRT_ERR_AGAIN);
  EXPECT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
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
  EXPECT_EQ(rclrt_daemon_add_output(nullptr, nullptr, 1), bad);
  EXPECT_EQ(rclrt_daemon_add_input(nullptr, nullptr, 1, nullptr, 0), bad);
  EXPECT_EQ(rclrt_daemon_add_sink(nullptr, nullptr, 1, 1, 1), bad);
  EXPECT_EQ(rclrt_daemon_acquire(nullptr, nullptr, 1, nullptr), bad);
  EXPECT_EQ(rclrt_daemon_commit(nullptr, nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_daemon_send_long(nullptr, nullptr, 1, bytes, 4), bad);
  EXPECT_EQ(rclrt_daemon_take(nullptr, nullptr, bytes, 4, &message), bad);
  EXPECT_EQ(rclrt_session_init(nullptr, nullptr, 1, bytes, bytes, 4), bad);
  EXPECT_EQ(rclrt_session_close(nullptr), bad);
  EXPECT_EQ(rclrt_session_ping(nullptr, 1), bad);
  EXPECT_EQ(rclrt_session_keep_alive(nullptr, 1), bad);
  EXPECT_EQ(rclrt_session_synchronize(nullptr, 1), bad);
  EXPECT_EQ(rclrt_session_create(nullptr, nullptr, RCLRT_TOPIC), bad);
  EXPECT_EQ(rclrt_session_delete(nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_session_read(nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_executor_init(nullptr, nullptr, nullptr, 0, nullptr), bad);
  EXPECT_EQ(rclrt_executor_spin(nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_executor_spin_some(nullptr, 1), bad);
  EXPECT_EQ(rclrt_batch_spin_some(nullptr, 1), bad);
  EXPECT_EQ(rclrt_executor_set_trigger(nullptr, RCLRT_TRIGGER_ANY, nullptr), bad);
  EXPECT_EQ(rclrt_executor_set_semantics(nullptr, RCLRT_SEMANTICS_LET), bad);
  EXPECT_EQ(rclrt_executor_add_timer(nullptr, nullptr, 1, 1, nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_executor_add_guard(nullptr, nullptr, 1, nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_callback_set_budget(nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_publisher_set_budget(nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_publisher_fini(nullptr), bad);
  EXPECT_EQ(rclrt_subscription_fini(nullptr), bad);
  EXPECT_EQ(rclrt_service_fini(nullptr), bad);
  EXPECT_EQ(rclrt_client_fini(nullptr), bad);
  EXPECT_EQ(rclrt_service_respond(nullptr, nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_client_request(nullptr, nullptr, nullptr), bad);
  EXPECT_EQ(rclrt_daemon_poll(nullptr, 1), bad);
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
