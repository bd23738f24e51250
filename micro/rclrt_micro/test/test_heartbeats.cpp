// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is owed to the agent (acknowledgements, heartbeats) beside the data: how much of the line it takes,
// and when it goes.
#include <gtest/gtest.h>
#include <numeric>

#include "system.hpp"

namespace
{
constexpr int kData = RCLRT_WRITE_DATA;
constexpr int kAck = RCLRT_ACKNACK;

// The ids of the submessages of a message of a session without key.
std::vector<int> submessages(const Agent::Bytes & message)
{
  std::vector<int> ids;
  for (size_t at = 4; at + 4 <= message.size();) {
    ids.push_back(message[at]);
    at = (at + 4U + message[at + 2] + 256U * message[at + 3] + 3U) / 4U * 4U;
  }
  return ids;
}

size_t count(const std::vector<Agent::Bytes> & messages, int id)
{
  size_t found = 0;
  for (const auto & message : messages) {
    for (const int of : submessages(message)) {
      found += of == id ? 1U : 0U;
    }
  }
  return found;
}

TEST(Heartbeats, six_reliable_publishers_on_a_slow_line_are_not_refused_for_heartbeats)
{
  RigOptions options;
  options.byte_ns = 10'000'000'000 / 19'200;
  options.nodes = 16;
  options.agent_delay_ns = 150 * kMs;
  const std::vector<std::string> names{"t0", "t1", "t2", "t3", "t4", "t5"};  // outlive the session
  System system(options);
  system.start();
  std::vector<rclrt_publisher> publishers(names.size());
  for (size_t i = 0; i < publishers.size(); ++i) {
    ASSERT_EQ(
      rclrt_publisher_init(
        &publishers[i], &system.node, &kBlob, names[i].c_str(), rclrt_qos_reliable(),
        static_cast<uint8_t>(i)),
      RCLRT_OK);
  }
  system.sent_by_client.clear();
  int refused = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    for (auto & publisher : publishers) {
      const Blob blob{i, 40};
      refused += rclrt_publish(&publisher, &blob) == RCLRT_OK ? 0 : 1;
    }
    system.spin_for(280);  // the line is taken for 70 % of it
  }
  system.spin_for(5000);
  const size_t heartbeats = count(system.sent_by_client, RCLRT_HEARTBEAT);
  std::printf("refused %d of 192, heartbeats %zu\n", refused, heartbeats);
  EXPECT_EQ(refused, 0);
  EXPECT_LE(heartbeats, 19U);  // one to ten messages
  EXPECT_EQ(system.daemon.counters.retransmitted, 0U);
}

