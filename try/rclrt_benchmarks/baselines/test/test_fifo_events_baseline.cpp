// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What makes the FIFO events executor what it is: strict order of arrival, and debts of timers.

#include <gmock/gmock.h>

#include "baselines_test.hpp"
#include "rclrt_baselines/baselines.hpp"

namespace rclrt_baselines
{
namespace
{

using std::chrono::milliseconds;
using testing::ElementsAre;

class FifoEvents : public testing::Test
{
protected:
  std::shared_ptr<rclrt_rcl::Waitable> make(
    const std::string & name, std::function<void()> more = [] {})
  {
    return make_waitable(*node_, name, 10, [this, name, more = std::move(more)] {
      record_.add(name);
      more();
    });
  }

  std::shared_ptr<rclrt_rcl::Context> context_ = make_context();
  std::shared_ptr<rclrt_rcl::Node> node_ = make_node(context_, "fifo_events_test");
  FifoEventsExecutor executor_{context_};
  Record record_;
};

TEST_F(FifoEvents, events_run_in_the_order_of_their_arrival)
{
  const auto a = make("a");
  const auto b = make("b");
  const auto c = make("c");
  executor_.add_node(node_);
  for (const auto & waitable : {c, a, b, a, c}) {
    waitable->trigger();
  }
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("c", "a", "b", "a", "c"));
}

TEST_F(FifoEvents, what_becomes_ready_is_seen_at_once_but_runs_last)
{
  const auto c = make("c");
  const auto a = make("a", [&] { c->trigger(); });
  const auto b = make("b");
  executor_.add_node(node_);
  a->trigger();
  b->trigger();
  executor_.spin_all(kPatience);
  EXPECT_THAT(record_.names(), ElementsAre("a", "b", "c"));
}

TEST_F(FifoEvents, an_event_with_a_count_runs_as_many_times_in_a_row)
{
  const auto a = make("a");
  const auto b = make("b");
  for (int i = 0; i < 3; ++i) {
    a->trigger();  // nobody watches yet: announced as one event with count 3
  }
  executor_.add_node(node_);
  b->trigger();
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("a", "a", "a", "b"));
}

TEST_F(FifoEvents, spin_some_runs_what_was_there_when_it_began)
{
  std::shared_ptr<rclrt_rcl::Waitable> a;
  a = make("a", [&] { a->trigger(); });
  executor_.add_node(node_);
  a->trigger();
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("a"));
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("a", "a"));
}

// Nominal releases say which periods were served. The timer thread has to get a CPU once a period;
// on a busy machine it may take more than one attempt.
TEST_F(FifoEvents, a_timer_that_was_late_serves_the_periods_it_has_missed_in_a_burst)
{
  constexpr milliseconds kPeriod(20);
  bool burst = false;
  for (int attempt = 0; attempt < 10 && !burst; ++attempt) {
    std::vector<rclrt_core::TimePoint> releases;
    rclrt_core::TimePoint end_of_first;
    const auto timer =
      node_->create_wall_timer(kPeriod, [&](rclrt_rcl::Timer &, const rclrt_rcl::TimerInfo & info) {
        releases.push_back(info.release);
        if (releases.size() == 1) {
          std::this_thread::sleep_for(7 * kPeriod / 2);
          end_of_first = std::chrono::steady_clock::now();
        }
        if (releases.size() == 4) {
          executor_.cancel();
        }
      });
    executor_.add_node(node_);
    executor_.spin();
    executor_.remove_node(node_);
    ASSERT_EQ(releases.size(), 4U);
    burst = releases[2] < end_of_first && releases[3] < end_of_first;
  }
  EXPECT_TRUE(burst);
}

TEST_F(FifoEvents, events_of_an_entity_that_is_gone_are_skipped)
{
  auto a = make("a");
  const auto b = make("b");
  executor_.add_node(node_);
  a->trigger();
  b->trigger();
  a.reset();
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("b"));
}

}  // namespace
}  // namespace rclrt_baselines
