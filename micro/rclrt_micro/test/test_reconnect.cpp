// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A session that begins anew: what is left of the one before, and what the program is told.
#include <gtest/gtest.h>

#include "system.hpp"

namespace
{
class Reconnect : public ::testing::Test
{
protected:
  // Calls `also` when the agent sends a message that begins with this submessage, before it.
  void with(uint8_t submessage, const std::function<void()> & also)
  {
    system.on_agent_message = [submessage, also](const Agent::Bytes & message) {
      if (message[4] == submessage) {
        also();
      }
      return false;
    };
  }

  // The agent's answer to the greeting is another.
  void with_answer(const std::function<Agent::Bytes(Agent::Bytes)> & other)
  {
    system.on_agent_message = [this, other](const Agent::Bytes & message) {
      if (message[4] != RCLRT_STATUS_AGENT) {
        return false;
      }
      system.receive_later(other(message));
      return true;
    };
  }

  rclrt_ret reconnect()
  {
    const auto ret = rclrt_session_connect(&system.session, 1000 * kMs);
    system.on_agent_message = nullptr;
    return ret;
  }

  // All were given up, and nothing of them is left.
  void expect_given_up(const std::vector<uint16_t> & numbers)
  {
    std::vector<std::pair<uint8_t, uint16_t>> wanted;
    for (const uint16_t each : numbers) {
      wanted.emplace_back(stream, each);
    }
    EXPECT_EQ(system.abandoned, wanted);
    EXPECT_EQ(system.daemon.counters.abandoned, numbers.size());
    system.settle(500);
    EXPECT_EQ(system.daemon.free_count, system.options.nodes);
  }

