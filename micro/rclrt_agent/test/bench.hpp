// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The agent against rclrt_micro's client, in memory and in virtual time: lines that lose and spoil frames, and a
// backend that is a table of topics.
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent.hpp"
#include "representation.hpp"
#include "session.hpp"
#include "system.hpp"

namespace rclrt_agent_test
{

using rclrt_agent::Bytes;
using rclrt_agent::Description;
using rclrt_agent::TimePoint;
using rclrt_agent::View;

// Topics and services in this process. What clients write waits until pump() hands it on, as a middleware's
// threads would.
class MemoryBackend : public rclrt_agent::Backend
{
public:
  struct Endpoint : rclrt_agent::Requester
  {
    MemoryBackend * backend = nullptr;
    std::string name;
    uint16_t object = 0;
    std::weak_ptr<rclrt_agent::Sink> sink;
    std::deque<std::pair<Bytes, uint16_t>> waiting;  // data, and for a reply the request
    bool is_requester = false;

    ~Endpoint() override
    {
      backend->endpoints.erase(this);
      if (backend->is_server(this)) {
        backend->servers.erase(name);
      }
      for (auto request = backend->requests.begin(); request != backend->requests.end();) {
        request =
          request->second.first == this ? backend->requests.erase(request) : std::next(request);
      }
    }
    void resume() override {}
    bool request(uint16_t id, View cdr) override
    {
      const uint32_t number = backend->next_request++;
      backend->requests[number] = {this, id};
      backend->asked.emplace_back(name, number, rclrt_agent::bytes_of(cdr));
      return true;
    }
  };
  struct Server : rclrt_agent::Replier
  {
    MemoryBackend * backend = nullptr;
    std::shared_ptr<Endpoint> end;
    void resume() override {}
    bool reply(const uint8_t * identity, View cdr) override
    {
      const auto request = backend->requests.find(identity[23]);
      if (request == backend->requests.end()) {
        return false;
      }
      request->second.first->waiting.emplace_back(
        rclrt_agent::bytes_of(cdr), request->second.second);
      return true;
    }
  };
  struct Output : rclrt_agent::Writer
  {
    MemoryBackend * backend = nullptr;
    std::string topic;
    bool write(View cdr) override
    {
      backend->written[topic].push_back(rclrt_agent::bytes_of(cdr));
      if (backend->on_write) {
        backend->on_write();
      }
      if (backend->loops) {
        backend->publish(topic, rclrt_agent::bytes_of(cdr));
      }
      return true;
    }
  };
  struct Node : rclrt_agent::BackendNode
  {
    MemoryBackend * backend = nullptr;
    std::string name;
    ~Node() override { backend->nodes.erase(backend->nodes.find(name)); }
    std::shared_ptr<rclrt_agent::Writer> make_writer(const Description & what) override
    {
      auto made = std::make_unique<Output>();
      made->backend = backend;
      made->topic = checked(what.name);
      return made;
    }
    std::shared_ptr<rclrt_agent::Source> make_reader(
      const Description & what, uint16_t object,
      const std::weak_ptr<rclrt_agent::Sink> & sink) override
    {
      return make(checked(what.name), object, sink);
    }
    std::shared_ptr<rclrt_agent::Requester> make_requester(
      const Description & what, uint16_t object,
      const std::weak_ptr<rclrt_agent::Sink> & sink) override
    {
      auto made = make(what.name, object, sink);
      made->is_requester = true;
      return made;
    }
    std::shared_ptr<rclrt_agent::Replier> make_replier(
      const Description & what, uint16_t object,
      const std::weak_ptr<rclrt_agent::Sink> & sink) override
    {
      auto made = std::make_unique<Server>();
      made->backend = backend;
      made->end = make(what.name, object, sink);
      backend->servers[what.name] = made->end.get();
      return made;
    }
    std::unique_ptr<Endpoint> make(
      const std::string & topic, uint16_t object, const std::weak_ptr<rclrt_agent::Sink> & sink)
    {
      auto made = std::make_unique<Endpoint>();
      made->backend = backend;
      made->name = topic;
      made->object = object;
      made->sink = sink;
      backend->endpoints.insert(made.get());
      return made;
    }
    static std::string checked(const std::string & topic)
    {
      const auto name = rclrt_agent::ros_topic(topic);
      if (!name) {
        throw rclrt_agent::Refused(RCLRT_STATUS_INVALID_DATA, topic);
      }
      return *name;
    }
  };

