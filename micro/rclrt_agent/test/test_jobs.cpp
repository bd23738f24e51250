// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// How much of a message is one job; and clients that want to be asked whether they are there.
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "bench.hpp"

namespace
{
using namespace rclrt_agent_test;

TEST(Jobs, a_message_full_of_entities_is_a_job_for_each)
{
  SlowBackend backend;
  GreetedRig rig({}, &backend);
  rig.say(1, participants(100));
  rig.say(1, participants(3));
  const auto session = rig.sessions[1];
  for (int made = 1; made <= 100; ++made) {
    EXPECT_TRUE(rig.agent.work(session));
    EXPECT_EQ(backend.made, made);
  }
  rig.work_all();
  EXPECT_EQ(session->objects(), 100U);
  EXPECT_EQ(session->counters().malformed, 0U);
}

// Some come in fragments, and some as messages that wait for a gap to be filled.
TEST(Jobs, entities_of_a_stream_are_a_job_for_each_and_acknowledged_at_the_end)
{
  SlowBackend backend;
  GreetedRig rig({}, &backend);
  const Bytes all = participants(30);
  const auto session = rig.sessions[1];
  const auto fragment = [&](std::size_t from, std::size_t to, bool last) {
    rclrt_submessage sub{};
    sub.id = RCLRT_FRAGMENT;
    sub.flags = last ? RCLRT_FLAG_LAST_FRAGMENT : 0;
    sub.of.data = {all.data() + from, to - from};
    return rclrt_agent::write(sub);
  };
  rig.say(1, fragment(200, all.size(), true), 0x80, 1);
  rig.say(1, participants(40), 0x80, 2);
  rig.work_all();
  Bytes message;
  while (session->outgoing().next(rig.now, &message)) {
  }
  rig.say(1, fragment(0, 200, false), 0x80, 0);
  for (int jobs = 1; rig.agent.work(session); ++jobs) {
    EXPECT_LE(backend.made, jobs);
  }
  EXPECT_EQ(session->objects(), 40U);
  rclrt_reader reader;
  rclrt_message_header header;
  rclrt_submessage sub{};
  while (sub.id != RCLRT_ACKNACK && session->outgoing().next(rig.now, &message)) {
    rclrt_reader_init(&reader, message.data(), message.size());
    rclrt_read_message_header(&reader, &header);
    ASSERT_TRUE(rclrt_read_submessage(&reader, &sub));
  }
  ASSERT_EQ(sub.id, RCLRT_ACKNACK);
  EXPECT_EQ(sub.of.acknack.first_unacked, 3U);
  EXPECT_EQ(sub.of.acknack.missing, 0U);
}

TEST(Jobs, data_for_a_client_does_not_wait_for_an_entity_that_is_being_made)
{
  SlowBackend backend;
  GreetedRig rig({}, &backend);
  const auto session = rig.sessions[1];
  rig.say(1, participants(1));
  rig.say(1, entity(0x004, RCLRT_SUBSCRIBER, 0x001, ""));
  rig.say(1, entity(0x006, RCLRT_DATAREADER, 0x004, "rt/numbers"));
  rclrt_submessage sub{};
  sub.id = RCLRT_READ_DATA;
  sub.object = 0x006;
  sub.of.read_data.preferred_stream = RCLRT_STREAM_RELIABLE;
  sub.of.read_data.has_delivery = true;
  sub.of.read_data.delivery.max_samples = UINT16_MAX;
  rig.say(1, rclrt_agent::write(sub));
  rig.work_all();
  std::future<void> other;
  bool came = false;
  backend.meanwhile = [&](int) {
    other = std::async(std::launch::async, [&] {
      EXPECT_TRUE(session->wants(0x006));
      session->data(0x006, {});
    });
    came = other.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  };
  rig.say(1, participants(2));
  rig.work_all();
  EXPECT_TRUE(came)
    << "a thread of the middleware waits inside locks that the making of an entity needs";
  EXPECT_EQ(session->counters().delivered, 1U);
}

TEST(Jobs, acknowledgements_take_no_job_unless_something_waits_before_them)
{
  GreetedRig rig;
  const auto session = rig.sessions[1];
  Bytes message;
  for (uint16_t i = 0; i < 4; ++i) {
    session->outgoing().put(0x80, 0, {RCLRT_DATA, 1, 0, 0});
    ASSERT_TRUE(session->outgoing().next(rig.now, &message));
  }
  rig.say(1, acknack(0x80, 1));
  EXPECT_EQ(session->outgoing().unacknowledged(), 3U);
  EXPECT_TRUE(rig.jobs.empty());
  EXPECT_EQ(session->counters().received, 1U);
  rig.say(1, participants(2));
  rig.say(1, acknack(0x80, 2));
  EXPECT_EQ(session->outgoing().unacknowledged(), 3U) << "behind what waits";
  rig.work();
  EXPECT_EQ(session->outgoing().unacknowledged(), 2U);
  rig.say(1, participants(2));
  session->work();
  rig.say(1, acknack(0x80, 3));
  EXPECT_EQ(session->outgoing().unacknowledged(), 2U) << "behind what is at hand";
  rig.work();
  EXPECT_EQ(session->outgoing().unacknowledged(), 1U);
  rig.say(1, acknack(0x80, 4));
  EXPECT_EQ(session->outgoing().unacknowledged(), 0U);
  EXPECT_EQ(session->counters().malformed + session->counters().dropped, 0U);
}

TEST(Jobs, a_message_full_of_data_is_many_jobs)
{
  GreetedRig rig;
  rclrt_submessage sub{};
  sub.id = RCLRT_WRITE_DATA;
  sub.object = 5;
  const Bytes one = rclrt_agent::write(sub);
  Bytes all;
  for (int i = 0; i < 1000; ++i) {
    all.resize((all.size() + 3) / 4 * 4);
    all.insert(all.end(), one.begin(), one.end());
    all[all.size() - one.size() + 2] = static_cast<uint8_t>(one.size() - 4);
  }
  rig.say(1, all);
  int jobs = 1;
  while (rig.agent.work(rig.sessions[1])) {
    ++jobs;
  }
  EXPECT_EQ(rig.sessions[1]->counters().refused, 1000U);
  EXPECT_GT(jobs, 1000 / 20);
}

// As the clients of eProsima say it, compiled with hard liveliness.
TEST(Jobs, a_client_that_wants_to_be_asked_loses_its_entities_when_it_does_not_answer)
{
  AgentRig rig;
  // Behind the session: there are properties, one, "uxr_hl" and "2000", then the MTU.
  Bytes greeting = AgentRig::greeting(1);
  const Bytes properties = {1,   0,   0, 1, 0, 0, 0, 7, 0,   0,   0,   'u', 'x', 'r', '_',
                            'h', 'l', 0, 0, 5, 0, 0, 0, '2', '0', '0', '0', 0,   0};
  greeting.resize(greeting.size() - 3);  // there were none
  greeting.insert(greeting.end(), properties.begin(), properties.end());
  greeting.insert(greeting.end(), {0xFC, 0x01});
  ASSERT_EQ(greeting[6], 16) << "those clients do not count their properties";
  rig.receive(1, greeting);
  ASSERT_EQ(rig.last.at(8), RCLRT_STATUS_OK);
  rig.say(1, participants(1));
  rig.work();
  const std::weak_ptr<Session> session = rig.sessions[1];
  ASSERT_EQ(session.lock()->objects(), 1U);
  Bytes message;
  while (session.lock()->outgoing().next(rig.now, &message)) {
  }

  const auto asked = [&] {
    rig.agent.tick(rig.now);
    return session.lock()->outgoing().next(rig.now, &message) && message.at(4) == RCLRT_GET_INFO;
  };
  rig.now += std::chrono::milliseconds(1900);
  EXPECT_FALSE(asked());
  rig.now += std::chrono::milliseconds(200);
  EXPECT_TRUE(asked());
  EXPECT_TRUE(asked());
  rclrt_submessage info{};
  info.id = RCLRT_INFO;
  rig.say(1, rclrt_agent::write(info));
  rig.work();
  EXPECT_FALSE(asked()) << "it has answered";
  rig.now += std::chrono::milliseconds(2100);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(asked());
    EXPECT_EQ(session.lock()->objects(), 1U);
  }
  EXPECT_FALSE(asked());
  EXPECT_EQ(session.lock()->objects(), 0U);
}

