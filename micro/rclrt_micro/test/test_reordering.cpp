// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A line on which streams overtake each other, in both directions. Frames of one stream stay in order,
// so with a stream for each publisher and reader nothing is dropped and nothing is sent again.
#include <gtest/gtest.h>

#include <numeric>

#include "system.hpp"

namespace
{
constexpr uint32_t kCount = 200;

struct Talker
{
  std::string topic;
  rclrt_qos qos;
  uint8_t priority;
  rclrt_publisher publisher{};
  std::vector<uint32_t> arrived{};
};

class Reordering : public ::testing::TestWithParam<rclrt_framing>
{
protected:
  static RigOptions options()
  {
    RigOptions options;
    options.framing = GetParam();
    options.byte_ns = 1000;
    return options;
  }

  void SetUp() override
  {
    system.start();
    for (auto * each : {&a, &b, &c}) {
      ASSERT_EQ(
        rclrt_publisher_init(
          &each->publisher, &system.node, &kBlob, each->topic.c_str(), each->qos, each->priority),
        RCLRT_OK);
    }
    system.agent.on_data = [this](const std::string & topic, const Agent::Bytes & data) {
      for (auto * each : {&a, &b, &c}) {
        if (topic == "rt/" + each->topic) {
          each->arrived.push_back(number(data));
          order += each->topic;
        }
      }
    };
  }

  void late(bool by_stream)
  {
    for (auto * line : {&system.to_agent, &system.to_client}) {
      line->faults.jitter_ns = 3 * kMs;
      line->faults.by_stream = by_stream;
    }
  }

  // Each publishes its numbers, in turn.
  void publish()
  {
    for (uint32_t i = 0; i < kCount; ++i) {
      for (auto * each : {&a, &b, &c}) {
        const Blob blob{i, 8};
        ASSERT_EQ(rclrt_publish(&each->publisher, &blob), RCLRT_OK) << each->topic << i;
      }
      system.settle(1);
    }
    system.settle(1000);
  }

  System system{options()};
  Talker a{"a", rclrt_qos_best_effort(), 3};
  Talker b{"b", rclrt_qos_best_effort(), 4};
  Talker c{"c", rclrt_qos_reliable(), 5};
  std::string order;
  std::vector<uint32_t> all = [] {
    std::vector<uint32_t> numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), 0U);
    return numbers;
  }();
};

TEST_P(Reordering, by_stream_loses_and_repeats_nothing_on_the_way_to_the_agent)
{
  late(true);
  publish();
  for (const auto * each : {&a, &b, &c}) {
    EXPECT_EQ(each->arrived, all) << each->topic;
  }
  EXPECT_EQ(system.daemon.counters.retransmitted, 0U);
  std::string in_turn;
  for (uint32_t i = 0; i < kCount; ++i) {
    in_turn += "cba";  // by priority
  }
  EXPECT_NE(order, in_turn) << "the streams did overtake each other";
}

TEST_P(Reordering, within_a_stream_costs_best_effort_messages_and_repeats)
{
  late(false);
  publish();
  EXPECT_LT(a.arrived.size() + b.arrived.size(), 2 * kCount)
    << "the agent drops what was overtaken";
  EXPECT_TRUE(std::is_sorted(a.arrived.begin(), a.arrived.end()));
  EXPECT_EQ(c.arrived, all);
  EXPECT_GT(system.daemon.counters.retransmitted, 0U);
}

TEST_P(Reordering, by_stream_loses_and_repeats_nothing_on_the_way_from_the_agent)
{
  Listener best_effort(system);
  Listener reliable(system);
  ASSERT_EQ(best_effort.init("x", rclrt_qos_best_effort()), RCLRT_OK);
  ASSERT_EQ(reliable.init("y"), RCLRT_OK);
  ASSERT_EQ(best_effort.add(3), RCLRT_OK);
  ASSERT_EQ(reliable.add(2), RCLRT_OK);
  system.spin_for(100);
  const auto before = system.daemon.counters;
  late(true);
  for (uint32_t i = 0; i < kCount; ++i) {
    system.agent.publish("rt/x", number(i));
    system.agent.publish("rt/y", number(i));
    system.arm_agent();
    system.spin_for(1);
  }
  system.spin_for(1000);
  EXPECT_EQ(best_effort.numbers, all);
  EXPECT_EQ(reliable.numbers, all);
  EXPECT_EQ(system.daemon.counters.late, before.late);
  EXPECT_EQ(system.daemon.counters.duplicates, before.duplicates);
}

INSTANTIATE_TEST_SUITE_P(
  All, Reordering,
  ::testing::Values(RCLRT_FRAMING_SERIAL, RCLRT_FRAMING_DATAGRAM, RCLRT_FRAMING_LENGTH),
  [](const auto & of) {
    return of.param == RCLRT_FRAMING_SERIAL     ? "serial"
           : of.param == RCLRT_FRAMING_DATAGRAM ? "datagrams"
                                                : "lengths";
  });
}  // namespace
