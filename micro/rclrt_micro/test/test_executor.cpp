// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Who runs when, in virtual time.
#include <cstring>

#include "program.hpp"

namespace
{
TEST_F(Program, of_what_is_ready_the_most_urgent_runs_first)
{
  guard("low", 1);
  guard("high", 30);
  guard("middle", 7);
  guard("also_middle", 7);
  for (auto & each : jobs) {
    rclrt_guard_trigger(&each->guard);
    rclrt_guard_trigger(&each->guard);  // twice is once
  }
  system.spin_for(1);
  EXPECT_EQ(log, "high middle also_middle low");
}

TEST_F(Program, what_becomes_ready_meanwhile_is_next_if_it_is_more_urgent)
{
  auto & low = guard("low", 1, 10 * kMs);
  auto & low2 = guard("low2", 1, 10 * kMs);
  auto & high = guard("high", 2);
  rclrt_guard_trigger(&low.guard);
  rclrt_guard_trigger(&low2.guard);
  system.world.at(system.world.now_ns() + 5 * kMs, [&] { rclrt_guard_trigger(&high.guard); });
  system.spin_for(50);
  EXPECT_EQ(log, "low high low2");
}

TEST_F(Program, timers_keep_their_phase_and_expirations_that_were_missed_are_counted)
{
  auto & fast = timer("f", 10, 1, 25 * kMs);
  spin_until(70);
  // Called at 10; its work lasts until 35, when the one for 30 is due (that for 20 was missed), ...
  EXPECT_EQ(log, "f f f");
  EXPECT_EQ(fast.timer.overruns, 3U) << "20, 40 and 50";
  EXPECT_EQ(fast.timer.called_for_ns - start_ns(), 60 * kMs);
}

TEST_F(Program, timers_by_rate_preempt_between_callbacks)
{
  timer("a", 10, 3, 1 * kMs);
  timer("b", 20, 2, 1 * kMs);
  timer("c", 40, 1, 1 * kMs);
  spin_until(45);
  EXPECT_EQ(log, "a a b a a b c");
}

TEST_F(Program, a_cancelled_timer_is_silent_until_it_is_added_again)
{
  auto & a = timer("a", 10, 3);
  spin_until(25);
  rclrt_timer_cancel(&a.timer);
  spin_until(60);
  EXPECT_EQ(log, "a a");
  EXPECT_EQ(
    rclrt_executor_add_timer(
      &system.executor, &a.timer, 10 * kMs, 3,
      [](void * context, rclrt_timer *) { ran(context, ""); }, &a),
    RCLRT_OK);
  spin_until(75);
  EXPECT_EQ(log, "a a a");
}

TEST_F(Program, a_message_is_checked_and_copied_only_when_its_callback_runs)
{
  // Figures 7 and 8: what lies behind is not touched. Both frames are spoilt in the ring.
  subscription("u", 3);
  subscription("v", 1);
  publish("v", 1);
  system.settle(20);
  publish("u", 2);
  system.settle(20);
  for (auto & byte : system.ring) {
    byte ^= 0x55;
  }
  EXPECT_EQ(system.daemon.counters.bad_checksums, 0U);
  must(rclrt_executor_spin_some(&system.executor, 1));
  EXPECT_EQ(system.daemon.counters.bad_checksums + system.daemon.counters.malformed, 1U)
    << "only the one for u";
  EXPECT_EQ(system.executor.empty, 1U);
  EXPECT_EQ(log, "");
}

// Three messages wait, the least urgent came first; to check and copy one takes 5 ms, to run a callback
// 1 ms. Names of callbacks with the millisecond in which they begin.
class Processing : public Program
{
protected:
  static constexpr uint64_t kProcessNs = 5 * kMs;

  void SetUp() override
  {
    world = &system.world;
    for (const auto * name : {"cb3", "cb6", "cb9"}) {
      subscription(name, static_cast<uint8_t>('9' - name[2]), 1 * kMs).subscription.type = &kSlow;
    }
    for (const auto * name : {"cb9", "cb6", "cb3"}) {
      publish(name, 0);
      system.settle(20);
    }
    begin_ns = system.world.now_ns();
    for (auto & each : jobs) {
      each->subscription.run = [](void * context, const void *) {
        ran(context, "@" + std::to_string((world->now_ns() - begin_ns) / kMs));
      };
    }
  }

  static void decode(void * message, rclrt_reader * reader)
  {
    kBlob.decode(message, reader);
    world->work(kProcessNs);
  }