AgentOptions budgeted(double client)
{
  AgentOptions options;
  options.session.streams_say_urgency = true;
  options.session.messages_per_s = client;
  return options;
}

// Stream 7F is as urgent as can be: 31.
TEST(Jobs, beyond_the_budget_of_a_client_have_the_lowest_urgency_until_time_has_passed)
{
  GreetedRig rig(budgeted(100));
  const auto post = [&](uint16_t number) { return rig.post(data_for(0x15), 0x7F, number); };
  uint16_t number = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(post(number++), 31) << "a tenth of a second's may come at once";
  }
  EXPECT_EQ(post(number++), 0);
  rig.now += std::chrono::milliseconds(10);
  EXPECT_EQ(post(number++), 31);
  EXPECT_EQ(post(number++), 0);
  EXPECT_EQ(rig.sessions[1]->counters().over_budget, 2U);
}

TEST(Jobs, beyond_the_budget_of_a_topic_have_the_lowest_urgency_and_others_of_the_client_have_not)
{
  AgentOptions options = budgeted(0);
  options.session.messages_per_s_of = [](const std::string & name) {
    return name == "/flood" ? 10.0 : 0.0;
  };
  GreetedRig rig(options);
  const auto session = rig.sessions[1];
  rig.make_writers("rt/flood", "rt/other");
  const auto post = [&](uint16_t object, uint8_t stream, uint16_t number) {
    return rig.post(data_for(object), stream, number);
  };
  (void)post(0x005, 0x7F, 0);  // its topic is known once a message was worked on
  (void)post(0x015, 0x7E, 0);
  rig.work_all();
  ASSERT_EQ(session->objects(), 4U);
  ASSERT_EQ(session->counters().refused, 0U);
  ASSERT_EQ(session->counters().written, 2U);
  EXPECT_EQ(post(0x005, 0x7F, 1), 31);
  EXPECT_EQ(post(0x005, 0x7F, 2), 0);
  EXPECT_EQ(post(0x015, 0x7E, 1), 31);
  EXPECT_EQ(post(0x015, 0x7E, 2), 31);
  rig.now += std::chrono::milliseconds(100);
  EXPECT_EQ(post(0x005, 0x7F, 3), 31);
}

TEST(Jobs, that_are_left_go_on_with_the_urgency_of_the_next)
{
  GreetedRig rig(budgeted(0));
  const auto session = rig.sessions[1];
  rig.say(1, data_for(0x15), 0x01, 0);
  rig.say(1, data_for(0x15), 0x01, 1);
  rig.say(1, data_for(0x15), 0x7F, 0);
  EXPECT_TRUE(session->work());
  EXPECT_EQ(session->next_urgency(), 0) << "the urgent one is done";
  // The rest of a message is as urgent as its begin.
  Bytes many;
  for (int i = 0; i < 40; ++i) {
    const Bytes one = data_for(0x15);
    many.insert(many.end(), one.begin(), one.end());
  }
  rig.say(1, many, 0x7F, 1);
  EXPECT_TRUE(session->work());
  EXPECT_EQ(session->next_urgency(), 31);
}
}  // namespace
