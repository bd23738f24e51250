// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A client with a bit of everything, and books of what was published, arrived, was taken and given up.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "points.hpp"
#include "system.hpp"

// A number and bytes that follow from it, so that bytes of another message are seen.
inline uint8_t byte_of(const Blob & blob, uint32_t i)
{
  return static_cast<uint8_t>(blob.number * 31 + i);
}

inline const rclrt_type kStamped = {
  "test_msgs::msg::dds_::Stamped_",
  [](const void * message, rclrt_writer * writer) {
    const auto & blob = *static_cast<const Blob *>(message);
    rclrt_write_u32(writer, blob.number);
    for (uint32_t i = 4; i < blob.size; ++i) {
      rclrt_write_u8(writer, byte_of(blob, i));
    }
  },
  [](void * message, rclrt_reader * reader) {
    auto & blob = *static_cast<Blob *>(message);
    blob.size = static_cast<uint32_t>(reader->size - reader->at);
    blob.number = rclrt_read_u32(reader);
    for (uint32_t i = 4; i < blob.size; ++i) {
      reader->failed = rclrt_read_u8(reader) != byte_of(blob, i) || reader->failed;
    }
  }};

class Scene : public System
{
public:
  struct Publisher
  {
    std::string topic;
    rclrt_qos qos;
    uint8_t priority;
    rclrt_publisher self{};
    uint32_t accepted = 0;
    uint32_t given_up = 0;
    std::vector<uint32_t> arrived{};
  };

  explicit Scene(const RigOptions & with) : System(with)
  {
    daemon.on_abandoned_context = this;
    daemon.on_abandoned = [](void * context, const rclrt_output_stream * stream, uint16_t) {
      auto & self = *static_cast<Scene *>(context);
      for (auto * each : self.publishers()) {
        each->given_up += each->self.stream == stream ? 1U : 0U;  // in paper mode they share it
      }
    };
    agent.on_data = [this](const std::string & topic, const Agent::Bytes & data) {
      for (auto * each : publishers()) {
        if (topic == "rt/" + each->topic) {
          each->arrived.push_back(check(data));
        }
      }
    };
  }

  void start_all(bool with_levels = false)
  {
    start();
    if (with_levels) {
      levels.emplace(
        world, port, [this](unsigned level) { (void)rclrt_executor_run_level(&executor, level); });
      const uint8_t floors[] = {0, 10, 20};
      require(rclrt_executor_use_levels(&executor, floors, 3) == RCLRT_OK, "levels");
    }
    for (auto * each : publishers()) {
      require(
        rclrt_publisher_init(
          &each->self, &node, &kStamped, each->topic.c_str(), each->qos, each->priority) ==
          RCLRT_OK,
        "rclrt_publisher_init");
    }
    require(
      rclrt_subscription_init(&in, &node, &kStamped, "in", rclrt_qos_reliable()) == RCLRT_OK,
      "rclrt_subscription_init");
    (void)rclrt_subscription_accept_long(&in, assembly, sizeof(assembly));
    const auto got = [](void * context, const void * blob) {
      static_cast<Scene *>(context)->taken.push_back(static_cast<const Blob *>(blob)->number);
    };
    require(
      rclrt_executor_add_subscription(&executor, &in, &message, got, this, 10, RCLRT_ON_NEW_DATA) ==
        RCLRT_OK,
      "rclrt_executor_add_subscription");
    const auto pay = [](void * context) { static_cast<Scene *>(context)->owed = false; };
    require(
      rclrt_executor_add_guard(&executor, &guard, 20, pay, this) == RCLRT_OK,
      "rclrt_executor_add_guard");
    require(
      rclrt_executor_add_guard(
        &executor, &lowest, 0, [](void *) {}, this) == RCLRT_OK,
      "rclrt_executor_add_guard");
    settle(100);
    rclrt_session_handle(&session);
    settle(100);
  }

  // Each from one context.
  rclrt_ret publish(Publisher & of, uint32_t size = 12)
  {
    const Blob blob{of.accepted, size};
    const rclrt_ret ret = rclrt_publish(&of.self, &blob);
    of.accepted += ret == RCLRT_OK ? 1U : 0U;
    return ret;
  }

  // The agent publishes to us.
  void send_in(uint32_t size = 12)
  {
    const Blob blob{sent_in++, size};
    Agent::Bytes data(size);
    rclrt_writer writer;
    rclrt_writer_init(&writer, data.data(), data.size());
    kStamped.encode(&blob, &writer);
    agent.publish("rt/in", data);
    arm_agent();
  }

  void trigger()
  {
    owed = true;
    rclrt_guard_trigger(&guard);
  }

  // Whatever interrupts there are now.
  void interrupts()
  {
    while (world.step(world.now_ns())) {
    }
  }

  void spin(int rounds)
  {
    for (int i = 0; i < rounds && rclrt_executor_spin_some(&executor, 0) == RCLRT_OK; ++i) {
    }
  }

  // From now on what comes from the agent is not received, but kept.
  void catch_frames()
  {
    to_client.deliver = [this](const Agent::Bytes & bytes) { caught.push_back(bytes); };
  }

