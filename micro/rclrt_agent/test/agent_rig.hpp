// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// An agent that is told each message by hand, and what clients may send.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"

namespace rclrt_agent_test
{
using namespace rclrt_agent;

inline const TimePoint kNow = rclrt_core::time_point_of(1'000'000'000'000);

// An agent, a line and what its clients send, without time of its own.
struct AgentRig : Line
{
  explicit AgentRig(const AgentOptions & options = {}, Backend * other = nullptr)
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
  std::string describe(uint64_t) const override
  {
    if (on_describe) {
      on_describe();
    }
    return "";
  }

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
  int greet(uint64_t address, uint8_t session = RCLRT_SESSION_DEFAULT)
  {
    receive(address, greeting(static_cast<uint8_t>(address), session));
    return last.at(8);
  }
  static Bytes greeting(uint8_t key, uint8_t session = RCLRT_SESSION_DEFAULT)
  {
    rclrt_submessage sub{};
    sub.id = RCLRT_CREATE_CLIENT;
    sub.of.create_client.key[0] = key;
    sub.of.create_client.session = session;
    sub.of.create_client.mtu = 508;
    return write_message({RCLRT_SESSION_NONE, 0, 0, {}}, view_of(rclrt_agent::write(sub)));
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
  std::function<void()> on_describe;  // in the middle of a greeting
};

inline Bytes heartbeat(uint8_t stream, uint16_t first, uint16_t last)
{
  rclrt_submessage sub{};
  sub.id = RCLRT_HEARTBEAT;
  sub.of.heartbeat = {first, last, stream};
  return rclrt_agent::write(sub);
}

inline Bytes good_bye()
{
  rclrt_submessage sub{};
  sub.id = RCLRT_DELETE;
  sub.object = RCLRT_OBJECT_CLIENT;
  return rclrt_agent::write(sub);
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

// The end of a client that reads: with which deadline its data comes.
struct Catcher : Sink
{
  bool wants(uint16_t) override { return true; }
  void data(uint16_t, View cdr) override { on_data(cdr); }
  void lost(uint16_t, uint64_t) override {}
  void request(uint16_t, const uint8_t *, View) override {}
  void reply(uint16_t, uint16_t, View) override {}
  std::function<void(View cdr)> on_data;
};

inline Bytes participants(int count)
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

// WRITE_DATA. To a writer that there is not it costs the agent as much as any other.
inline Bytes data_for(uint16_t object)
{
  static const uint8_t number[4] = {1, 2, 3, 4};
  rclrt_submessage sub{};
  sub.id = RCLRT_WRITE_DATA;
  sub.object = object;
  sub.of.data = {number, sizeof(number)};
  return rclrt_agent::write(sub);
}

// CREATE by XML.
inline Bytes entity(uint16_t id, rclrt_object_kind kind, uint16_t parent, const char * topic)
{
  Bytes body(300);
  rclrt_writer writer;
  rclrt_writer_init(&writer, body.data(), body.size());
  if (kind == RCLRT_PUBLISHER || kind == RCLRT_SUBSCRIBER) {
    rclrt_text_body(&writer, "");
  } else {
    rclrt_xml_endpoint(&writer, kind, topic, "std_msgs::msg::dds_::Int32_");
  }
  rclrt_submessage sub{};
  sub.id = RCLRT_CREATE;
  sub.object = id;
  sub.of.create.kind = static_cast<uint8_t>(kind);
  sub.of.create.representation = RCLRT_BY_XML;
  sub.of.create.body = {body.data(), writer.at};
  sub.of.create.parent = parent;
  Bytes bytes(400);
  rclrt_writer_init(&writer, bytes.data(), bytes.size());
  rclrt_write_submessage(&writer, &sub);
  bytes.resize(writer.at);
  return bytes;
}

}  // namespace rclrt_agent_test