  inline static rclrt_micro::SimWorld * world = nullptr;
  inline static uint64_t begin_ns = 0;
  inline static const rclrt_type kSlow = {kBlob.name, kBlob.encode, decode};
};

TEST_F(Processing, in_order_of_arrival_the_most_urgent_is_last)
{
  for (int i = 0; i < 3; ++i) {  // Figure 4
    must(rclrt_batch_spin_some(&system.executor, 10 * kMs));
  }
  EXPECT_EQ(log, "cb9@5 cb6@11 cb3@17");
}

TEST_F(Processing, of_all_before_the_first_callback_delays_it_by_what_is_unrelated)
{
  // Figure 7; here it is what LET asks for.
  must(rclrt_executor_set_semantics(&system.executor, RCLRT_SEMANTICS_LET));
  system.spin_for(30);
  EXPECT_EQ(log, "cb3@15 cb6@16 cb9@17");
}

TEST_F(Processing, by_priority_the_most_urgent_waits_for_its_own_only)
{
  system.spin_for(30);  // Figure 8
  EXPECT_EQ(log, "cb3@5 cb6@11 cb9@17");
}

TEST_F(Program, several_messages_for_one_callback_take_a_round_each)
{
  subscription("s", 3);
  auto & between = guard("g", 2);
  for (uint32_t i = 1; i <= 3; ++i) {
    publish("s", i);
  }
  system.settle(50);
  rclrt_guard_trigger(&between.guard);
  system.spin_for(10);
  EXPECT_EQ(log, "s1 s2 s3 g");
}

TEST_F(Program, in_periods_everything_waits_for_the_begin_of_the_next)
{
  subscription("s", 3, 1 * kMs);
  auto & g = guard("g", 5, 1 * kMs);
  const uint64_t begin = system.world.now_ns();
  std::string at;
  bool stop = false;
  system.world.at(begin + 3 * kMs, [&] { publish("s", 1); });
  system.world.at(begin + 4 * kMs, [&] { rclrt_guard_trigger(&g.guard); });
  system.world.at(begin + 19 * kMs, [&] { at = log; });
  system.world.at(begin + 25 * kMs, [&] { at += "|" + log; });
  system.world.at(begin + 35 * kMs, [&] { stop = true; });
  EXPECT_EQ(rclrt_executor_spin_period(&system.executor, 20 * kMs, &stop), RCLRT_OK);
  EXPECT_EQ(at, "|g s1");
  EXPECT_EQ(system.world.now_ns(), begin + 40 * kMs) << "no drift";
}

TEST_F(Program, with_trigger_all_nothing_runs_until_everything_is_ready_and_nothing_is_lost)
{
  auto & a = guard("a", 2);
  auto & b = guard("b", 5);
  subscription("s", 3);
  must(rclrt_executor_set_trigger(&system.executor, RCLRT_TRIGGER_ALL, nullptr));
  rclrt_guard_trigger(&a.guard);
  publish("s", 1);
  system.spin_for(100);
  EXPECT_EQ(log, "");
  rclrt_guard_trigger(&b.guard);
  system.spin_for(100);
  EXPECT_EQ(log, "b s1 a");
}

TEST_F(Program, with_trigger_one_the_others_wait_for_that_one)
{
  auto & a = guard("a", 9);
  auto & b = guard("b", 5);
  must(rclrt_executor_set_trigger(&system.executor, RCLRT_TRIGGER_ONE, &b.guard.callback));
  rclrt_guard_trigger(&a.guard);
  system.spin_for(10);
  EXPECT_EQ(log, "");
  rclrt_guard_trigger(&b.guard);
  system.spin_for(10);
  EXPECT_EQ(log, "a b");
}

TEST_F(Program, with_trigger_always_a_batch_is_granted_at_once_whatever_is_ready)
{
  auto & a = guard("a", 1, 5 * kMs);
  auto & b = guard("b", 9);
  must(rclrt_executor_set_trigger(&system.executor, RCLRT_TRIGGER_ALWAYS, nullptr));
  rclrt_guard_trigger(&a.guard);
  system.world.at(system.world.now_ns() + 1 * kMs, [&] {
    rclrt_guard_trigger(&b.guard);
    rclrt_guard_trigger(&a.guard);
  });
  system.spin_for(20);
  EXPECT_EQ(log, "a b a") << "the second batch by priority";
}

TEST_F(Program, let_takes_all_data_before_the_first_callback)
{
  auto & a = subscription("a", 5, 100 * kMs);
  subscription("b", 4);
  (void)a;
  must(rclrt_executor_set_semantics(&system.executor, RCLRT_SEMANTICS_LET));
  publish("a", 1);
  publish("b", 1);
  system.settle(50);
  // Arrives while a runs; b still sees what there was when the batch began.
  system.world.at(system.world.now_ns() + 10 * kMs, [this] { publish("b", 2); });
  system.spin_for(300);
  EXPECT_EQ(log, "a1 b1 b2");
  EXPECT_EQ(system.daemon.counters.bad_checksums, 0U);
}

TEST_F(Program, a_callback_that_runs_always_gets_null_without_data)
{
  subscription("s", 3, 0, RCLRT_ALWAYS);
  auto & g = guard("g", 2);
  rclrt_guard_trigger(&g.guard);
  (void)rclrt_executor_spin_some(&system.executor, 1);
  (void)rclrt_executor_spin_some(&system.executor, 1);
  EXPECT_EQ(log, "s- g");
}

TEST_F(Program, the_batch_executor_runs_a_batch_in_order_of_registration)
{
  auto & first = guard("first", 1, 10 * kMs);
  auto & second = guard("second", 9, 10 * kMs);
  rclrt_guard_trigger(&second.guard);
  rclrt_guard_trigger(&first.guard);
  // Ready again meanwhile: in the next batch.
  system.world.at(system.world.now_ns() + 15 * kMs, [&] { rclrt_guard_trigger(&first.guard); });
  must(rclrt_batch_spin_some(&system.executor, 10 * kMs));
  EXPECT_EQ(log, "first second");
  must(rclrt_batch_spin_some(&system.executor, 10 * kMs));
  EXPECT_EQ(log, "first second first");
}

TEST_F(Program, a_callback_may_remove_itself_and_others)
{
  auto & a = guard("a", 9);
  auto & b = guard("b", 5);
  a.work_ns = 1 * kMs;
  rclrt_guard_trigger(&a.guard);
  rclrt_guard_trigger(&b.guard);
  system.world.at(system.world.now_ns() + 500'000, [&] {
    rclrt_executor_remove(&system.executor, &b.guard.callback);
    rclrt_executor_remove(&system.executor, &a.guard.callback);
  });
  system.spin_for(10);
  EXPECT_EQ(log, "a");
  rclrt_guard_trigger(&b.guard);
  system.spin_for(10);
  EXPECT_EQ(log, "a") << "it is no more";
}

