// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The completion and reception handlers, and a context that preempts, at every place of the daemon's
// operations. What a critical section protects cannot be seen from within, so the places just before
// and just after each are all there are.
#include <gtest/gtest.h>

#include <set>

#include "rig.hpp"

namespace
{
// Who comes in between.
enum class Who
{
  kInterrupts,  // all that could be pending: the line is infinitely fast
  kLevel,       // a context that preempts: it publishes on a stream of its own, and takes
};

// Publishes, receives and takes, with somebody coming in at each of `points`: places just before and
// just after critical sections, counted from 1. Everything must come out the same. Returns how many
// places there were.
int with_somebody_at(Who who, const std::set<int> & points)
{
  RigOptions options;
  options.byte_ns = 0;
  options.nodes = 8;
  options.piece = 16;  // a completion every few bytes
  Rig rig(options);
  rclrt_output_stream reliable{};
  rclrt_output_stream best_effort{};
  rclrt_output_stream urgent{};
  rclrt_input_stream input{};
  rclrt_sink sink{};
  rclrt_daemon_add_output(&rig.daemon, &reliable, 0x83);
  rclrt_daemon_add_output(&rig.daemon, &best_effort, 0x02);
  rclrt_daemon_add_output(&rig.daemon, &urgent, 0x84);
  rclrt_daemon_add_input(&rig.daemon, &input, 0x83, nullptr, 0);
  rclrt_daemon_add_sink(&rig.daemon, &sink, 0x16, 0x83, 3);
  rig.open(0x83);
  std::vector<uint32_t> arrived;
  rig.agent.on_data = [&arrived](const std::string &, const Agent::Bytes & data) {
    arrived.push_back(number(data));
  };
  rig.agent.refuse = [](uint8_t, uint16_t sequence) { return sequence == 1; };

  int place = 0;
  bool in_between = false;
  std::vector<uint32_t> by_level;
  const auto come_in = [&] {
    if (in_between || points.count(++place) == 0) {
      return;
    }
    in_between = true;
    if (who == Who::kLevel) {
      by_level.push_back(200 + static_cast<uint32_t>(by_level.size()));
      EXPECT_EQ(rig.write(urgent, 9, number(by_level.back())), RCLRT_OK) << "at " << place;
      uint8_t buffer[512];
      rclrt_message message;
      (void)rclrt_daemon_take(&rig.daemon, &rig.daemon.others, buffer, sizeof(buffer), &message);
    }
    while (who == Who::kInterrupts && rig.world.step(rig.world.now_ns())) {
    }
    in_between = false;
  };
  rig.port.on_enter = come_in;
  rig.port.on_leave = come_in;
  std::vector<uint32_t> taken;
  const auto take = [&] {
    for (const auto & data : take_all(rig.daemon, sink)) {
      taken.push_back(number(data));
    }
  };
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rig.write(reliable, 3, number(i)), RCLRT_OK);
    EXPECT_EQ(rig.write(best_effort, 1, number(100 + i)), RCLRT_OK);
    rig.settle(1);
    take();
  }
  rig.port.on_enter = nullptr;
  rig.port.on_leave = nullptr;
  const int places = place;
  for (int i = 0; i < 10; ++i) {
    rig.settle(300);
    take();
  }
  std::vector<uint32_t> streams[3];
  for (const uint32_t value : arrived) {
    streams[value / 100].push_back(value);
  }
  EXPECT_EQ(streams[0], (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(streams[1], (std::vector<uint32_t>{100, 101, 102, 103}));
  EXPECT_EQ(streams[2], by_level);
  EXPECT_EQ(taken.size(), 8U + by_level.size());
  EXPECT_TRUE(rclrt_daemon_idle(&rig.daemon));
  EXPECT_EQ(rig.daemon.free_count, 8);
  return places;
}

class Interrupts : public ::testing::TestWithParam<Who>
{
};

TEST_P(Interrupts, at_any_place_they_lose_nothing_double_nothing_and_leak_nothing)
{
  const int places = with_somebody_at(GetParam(), {});
  EXPECT_GT(places, 100);
  for (int at = 1; at <= places + 20 && !HasFailure(); ++at) {
    SCOPED_TRACE(at);
    with_somebody_at(GetParam(), {at});
  }
}

TEST_P(Interrupts, nor_at_any_two_places_close_to_each_other)
{
  const int places = with_somebody_at(GetParam(), {});
  for (int at = 1; at <= places + 20 && !HasFailure(); ++at) {
    for (int after = at + 1; after <= at + 6; ++after) {
      SCOPED_TRACE(std::to_string(at) + " and " + std::to_string(after));
      with_somebody_at(GetParam(), {at, after});
    }
  }
}

// Whoever has read the clock may be interrupted by whoever publishes a little later.
TEST(Clock, what_is_published_after_it_was_read_is_neither_given_up_nor_asked_for)
{
  RigOptions options;
  options.byte_ns = 0;
  options.policy.lifetime_ns = 500 * kMs;
  Rig rig(options);
  rclrt_output_stream stream{};
  rclrt_daemon_add_output(&rig.daemon, &stream, 0x83);
  rig.open(0x83);
  rig.to_agent.faults.loss = 1;
  const uint32_t before = rig.daemon.counters.sent;
  bool once = false;
  rig.port.on_enter = [&] {
    if (!std::exchange(once, true)) {
      rig.world.work(1 * kMs);
      EXPECT_EQ(rig.write(stream, 3, number(1)), RCLRT_OK);
      while (rig.world.step(rig.world.now_ns())) {
      }
    }
  };
  (void)rclrt_daemon_tick(&rig.daemon);
  rig.port.on_enter = nullptr;
  EXPECT_TRUE(once);
  EXPECT_EQ(rig.daemon.counters.sent, before + 1);
  EXPECT_EQ(rig.daemon.counters.abandoned, 0U);
  EXPECT_EQ(rclrt_list_empty(&rig.daemon.pending), false);
}

INSTANTIATE_TEST_SUITE_P(
  All, Interrupts, ::testing::Values(Who::kInterrupts, Who::kLevel),
  [](const auto & of) { return of.param == Who::kLevel ? "level" : "interrupts"; });
}  // namespace