  // One frame kept, or in pieces.
  void receive_caught(size_t most = SIZE_MAX)
  {
    if (at_frame == caught.size()) {
      return;
    }
    const Agent::Bytes frame = caught[at_frame];  // a copy: more may be caught meanwhile
    const size_t size = std::min(most, frame.size() - at_byte);
    const uint8_t * bytes = frame.data() + at_byte;
    at_byte += size;
    if (at_byte == frame.size()) {
      at_byte = 0;
      at_frame++;
    }
    rclrt_daemon_received(&daemon, bytes, size);
  }

  // As it was before; what is left is received.
  void let_go()
  {
    while (at_frame < caught.size()) {
      receive_caught();
    }
    to_client.deliver = deliver_;
    port.transmitted = transmitted_;
  }

  // Everything goes its way.
  void finish()
  {
    for (int i = 0; i < 15 && (i == 0 || !settled()); ++i) {
      arm();
      settle(100);
      rclrt_session_handle(&session);
      if (levels) {
        levels->dispatch();
      } else {
        spin(100);
      }
    }
  }

  // Nothing is on its way any more, and nothing is missing.
  bool settled()
  {
    bool all = taken.size() == sent_in && !owed && rclrt_daemon_idle(&daemon) &&
               rclrt_list_empty(&daemon.others.slots) && length(daemon.free_slots) == options.slots;
    for (const auto * each : publishers()) {
      all = all && each->arrived.size() == each->accepted;
    }
    return all;
  }

  // `all`: nothing was to be lost. Else what is missing of reliable ones was given up, and said so.
  void check_books(bool all) const
  {
    for (const auto * each : {&high, &low, &urgent, &best}) {
      SCOPED_TRACE(each->topic);
      EXPECT_TRUE(rising_below(each->arrived, each->accepted));
      const size_t missing = each->accepted - each->arrived.size();
      if (all) {
        EXPECT_EQ(missing, 0U);
      } else if (each->qos.reliable) {
        EXPECT_LE(missing, each->given_up);
      }
    }
    EXPECT_TRUE(rising_below(taken, sent_in));
    if (all) {
      EXPECT_EQ(taken.size(), sent_in);
    }
    EXPECT_FALSE(owed) << "a guard condition that was triggered has not run";
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(in.undecodable, 0U);
    EXPECT_EQ(daemon.counters.bad_checksums, 0U);
    EXPECT_EQ(daemon.counters.broken_frames, 0U);
    EXPECT_FALSE(daemon.busy);
    EXPECT_FALSE(daemon.greeting);
    EXPECT_FALSE(session.buffer_taken);
    EXPECT_EQ(daemon.rest.stream, nullptr);
    EXPECT_FALSE(daemon.rest.cutting);
    EXPECT_EQ(length(daemon.free), options.nodes);
    EXPECT_EQ(daemon.free_count, options.nodes);
    EXPECT_EQ(length(daemon.free_slots), options.slots);
    EXPECT_TRUE(rclrt_list_empty(&daemon.pending));
    EXPECT_EQ(daemon.execution.used, 0U);
    for (uint16_t i = 0; i < executor.timers.size; ++i) {
      const auto * due = executor.timers.nodes[i];
      EXPECT_EQ(due->place, i);
      EXPECT_LE(executor.timers.nodes[i == 0 ? 0 : (i - 1) / 2]->key, due->key);
    }
  }

  Publisher high{"high", rclrt_qos_reliable(), 20};
  Publisher low{"low", rclrt_qos_reliable(), 3};
  Publisher urgent{"urgent", rclrt_qos_reliable(), 25};
  Publisher best{"best", rclrt_qos_best_effort(), 1};
  rclrt_subscription in{};
  rclrt_guard guard{};
  rclrt_guard lowest{};
  rclrt_timer timers[4]{};
  rclrt_budget budget{};
  std::optional<rclrt_micro::SimLevels> levels;
  std::vector<Agent::Bytes> caught;
  size_t at_frame = 0;
  size_t at_byte = 0;
  uint32_t sent_in = 0;
  std::vector<uint32_t> taken;
  bool owed = false;
  int wrong = 0;

private:
  std::vector<Publisher *> publishers() { return {&high, &low, &urgent, &best}; }

  uint32_t check(const Agent::Bytes & data)
  {
    Blob blob;
    rclrt_reader reader;
    rclrt_reader_init(&reader, data.data(), data.size());
    kStamped.decode(&blob, &reader);
    wrong += reader.failed ? 1 : 0;
    return blob.number;
  }

  static bool rising_below(const std::vector<uint32_t> & numbers, uint32_t end)
  {
    for (size_t i = 1; i < numbers.size(); ++i) {
      if (numbers[i] <= numbers[i - 1]) {
        return false;
      }
    }
    return numbers.empty() || numbers.back() < end;
  }

  // Bounded, and both ways: a list that is broken is not gone around for ever.
  static size_t length(const rclrt_list & list)
  {
    size_t count = 0;
    const rclrt_link * link = list.head.next;
    for (; link != &list.head && count < 1000; link = link->next) {
      if (link == nullptr || link->previous->next != link) {
        return 1000;
      }
      count++;
    }
    return count;
  }

  Blob message;
  uint8_t assembly[512]{};
  const std::function<void(const Agent::Bytes &)> deliver_ = to_client.deliver;
  const std::function<void()> transmitted_ = port.transmitted;
};