TEST_F(Program, a_timer_that_does_not_fit_leaves_the_others_as_they_are)
{
  for (int i = 0; i < 16; ++i) {
    timer(std::string(1, static_cast<char>('a' + i)), 10, 1);
  }
  rclrt_timer more{};
  EXPECT_EQ(
    rclrt_executor_add_timer_at(
      &system.executor, &more, 0, 10 * kMs, 3, [](void *, rclrt_timer *) {}, nullptr),
    RCLRT_ERR_STORAGE);
  EXPECT_EQ(more.callback.executor, nullptr);
  spin_until(15);
  std::sort(log.begin(), log.end());
  EXPECT_EQ(log, std::string(15, ' ') + "abcdefghijklmnop");
}

TEST_F(Program, in_periods_there_is_one_batch_in_each)
{
  subscription("s", 3, 1 * kMs, RCLRT_ALWAYS);
  guard("g", 5, 1 * kMs);
  rclrt_guard_trigger(&jobs.back()->guard);
  must(rclrt_executor_set_trigger(&system.executor, RCLRT_TRIGGER_ALWAYS, nullptr));
  bool stop = false;
  system.world.at(system.world.now_ns() + 55 * kMs, [&] { stop = true; });
  EXPECT_EQ(rclrt_executor_spin_period(&system.executor, 20 * kMs, &stop), RCLRT_OK);
  EXPECT_EQ(log, "g s- s- s-");
}

TEST_F(Program, a_callback_that_is_removed_while_it_is_made_ready_stays_out)
{
  auto & a = guard("a", 3);
  bool once = false;
  system.port.on_enter = [&] {  // a context that preempts
    if (!std::exchange(once, true)) {
      rclrt_executor_remove(&system.executor, &a.guard.callback);
    }
  };
  rclrt_guard_trigger(&a.guard);
  system.port.on_enter = nullptr;
  EXPECT_TRUE(once);
  EXPECT_FALSE(a.guard.callback.ready);
  EXPECT_EQ(system.executor.ready.used, 0U);
  system.spin_for(5);
  EXPECT_EQ(log, "");
}