TEST(Heartbeats, become_rare_while_nobody_answers_and_frequent_again_afterwards)
{
  Rig rig;
  rclrt_output_stream output{};
  rclrt_daemon_add_output(&rig.daemon, &output, 0x83);
  rig.open(0x83);
  rig.on_agent_message = [](const Agent::Bytes &) { return true; };
  ASSERT_EQ(rig.write(output, 3, number(1)), RCLRT_OK);
  rig.settle(20'000);
  // After 0.1, 0.3, 0.7, 1.5, 3.1, 5.1, 7.1, ... 19.1 s.
  EXPECT_EQ(count(rig.sent_by_client, RCLRT_HEARTBEAT), 13U);
  EXPECT_EQ(count(rig.sent_by_client, RCLRT_WRITE_DATA), 12U) << "once, and with all but two";
  rig.on_agent_message = nullptr;
  rig.settle(3000);
  ASSERT_TRUE(rclrt_daemon_idle(&rig.daemon));
  rig.sent_by_client.clear();
  rig.to_agent.faults.loss = 1.0;
  ASSERT_EQ(rig.write(output, 3, number(2)), RCLRT_OK);
  rig.settle(20);
  rig.to_agent.faults.loss = 0;
  rig.settle(280);
  EXPECT_EQ(count(rig.sent_by_client, RCLRT_HEARTBEAT), 1U);
}

TEST(Heartbeats, of_several_streams_share_a_message)
{
  Rig rig;
  rclrt_output_stream outputs[3]{};
  for (uint8_t i = 0; i < 3; ++i) {
    rclrt_daemon_add_output(&rig.daemon, &outputs[i], static_cast<uint8_t>(0x83 + i));
  }
  rig.open(0x83);
  rig.on_agent_message = [](const Agent::Bytes &) { return true; };
  for (auto & output : outputs) {
    ASSERT_EQ(rig.write(output, 3, number(1)), RCLRT_OK);
  }
  // While the line is taken, all of them become due.
  rig.sent_by_client.clear();
  rig.settle(95);
  ASSERT_EQ(rig.write(outputs[0], 3, Agent::Bytes(400)), RCLRT_OK);
  rig.settle(1000);
  std::vector<size_t> sizes;
  for (const auto & message : rig.sent_by_client) {
    const auto ids = submessages(message);
    if (ids.at(0) == RCLRT_HEARTBEAT) {
      sizes.push_back(ids.size());
    }
  }
  ASSERT_FALSE(sizes.empty());
  EXPECT_EQ(sizes.at(0), 2U);  // the third stream has just sent something
}

std::vector<int> first_ids(const std::vector<Agent::Bytes> & messages)
{
  std::vector<int> ids;
  for (const auto & message : messages) {
    ids.push_back(submessages(message).at(0));
  }
  return ids;
}

class Owed : public ::testing::Test
{
protected:
  // Owes an acknowledgement of a reader with priority `priority` while the line is taken, and has data of
  // priority 20 to send. Returns what goes out.
  std::vector<int> order(uint8_t priority, int urgent_messages)
  {
    Rig rig;
    rclrt_output_stream output{};
    rclrt_input_stream input{};
    rclrt_sink sink{};
    rclrt_daemon_add_output(&rig.daemon, &output, 0x03);
    rclrt_daemon_add_input(&rig.daemon, &input, 0x85, nullptr, 0);
    rclrt_daemon_add_sink(&rig.daemon, &sink, 0x16, 0x85, priority);
    rig.open(0x85);
    EXPECT_EQ(rig.write(output, 20, Agent::Bytes(400)), RCLRT_OK);  // takes the line for 37 ms
    rig.agent.publish("t", number(1));
    rig.settle(10);
    EXPECT_EQ(take_all(rig.daemon, sink).size(), 1U);
    for (int i = 0; i < urgent_messages; ++i) {
      EXPECT_EQ(rig.write(output, 20, number(1)), RCLRT_OK);
    }
    rig.settle(500);
    auto ids = first_ids(rig.sent_by_client);
    ids.resize(static_cast<size_t>(urgent_messages) + 2U);  // what comes back is acknowledged, too
    return ids;
  }
};

TEST_F(Owed, an_acknowledgement_waits_for_data_that_is_more_urgent)
{
  EXPECT_EQ(order(10, 2), (std::vector<int>{kData, kData, kData, kAck}));
}

TEST_F(Owed, an_acknowledgement_that_is_more_urgent_goes_first)
{
  EXPECT_EQ(order(21, 2), (std::vector<int>{kData, kAck, kData, kData}));
}

TEST_F(Owed, an_acknowledgement_that_is_as_urgent_waits_for_one_message)
{
  EXPECT_EQ(order(20, 3), (std::vector<int>{kData, kData, kAck, kData, kData}));
}

TEST_F(Owed, an_acknowledgement_waits_for_no_more_than_four_messages)
{
  EXPECT_EQ(
    order(10, 6), (std::vector<int>{kData, kData, kData, kData, kData, kAck, kData, kData}));
}

TEST(Heartbeats, wait_for_data_that_is_more_urgent)
{
  Rig rig;
  rclrt_output_stream silent{};
  rclrt_output_stream urgent{};
  rclrt_daemon_add_output(&rig.daemon, &silent, 0x83);
  rclrt_daemon_add_output(&rig.daemon, &urgent, 0x03);
  rig.open(0x85);
  rig.on_agent_message = [](const Agent::Bytes &) { return true; };
  ASSERT_EQ(rig.write(silent, 3, number(1)), RCLRT_OK);
  rig.settle(95);
  ASSERT_EQ(rig.write(urgent, 20, Agent::Bytes(400)), RCLRT_OK);  // takes the line for 37 ms
  ASSERT_EQ(rig.write(urgent, 20, number(2)), RCLRT_OK);
  ASSERT_EQ(rig.write(urgent, 20, number(3)), RCLRT_OK);
  rig.settle(50);  // meanwhile it is due
  EXPECT_EQ(
    first_ids(rig.sent_by_client), (std::vector<int>{kData, kData, kData, kData, RCLRT_HEARTBEAT}));
}

// A subscription whose callback works, and may publish what it got.
class Answering : public System
{
public:
  void make(uint8_t priority, uint8_t of_answers)
  {
    start();
    ASSERT_EQ(
      rclrt_publisher_init(&publisher, &node, &kBlob, "out", rclrt_qos_reliable(), of_answers),
      RCLRT_OK);
    ASSERT_EQ(
      rclrt_subscription_init(&subscription, &node, &kBlob, "in", rclrt_qos_reliable()), RCLRT_OK);
    ASSERT_EQ(
      rclrt_executor_add_subscription(
        &executor, &subscription, &blob, run, this, priority, RCLRT_ON_NEW_DATA),
      RCLRT_OK);
    settle(300);
    rclrt_session_handle(&session);
    settle(300);
    sent_by_client.clear();
  }

  void send_in()
  {
    arm_agent();  // it knows what time it is, and asks in its time
    agent.publish("rt/in", number(1));
    arm_agent();
  }

  // What has reached the agent.
  [[nodiscard]] std::vector<int> sent() const { return first_ids(sent_by_client); }

  uint64_t work_ns = 0;
  bool answers = true;
  int late = 0;  // callbacks after which what they got was not acknowledged

private:
  static void run(void * context, const void * got)
  {
    auto & self = *static_cast<Answering *>(context);
    self.world.work(self.work_ns);
    self.late += self.agent.unacknowledged(self.subscription.reader.read_stream) == 0 ? 0 : 1;
    if (self.answers) {
      EXPECT_EQ(rclrt_publish(&self.publisher, got), RCLRT_OK);
    }
  }

  rclrt_publisher publisher{};
  rclrt_subscription subscription{};
  Blob blob;
};

TEST(Acknowledgements, go_behind_what_is_published_in_answer)
{
  Answering client;
  ASSERT_NO_FATAL_FAILURE(client.make(10, 3));
  for (int i = 0; i < 3; ++i) {
    client.send_in();
    client.spin_for(50);
  }
  EXPECT_EQ(client.sent(), (std::vector<int>{kData, kAck, kData, kAck, kData, kAck}));
}

TEST(Acknowledgements, go_behind_what_a_level_publishes_in_answer_or_when_its_callback_ends)
{
  Answering client;
  rclrt_micro::SimLevels levels(client.world, client.port, [&client](unsigned level) {
    (void)rclrt_executor_run_level(&client.executor, level);
  });
  const uint8_t floors[] = {0, 10};
  ASSERT_EQ(rclrt_executor_use_levels(&client.executor, floors, 2), RCLRT_OK);
  ASSERT_NO_FATAL_FAILURE(client.make(10, 3));
  client.send_in();
  client.settle(20);
  EXPECT_EQ(client.sent(), (std::vector<int>{kData, kAck}));
  client.answers = false;
  client.send_in();
  client.settle(20);
  EXPECT_EQ(client.sent(), (std::vector<int>{kData, kAck, kAck})) << "nobody else looks";
}

TEST(Acknowledgements, go_when_the_callback_ends_without_an_answer)
{
  Answering client;
  ASSERT_NO_FATAL_FAILURE(client.make(10, 3));
  client.answers = false;
  client.work_ns = 5 * kMs;
  client.send_in();
  client.spin_for(20);
  EXPECT_EQ(client.late, 1);
  EXPECT_EQ(client.sent(), std::vector<int>{kAck});
}

// The agent's window may be full: nothing more comes before this is acknowledged.
TEST(Acknowledgements, do_not_wait_while_more_is_here)
{
  Answering client;
  ASSERT_NO_FATAL_FAILURE(client.make(3, 10));
  client.send_in();
  client.send_in();
  client.settle(20);
  client.spin_for(50);
  EXPECT_EQ(client.sent(), (std::vector<int>{kAck, kData, kData, kAck}));
}

// An agent asks after 25 ms, and sends again what it has asked for twice.
TEST(Acknowledgements, do_not_wait_for_callbacks_that_take_long)
{
  for (const bool answers : {false, true}) {
    Answering client;
    ASSERT_NO_FATAL_FAILURE(client.make(10, 3));
    client.answers = answers;
    client.work_ns = 30 * kMs;
    for (int i = 0; i < 300; ++i) {
      client.send_in();
      client.spin_for(50);
    }
    EXPECT_EQ(client.late, 2) << "the first, and one to see whether they still do";
    client.work_ns = 5 * kMs;
    for (int i = 0; i < 300; ++i) {
      client.send_in();
      client.spin_for(50);
    }
    EXPECT_GE(client.late, 45) << "they wait again";
  }
}

// Streams overtake each other, frames of one stream do not: nothing is dropped, and nothing is sent again.
constexpr uint32_t kCount = 200;

struct Talker
{
  std::string topic;
  rclrt_qos qos;
  uint8_t priority;
  rclrt_publisher publisher{};
  std::vector<uint32_t> arrived{};
};

class Reordering : public ::testing::TestWithParam<rclrt_framing>
{
protected:
  static RigOptions options()
  {
    RigOptions options;
    options.framing = GetParam();
    options.byte_ns = 1000;
    return options;
  }

  void SetUp() override
  {
    system.start();
    for (auto * each : {&a, &b, &c}) {
      ASSERT_EQ(
        rclrt_publisher_init(
          &each->publisher, &system.node, &kBlob, each->topic.c_str(), each->qos, each->priority),
        RCLRT_OK);
    }
    system.agent.on_data = [this](const std::string & topic, const Agent::Bytes & data) {
      for (auto * each : {&a, &b, &c}) {
        if (topic == "rt/" + each->topic) {
          each->arrived.push_back(number(data));
          order += each->topic;
        }
      }
    };
  }

  void late(bool by_stream)
  {
    for (auto * line : {&system.to_agent, &system.to_client}) {
      line->faults.jitter_ns = 3 * kMs;
      line->faults.by_stream = by_stream;
    }
  }

  // Each publishes its numbers, in turn.
  void publish()
  {
    for (uint32_t i = 0; i < kCount; ++i) {
      for (auto * each : {&a, &b, &c}) {
        const Blob blob{i, 8};
        ASSERT_EQ(rclrt_publish(&each->publisher, &blob), RCLRT_OK) << each->topic << i;
      }
      system.settle(1);
    }
    system.settle(1000);
  }

  System system{options()};
  Talker a{"a", rclrt_qos_best_effort(), 3};
  Talker b{"b", rclrt_qos_best_effort(), 4};
  Talker c{"c", rclrt_qos_reliable(), 5};
  std::string order;
  std::vector<uint32_t> all = [] {
    std::vector<uint32_t> numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), 0U);
    return numbers;
  }();
};

