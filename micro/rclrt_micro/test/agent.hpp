// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A minimal DDS-XRCE agent for tests, for one client, with topics in this process. Its streams,
// statuses and timing are those of the agent whose behaviour test/data/captures.txt shows; they are
// written independently of the client's.
//
// Why the tests do not use rclrt_agent: with it, 239 of 254 pass. The others need an agent that it is not: one that
// counts streams anew at every greeting, sends heartbeats at fixed times, or acknowledges only when it is asked. To play
// that takes two thirds of this class, and these tests would need three packages that the library does not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rclrt_micro/xrce.h"

class Agent
{
public:
  using Bytes = std::vector<uint8_t>;

  struct Options
  {
    // Off: only heartbeats are answered, as the published model of PoDS assumes.
    bool acknowledge_everything = true;
    uint64_t heartbeat_ns = 200'000'000;
  };

  // `send`: a message to the client.
  explicit Agent(std::function<void(const Bytes &)> send) : send_(std::move(send)) {}

  Options options;
  // A message the client wrote; topics are named as DDS names them. For the "ROS side" of a test.
  std::function<void(const std::string & topic, const Bytes & data)> on_data;
  // Asked for each first arrival on a reliable stream; true: act as if it had been lost.
  std::function<bool(uint8_t stream, uint16_t sequence)> refuse;

  void receive(const Bytes & message);
  // Heartbeats that are due. Returns when the next are.
  uint64_t tick(uint64_t now_ns);
  // Publish to the client's readers of `topic`.
  void publish(const std::string & topic, const Bytes & data);

  [[nodiscard]] bool has_client() const { return client_.has_value(); }
  [[nodiscard]] bool has_object(uint16_t id) const { return objects_.count(id) > 0; }
  [[nodiscard]] size_t objects() const { return objects_.size(); }
  // Messages of an output stream that the client has not acknowledged.
  [[nodiscard]] size_t unacknowledged(uint8_t stream) const
  {
    const auto found = outputs_.find(stream);
    return found == outputs_.end() ? 0 : found->second.unacked.size();
  }
  // Forgets everything, like a new process.
  void restart();

  std::map<int, int> received;  // submessages by id

private:
  struct Client
  {
    uint8_t session;
    Bytes key;
    uint16_t mtu;
  };
  struct Object
  {
    uint8_t kind;
    uint8_t representation;
    Bytes body;
    uint16_t parent;
  };
  struct Reading
  {
    uint16_t request;
    uint8_t stream;
  };
  struct Input
  {
    uint16_t expected = 0;
    bool started = false;
    std::map<uint16_t, Bytes> ahead;
    std::set<uint16_t> refused;
    Bytes assembly;
  };
  struct Output
  {
    uint16_t next = 0;
    std::map<uint16_t, Bytes> unacked;
    // Numbers wrap: it is the first one from the next number on. Not empty.
    auto oldest()
    {
      const auto after = unacked.lower_bound(next);
      return after == unacked.end() ? unacked.begin() : after;
    }
    uint64_t heartbeat_ns = 0;
  };

  void on_reliable(uint8_t stream, uint16_t sequence, const Bytes & message);
  void deliver_ready(uint8_t stream);
  void acknowledge(uint8_t stream, std::optional<uint16_t> last = {});
  void handle(uint8_t stream, const uint8_t * data, size_t size);
  void handle(uint8_t stream, const rclrt_submessage & sub);
  void on_create_client(const rclrt_submessage & sub);
  uint8_t create(const rclrt_submessage & sub);
  void on_read(const rclrt_submessage & sub);
  void on_write(const rclrt_submessage & sub);
  void on_delete(uint8_t stream, const rclrt_submessage & sub);
  void on_acknack(const rclrt_acknack & acknack);
  void status(uint8_t stream, const rclrt_submessage & to, uint8_t status);
  void send_data(uint16_t reader, const Bytes & data);
  // On a stream of the session; fragments what is too long.
  void send_on(uint8_t stream, const rclrt_submessage & sub);
  Bytes message(uint8_t stream, uint16_t sequence, const Bytes & submessages) const;
  [[nodiscard]] std::string topic_of(uint16_t endpoint) const;

  std::function<void(const Bytes &)> send_;
  std::optional<Client> client_;
  std::map<uint16_t, Object> objects_;
  std::map<uint16_t, Reading> readings_;
  std::map<uint8_t, Input> inputs_;
  std::map<uint8_t, Output> outputs_;
  std::map<uint32_t, std::pair<uint16_t, uint16_t>> requests_;  // number -> request, requester
  uint32_t next_request_ = 1;
  uint64_t now_ns_ = 0;
};