TEST_F(Program, a_callback_of_a_batch_may_remove_the_next_and_those_after_it_run)
{
  auto & a = guard("a", 1, 1 * kMs);
  auto & b = guard("b", 1);
  auto & c = guard("c", 1);
  for (auto * each : {&a, &b, &c}) {
    rclrt_guard_trigger(&each->guard);
  }
  system.world.at(system.world.now_ns() + 500'000, [&] {
    rclrt_executor_remove(&system.executor, &b.guard.callback);
  });
  must(rclrt_batch_spin_some(&system.executor, 10 * kMs));
  EXPECT_EQ(log, "a c");
  EXPECT_EQ(rclrt_list_first(&system.executor.granted), nullptr);
}

TEST_F(Program, what_another_round_has_granted_is_in_the_batch_once)
{
  subscription("s", 3);
  auto & g = guard("g", 9);
  must(rclrt_executor_set_trigger(&system.executor, RCLRT_TRIGGER_ALWAYS, nullptr));
  publish("s", 1);
  system.settle(50);
  rclrt_guard_trigger(&g.guard);
  must(rclrt_executor_spin_some(&system.executor, 1));
  EXPECT_EQ(log, "g");
  ASSERT_TRUE(jobs.front()->subscription.callback.granted);
  must(rclrt_batch_spin_some(&system.executor, 1));
  EXPECT_EQ(log, "g s1");
  EXPECT_EQ(rclrt_list_first(&system.executor.granted), nullptr);
  EXPECT_EQ(system.executor.ready.used, 0U);
  publish("s", 2);
  system.settle(50);
  must(rclrt_batch_spin_some(&system.executor, 1));
  EXPECT_EQ(log, "g s1 s2");
}

TEST_F(Program, what_was_granted_runs_also_when_there_are_no_batches_any_more)
{
  auto & s = subscription("s", 3, 0, RCLRT_ALWAYS);
  auto & a = guard("a", 9, 1 * kMs);
  auto & b = guard("b", 1);
  rclrt_guard_trigger(&a.guard);
  rclrt_guard_trigger(&b.guard);
  system.world.at(system.world.now_ns() + 500'000, [&] {
    rclrt_executor_remove(&system.executor, &s.subscription.callback);
  });
  system.spin_for(10);
  EXPECT_EQ(log, "a b");
  EXPECT_EQ(rclrt_list_first(&system.executor.granted), nullptr);
}

TEST_F(Program, a_trigger_on_what_was_removed_does_not_hold)
{
  auto & a = guard("a", 9);
  auto & b = guard("b", 1);
  must(rclrt_executor_set_trigger(&system.executor, RCLRT_TRIGGER_ONE, &a.guard.callback));
  rclrt_guard_trigger(&a.guard);
  rclrt_executor_remove(&system.executor, &a.guard.callback);
  std::memset(&a.guard, 0xA5, sizeof(a.guard));
  rclrt_guard_trigger(&b.guard);
  system.spin_for(10);
  EXPECT_EQ(log, "");
  must(rclrt_executor_set_trigger(&system.executor, RCLRT_TRIGGER_ANY, nullptr));
  system.spin_for(10);
  EXPECT_EQ(log, "b");
}

TEST_F(Program, a_timers_period_may_be_as_long_as_forever)
{
  const auto run = [](void * context, rclrt_timer *) { ran(context, ""); };
  auto & once = job("once");
  auto & never = job("never");
  must(rclrt_executor_add_timer_at(
    &system.executor, &once.timer, start_ns() + 10 * kMs, UINT64_MAX, 3, run, &once));
  must(rclrt_executor_add_timer(&system.executor, &never.timer, UINT64_MAX, 3, run, &never));
  spin_until(1000);
  EXPECT_EQ(log, "once");
  EXPECT_EQ(once.timer.overruns, 0U);
  EXPECT_EQ(once.timer.called_for_ns, start_ns() + 10 * kMs);
}

TEST_F(Program, a_level_that_there_is_not_runs_nothing)
{
  auto & a = guard("a", 9);
  rclrt_guard_trigger(&a.guard);
  for (const unsigned level : {1U, 4U, 1000U}) {
    EXPECT_EQ(rclrt_executor_run_level(&system.executor, level), UINT64_MAX);
  }
  EXPECT_EQ(log, "");
}

TEST(Chains, later_callbacks_are_above_earlier_ones_and_the_first_chain_above_all)
{
  uint8_t priorities[9];
  ASSERT_TRUE(rclrt_chain_priorities(3, 3, priorities));
  EXPECT_EQ(
    std::vector<int>(priorities, priorities + 9), (std::vector<int>{6, 7, 8, 3, 4, 5, 0, 1, 2}));
  EXPECT_FALSE(rclrt_chain_priorities(11, 3, priorities));
  EXPECT_FALSE(rclrt_chain_priorities(3, 3, nullptr));
}
}  // namespace