TEST_P(Reordering, by_stream_loses_and_repeats_nothing_on_the_way_to_the_agent)
{
  late(true);
  publish();
  for (const auto * each : {&a, &b, &c}) {
    EXPECT_EQ(each->arrived, all) << each->topic;
  }
  EXPECT_EQ(system.daemon.counters.retransmitted, 0U);
  std::string in_turn;
  for (uint32_t i = 0; i < kCount; ++i) {
    in_turn += "cba";  // by priority
  }
  EXPECT_NE(order, in_turn) << "the streams did overtake each other";
}

TEST_P(Reordering, within_a_stream_costs_best_effort_messages_and_repeats)
{
  late(false);
  publish();
  EXPECT_LT(a.arrived.size() + b.arrived.size(), 2 * kCount)
    << "the agent drops what was overtaken";
  EXPECT_TRUE(std::is_sorted(a.arrived.begin(), a.arrived.end()));
  EXPECT_EQ(c.arrived, all);
  EXPECT_GT(system.daemon.counters.retransmitted, 0U);
}

TEST_P(Reordering, by_stream_loses_and_repeats_nothing_on_the_way_from_the_agent)
{
  Listener best_effort(system);
  Listener reliable(system);
  ASSERT_EQ(best_effort.init("x", rclrt_qos_best_effort()), RCLRT_OK);
  ASSERT_EQ(reliable.init("y"), RCLRT_OK);
  ASSERT_EQ(best_effort.add(3), RCLRT_OK);
  ASSERT_EQ(reliable.add(2), RCLRT_OK);
  system.spin_for(100);
  const auto before = system.daemon.counters;
  late(true);
  for (uint32_t i = 0; i < kCount; ++i) {
    system.agent.publish("rt/x", number(i));
    system.agent.publish("rt/y", number(i));
    system.arm_agent();
    system.spin_for(1);
  }
  system.spin_for(1000);
  EXPECT_EQ(best_effort.numbers, all);
  EXPECT_EQ(reliable.numbers, all);
  EXPECT_EQ(system.daemon.counters.late, before.late);
  EXPECT_EQ(system.daemon.counters.duplicates, before.duplicates);
}

INSTANTIATE_TEST_SUITE_P(
  All, Reordering,
  ::testing::Values(RCLRT_FRAMING_SERIAL, RCLRT_FRAMING_DATAGRAM, RCLRT_FRAMING_LENGTH),
  [](const auto & of) {
    return of.param == RCLRT_FRAMING_SERIAL     ? "serial"
           : of.param == RCLRT_FRAMING_DATAGRAM ? "datagrams"
                                                : "lengths";
  });
}  // namespace