  Started system;
  Talker talker{system};
  const uint8_t stream = talker.self.own_stream.id;
};

TEST_F(Reconnect, what_the_session_before_had_on_its_way_does_not_disturb_the_new_one)
{
  Listener reliable(system, "r"), best_effort(system, "b", rclrt_qos_best_effort());
  system.spin_for(200);
  const auto data = [](const Listener & of, uint16_t sequence) {
    const auto & subscription = of.subscription;
    return message_of(subscription.stream.id, sequence, {data_for(subscription.reader.id, 77)});
  };
  with(RCLRT_STATUS_AGENT, [&] {
    const auto late = heartbeat(0x80, 500, 501);
    const uint8_t id = reliable.subscription.stream.id;
    system.receive_later(message_of(0, 0, {heartbeat(id, 500, 501)}));
    system.receive_later(message_of(0, 0, {late}));
    system.receive_later(data(reliable, 0));
    system.receive_later(data(best_effort, 100));
    // Behind something else, where only what takes it sees it.
    system.receive_later(message_of(0, 0, {status(0, 0), late}));
  });
  const auto foreign = system.daemon.counters.foreign;
  must(reconnect());
  EXPECT_EQ(system.daemon.counters.foreign, foreign + 5);
  for (uint8_t i = 1; i <= 3; ++i) {
    system.publish("rt/r", number(i));
    system.publish("rt/b", number(i));
    system.spin_for(300);
  }
  EXPECT_EQ(reliable.numbers, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(best_effort.numbers, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(system.daemon.counters.skipped, 0U);
  EXPECT_EQ(system.daemon.counters.late, 0U);
}

TEST_F(Reconnect, reliable_messages_that_were_not_acknowledged_are_counted_and_told)
{
  system.settle(500);
  must(talker.publish(1));
  system.settle(500);
  EXPECT_TRUE(rclrt_daemon_confirmed(&system.daemon, &talker.self.own_stream));
  system.to_agent.faults.loss = 1;
  for (int i = 0; i < 3; ++i) {
    must(talker.publish(1));
  }
  system.settle(50);
  system.to_agent.faults.loss = 0;
  EXPECT_TRUE(system.abandoned.empty());
  must(reconnect());
  expect_given_up({1, 2, 3});
}

TEST_F(Reconnect, and_those_of_a_publisher_that_goes)
{
  system.settle(500);
  system.on_agent_message = [this](const Agent::Bytes & message) {
    return message[4] == RCLRT_ACKNACK && message[12] == stream;
  };
  must(talker.publish(1));
  EXPECT_EQ(rclrt_publisher_fini(&talker.self), RCLRT_OK);
  expect_given_up({0});
}

TEST_F(Reconnect, before_its_writer_exists_again_nothing_is_published)
{
  std::vector<rclrt_ret> during;
  // As an urgent callback on a level of its own would.
  with(RCLRT_STATUS, [&] { during.push_back(talker.publish(1)); });
  must(reconnect());
  EXPECT_EQ(during, std::vector<rclrt_ret>(4, RCLRT_ERR_STATE));
  EXPECT_EQ(talker.publish(1), RCLRT_OK);
}

TEST_F(Reconnect, only_the_agents_own_answer_says_whether_it_accepts)
{
  // Behind the answer, in the same message, so that both are handled at once.
  with_answer([](Agent::Bytes message) {
    const auto refused = status(0x15, RCLRT_STATUS_UNKNOWN_REFERENCE);
    message.resize((message.size() + 3) / 4 * 4);
    message.insert(message.end(), refused.begin(), refused.end());
    return message;
  });
  EXPECT_EQ(reconnect(), RCLRT_OK);
}

TEST_F(Reconnect, an_agent_that_does_not_accept_is_an_error)
{
  with_answer([](Agent::Bytes message) {
    message[8] = RCLRT_STATUS_INCOMPATIBLE;
    return message;
  });
  EXPECT_EQ(reconnect(), RCLRT_ERR_AGENT);
}

TEST(Services, requests_and_responses_that_cannot_be_decoded_are_counted)
{
  Started system;
  static const rclrt_type kNever = {
    kBlob.name, kBlob.encode, [](void *, rclrt_reader * reader) { reader->failed = true; }};
  for (const bool of_service : {true, false}) {
    Server server(system, "/s", of_service ? kNever : kBlob);
    Caller caller(system, "/s", kNever);
    caller.add();
    caller.ask(1);
    system.spin_for(300);
    EXPECT_EQ(server.self.undecodable, of_service ? 1U : 0U);
    EXPECT_EQ(caller.self.undecodable, of_service ? 0U : 1U);
    EXPECT_TRUE(caller.answers.empty());
    EXPECT_EQ(rclrt_service_fini(&server.self), RCLRT_OK);
    EXPECT_EQ(rclrt_client_fini(&caller.self), RCLRT_OK);
  }
}

// A session that is kept alive: the program spins and does nothing else about it.
class KeepAlive : public ::testing::Test
{
protected:
  void start(const RigOptions & options = {}, uint64_t timeout_ns = 5000 * kMs)
  {
    system = std::make_unique<System>(options);
    system->session.keep_alive_ns = 1000 * kMs;
    system->start("node", timeout_ns);
    talker = std::make_unique<Talker>(*system);
    listener = std::make_unique<Listener>(*system, "t");
    system->spin_for(100);
    system->events.clear();
  }

  // Publishes and waits; true when it came back, once and as the last one.
  bool comes_back(uint32_t value)
  {
    const size_t before = listener->numbers.size();
    const auto ret = talker->publish(value, 8);
    system->spin_for(300);
    return ret == RCLRT_OK && listener->numbers.size() == before + 1 &&
           listener->numbers.back() == value;
  }

  // The agent gets its copy of the greeting that was sent first.
  void late_copy()
  {
    for (const auto & message : system->sent_by_client) {
      if (message.at(4) == RCLRT_CREATE_CLIENT) {
        system->agent.receive(message);
        return;
      }
    }
    FAIL() << "no greeting was sent";
  }

  void expect_lost_and_back(uint8_t by)
  {
    EXPECT_EQ(system->events, lost_and_back);
    EXPECT_EQ(system->losses, std::vector<uint8_t>{by});
  }

  std::unique_ptr<System> system;
  std::unique_ptr<Talker> talker;
  std::unique_ptr<Listener> listener;
  const std::vector<rclrt_session_event> lost_and_back = {
    RCLRT_SESSION_LOST, RCLRT_SESSION_CONNECTED};
};

TEST_F(KeepAlive, while_the_agent_is_there_nothing_happens)
{
  start();
  system->spin_for(20'000);
  EXPECT_TRUE(system->events.empty());
  EXPECT_TRUE(comes_back(1));
  // A question a second, no more.
  EXPECT_LE(system->agent.received[RCLRT_GET_INFO], 20);
  EXPECT_GE(system->agent.received[RCLRT_GET_INFO], 15);
}

TEST_F(KeepAlive, an_agent_that_forgot_is_greeted_anew_and_gets_all_entities)
{
  start();
  const size_t objects = system->agent.objects();
  system->agent.restart();
  system->spin_for(3000);
  expect_lost_and_back(RCLRT_LOST_UNKNOWN);
  EXPECT_EQ(system->agent.objects(), objects);
  EXPECT_TRUE(comes_back(2));
}

TEST_F(KeepAlive, an_agent_that_is_silent_is_lost_and_greeted_when_it_is_back)
{
  start();
  system->on_agent_message = [](const Agent::Bytes &) { return true; };
  system->spin_for(9'000);
  EXPECT_TRUE(system->losses.empty()) << "on a line that loses much, silence alone says little";
  system->spin_for(5'000);
  EXPECT_EQ(system->losses, (std::vector<uint8_t>{RCLRT_LOST_SILENCE}));
  EXPECT_EQ(talker->publish(3), RCLRT_ERR_STATE);
  system->on_agent_message = nullptr;
  system->spin_for(5000);
  EXPECT_EQ(system->events, lost_and_back);
  EXPECT_TRUE(comes_back(4));
}

TEST_F(KeepAlive, an_agent_that_comes_back_has_all_entities_soon_and_greetings_do_not_fill_the_line)
{
  for (const bool hears_greetings : {false, true}) {
    start();
    for (const uint64_t away_ms : {13'000U, 17'100U, 21'300U, 40'450U}) {
      (hears_greetings ? system->to_client : system->to_agent).faults.loss = 1;
      system->spin_for(away_ms - 1000);
      const auto sent = static_cast<std::ptrdiff_t>(system->sent_by_client.size());
      system->spin_for(1000);
      size_t bytes = 0;
      for (auto i = system->sent_by_client.begin() + sent; i != system->sent_by_client.end(); ++i) {
        EXPECT_EQ(i->at(4), RCLRT_CREATE_CLIENT);
        bytes += Deframer::frame(RCLRT_FRAMING_SERIAL, *i, 0).size();
      }
      EXPECT_LE(system->sent_by_client.size() - static_cast<size_t>(sent), 3U);
      EXPECT_LE(bytes, 3U * 31U) << "as session.h says";
      EXPECT_FALSE(system->session.connected);
      system->to_client.faults.loss = system->to_agent.faults.loss = 0;
      system->agent.restart();
      system->spin_for(1200);
      EXPECT_TRUE(system->session.connected) << away_ms;
      EXPECT_TRUE(comes_back(static_cast<uint32_t>(away_ms)));
    }
  }
}

TEST_F(KeepAlive, a_late_copy_of_the_greeting_is_noticed_by_its_answer)
{
  start();
  EXPECT_TRUE(comes_back(5));
  late_copy();
  system->spin_for(1000);
  expect_lost_and_back(RCLRT_LOST_STREAMS);
  EXPECT_TRUE(comes_back(6));
}

TEST_F(KeepAlive, a_late_copy_whose_answer_is_lost_is_noticed_by_heartbeats_of_what_is_settled)
{
  start();
  for (uint32_t i = 10; i < 16; ++i) {
    EXPECT_TRUE(comes_back(i));
  }
  system->on_agent_message = [](const Agent::Bytes & message) {
    return message.at(4) == RCLRT_STATUS_AGENT;
  };
  late_copy();
  system->on_agent_message = nullptr;
  system->agent.publish("rt/t", number(20));  // its number is 0 again: a duplicate
  system->spin_for(8000);
  EXPECT_EQ(system->losses, (std::vector<uint8_t>{RCLRT_LOST_STREAMS}));
  EXPECT_TRUE(comes_back(21));
}

TEST_F(
  KeepAlive, a_late_copy_whose_answer_is_lost_is_noticed_by_best_effort_messages_that_are_all_late)
{
  start();
  Listener best_effort(*system, "b", rclrt_qos_best_effort());
  system->spin_for(100);
  const auto send = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      system->agent.publish("rt/b", number(i));
      system->spin_for(100);
    }
  };
  send(0, 100);
  ASSERT_EQ(best_effort.numbers.size(), 100U);
  system->on_agent_message = [](const Agent::Bytes & message) {
    return message.at(4) == RCLRT_STATUS_AGENT;
  };
  late_copy();
  system->on_agent_message = nullptr;
  send(100, 140);
  EXPECT_EQ(system->losses, (std::vector<uint8_t>{RCLRT_LOST_STREAMS}));
  EXPECT_EQ(best_effort.numbers.back(), 139U);
}

// What a line that loses much looks like: the agent asks again and again about what has arrived.
TEST_F(KeepAlive, an_agent_that_gets_no_acknowledgement_is_not_taken_for_one_that_began_anew)
{
  start();
  system->spin_for(300);
  const auto heard = system->to_agent.deliver;
  system->to_agent.deliver = [](const Agent::Bytes &) {};
  system->agent.publish("rt/t", number(7));
  system->arm_agent();
  system->spin_for(1400);  // it asks ten times a second
  system->to_agent.deliver = heard;
  EXPECT_EQ(listener->numbers.back(), 7U);
  system->spin_for(4000);
  EXPECT_TRUE(system->events.empty());
  EXPECT_TRUE(comes_back(8));
}

// It has taken a greeting for a late copy of the one before.
TEST_F(KeepAlive, an_agent_that_acknowledges_what_was_never_sent_is_greeted_anew)
{
  start();
  const auto acknowledge = [this](int times) {
    for (int i = 0; i < times; ++i) {
      system->receive(message_of(0, 0, {acknack(0x80, 200)}));
      system->spin_for(100);
    }
  };
  acknowledge(3);
  EXPECT_TRUE(comes_back(9)) << "copies that are late";
  acknowledge(3);
  EXPECT_TRUE(system->losses.empty());
  acknowledge(1);
  EXPECT_EQ(system->losses, (std::vector<uint8_t>{RCLRT_LOST_STREAMS}));
  const auto greetings = system->agent.received[RCLRT_CREATE_CLIENT];
  system->spin_for(400);
  EXPECT_EQ(system->agent.received[RCLRT_CREATE_CLIENT], greetings) << "that would be too soon";
  system->spin_for(2000);
  EXPECT_EQ(system->events, lost_and_back);
  EXPECT_TRUE(comes_back(10));
}

TEST_F(
  KeepAlive, a_copy_of_the_answer_to_the_greeting_does_no_harm_before_anything_else_was_answered)
{
  system = std::make_unique<System>();
  system->session.keep_alive_ns = 1000 * kMs;
  must(rclrt_session_connect(&system->session, 5000 * kMs));
  system->receive(system->sent_by_agent.back());
  EXPECT_EQ(rclrt_node_init(&system->node, &system->session, "node", 0), RCLRT_OK);
  EXPECT_TRUE(system->session.connected);
}

TEST_F(KeepAlive, on_a_line_so_slow_that_greetings_are_repeated_it_connects_once)
{
  RigOptions options;
  options.agent_delay_ns = 700 * kMs;  // three copies are sent meanwhile
  start(options, 20'000 * kMs);
  EXPECT_GE(system->agent.received[RCLRT_CREATE_CLIENT], 3);
  system->spin_for(10'000);
  EXPECT_TRUE(system->events.empty());
}

// Where counters of 32 bits of us and ms, and of 31, begin anew.
TEST(Clock, that_counts_far_changes_nothing)
{
  for (const uint64_t at_ms :
       {uint64_t{1} << 31U, uint64_t{1} << 32U, (uint64_t{1} << 32U) / 1000}) {
    System system;
    system.world.at((at_ms - 700) * kMs, [] {});
    system.settle(at_ms - 700);
    system.start();
    system.session.keep_alive_ns = 100 * kMs;
    Talker talker(system);
    Listener listener(system, "t");
    int ticks = 0;
    rclrt_timer timer;
    const auto tick = [](void * count, rclrt_timer *) { ++*static_cast<int *>(count); };
    must(rclrt_executor_add_timer(&system.executor, &timer, 10 * kMs, 3, tick, &ticks));
    for (uint32_t i = 0; i < 100; ++i) {
      EXPECT_EQ(talker.publish(i), RCLRT_OK);
      system.spin_for(20);
    }
    EXPECT_GT(system.world.now_ns(), (at_ms + 500) * kMs);
    EXPECT_EQ(listener.numbers, up_to(100));
    EXPECT_NEAR(ticks, 200, 2);
    EXPECT_EQ(system.daemon.counters.retransmitted, 0U);
    EXPECT_EQ(system.session.lost_by, 0);
  }
}

TEST(Depth, of_a_reader_is_told_to_the_agent)
{
  Started system;
  rclrt_subscription subscription;
  must(rclrt_subscription_init(
    &subscription, &system.node, &kBlob, "t", rclrt_qos_depth(rclrt_qos_reliable(), 0x1234)));
  const auto & create = system.sent_by_client.back();
  const uint8_t depth[] = {0x34, 0x12};
  EXPECT_NE(std::search(create.begin(), create.end(), depth, depth + 2), create.end());
}

TEST_F(KeepAlive, if_nobody_keeps_it_alive_a_late_copy_is_told_all_the_same)
{
  start();
  system->session.keep_alive_ns = 0;
  late_copy();
  system->spin_for(1000);
  EXPECT_EQ(system->events, (std::vector<rclrt_session_event>{RCLRT_SESSION_LOST}));
  EXPECT_EQ(rclrt_session_keep_alive(&system->session, 1000 * kMs), RCLRT_OK);
  EXPECT_TRUE(comes_back(22));
}

TEST_F(KeepAlive, an_entity_that_is_deleted_while_all_are_created_again_is_left_out)
{
  start();
  system->agent.restart();
  // When the agent answers about the publisher's topic, behind the node, the publisher ends.
  int answers = 0;
  bool ended = false;
  system->on_agent_message = [&](const Agent::Bytes & message) {
    if (message.at(4) == RCLRT_STATUS && ++answers == 2) {
      ended = true;
      EXPECT_EQ(rclrt_publisher_fini(&talker->self), RCLRT_ERR_STATE);
    }
    return false;
  };
  system->spin_for(5000);
  EXPECT_TRUE(ended);
  EXPECT_EQ(system->events, lost_and_back);
  system->agent.publish("rt/t", number(23));
  system->spin_for(300);
  EXPECT_EQ(listener->numbers, (std::vector<uint32_t>{23}));
}
}  // namespace
