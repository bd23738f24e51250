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
    require(
      rclrt_session_init(
        &session, &daemon, session_id, kKey, session_buffer.data(),
        static_cast<uint16_t>(session_buffer.size())) == RCLRT_OK,
      "rclrt_session_init");
    require(
      rclrt_executor_init(&executor, &session, timer_slots, uint16_t{16}, take_buffers.data()) ==
        RCLRT_OK,
      "rclrt_executor_init");
  }

  void start()
  {
    require(rclrt_session_connect(&session, 5000 * kMs) == RCLRT_OK, "rclrt_session_connect");
    require(rclrt_node_init(&node, &session, "node", 0) == RCLRT_OK, "rclrt_node_init");
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
};

// A subscription that writes down what it gets.
struct Listener
{
  explicit Listener(System & of) : system(of) {}

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
