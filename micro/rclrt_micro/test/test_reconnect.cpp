// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A session that begins anew: what is left of the one before, and what the program is told.
#include <gtest/gtest.h>

#include "system.hpp"

namespace
{
struct GivenUp
{
  std::vector<std::pair<uint8_t, uint16_t>> messages;
  static void note(void * context, const rclrt_output_stream * stream, uint16_t sequence)
  {
    static_cast<GivenUp *>(context)->messages.emplace_back(stream->id, sequence);
  }
};

class Reconnect : public ::testing::Test
{
protected:
  void SetUp() override
  {
    ASSERT_NO_FATAL_FAILURE(system.start());
    system.daemon.on_abandoned = GivenUp::note;
    system.daemon.on_abandoned_context = &given_up;
    ASSERT_EQ(
      rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 1),
      RCLRT_OK);
  }

  // From the agent, outside its own messages.
  void inject(const Agent::Bytes & message)
  {
    system.to_client.send(Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0));
  }

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

  rclrt_ret reconnect()
  {
    const auto ret = rclrt_session_connect(&system.session, 1000 * kMs);
    system.on_agent_message = nullptr;
    return ret;
  }

  System system;
  GivenUp given_up;
  rclrt_publisher publisher;
};

TEST_F(Reconnect, what_the_session_before_had_on_its_way_does_not_disturb_the_new_one)
{
  Listener reliable(system);
  Listener best_effort(system);
  ASSERT_EQ(reliable.init("r"), RCLRT_OK);
  ASSERT_EQ(best_effort.init("b", rclrt_qos_best_effort()), RCLRT_OK);
  ASSERT_EQ(reliable.add(), RCLRT_OK);
  ASSERT_EQ(best_effort.add(), RCLRT_OK);
  system.spin_for(200);
  const auto id = [](const Listener & of) { return of.subscription.stream.id; };
  const auto data = [&id](const Listener & of, uint8_t sequence) {
    const uint16_t object = of.subscription.reader.id;
    return Agent::Bytes{
      0x81,
      id(of),
      sequence,
      0,
      RCLRT_DATA,
      1,
      8,
      0,
      0,
      1,
      static_cast<uint8_t>(object >> 8),
      static_cast<uint8_t>(object),
      77,
      0,
      0,
      0};
  };
  with(RCLRT_STATUS_AGENT, [&] {
    inject({0x81, 0, 0, 0, RCLRT_HEARTBEAT, 1, 5, 0, 0xF4, 1, 0xF5, 1, id(reliable)});
    inject({0x81, 0, 0, 0, RCLRT_HEARTBEAT, 1, 5, 0, 0xF4, 1, 0xF5, 1, 0x80});
    inject(data(reliable, 0));
    inject(data(best_effort, 100));
    // Behind something else, where only who takes it sees it.
    inject({0x81, 0, 0,    0, RCLRT_STATUS, 1, 6,   0, 0, 0, 0, 0, 0, 0, 0, 0, RCLRT_HEARTBEAT, 1,
            5,    0, 0xF4, 1, 0xF5,         1, 0x80});
  });
  const auto foreign = system.daemon.counters.foreign;
  ASSERT_EQ(reconnect(), RCLRT_OK);
  EXPECT_EQ(system.daemon.counters.foreign, foreign + 5);
  for (uint8_t i = 1; i <= 3; ++i) {
    system.agent.publish("rt/r", number(i));
    system.agent.publish("rt/b", number(i));
    system.arm_agent();
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
  const uint8_t stream = publisher.own_stream.id;
  const Blob blob{1, 20};
  ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
  system.settle(500);
  EXPECT_TRUE(rclrt_daemon_confirmed(&system.daemon, &publisher.own_stream));
  system.to_agent.faults.loss = 1;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
  }
  system.settle(50);
  system.to_agent.faults.loss = 0;
  EXPECT_TRUE(given_up.messages.empty());
  ASSERT_EQ(reconnect(), RCLRT_OK);
  using Messages = std::vector<std::pair<uint8_t, uint16_t>>;
  EXPECT_EQ(given_up.messages, (Messages{{stream, 1}, {stream, 2}, {stream, 3}}));
  EXPECT_EQ(system.daemon.counters.abandoned, 3U);
  system.settle(500);
  EXPECT_EQ(system.daemon.free_count, system.options.nodes);
}