  std::shared_ptr<rclrt_agent::BackendNode> make_node(
    const std::string & participant, int16_t, const rclrt_agent::Key &) override
  {
    auto node = std::make_shared<Node>();
    node->backend = this;
    node->name = participant;
    nodes.insert(participant);
    return node;
  }

  bool is_server(const Endpoint * end) const
  {
    const auto found = servers.find(end->name);
    return found != servers.end() && found->second == end;
  }

  void publish(const std::string & topic, const Bytes & data)
  {
    for (Endpoint * end : endpoints) {
      if (end->name == topic && !end->is_requester && !is_server(end)) {
        end->waiting.emplace_back(data, uint16_t{0});
      }
    }
  }

  // Hands on all that sinks want.
  void pump()
  {
    for (auto & [service, number, data] : std::exchange(asked, {})) {
      Bytes request(RCLRT_SAMPLE_IDENTITY, 0);
      request[23] = static_cast<uint8_t>(number);
      request.insert(request.end(), data.begin(), data.end());
      if (servers.count(service) > 0) {
        servers[service]->waiting.emplace_back(request, uint16_t{0});
      }
    }
    for (Endpoint * end : endpoints) {
      const auto sink = end->sink.lock();
      while (sink != nullptr && !end->waiting.empty() && sink->wants(end->object)) {
        const auto [data, request] = std::move(end->waiting.front());
        end->waiting.pop_front();
        const View view = rclrt_agent::view_of(data);
        if (end->is_requester) {
          sink->reply(end->object, request, view);
        } else if (is_server(end)) {
          sink->request(
            end->object, data.data(),
            {data.data() + RCLRT_SAMPLE_IDENTITY, data.size() - RCLRT_SAMPLE_IDENTITY});
        } else {
          sink->data(end->object, view);
        }
      }
    }
  }

  std::function<void()> on_write;  // where a client's message is published
  bool loops = true;               // readers get what clients write
  std::map<std::string, std::vector<Bytes>> written;
  std::multiset<std::string> nodes;
  std::set<Endpoint *> endpoints;
  std::map<std::string, Endpoint *> servers;
  std::vector<std::tuple<std::string, uint32_t, Bytes>> asked;
  std::map<uint32_t, std::pair<Endpoint *, uint16_t>> requests;
  uint32_t next_request = 1;
};

// A client and the agent, at the ends of a simulated line. The agent gives the line a message when the line is
// free.
class Bench : public System, public rclrt_agent::Line
{
public:
  explicit Bench(
    const RigOptions & with = {}, const rclrt_agent::AgentOptions & how = {},
    uint8_t session_id = RCLRT_SESSION_DEFAULT)
  : System(with, session_id),
    agent(
      backend, how,
      [this](const std::shared_ptr<rclrt_agent::Session> & of, int) { jobs.push_back(of); }),
    deframer(with.framing, with.policy.check)
  {
    to_agent.deliver = [this](const ::Agent::Bytes & bytes) {
      for (const auto & message : deframer.feed(bytes)) {
        sent_by_client.push_back(message);
        if (deaf) {
          continue;
        }
        agent.receive(*this, 1, attached, {message.data(), message.size()}, now());
        run();
      }
    };
  }

  TimePoint now() const { return rclrt_core::time_point_of(static_cast<int64_t>(world.now_ns())); }

  // All jobs, then what the line takes.
  void run()
  {
    while (!jobs.empty()) {
      const auto job = jobs.front();
      jobs.erase(jobs.begin());
      while (agent.work(job)) {
      }
    }
    backend.pump();
    transmit();
  }

  void transmit()
  {
    Bytes message;
    if (busy || attached == nullptr) {
      return;
    }
    if (attached->outgoing().next(now(), &message)) {
      busy = true;
      sent.push_back(message);
      to_client.send(framed(message), [this] {
        busy = false;
        backend.pump();
        transmit();
      });
      return;
    }
    const TimePoint due = attached->outgoing().due();
    if (due != rclrt_core::kNever) {
      world.at(static_cast<uint64_t>(rclrt_core::nanoseconds_of(due)), [this] { transmit(); });
    }
  }

