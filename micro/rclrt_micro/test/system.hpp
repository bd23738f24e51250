// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole client on the simulated port: session, node, executor, and a message type.
#pragma once

#include "rclrt_micro/client.h"
#include "rig.hpp"

// A number and as many zeros as it takes to be `size` bytes long.
struct Blob
{
  uint32_t number = 0;
  uint32_t size = 4;
};

inline const rclrt_type kBlob = {
  "test_msgs::msg::dds_::Blob_",
  [](const void * message, rclrt_writer * writer) {
    const auto & blob = *static_cast<const Blob *>(message);
    rclrt_write_u32(writer, blob.number);
    static const uint8_t zeros[4096] = {};
    rclrt_write_bytes(writer, zeros, blob.size - 4);
  },
  [](void * message, rclrt_reader * reader) {
    auto & blob = *static_cast<Blob *>(message);
    blob.size = static_cast<uint32_t>(reader->size - reader->at);
    blob.number = rclrt_read_u32(reader);
  }};

class System : public Rig
{
public:
  explicit System(const RigOptions & with = {}, uint8_t session_id = RCLRT_SESSION_DEFAULT)
  : Rig(with), session_buffer(2048), take_buffers(size_t{4} * with.capacity)
  {
    must(rclrt_session_init(
      &session, &daemon, session_id, kKey, session_buffer.data(),
      static_cast<uint16_t>(session_buffer.size())));
    must(rclrt_executor_init(&executor, &session, timer_slots, uint16_t{16}, take_buffers.data()));
    session.on_event_context = this;
    session.on_event = [](void * context, rclrt_session_event event) {
      auto & self = *static_cast<System *>(context);
      self.events.push_back(event);
      if (event == RCLRT_SESSION_LOST) {
        self.losses.push_back(self.session.lost_by);
      }
    };
  }

  void start(const char * name = "node", uint64_t timeout_ns = 5000 * kMs)
  {
    must(rclrt_session_connect(&session, timeout_ns));
    must(rclrt_node_init(&node, &session, name, 0));
  }

  // What is on its way, and what it asks for.
  void exchange(int rounds = 1, uint64_t ms = 100)
  {
    for (int i = 0; i < rounds; ++i) {
      settle(ms);
      rclrt_session_handle(&session);
    }
    settle(ms);
  }

  void spin_until(uint64_t time_ns)
  {
    while (world.now_ns() < time_ns) {
      const auto ret = rclrt_executor_spin_some(&executor, time_ns - world.now_ns());
      require(ret == RCLRT_OK || ret == RCLRT_ERR_TIMEOUT, rclrt_ret_text(ret));
    }
  }
  void spin_for(uint64_t ms) { spin_until(world.now_ns() + ms * kMs); }

  rclrt_session session{};
  rclrt_node_handle node{};
  rclrt_executor executor{};
  rclrt_heap_node * timer_slots[16] = {};
  std::vector<uint8_t> session_buffer;
  std::vector<uint8_t> take_buffers;
  std::vector<rclrt_session_event> events;
  std::vector<uint8_t> losses;  // why
};

// A system that is connected and has a node.
struct Started : System
{
  explicit Started(const RigOptions & with = {}, uint8_t session_id = RCLRT_SESSION_DEFAULT)
  : System(with, session_id)
  {
    start();
  }
};

// The publisher or subscriber that an endpoint belongs to.
inline uint16_t group_of(const rclrt_entity & endpoint)
{
  return static_cast<uint16_t>(endpoint.id - 2U);
}

// A publisher of numbers.
struct Talker
{
  explicit Talker(
    System & of, const char * topic = "t", rclrt_qos qos = rclrt_qos_reliable(),
    uint8_t priority = 1)
  {
    must(rclrt_publisher_init(&self, &of.node, &kBlob, topic, qos, priority));
  }
  Talker(const Talker &) = delete;
  Talker & operator=(const Talker &) = delete;

  rclrt_ret publish(uint32_t number, uint32_t size = 20)
  {
    const Blob blob{number, size};
    return rclrt_publish(&self, &blob);
  }

  rclrt_publisher self{};
};

// A subscription that writes down what it gets.
struct Listener
{
  explicit Listener(System & of) : system(of) {}
  Listener(
    System & of, const char * topic, rclrt_qos qos = rclrt_qos_reliable(), uint8_t priority = 2)
  : system(of)
  {
    must(init(topic, qos));
    must(add(priority));
  }

  rclrt_ret init(const char * topic = "t", rclrt_qos qos = rclrt_qos_reliable())
  {
    return rclrt_subscription_init(&subscription, &system.node, &kBlob, topic, qos);
  }
  rclrt_ret add(uint8_t priority = 2)
  {
    return rclrt_executor_add_subscription(
      &system.executor, &subscription, &message, run, this, priority, RCLRT_ON_NEW_DATA);
  }

  System & system;
  rclrt_subscription subscription{};
  Blob message;
  std::vector<uint32_t> numbers, sizes;

private:
  static void run(void * context, const void * got)
  {
    auto & self = *static_cast<Listener *>(context);
    self.numbers.push_back(static_cast<const Blob *>(got)->number);
    self.sizes.push_back(static_cast<const Blob *>(got)->size);
  }
};

// A service that answers a number with the next one, at once or later.
struct Server
{
  explicit Server(System & of, const char * name = "/s", const rclrt_type & requests = kBlob)
  {
    must(rclrt_service_init(&self, &of.node, &requests, &kBlob, name));
    must(rclrt_executor_add_service(&of.executor, &self, &request, &response, run, this, 3));
  }
  Server(const Server &) = delete;
  Server & operator=(const Server &) = delete;

  rclrt_service self{};
  rclrt_request_id last{};
  bool defer = false;
  Blob request, response;

private:
  static bool run(void * context, const void * got, void * answer)
  {
    auto & server = *static_cast<Server *>(context);
    static_cast<Blob *>(answer)->number = static_cast<const Blob *>(got)->number + 1;
    server.last = server.self.id;
    return !server.defer;
  }
};

// The other end: which requests were answered, and with what.
struct Caller
{
  explicit Caller(System & of, const char * name = "/s", const rclrt_type & responses = kBlob)
  : system(of)
  {
    must(rclrt_client_init(&self, &of.node, &kBlob, &responses, name, 2));
  }
  Caller(const Caller &) = delete;
  Caller & operator=(const Caller &) = delete;

  void add() { must(rclrt_executor_add_client(&system.executor, &self, &reply, run, this, 4)); }
  // Returns the number of the request.
  uint16_t ask(uint32_t number)
  {
    const Blob blob{number, 4};
    uint16_t id = 0;
    must(rclrt_client_request(&self, &blob, &id));
    return id;
  }

  System & system;
  rclrt_client self{};
  Blob reply;
  std::vector<std::pair<uint16_t, uint32_t>> answers;

private:
  static void run(void * context, const void * got, uint16_t id)
  {
    const uint32_t number = static_cast<const Blob *>(got)->number;
    static_cast<Caller *>(context)->answers.emplace_back(id, number);
  }
};
