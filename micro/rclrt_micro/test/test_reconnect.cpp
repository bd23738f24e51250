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
}  // namespace
