// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Order on one CPU. Everything is pinned to CPU 0, with the SCHED_FIFO thread of the scenario, which is
// also the dispatcher that wakes workers on its own CPU.

#include <sched.h>

#include "scenarios.hpp"

namespace guest
{
namespace
{

std::string earliest_first()
{
  Stage stage(4, 0);
  stage[0].go(3000, 20);
  stage[1].go(1000, 20);
  stage[2].go(2000, 20);
  stage[3].go(4000, 20);
  return expect(stage, "B+ B- C+ C- A+ A- D+ D-");
}

std::string a_past_deadline_is_most_urgent()
{
  Stage stage(3, 0);
  stage[0].go(1, 20);
  stage[1].go(5000, 20);
  stage[2].go(-1000, 20);
  return expect(stage, "C+ C- A+ A- B+ B-");
}

std::string zero_and_negative_deadlines_are_refused()
{
  Stage stage(1, 0);
  rclrt_scx::Slot & slot = stage[0].slot();
  if (!slot.set_deadline(5) || slot.set_deadline(0) || slot.set_deadline(-7)) {
    return "accepted";
  }
  return slot.deadline() == 5 ? "" : "the refused one was stored";
}

std::string no_deadline_runs_after_all_deadlines()
{
  Stage stage(3, 0);
  stage[0].go(0, 20);
  stage[1].go(2000, 20);
  stage[2].go(1000, 20);
  return expect(stage, "C+ C- B+ B- A+ A-");
}

std::string after_idling_no_reserve_is_due()
{
  Stage stage(2, 0);
  sleep_ms(500);  // Longer than the period of the reserve.
  stage[0].go(0, 20);
  stage[1].go(1000, 20);
  return expect(stage, "B+ B- A+ A-");
}

std::string an_earlier_one_preempts_when_a_fifo_dispatcher_wakes_it_on_its_cpu()
{
  Stage stage(2, 0);
  stage[0].go(5000, 150);
  sleep_ms(40);  // A runs; then this thread preempts it.
  stage[1].go(1000, 20);
  return expect(stage, "A+ B+ B- A-");
}

std::string an_earlier_one_preempts_when_a_timer_wakes_it()
{
  Stage stage(2, 0);
  stage[1].go(1000, 0, [&stage] {
    sleep_ms(40);
    stage.log.add("woken");
    spin_ms(10);
  });
  sleep_ms(10);
  stage[0].go(5000, 70);  // Shorter than a slice, at whose end anybody would be found.
  sleep_ms(150);          // Not awake before: at that, the scheduler would look.
  return expect(stage, "B+ A+ woken B- A-");
}

std::string a_later_one_does_not_preempt()
{
  Stage stage(2, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go(5000, 20);
  return expect(stage, "A+ A- B+ B-");
}

std::string an_equal_one_does_not_preempt()
{
  Stage stage(2, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go_at(stage[0].slot().deadline(), 20);
  return expect(stage, "A+ A- B+ B-");
}

std::string a_queued_one_is_promoted()
{
  Stage stage(3, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go(2000, 20);
  stage[2].go(3000, 20);
  if (stage[2].slot().lend(now_ns() + 1500 * kMs) != 0) {
    return "sched_setattr failed";
  }
  return expect(stage, "A+ A- C+ C- B+ B-");
}

std::string a_queued_one_is_promoted_above_the_running_one()
{
  Stage stage(2, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go(2000, 20);
  stage[1].slot().lend(now_ns() + 500 * kMs);
  return expect(stage, "A+ B+ B- A-");
}

std::string a_queued_one_is_demoted()
{
  Stage stage(3, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go(2000, 20);
  stage[2].go(3000, 20);
  stage[1].slot().set_deadline(now_ns() + 4000 * kMs);
  stage[1].slot().reconsider();
  return expect(stage, "A+ A- C+ C- B+ B-");
}

std::string a_running_one_demotes_itself_and_yields()
{
  Stage stage(2, 0);
  stage[0].go(1000, 0, [&stage] {
    spin_ms(60);
    stage[0].slot().set_deadline(now_ns() + 5000 * kMs);
    sched_yield();
    spin_ms(20);
  });
  sleep_ms(20);
  stage[1].go(2000, 20);
  return expect(stage, "A+ B+ B- A-");
}

std::string a_running_one_is_demoted_by_another()
{
  Stage stage(2, 0);
  stage[0].go(1000, 150);
  sleep_ms(20);
  stage[1].go(2000, 20);
  stage[0].slot().set_deadline(now_ns() + 5000 * kMs);
  stage[0].slot().reconsider();
  return expect(stage, "A+ B+ B- A-");
}

std::string a_lock_owner_inherits_and_gives_back()
{
  Stage stage(3, 0);
  stage[0].go(5000, 0, [&stage] {
    spin_ms(60);  // The owner, in its critical section.
    stage.log.add("unlock");
    stage[0].slot().settle();
    spin_ms(20);
  });
  sleep_ms(20);
  stage[0].slot().lend(now_ns() + 500 * kMs);  // C would wait for it.
  stage[1].go(2000, 20);                       // Would preempt the owner if nothing were lent.
  return expect(stage, "A+ unlock B+ B- A-");
}

std::string yield_keeps_the_cpu_of_the_earliest()
{
  Stage stage(2, 0);
  stage[0].go(1000, 0, [] {
    for (int i = 0; i < 20; ++i) {
      sched_yield();
      spin_ms(2);
    }
  });
  stage[1].go(2000, 10);
  return expect(stage, "A+ A- B+ B-");
}

}  // namespace

Scenarios order_scenarios()
{
  Scenarios scenarios = {
#define SCENARIO(name) {#name, name}
    SCENARIO(earliest_first),
    SCENARIO(a_past_deadline_is_most_urgent),
    SCENARIO(zero_and_negative_deadlines_are_refused),
    SCENARIO(no_deadline_runs_after_all_deadlines),
    SCENARIO(after_idling_no_reserve_is_due),
    SCENARIO(an_earlier_one_preempts_when_a_fifo_dispatcher_wakes_it_on_its_cpu),
    SCENARIO(an_earlier_one_preempts_when_a_timer_wakes_it),
    SCENARIO(a_later_one_does_not_preempt),
    SCENARIO(an_equal_one_does_not_preempt),
    SCENARIO(a_queued_one_is_promoted),
    SCENARIO(a_queued_one_is_promoted_above_the_running_one),
    SCENARIO(a_queued_one_is_demoted),
    SCENARIO(a_running_one_demotes_itself_and_yields),
    SCENARIO(a_running_one_is_demoted_by_another),
    SCENARIO(a_lock_owner_inherits_and_gives_back),
    SCENARIO(yield_keeps_the_cpu_of_the_earliest),
#undef SCENARIO
  };
  scenarios.merge(budget_scenarios());
  return scenarios;
}

}  // namespace guest