TEST_F(Reconnect, and_those_of_a_publisher_that_goes)
{
  system.settle(500);
  const uint8_t stream = publisher.own_stream.id;
  const Blob blob{1, 20};
  system.on_agent_message = [stream](const Agent::Bytes & message) {
    return message[4] == RCLRT_ACKNACK && message[12] == stream;
  };
  ASSERT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
  EXPECT_EQ(rclrt_publisher_fini(&publisher), RCLRT_OK);
  ASSERT_EQ(given_up.messages.size(), 1U);
  EXPECT_EQ(given_up.messages[0].first, stream);
  EXPECT_EQ(system.daemon.counters.abandoned, 1U);
  system.settle(500);
  EXPECT_EQ(system.daemon.free_count, system.options.nodes);
}

TEST_F(Reconnect, before_its_writer_exists_again_nothing_is_published)
{
  const Blob blob{1, 20};
  std::vector<rclrt_ret> during;
  // As an urgent callback on a level of its own would.
  with(RCLRT_STATUS, [&] { during.push_back(rclrt_publish(&publisher, &blob)); });
  ASSERT_EQ(reconnect(), RCLRT_OK);
  EXPECT_EQ(during, std::vector<rclrt_ret>(4, RCLRT_ERR_STATE));
  EXPECT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
}

TEST_F(Reconnect, only_the_agents_own_answer_says_whether_it_accepts)
{
  const Agent::Bytes refused = {
    0x81, 0, 0, 0, RCLRT_STATUS, 1, 6, 0, 0, 99, 0, 0x15, RCLRT_STATUS_UNKNOWN_REFERENCE, 0};
  // Behind the answer, in the same message, so that both are handled at once.
  system.on_agent_message = [&](const Agent::Bytes & message) {
    if (message[4] != RCLRT_STATUS_AGENT) {
      return false;
    }
    Agent::Bytes both = message;
    both.resize((both.size() + 3) / 4 * 4);
    both.insert(both.end(), refused.begin() + 4, refused.end());
    inject(both);
    return true;
  };
  EXPECT_EQ(reconnect(), RCLRT_OK);
}

TEST_F(Reconnect, an_agent_that_does_not_accept_is_an_error)
{
  system.on_agent_message = [&](const Agent::Bytes & message) {
    if (message[4] != RCLRT_STATUS_AGENT) {
      return false;
    }
    Agent::Bytes no = message;
    no[8] = RCLRT_STATUS_INCOMPATIBLE;
    inject(no);
    return true;
  };
  EXPECT_EQ(reconnect(), RCLRT_ERR_AGENT);
}

