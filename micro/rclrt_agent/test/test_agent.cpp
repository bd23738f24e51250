// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The agent and rclrt_micro's client, end to end in virtual time.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "bench.hpp"

namespace
{
using rclrt_agent_test::Bench;

RigOptions fast(rclrt_framing framing = RCLRT_FRAMING_SERIAL)
{
  return [framing](auto & with) {
    with.framing = framing;
    with.byte_ns = 10'000;
  };
}

// What comes goes back, or does not.
struct Echo
{
  Echo(Bench & of, bool answering) : bench(of), talker(of, "out", rclrt_qos_reliable(), 3)
  {
    answers = answering;
    must(rclrt_subscription_init(&subscription, &bench.node, &kBlob, "in", rclrt_qos_reliable()));
    must(rclrt_executor_add_subscription(
      &bench.executor, &subscription, &blob, run, this, 3, RCLRT_ON_NEW_DATA));
    bench.spin_for(500);
  }
  static void run(void * context, const void * message)
  {
    auto & self = *static_cast<Echo *>(context);
    ++self.got;
    while (self.answers && rclrt_publish(&self.talker.self, message) == RCLRT_ERR_AGAIN) {
      rclrt_daemon_poll(&self.bench.daemon, kMs);  // until there is room
    }
  }
  Bench & bench;
  Talker talker;
  rclrt_subscription subscription{};
  Blob blob;
  bool answers = false;
  uint32_t got = 0;
};

class Framing : public ::testing::TestWithParam<rclrt_framing>
{
};

TEST_P(Framing, what_a_client_publishes_reaches_ros_and_comes_back)
{
  for (const auto qos : {rclrt_qos_reliable(), rclrt_qos_best_effort()}) {
    Bench bench(fast(GetParam()));
    bench.start();
    Talker talker(bench, "chatter", qos, 3);
    Listener received(bench, "chatter", qos);
    for (uint32_t i = 0; i < 20; ++i) {
      must(talker.publish(i, 40));
      bench.spin_for(20);
    }
    bench.spin_for(500);
    EXPECT_EQ(received.numbers, up_to(20));
    EXPECT_EQ(bench.backend.written["/chatter"].size(), 20U);
    EXPECT_EQ(rclrt_session_close(&bench.session), RCLRT_OK);
    EXPECT_TRUE(bench.agent.report(bench.now()).empty());
    EXPECT_TRUE(bench.backend.nodes.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
  All, Framing,
  ::testing::Values(RCLRT_FRAMING_SERIAL, RCLRT_FRAMING_DATAGRAM, RCLRT_FRAMING_LENGTH));

TEST(Agent, serves_a_client_that_puts_its_key_into_every_message)
{
  Bench bench(fast(), {}, 0x01);
  bench.start();
  EXPECT_EQ(rclrt_session_ping(&bench.session, 1000 * kMs), RCLRT_OK);
  EXPECT_EQ(bench.agent.counters().foreign, 0U);
}

TEST(Agent, is_found_before_there_is_a_session_and_tells_its_time)
{
  rclrt_agent::AgentOptions options;
  options.session.clock = [] { return int64_t{1'700'000'000'000'000'000}; };
  Bench bench(fast(), options);
  EXPECT_EQ(rclrt_session_ping(&bench.session, 1000 * kMs), RCLRT_OK);
  bench.start();
  must(rclrt_session_synchronize(&bench.session, 1000 * kMs));
  EXPECT_NEAR(static_cast<double>(bench.session.clock_offset_ns), 1.7e18, 1e9);
}

TEST(Agent, makes_entities_from_xml_as_from_binary)
{
  Bench bench(fast());
  must(rclrt_session_connect(&bench.session, 5000 * kMs));
  must(rclrt_node_init_by_xml(&bench.node, &bench.session, "node", 0));
  Talker publisher(bench, "/a/b", rclrt_qos_reliable(), 0);
  Listener received(bench, "/a/b");
  must(publisher.publish(7, 12));
  bench.spin_for(200);
  EXPECT_EQ(received.numbers, std::vector<uint32_t>{7});
}

TEST(Agent, makes_entities_from_the_profiles_of_a_file)
{
  rclrt_agent::AgentOptions options;
  options.session.references = rclrt_agent::parse_references(
    "<profiles><data_writer profile_name=\"w\"><topic><name>rt/x</name><dataType>T</dataType>"
    "</topic></data_writer></profiles>");
  Bench bench(fast(), options);
  bench.start();
  Talker publisher(bench, "y", rclrt_qos_reliable(), 0);
  rclrt_entity writer{};
  writer.name = "w";
  writer.representation = RCLRT_BY_REFERENCE;
  writer.parent = group_of(publisher.self.writer);
  EXPECT_EQ(rclrt_session_create(&bench.session, &writer, RCLRT_DATAWRITER), RCLRT_OK);
  rclrt_entity unknown = {};
  unknown.name = "v";
  unknown.representation = RCLRT_BY_REFERENCE;
  unknown.parent = group_of(publisher.self.writer);
  EXPECT_EQ(rclrt_session_create(&bench.session, &unknown, RCLRT_DATAWRITER), RCLRT_ERR_AGENT);
  EXPECT_EQ(bench.session.status, RCLRT_STATUS_UNKNOWN_REFERENCE);
}

TEST(Agent, refuses_what_belongs_to_nothing_or_has_no_name_of_ros)
{
  Bench bench(fast());
  bench.start();
  rclrt_entity orphan{};
  orphan.name = "t";
  orphan.type = "T";
  orphan.parent = 0x7771;
  EXPECT_EQ(rclrt_session_create(&bench.session, &orphan, RCLRT_TOPIC), RCLRT_ERR_AGENT);
  EXPECT_EQ(bench.session.status, RCLRT_STATUS_UNKNOWN_REFERENCE);
  rclrt_publisher publisher;
  EXPECT_EQ(
    rclrt_publisher_init(&publisher, &bench.node, &kBlob, "a b", rclrt_qos_reliable(), 0),
    RCLRT_ERR_AGENT);
  EXPECT_EQ(bench.session.status, RCLRT_STATUS_INVALID_DATA);
}

TEST(Agent, makes_as_many_entities_as_a_client_can_ask_for)
{
  Bench bench(fast());
  bench.start();
  std::vector<rclrt_publisher> publishers(127);
  for (auto & publisher : publishers) {
    const bool last = &publisher == &publishers.back();
    EXPECT_EQ(
      rclrt_publisher_init(&publisher, &bench.node, &kBlob, "t", rclrt_qos_reliable(), 0),
      last ? RCLRT_ERR_STORAGE : RCLRT_OK);
  }
  EXPECT_STREQ(bench.daemon.shortage.what, "streams");
}

TEST(Agent, carries_requests_and_answers_both_ways)
{
  Bench bench(fast());
  bench.start();
  Server server(bench, "add");
  Caller caller(bench, "add");
  caller.add();
  bench.spin_for(100);
  std::vector<std::pair<uint16_t, uint32_t>> wanted;
  for (uint32_t i = 10; i < 15; ++i) {
    wanted.emplace_back(caller.ask(i), i + 1);
    bench.spin_for(100);
  }
  EXPECT_EQ(caller.answers, wanted);
}

TEST(Agent, fragments_go_both_ways)
{
  RigOptions with = fast();
  with.capacity = 128;
  with.nodes = 12;
  Bench bench(with);
  bench.start();
  Listener received(bench);
  std::vector<uint8_t> storage(2048);
  Talker publisher(bench, "t", rclrt_qos_reliable(), 0);
  must(received.init());
  must(rclrt_subscription_accept_long(&received.subscription, storage.data(), 2048));
  must(received.add());
  for (uint32_t i = 0; i < 10; ++i) {
    const Blob blob{i, 1003 + 115 * i};  // nine to 18 fragments: more than 16, and than nodes
    must(rclrt_publish(&publisher.self, &blob));
    bench.spin_for(500);
  }
  EXPECT_EQ(received.numbers, up_to(10));
  EXPECT_EQ(received.sizes.at(9) & ~3U, 2038U & ~3U);
}

// Otherwise its messages would be dropped: there is no storage to put fragments together.
TEST(Agent, what_fits_a_frame_reaches_a_subscription_without_storage_for_long_messages)
{
  RigOptions with = fast();
  with.capacity = 256;
  rclrt_agent::AgentOptions options;
  options.session.outgoing.piece = 128;
  Bench bench(with, options);
  bench.start();
  Listener received(bench, "t");
  bench.spin_for(500);
  bench.publish("/t", rclrt_agent::Bytes(200, 1));
  bench.spin_for(500);
  EXPECT_EQ(received.sizes, std::vector<uint32_t>{200});
  EXPECT_EQ(bench.daemon.counters.unassembled, 0U);
}

rclrt_agent::AgentOptions urgent_topic()
{
  rclrt_agent::AgentOptions options;
  options.session.urgency_of = [](const std::string & name) { return name == "/urgent" ? 20 : -1; };
  return options;
}

// Where the only message that is as long as an urgent one was sent, counted in messages.
TEST(Agent, an_urgent_message_passes_the_bulk_that_waits_for_the_line)
{
  RigOptions with;  // 115200 baud
  Bench bench(with, urgent_topic());
  bench.start();
  Listener urgent(bench), bulk(bench);
  must(urgent.init("urgent"));
  must(bulk.init("bulk"));
  std::vector<uint8_t> storage(2048);
  must(rclrt_subscription_accept_long(&bulk.subscription, storage.data(), 2048));
  must(urgent.add());
  must(bulk.add());
  bench.spin_for(500);
  for (int i = 0; i < 5; ++i) {
    bench.publish("/bulk", rclrt_agent::Bytes(1000, 1));
  }
  bench.spin_for(100);
  const auto before = bench.world.now_ns();
  bench.publish("/urgent", {1, 0, 0, 0});
  while (urgent.numbers.empty()) {
    bench.spin_for(1);
  }
  EXPECT_LE(bench.world.now_ns() - before, 60 * kMs) << "one frame, and its own; virtual time";
  bench.spin_for(3000);
  EXPECT_EQ(bulk.numbers.size(), 5U);
}

// 921,600 baud, of which 5,000 messages a second to the client would be three times too many.
TEST(Agent, a_flood_for_a_client_holds_up_neither_its_messages_nor_its_questions)
{
  Bench bench([](auto & with) { with.byte_ns = 10'851; });
  bench.start();
  Talker out(bench, "out", rclrt_qos_reliable(), 9);
  Listener flood(bench, "flood", rclrt_qos_best_effort());
  bench.spin_for(100);
  const uint64_t begin = bench.world.now_ns();
  for (uint64_t i = 0; i < 5000; ++i) {
    bench.world.at(
      begin + i * kMs / 5, [&] { bench.publish("/flood", rclrt_agent::Bytes(40, 1)); });
  }
  uint32_t published = 0;
  uint64_t longest = 0;
  for (uint64_t i = 0; i < 250; ++i) {
    bench.spin_until(begin + i * 4 * kMs);
    published += out.publish(published) == RCLRT_OK ? 1U : 0U;
    if (i % 10 == 0) {
      const uint64_t asked = bench.world.now_ns();
      EXPECT_EQ(rclrt_session_ping(&bench.session, 1000 * kMs), RCLRT_OK);
      EXPECT_EQ(rclrt_session_synchronize(&bench.session, 1000 * kMs), RCLRT_OK);
      longest = std::max(longest, bench.world.now_ns() - asked);
    }
  }
  bench.spin_for(1000);
  EXPECT_EQ(published, 250U);
  EXPECT_EQ(bench.backend.written["/out"].size(), 250U);
  EXPECT_LE(longest, 2 * 5 * kMs) << "two questions; virtual time";
  EXPECT_GT(flood.numbers.size(), 1000U);
  const uint64_t dropped = bench.attached->outgoing().counters().dropped;
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(dropped + flood.numbers.size(), 5000U) << "each is delivered or counted";
}

TEST(Agent, what_is_reliable_waits_in_the_middleware_while_the_line_is_slow)
{
  Bench bench(RigOptions{});
  bench.start();
  Listener received(bench, "t");
  bench.spin_for(500);
  for (uint32_t i = 0; i < 200; ++i) {
    bench.publish("/t", {static_cast<uint8_t>(i), 0, 0, 0});
  }
  bench.spin_for(10'000);
  EXPECT_EQ(received.numbers, up_to(200));
}

// What the client acknowledges waits for what it publishes in answer. That stops no stream: the line is never idle.
TEST(Agent, a_stream_of_few_messages_at_once_takes_all_of_the_line)
{
  for (const uint16_t window : {uint16_t{3}, uint16_t{4}, uint16_t{16}}) {
    for (const bool answers : {false, true}) {
      rclrt_agent::AgentOptions how;
      how.session.outgoing.window = window;
      Bench bench({}, how);
      bench.backend.loops = false;
      bench.start();
      Echo echo(bench, answers);
      const auto & line = answers ? bench.to_agent : bench.to_client;
      constexpr uint32_t kCount = 200;
      for (uint32_t i = 0; i < kCount; ++i) {
        bench.publish("/in", number(i));
      }
      const uint64_t begin = bench.world.now_ns();
      const uint64_t before = line.bytes();
      while (echo.got < kCount && bench.world.now_ns() < begin + 5000 * kMs) {
        bench.spin_for(1);
      }
      EXPECT_EQ(echo.got, kCount);
      const auto bytes = static_cast<double>(line.bytes() - before);
      const auto took = static_cast<double>(bench.world.now_ns() - begin);
      EXPECT_GE(bytes * kByte115200, 0.95 * took) << window << (answers ? " with answers" : "");
    }
  }
}

TEST(Agent, a_late_copy_of_the_greeting_begins_nothing_anew)
{
  Bench bench(fast());
  bench.start();
  const auto greeting = bench.sent_by_client.at(0);
  Talker publisher(bench, "t", rclrt_qos_reliable(), 0);
  bench.to_agent.deliver(bench.framed(greeting));
  must(publisher.publish(1, 8));
  bench.spin_for(300);
  EXPECT_EQ(bench.backend.written["/t"].size(), 1U);
}

// A thread has asked whether the client wants a message; then the client greets anew, and then the message is there.
TEST(Agent, a_message_that_was_taken_while_the_client_greeted_anew_is_for_its_next_reading)
{
  Bench bench(fast());
  bench.start();
  Listener received(bench, "t");
  bench.spin_for(500);
  ASSERT_EQ(bench.backend.endpoints.size(), 1U);
  const auto * const end = *bench.backend.endpoints.begin();
  const auto sink = end->sink.lock();
  ASSERT_TRUE(sink->wants(end->object));
  ASSERT_TRUE(bench.attached->restart());
  const rclrt_agent::Bytes message = {7, 0, 0, 0};
  sink->data(end->object, rclrt_agent::view_of(message));
  EXPECT_FALSE(sink->wants(end->object));
  must(rclrt_session_connect(&bench.session, 5000 * kMs));
  bench.spin_for(500);
  EXPECT_EQ(received.numbers, std::vector<uint32_t>{7});
  // What waits has a bound, also if the reading has ended and messages come all the same.
  ASSERT_TRUE(bench.attached->restart());
  for (int i = 0; i < 20; ++i) {
    sink->data(end->object, rclrt_agent::view_of(message));
  }
  EXPECT_EQ(bench.attached->counters().lost, 12U);
}

TEST(Agent, a_client_that_greets_again_keeps_its_entities_and_one_that_stays_silent_loses_them)
{
  Bench bench(fast());
  bench.start();
  const auto greeting = bench.sent_by_client.at(0);
  bench.spin_for(1000);
  bench.to_agent.deliver(bench.framed(greeting));
  EXPECT_EQ(bench.agent.report(bench.now()).at(0).objects, 1U);
  EXPECT_EQ(bench.backend.nodes.size(), 1U);
  bench.agent.tick(bench.now() + std::chrono::seconds(59));
  EXPECT_EQ(bench.backend.nodes.size(), 1U);
  bench.agent.tick(bench.now() + std::chrono::seconds(61));
  EXPECT_TRUE(bench.backend.nodes.empty());
}

TEST(Agent, a_key_in_use_is_not_taken_over_from_another_machine)
{
  rclrt_agent_test::AgentRig rig;
  const auto greet_from = [&rig](uint64_t address, int seconds) {
    rig.now = rclrt_agent_test::kNow + std::chrono::seconds(seconds);
    rig.receive(address, rig.greeting(7));
    return rig.last.at(8);
  };
  EXPECT_EQ(greet_from(1, 0), RCLRT_STATUS_OK);
  EXPECT_EQ(greet_from(2, 4), RCLRT_STATUS_DENIED);
  EXPECT_EQ(greet_from(2, 6), RCLRT_STATUS_OK);
  rig.receive(3, {0x81, 0, 0, 0, RCLRT_RESET, 1, 0, 0});
  EXPECT_EQ(rig.agent.counters().foreign, 1U);
}

TEST(Agent, ten_thousand_greetings_make_no_more_clients_than_allowed)
{
  rclrt_agent::AgentOptions options;
  options.clients = 100;
  rclrt_agent_test::AgentRig rig(options);
  for (uint32_t i = 1; i <= 10'000; ++i) {
    rig.receive(i, rig.greeting(i));
  }
  EXPECT_EQ(rig.agent.report(rig.now).size(), 100U);
  EXPECT_EQ(rig.last.at(8), RCLRT_STATUS_RESOURCES);
  EXPECT_EQ(rig.agent.counters().denied, 9'900U);
}

// What a real client has sent, and what that becomes with some bytes changed, cut or doubled, in any order.
TEST(Agent, survives_messages_that_were_changed_at_random)
{
  std::vector<rclrt_agent::Bytes> seeds;
  {
    Bench bench(fast());
    bench.start();
    Talker talker(bench, "t", rclrt_qos_reliable(), 0);
    const Caller caller(bench, "add");
    const Listener received(bench, "t");
    must(talker.publish(1, 700));
    bench.spin_for(1000);
    seeds = bench.sent_by_client;
  }
  rclrt_agent_test::AgentRig rig;
  const char * const runs = std::getenv("RCLRT_AGENT_FUZZ_RUNS");
  std::mt19937 random(runs == nullptr ? 5 : std::random_device()());
  for (int64_t i = runs == nullptr ? 60'000 : std::atoll(runs); i > 0; --i) {
    auto message = seeds[random() % seeds.size()];
    for (auto changes = random() % 4; changes > 0; --changes) {
      message[random() % message.size()] = static_cast<uint8_t>(random());
    }
    if (random() % 8 == 0) {
      message.resize(random() % message.size());
    }
    message.shrink_to_fit();
    rig.now += std::chrono::milliseconds(random() % 50);
    rig.receive(1, message);
    for (const auto & job : std::exchange(rig.jobs, {})) {
      while (rig.agent.work(job)) {
      }
      rig.backend.pump();
      rclrt_agent::Bytes answer;
      for (int sent = 0; sent < 4 && job->outgoing().next(rig.now, &answer); ++sent) {
      }
    }
  }
  EXPECT_GT(rig.agent.counters().greetings, 10U);
}
}  // namespace
