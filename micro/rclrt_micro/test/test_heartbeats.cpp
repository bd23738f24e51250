// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is owed to the agent (acknowledgements, heartbeats) beside the data: how much of the line it takes,
// and when it goes.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <tuple>

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
  Started system([](auto & with) {
    with.byte_ns = 10'000'000'000 / 19'200;
    with.nodes = 16;
    with.agent_delay_ns = 150 * kMs;
  });
  std::deque<Talker> talkers;
  for (const char * name : {"t0", "t1", "t2", "t3", "t4", "t5"}) {
    talkers.emplace_back(system, name, rclrt_qos_reliable(), static_cast<uint8_t>(talkers.size()));
  }
  system.sent_by_client.clear();
  int refused = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    for (auto & talker : talkers) {
      refused += talker.publish(i, 40) == RCLRT_OK ? 0 : 1;
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
  Output output(rig, 0x83, 0x83);
  rig.on_agent_message = [](const Agent::Bytes &) { return true; };
  must(output.write(3, 1));
  rig.settle(20'000);
  // After 0.1, 0.3, 0.7, 1.5, 3.1, 5.1, 7.1, ... 19.1 s.
  EXPECT_EQ(count(rig.sent_by_client, RCLRT_HEARTBEAT), 13U);
  EXPECT_EQ(count(rig.sent_by_client, RCLRT_WRITE_DATA), 12U) << "once, and with all but two";
  rig.on_agent_message = nullptr;
  rig.settle(3000);
  ASSERT_TRUE(rclrt_daemon_idle(&rig.daemon));
  rig.sent_by_client.clear();
  rig.to_agent.faults.loss = 1.0;
  must(output.write(3, 2));
  rig.settle(20);
  rig.to_agent.faults.loss = 0;
  rig.settle(280);
  EXPECT_EQ(count(rig.sent_by_client, RCLRT_HEARTBEAT), 1U);
}

TEST(Heartbeats, of_several_streams_share_a_message)
{
  Rig rig;
  Output first(rig, 0x83, 0x83), second(rig, 0x84, 0x83), third(rig, 0x85, 0x83);
  rig.on_agent_message = [](const Agent::Bytes &) { return true; };
  for (auto * output : {&first, &second, &third}) {
    must(output->write(3, 1));
  }
  // While the line is taken, all of them become due.
  rig.sent_by_client.clear();
  rig.settle(95);
  must(rig.write(first.stream, 3, Agent::Bytes(400)));
  rig.settle(1000);
  const auto shared = std::find_if(
    rig.sent_by_client.begin(), rig.sent_by_client.end(),
    [](const auto & message) { return submessages(message).at(0) == RCLRT_HEARTBEAT; });
  ASSERT_NE(shared, rig.sent_by_client.end());
  EXPECT_EQ(submessages(*shared).size(), 2U);  // the third stream has just sent something
}

std::vector<int> first_ids(const std::vector<Agent::Bytes> & messages)
{
  std::vector<int> ids;
  for (const auto & message : messages) {
    ids.push_back(submessages(message).at(0));
  }
  return ids;
}

TEST(Owed, an_acknowledgement_waits_for_few_messages_that_are_more_urgent_and_one_that_is_as_urgent)
{
  // The priority of its reader; data of priority 20 that waits; what goes out.
  const std::tuple<uint8_t, int, std::vector<int>> rows[] = {
    {10, 2, {kData, kData, kData, kAck}},
    {21, 2, {kData, kAck, kData, kData}},
    {20, 3, {kData, kData, kAck, kData, kData}},
    {10, 6, {kData, kData, kData, kData, kData, kAck, kData, kData}},  // no more than four
  };
  for (const auto & [priority, messages, wanted] : rows) {
    SCOPED_TRACE(int{priority});
    Rig rig;
    Output output(rig, 0x03, 0x85);
    Reader reader(rig, 0x85, 0x16, priority);
    rig.open(0x85);
    must(rig.write(output.stream, 20, Agent::Bytes(400)));  // takes the line for 37 ms
    rig.agent.publish("t", number(1));
    rig.settle(10);
    EXPECT_EQ(reader.take().size(), 1U);
    for (int i = 0; i < messages; ++i) {
      must(output.write(20, 1));
    }
    rig.settle(500);
    auto ids = first_ids(rig.sent_by_client);
    ids.resize(wanted.size());  // what comes back is acknowledged, too
    EXPECT_EQ(ids, wanted);
  }
}

TEST(Heartbeats, wait_for_data_that_is_more_urgent)
{
  Rig rig;
  Output silent(rig, 0x83, 0x85), urgent(rig, 0x03, 0x85);
  rig.on_agent_message = [](const Agent::Bytes &) { return true; };
  must(silent.write(3, 1));
  rig.settle(95);
  must(rig.write(urgent.stream, 20, Agent::Bytes(400)));  // takes the line for 37 ms
  must(urgent.write(20, 2));
  must(urgent.write(20, 3));
  rig.settle(50);  // meanwhile it is due
  EXPECT_EQ(
    first_ids(rig.sent_by_client), (std::vector<int>{kData, kData, kData, kData, RCLRT_HEARTBEAT}));
}

// A subscription whose callback works, and may publish what it got.
class Answering : public System
{
public:
  Answering(uint8_t priority, uint8_t of_answers, bool with_levels = false)
  {
    if (with_levels) {
      levels_.emplace(
        world, port, [this](unsigned level) { (void)rclrt_executor_run_level(&executor, level); });
      const uint8_t floors[] = {0, 10};
      must(rclrt_executor_use_levels(&executor, floors, 2));
    }
    start();
    must(rclrt_publisher_init(&publisher, &node, &kBlob, "out", rclrt_qos_reliable(), of_answers));
    must(rclrt_subscription_init(&subscription, &node, &kBlob, "in", rclrt_qos_reliable()));
    must(rclrt_executor_add_subscription(
      &executor, &subscription, &blob, run, this, priority, RCLRT_ON_NEW_DATA));
    exchange(1, 300);
    sent_by_client.clear();
  }

  void send_in()
  {
    arm_agent();  // it knows what time it is, and asks in its time
    publish("rt/in", number(1));
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

  std::optional<rclrt_micro::SimLevels> levels_;
  rclrt_publisher publisher{};
  rclrt_subscription subscription{};
  Blob blob;
};

TEST(Acknowledgements, go_behind_what_is_published_in_answer)
{
  Answering client(10, 3);
  for (int i = 0; i < 3; ++i) {
    client.send_in();
    client.spin_for(50);
  }
  EXPECT_EQ(client.sent(), (std::vector<int>{kData, kAck, kData, kAck, kData, kAck}));
}

TEST(Acknowledgements, go_behind_what_a_level_publishes_in_answer_or_when_its_callback_ends)
{
  Answering client(10, 3, true);
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
  Answering client(10, 3);
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
  Answering client(3, 10);
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
    Answering client(10, 3);
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

class Reordering : public ::testing::TestWithParam<rclrt_framing>
{
protected:
  void SetUp() override
  {
    system.agent.on_data = [this](const std::string & topic, const Agent::Bytes & data) {
      arrived[topic.back()].push_back(number(data));
      order += topic.back();
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
        must(each->publish(i, 8));
      }
      system.settle(1);
    }
    system.settle(1000);
  }

  Started system{[](auto & with) {
    with.framing = GetParam();
    with.byte_ns = 1000;
  }};
  Talker a{system, "a", rclrt_qos_best_effort(), 3};
  Talker b{system, "b", rclrt_qos_best_effort(), 4};
  Talker c{system, "c", rclrt_qos_reliable(), 5};
  std::map<char, std::vector<uint32_t>> arrived;
  std::string order;
  const std::vector<uint32_t> all = up_to(kCount);
};

TEST_P(Reordering, by_stream_loses_and_repeats_nothing_on_the_way_to_the_agent)
{
  late(true);
  publish();
  for (const char each : {'a', 'b', 'c'}) {
    EXPECT_EQ(arrived[each], all) << each;
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
  EXPECT_LT(arrived['a'].size() + arrived['b'].size(), 2 * kCount)
    << "the agent drops what was overtaken";
  EXPECT_TRUE(std::is_sorted(arrived['a'].begin(), arrived['a'].end()));
  EXPECT_EQ(arrived['c'], all);
  EXPECT_GT(system.daemon.counters.retransmitted, 0U);
}

TEST_P(Reordering, by_stream_loses_and_repeats_nothing_on_the_way_from_the_agent)
{
  Listener best_effort(system, "x", rclrt_qos_best_effort(), 3);
  Listener reliable(system, "y");
  system.spin_for(100);
  const auto before = system.daemon.counters;
  late(true);
  for (uint32_t i = 0; i < kCount; ++i) {
    system.agent.publish("rt/x", number(i));
    system.publish("rt/y", number(i));
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