TEST(Services, requests_and_responses_that_cannot_be_decoded_are_counted)
{
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  static const rclrt_type kNever = {
    kBlob.name, kBlob.encode, [](void *, rclrt_reader * reader) { reader->failed = true; }};
  rclrt_service service;
  rclrt_client client;
  Blob request;
  Blob response;
  for (const bool of_service : {true, false}) {
    const rclrt_type & in = of_service ? kNever : kBlob;
    ASSERT_EQ(rclrt_service_init(&service, &system.node, &in, &kBlob, "/s"), RCLRT_OK);
    ASSERT_EQ(rclrt_client_init(&client, &system.node, &kBlob, &kNever, "/s", 2), RCLRT_OK);
    int ran = 0;
    ASSERT_EQ(
      rclrt_executor_add_service(
        &system.executor, &service, &request, &response,
        [](void *, const void *, void *) { return true; }, nullptr, 3),
      RCLRT_OK);
    ASSERT_EQ(
      rclrt_executor_add_client(
        &system.executor, &client, &response,
        [](void * context, const void *, uint16_t) { ++*static_cast<int *>(context); }, &ran, 4),
      RCLRT_OK);
    const Blob blob{1, 4};
    ASSERT_EQ(rclrt_client_request(&client, &blob, nullptr), RCLRT_OK);
    system.spin_for(300);
    EXPECT_EQ(service.undecodable, of_service ? 1U : 0U);
    EXPECT_EQ(client.undecodable, of_service ? 0U : 1U);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(rclrt_service_fini(&service), RCLRT_OK);
    EXPECT_EQ(rclrt_client_fini(&client), RCLRT_OK);
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
    system->session.on_event_context = this;
    system->session.on_event = [](void * context, rclrt_session_event event) {
      auto & self = *static_cast<KeepAlive *>(context);
      self.events.push_back(event);
      if (event == RCLRT_SESSION_LOST) {
        self.losses.push_back(self.system->session.lost_by);
      }
    };
    ASSERT_EQ(rclrt_session_connect(&system->session, timeout_ns), RCLRT_OK);
    ASSERT_EQ(rclrt_node_init(&system->node, &system->session, "node", 0), RCLRT_OK);
    ASSERT_EQ(
      rclrt_publisher_init(&publisher, &system->node, &kBlob, "t", rclrt_qos_reliable(), 1),
      RCLRT_OK);
    listener = std::make_unique<Listener>(*system);
    ASSERT_EQ(listener->init(), RCLRT_OK);
    ASSERT_EQ(listener->add(), RCLRT_OK);
    system->spin_for(100);
    events.clear();
  }

  // Publishes and waits; true when it came back, once and as the last one.
  bool comes_back(uint32_t value)
  {
    const Blob blob{value, 8};
    const size_t before = listener->numbers.size();
    const auto ret = rclrt_publish(&publisher, &blob);
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

  std::unique_ptr<System> system;
  std::unique_ptr<Listener> listener;
  rclrt_publisher publisher{};
  std::vector<rclrt_session_event> events;
  std::vector<uint8_t> losses;
  const std::vector<rclrt_session_event> lost_and_back = {
    RCLRT_SESSION_LOST, RCLRT_SESSION_CONNECTED};
};

TEST_F(KeepAlive, while_the_agent_is_there_nothing_happens)
{
  ASSERT_NO_FATAL_FAILURE(start());
  system->spin_for(20'000);
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(comes_back(1));
  // A question a second, no more.
  EXPECT_LE(system->agent.received[RCLRT_GET_INFO], 20);
  EXPECT_GE(system->agent.received[RCLRT_GET_INFO], 15);
}

TEST_F(KeepAlive, an_agent_that_forgot_is_greeted_anew_and_gets_all_entities)
{
  ASSERT_NO_FATAL_FAILURE(start());
  const size_t objects = system->agent.objects();
  system->agent.restart();
  system->spin_for(3000);
  EXPECT_EQ(events, lost_and_back);
  EXPECT_EQ(losses, (std::vector<uint8_t>{RCLRT_LOST_UNKNOWN}));
  EXPECT_EQ(system->agent.objects(), objects);
  EXPECT_TRUE(comes_back(2));
}

TEST_F(KeepAlive, an_agent_that_is_silent_is_lost_and_greeted_when_it_is_back)
{
  ASSERT_NO_FATAL_FAILURE(start());
  system->on_agent_message = [](const Agent::Bytes &) { return true; };
  system->spin_for(9'000);
  EXPECT_TRUE(losses.empty()) << "on a line that loses much, silence alone says little";
  system->spin_for(5'000);
  EXPECT_EQ(losses, (std::vector<uint8_t>{RCLRT_LOST_SILENCE}));
  const Blob blob{3, 8};
  EXPECT_EQ(rclrt_publish(&publisher, &blob), RCLRT_ERR_STATE);
  system->on_agent_message = nullptr;
  system->spin_for(5000);
  EXPECT_EQ(events, lost_and_back);
  EXPECT_TRUE(comes_back(4));
}

TEST_F(KeepAlive, an_agent_that_comes_back_has_all_entities_soon_and_greetings_do_not_fill_the_line)
{
  for (const bool hears_greetings : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(start());
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
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(comes_back(5));
  late_copy();
  system->spin_for(1000);
  EXPECT_EQ(events, lost_and_back);
  EXPECT_EQ(losses, (std::vector<uint8_t>{RCLRT_LOST_STREAMS}));
  EXPECT_TRUE(comes_back(6));
}

TEST_F(KeepAlive, a_late_copy_whose_answer_is_lost_is_noticed_by_heartbeats_of_what_is_settled)
{
  ASSERT_NO_FATAL_FAILURE(start());
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
  EXPECT_EQ(losses, (std::vector<uint8_t>{RCLRT_LOST_STREAMS}));
  EXPECT_TRUE(comes_back(21));
}

TEST_F(
  KeepAlive, a_late_copy_whose_answer_is_lost_is_noticed_by_best_effort_messages_that_are_all_late)
{
  ASSERT_NO_FATAL_FAILURE(start());
  Listener best_effort(*system);
  ASSERT_EQ(best_effort.init("b", rclrt_qos_best_effort()), RCLRT_OK);
  ASSERT_EQ(best_effort.add(), RCLRT_OK);
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
  EXPECT_EQ(losses, (std::vector<uint8_t>{RCLRT_LOST_STREAMS}));
  EXPECT_EQ(best_effort.numbers.back(), 139U);
}

// What a line that loses much looks like: the agent asks again and again about what has arrived.
TEST_F(KeepAlive, an_agent_that_gets_no_acknowledgement_is_not_taken_for_one_that_began_anew)
{
  ASSERT_NO_FATAL_FAILURE(start());
  system->spin_for(300);
  const auto heard = system->to_agent.deliver;
  system->to_agent.deliver = [](const Agent::Bytes &) {};
  system->agent.publish("rt/t", number(7));
  system->arm_agent();
  system->spin_for(1400);  // it asks ten times a second
  system->to_agent.deliver = heard;
  EXPECT_EQ(listener->numbers.back(), 7U);
  system->spin_for(4000);
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(comes_back(8));
}

// It has taken a greeting for a late copy of the one before.
TEST_F(KeepAlive, an_agent_that_acknowledges_what_was_never_sent_is_greeted_anew)
{
  ASSERT_NO_FATAL_FAILURE(start());
  const auto acknowledge = [this] {
    const Agent::Bytes message = {0x81, 0, 0, 0, RCLRT_ACKNACK, 1, 5, 0, 200, 0, 0, 0, 0x80};
    const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0);
    rclrt_daemon_received(&system->daemon, frame.data(), frame.size());
    system->spin_for(100);
  };
  for (int i = 0; i < 3; ++i) {
    acknowledge();
  }
  EXPECT_TRUE(comes_back(9)) << "copies that are late";
  for (int i = 0; i < 3; ++i) {
    acknowledge();
  }
  EXPECT_TRUE(losses.empty());
  acknowledge();
  EXPECT_EQ(losses, (std::vector<uint8_t>{RCLRT_LOST_STREAMS}));
  const auto greetings = system->agent.received[RCLRT_CREATE_CLIENT];
  system->spin_for(400);
  EXPECT_EQ(system->agent.received[RCLRT_CREATE_CLIENT], greetings) << "that would be too soon";
  system->spin_for(2000);
  EXPECT_EQ(events, lost_and_back);
  EXPECT_TRUE(comes_back(10));
}

TEST_F(
  KeepAlive, a_copy_of_the_answer_to_the_greeting_does_no_harm_before_anything_else_was_answered)
{
  system = std::make_unique<System>();
  system->session.keep_alive_ns = 1000 * kMs;
  ASSERT_EQ(rclrt_session_connect(&system->session, 5000 * kMs), RCLRT_OK);
  const auto answer = Deframer::frame(RCLRT_FRAMING_SERIAL, system->sent_by_agent.back(), 0);
  rclrt_daemon_received(&system->daemon, answer.data(), answer.size());
  EXPECT_EQ(rclrt_node_init(&system->node, &system->session, "node", 0), RCLRT_OK);
  EXPECT_TRUE(system->session.connected);
}

TEST_F(KeepAlive, on_a_line_so_slow_that_greetings_are_repeated_it_connects_once)
{
  RigOptions options;
  options.agent_delay_ns = 700 * kMs;  // three copies are sent meanwhile
  ASSERT_NO_FATAL_FAILURE(start(options, 20'000 * kMs));
  EXPECT_GE(system->agent.received[RCLRT_CREATE_CLIENT], 3);
  system->spin_for(10'000);
  EXPECT_TRUE(events.empty());
}

// Where counters of 32 bits of us and ms, and of 31, begin anew.
TEST(Clock, that_counts_far_changes_nothing)
{
  for (const uint64_t at_ms :
       {uint64_t{1} << 31U, uint64_t{1} << 32U, (uint64_t{1} << 32U) / 1000}) {
    System system;
    system.world.at((at_ms - 700) * kMs, [] {});
    system.settle(at_ms - 700);
    ASSERT_NO_FATAL_FAILURE(system.start());
    system.session.keep_alive_ns = 100 * kMs;
    rclrt_publisher publisher;
    Listener listener(system);
    ASSERT_EQ(
      rclrt_publisher_init(&publisher, &system.node, &kBlob, "t", rclrt_qos_reliable(), 1),
      RCLRT_OK);
    ASSERT_EQ(listener.init(), RCLRT_OK);
    ASSERT_EQ(listener.add(), RCLRT_OK);
    int ticks = 0;
    rclrt_timer timer;
    const auto tick = [](void * count, rclrt_timer *) { ++*static_cast<int *>(count); };
    ASSERT_EQ(
      rclrt_executor_add_timer(&system.executor, &timer, 10 * kMs, 3, tick, &ticks), RCLRT_OK);
    for (uint32_t i = 0; i < 100; ++i) {
      const Blob blob{i, 20};
      EXPECT_EQ(rclrt_publish(&publisher, &blob), RCLRT_OK);
      system.spin_for(20);
    }
    EXPECT_GT(system.world.now_ns(), (at_ms + 500) * kMs);
    EXPECT_EQ(listener.numbers.size(), 100U);
    EXPECT_NEAR(ticks, 200, 2);
    EXPECT_EQ(system.daemon.counters.retransmitted, 0U);
    EXPECT_EQ(system.session.lost_by, 0);
  }
}

TEST(Depth, of_a_reader_is_told_to_the_agent)
{
  System system;
  ASSERT_NO_FATAL_FAILURE(system.start());
  rclrt_subscription subscription;
  ASSERT_EQ(
    rclrt_subscription_init(
      &subscription, &system.node, &kBlob, "t", rclrt_qos_depth(rclrt_qos_reliable(), 0x1234)),
    RCLRT_OK);
  const auto & create = system.sent_by_client.back();
  const uint8_t depth[] = {0x34, 0x12};
  EXPECT_NE(std::search(create.begin(), create.end(), depth, depth + 2), create.end());
}

TEST_F(KeepAlive, if_nobody_keeps_it_alive_a_late_copy_is_told_all_the_same)
{
  ASSERT_NO_FATAL_FAILURE(start());
  system->session.keep_alive_ns = 0;
  late_copy();
  system->spin_for(1000);
  EXPECT_EQ(events, (std::vector<rclrt_session_event>{RCLRT_SESSION_LOST}));
  EXPECT_EQ(rclrt_session_keep_alive(&system->session, 1000 * kMs), RCLRT_OK);
  EXPECT_TRUE(comes_back(22));
}

TEST_F(KeepAlive, an_entity_that_is_deleted_while_all_are_created_again_is_left_out)
{
  ASSERT_NO_FATAL_FAILURE(start());
  system->agent.restart();
  // When the agent answers about the publisher's topic, behind the node, the publisher ends.
  int answers = 0;
  bool ended = false;
  system->on_agent_message = [&](const Agent::Bytes & message) {
    if (message.at(4) == RCLRT_STATUS && ++answers == 2) {
      ended = true;
      EXPECT_EQ(rclrt_publisher_fini(&publisher), RCLRT_ERR_STATE);
    }
    return false;
  };
  system->spin_for(5000);
  EXPECT_TRUE(ended);
  EXPECT_EQ(events, lost_and_back);
  system->agent.publish("rt/t", number(23));
  system->spin_for(300);
  EXPECT_EQ(listener->numbers, (std::vector<uint32_t>{23}));
}
}  // namespace
