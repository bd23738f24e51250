// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Clients that mean harm: valid messages in an order, a number or a size that makes no sense.
#include <gtest/gtest.h>

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "bench.hpp"

namespace
{
using namespace rclrt_agent;

const TimePoint kNow = rclrt_core::time_point_of(1'000'000'000'000);

// An agent, a line and what its clients send, without time of its own.
struct Rig : Line
{
  explicit Rig(const AgentOptions & options = {}, Backend * other = nullptr)
  : agent(
      other == nullptr ? backend : *other, options,
      [this](const std::shared_ptr<Session> & of, int) { jobs.push_back(of); })
  {
  }
  void send(uint64_t, const Bytes & message) override { last = message; }
  void attach(uint64_t address, const std::shared_ptr<Session> & session) override
  {
    sessions[address] = session;
  }
  bool same_host(uint64_t a, uint64_t b) const override { return a == b; }
  std::string describe(uint64_t) const override { return ""; }

  void receive(uint64_t address, const Bytes & message)
  {
    agent.receive(*this, address, sessions[address], view_of(message), now);
  }
  void work()
  {
    for (const auto & job : std::exchange(jobs, {})) {
      while (agent.work(job)) {
      }
    }
    backend.pump();
  }
  // The status of the answer.
  int greet(uint64_t address, uint8_t session = RCLRT_SESSION_DEFAULT, uint16_t mtu = 508)
  {
    rclrt_submessage sub{};
    sub.id = RCLRT_CREATE_CLIENT;
    sub.of.create_client.key[0] = static_cast<uint8_t>(address);
    sub.of.create_client.session = session;
    sub.of.create_client.mtu = mtu;
    receive(
      address, write_message({RCLRT_SESSION_NONE, 0, 0, {}}, view_of(rclrt_agent::write(sub))));
    return last.at(8);
  }
  void say(uint64_t address, const Bytes & submessages, uint8_t stream = 0, uint16_t sequence = 0)
  {
    receive(
      address, write_message({RCLRT_SESSION_DEFAULT, stream, sequence, {}}, view_of(submessages)));
  }

  rclrt_agent_test::MemoryBackend backend;
  std::vector<std::shared_ptr<Session>> jobs;
  rclrt_agent::Agent agent;
  std::map<uint64_t, std::shared_ptr<Session>> sessions;
  Bytes last;
  TimePoint now = kNow;
};

Bytes heartbeat(uint8_t stream, uint16_t first, uint16_t last)
{
  rclrt_submessage sub{};
  sub.id = RCLRT_HEARTBEAT;
  sub.of.heartbeat = {first, last, stream};
  return rclrt_agent::write(sub);
}

TEST(Hostile, a_client_that_greets_while_it_is_being_ended_gets_a_session_that_lives)
{
  Rig rig;
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
  rclrt_submessage sub{};
  sub.id = RCLRT_DELETE;
  sub.object = RCLRT_OBJECT_CLIENT;
  rig.say(1, rclrt_agent::write(sub));
  const auto ended = rig.sessions[1];
  ended->work();  // its answer is on its way, the agent has not removed it yet
  ASSERT_TRUE(ended->ended());
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
  rig.work();
  EXPECT_NE(rig.sessions[1], ended);
  EXPECT_FALSE(rig.sessions[1]->ended());
  EXPECT_EQ(rig.agent.report(rig.now).size(), 1U);
}

// Each message that waits is a heartbeat that releases the next, on streams of which each releases the next stream.
TEST(Hostile, heartbeats_that_release_heartbeats_do_not_fill_the_stack)
{
  Rig rig;
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
  for (unsigned stream = 0x80; stream <= 0xFF; ++stream) {
    for (uint16_t i = 1; i < 16; ++i) {
      const bool last = i == 15;
      const auto next = static_cast<uint8_t>(last && stream < 0xFF ? stream + 1 : stream);
      const uint16_t first = last ? 1 : static_cast<uint16_t>(i + 1);
      rig.say(1, heartbeat(next, first, 20), static_cast<uint8_t>(stream), i);
      rig.work();
    }
  }
  // All at once, and on a stack that is small.
  rig.say(1, heartbeat(0x80, 1, 20));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  const auto body = [](void * of) -> void * {
    static_cast<Rig *>(of)->work();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &rig), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(rig.sessions[1]->counters().malformed, 0U);
}

// Entities whose making takes a while, and calls the agent from elsewhere meanwhile.
struct SlowBackend : rclrt_agent_test::MemoryBackend
{
  std::shared_ptr<BackendNode> make_node(
    const std::string & participant, int16_t domain, const Key & key) override
  {
    const int number = ++made;
    if (meanwhile) {
      meanwhile(number);
    }
    return MemoryBackend::make_node(participant, domain, key);
  }
  std::atomic<int> made{0};
  std::function<void(int number)> meanwhile;
};

Bytes participants(int count)
{
  Bytes all;
  for (int i = 0; i < count; ++i) {
    rclrt_submessage sub{};
    const Bytes body = {0, 0};
    sub.id = RCLRT_CREATE;
    sub.object = static_cast<uint16_t>(i << 4 | RCLRT_PARTICIPANT);
    sub.of.create.kind = RCLRT_PARTICIPANT;
    sub.of.create.representation = RCLRT_BY_BINARY;
    sub.of.create.body = view_of(body);
    const Bytes one = rclrt_agent::write(sub);
    all.resize((all.size() + 3) / 4 * 4);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST(Hostile, a_client_that_greets_again_does_not_wait_for_a_message_full_of_entities)
{
  SlowBackend backend;
  Rig rig({}, &backend);
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
  rig.now += std::chrono::seconds(1);
  rig.say(1, participants(200));
  const auto session = rig.sessions[1];
  std::future<void> greeting;
  std::atomic<int> made{0};
  backend.meanwhile = [&](int number) {
    if (number == 1) {
      greeting = std::async(std::launch::async, [&] {
        rig.greet(1);
        made = backend.made.load();
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  session->work();
  greeting.get();
  EXPECT_LT(made, 200);
  backend.meanwhile = {};
}

TEST(Hostile, a_client_whose_entities_take_long_holds_up_no_message_of_others)
{
  SlowBackend backend;
  Rig rig({}, &backend);
  ASSERT_EQ(rig.greet(1), RCLRT_STATUS_OK);
  rig.say(1, participants(1));
  std::future<void> report, other;
  std::future_status answered{};
  backend.meanwhile = [&](int) {
    report = std::async(std::launch::async, [&] { rig.agent.report(rig.now); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other = std::async(std::launch::async, [&] { rig.greet(2); });
    answered = other.wait_for(std::chrono::seconds(5));
  };
  rig.sessions[1]->work();
  report.get();
  other.get();
  EXPECT_EQ(answered, std::future_status::ready);
}
}  // namespace