  // A message of ROS.
  void publish(const std::string & topic, const Bytes & data)
  {
    backend.publish(topic, data);
    backend.pump();
    transmit();
  }

  ::Agent::Bytes framed(const Bytes & message) const
  {
    return Deframer::frame(options.framing, message, 0, options.policy.check);
  }

  void send(uint64_t, const Bytes & message) override
  {
    sent.push_back(message);
    to_client.send(framed(message));
  }
  void attach(uint64_t, const std::shared_ptr<rclrt_agent::Session> & of) override
  {
    attached = of;
  }
  bool same_host(uint64_t a, uint64_t b) const override { return a == b; }
  std::string describe(uint64_t) const override { return "bench"; }
  bool takes_time() const override { return true; }

  MemoryBackend backend;
  std::vector<std::shared_ptr<rclrt_agent::Session>> jobs;
  rclrt_agent::Agent agent;
  std::shared_ptr<rclrt_agent::Session> attached;
  std::vector<Bytes> sent;  // by the agent
  bool deaf = false;        // the agent does not get what comes

private:
  Deframer deframer;
  bool busy = false;
};

// An agent that is told each message by hand, and what clients may send.
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
  static Bytes greeting(uint32_t key, uint8_t session = RCLRT_SESSION_DEFAULT)
  {
    rclrt_submessage sub{};
    sub.id = RCLRT_CREATE_CLIENT;
    std::memcpy(sub.of.create_client.key, &key, 4);
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

// With a client that has greeted.
struct GreetedRig : AgentRig
{
  explicit GreetedRig(const AgentOptions & options = {}, Backend * other = nullptr)
  : AgentRig(options, other)
  {
    require(greet(1) == RCLRT_STATUS_OK, "the agent refuses the client");
  }
  // The client's writers 0x005 and 0x015, of these topics.
  void make_writers(const char * first, const char * second)
  {
    say(1, participants(1));
    say(1, entity(0x003, RCLRT_PUBLISHER, 0x001, ""));
    say(1, entity(0x005, RCLRT_DATAWRITER, 0x003, first));
    say(1, entity(0x015, RCLRT_DATAWRITER, 0x003, second));
    work_all();
  }
  // As the line does it. Returns the urgency of the job.
  int post(const Bytes & submessage, uint8_t stream, uint16_t number)
  {
    const Bytes message =
      write_message({RCLRT_SESSION_DEFAULT, stream, number, {}}, view_of(submessage));
    return sessions.at(1)->post(view_of(message), now);
  }
  // All that waits, without what comes of it.
  void work_all()
  {
    while (agent.work(sessions.at(1))) {
    }
  }
};

// What several threads send to one client, for tests of lines.
inline Bytes number(uint16_t value)
{
  const Bytes bytes = {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8U)};
  rclrt_submessage sub{};
  sub.id = RCLRT_DATA;
  sub.of.data = view_of(bytes);
  return write(sub);
}

// Numbers that several threads have sent at once, as they have come to the client.
template <typename AnyClient>
std::vector<int> sent_by_threads(AnyClient & client, const std::shared_ptr<Session> & session)
{
  constexpr int kThreads = 4, kEach = 20;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (uint16_t k = 0; k < kEach; ++k) {
        session->outgoing().put(RCLRT_STREAM_BEST_EFFORT, 0, number(k));
        session->ask();  // that there is something
      }
    });
  }
  // The line's thread has something to send, too.
  rclrt_submessage question{};
  question.id = RCLRT_GET_INFO;
  question.object = RCLRT_OBJECT_AGENT;
  for (int i = 0; i < 60; ++i) {
    client.send(question, RCLRT_SESSION_DEFAULT);
  }
  for (auto & thread : threads) {
    thread.join();
  }
  // The last one of all, for the end.
  session->outgoing().put(RCLRT_STREAM_BEST_EFFORT, 0, number(0xFFFF));
  session->ask();
  std::vector<int> order;
  for (Bytes message = client.receive(); !message.empty(); message = client.receive()) {
    if (message.at(1) == RCLRT_STREAM_BEST_EFFORT) {
      order.push_back(message.at(2) | message.at(3) << 8);
      if (message.back() == 0xFF) {
        break;
      }
    }
  }
  return order;
}

}  // namespace rclrt_agent_test
