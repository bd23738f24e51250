// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The agent against rclrt_micro's client, in memory and in virtual time: lines that lose and spoil frames, and a
// backend that is a table of topics.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent.hpp"
#include "representation.hpp"
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
    std::unique_ptr<rclrt_agent::Writer> make_writer(const Description & what) override
    {
      auto made = std::make_unique<Output>();
      made->backend = backend;
      made->topic = checked(what.name);
      return made;
    }
    std::unique_ptr<rclrt_agent::Source> make_reader(
      const Description & what, uint16_t object,
      const std::weak_ptr<rclrt_agent::Sink> & sink) override
    {
      return make(checked(what.name), object, sink);
    }
    std::unique_ptr<rclrt_agent::Requester> make_requester(
      const Description & what, uint16_t object,
      const std::weak_ptr<rclrt_agent::Sink> & sink) override
    {
      auto made = make(what.name, object, sink);
      made->is_requester = true;
      return made;
    }
    std::unique_ptr<rclrt_agent::Replier> make_replier(
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

}  // namespace rclrt_agent_test
