// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Order on one CPU, and budgets. Everything is pinned to CPU 0, with the SCHED_FIFO thread of the scenario, which is
// also the dispatcher that wakes workers on its own CPU.

#include <sched.h>

#include <cstdio>

#include "scenarios.hpp"

namespace guest
{
namespace
{

SCENARIO(order, 1, earliest_first)
{
  Stage stage(4, 0);
  stage[0].go(3000, 20);
  stage[1].go(1000, 20);
  stage[2].go(2000, 20);
  stage[3].go(4000, 20);
  return expect(stage, "B+ B- C+ C- A+ A- D+ D-");
}

SCENARIO(order, 1, a_past_deadline_is_most_urgent)
{
  Stage stage(3, 0);
  stage[0].go(1, 20);
  stage[1].go(5000, 20);
  stage[2].go(-1000, 20);
  return expect(stage, "C+ C- A+ A- B+ B-");
}

SCENARIO(order, 1, zero_and_negative_deadlines_are_refused)
{
  Stage stage(1, 0);
  rclrt_scx::Slot & slot = stage[0].slot();
  if (!slot.set_deadline(5) || slot.set_deadline(0) || slot.set_deadline(-7)) {
    return "accepted";
  }
  return slot.deadline() == 5 ? "" : "the refused one was stored";
}

SCENARIO(order, 1, no_deadline_runs_after_all_deadlines)
{
  Stage stage(3, 0);
  stage[0].go(0, 20);
  stage[1].go(2000, 20);
  stage[2].go(1000, 20);
  return expect(stage, "C+ C- B+ B- A+ A-");
}

SCENARIO(order, 1, after_idling_no_reserve_is_due)
{
  Stage stage(2, 0);
  sleep_ms(500);  // Longer than the period of the reserve.
  stage[0].go(0, 20);
  stage[1].go(1000, 20);
  return expect(stage, "B+ B- A+ A-");
}

SCENARIO(order, 1, an_earlier_one_preempts_when_a_fifo_dispatcher_wakes_it_on_its_cpu)
{
  Stage stage(2, 0);
  stage[0].go(5000, 150);
  sleep_ms(40);  // A runs; then this thread preempts it.
  stage[1].go(1000, 20);
  return expect(stage, "A+ B+ B- A-");
}

SCENARIO(order, 1, an_earlier_one_preempts_when_a_timer_wakes_it)
{
  Stage stage(2, 0);
  stage[1].go(1000, 0, [&stage] {
    sleep_ms(40);
    stage.log.add("woken");
    spin_ms(10);
  });
  sleep_ms(10);
  stage[0].go(5000, 70);  // Shorter than a slice, at whose end anybody would be found.
  sleep_ms(150);          // If this thread woke before, the scheduler would look.
  return expect(stage, "B+ A+ woken B- A-");
}

SCENARIO(order, 1, a_later_one_does_not_preempt)
{
  Stage stage(2, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go(5000, 20);
  return expect(stage, "A+ A- B+ B-");
}

SCENARIO(order, 1, an_equal_one_does_not_preempt)
{
  Stage stage(2, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go_at(stage[0].slot().deadline(), 20);
  return expect(stage, "A+ A- B+ B-");
}

SCENARIO(order, 1, a_queued_one_is_promoted)
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

SCENARIO(order, 1, a_queued_one_is_promoted_above_the_running_one)
{
  Stage stage(2, 0);
  stage[0].go(1000, 100);
  sleep_ms(30);
  stage[1].go(2000, 20);
  stage[1].slot().lend(now_ns() + 500 * kMs);
  return expect(stage, "A+ B+ B- A-");
}

SCENARIO(order, 1, a_queued_one_is_demoted)
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

SCENARIO(order, 1, a_running_one_demotes_itself_and_yields)
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

SCENARIO(order, 1, a_running_one_is_demoted_by_another)
{
  Stage stage(2, 0);
  stage[0].go(1000, 150);
  sleep_ms(20);
  stage[1].go(2000, 20);
  stage[0].slot().set_deadline(now_ns() + 5000 * kMs);
  stage[0].slot().reconsider();
  return expect(stage, "A+ B+ B- A-");
}

SCENARIO(order, 1, a_lock_owner_inherits_and_gives_back)
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

SCENARIO(order, 1, yield_keeps_the_cpu_of_the_earliest)
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

// ---- Budgets of threads

// Another try while a thread has used more than it was to use, because its virtual CPU stood still (see held_up()). The
// scheduler has rightly charged that.
std::string undisturbed(const std::function<std::string()> & scenario)
{
  constexpr int kMostTries = 10;
  std::string seen;
  for (int i = 0; i < kMostTries; ++i) {
    held_up();
    seen = scenario();
    if (seen.empty() || !held_up()) {
      return seen;
    }
    std::printf("a thread was held up, once more: %s\n", seen.c_str());
  }
  return seen + " (and each time a thread was held up)";
}

// Four that need 10 ms every 100 ms and must be done after 90, beside one whose job does not end: after 50 ms it is late,
// so it is the most urgent for ever. Returns how often one of the four was late.
int late_beside_one_that_loops(uint64_t runtime_ms, std::string * why)
{
  constexpr int kRounds = 6;
  constexpr int64_t kDeadlineMs = 90;
  Stage stage(5, 0);
  if (!stage[4].slot().set_budget(runtime_ms * kMs, runtime_ms == 0 ? 0 : 100 * kMs)) {
    *why = "the budget is refused";
  }
  std::atomic<bool> stop{false};
  std::atomic<int> late{0};
  stage[4].go(50, 0, [&stop] { spin_until(stop); });
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (!stage[i].done()) {
        ++late;  // by more than the whole period
        continue;
      }
      const int64_t deadline_ns = now_ns() + kDeadlineMs * kMs;
      stage[i].go_at(deadline_ns, 0, [deadline_ns, &late] {
        spin_ms(10);
        late += now_ns() > deadline_ns ? 1 : 0;
      });
    }
    sleep_ms(100);
  }
  const bool still_loops = !stage[4].done();
  const bool has_run = stage.log.at("E+") < 256;
  stop.store(true);
  if (!wait_all(stage.workers)) {
    *why = "hangs: " + stage.log.text();
  } else if (!still_loops || !has_run) {
    *why = "the one that loops did not: " + stage.log.text();
  }
  return late;
}

SCENARIO(order, 1, one_that_loops_with_a_budget_makes_no_other_late)
{
  std::string why;
  const int without = late_beside_one_that_loops(0, &why);
  const int with = late_beside_one_that_loops(20, &why);
  if (why.empty() && (without == 0 || with != 0)) {
    why = "late without a budget: " + std::to_string(without) + ", with: " + std::to_string(with);
  }
  return why;
}

std::string five_jobs_within_the_budget()
{
  Stage stage(2, 0);
  stage[0].slot().set_budget(20 * kMs, 100 * kMs);
  std::string wanted;
  for (int round = 0; round < 5; ++round) {
    stage[1].go(1100, 10);
    stage[0].go(1000, 15);
    wanted += std::string(round == 0 ? "" : " ") + "A+ A- B+ B-";
    sleep_ms(100);
  }
  return expect(stage, wanted);
}

SCENARIO(order, 1, one_that_needs_less_than_its_budget_keeps_its_deadlines)
{
  return undisturbed(five_jobs_within_the_budget);
}

std::string over_while_alone_and_one_more()
{
  Stage stage(2, 0);
  stage[0].slot().set_budget(20 * kMs, 100 * kMs);
  stage[0].go(50, 300);
  if (!stage[0].wait_done()) {
    return "hangs";
  }
  sleep_ms(150);
  stage[1].go(1100, 10);
  stage[0].go(1000, 15);
  return expect(stage, "A+ A- A+ A- B+ B-");
}

SCENARIO(order, 1, one_that_was_over_its_budget_while_alone_owes_nothing_afterwards)
{
  return undisturbed(over_while_alone_and_one_more);
}

// Half of a budget of 60 ms in 300 is left, and 50 are needed.
std::string the_second_job_of_a_period(int64_t pause_ms, const std::string & wanted)
{
  Stage stage(2, 0);
  stage[0].slot().set_budget(60 * kMs, 300 * kMs);
  stage[0].go(1000, 30);
  if (!stage[0].wait_done()) {
    return "hangs";
  }
  sleep_ms(pause_ms);
  stage[1].go(1100, 10);
  stage[0].go(1000, 50);
  return expect(stage, "A+ A- " + wanted);
}

SCENARIO(order, 1, what_is_left_of_a_budget_is_kept_only_if_it_is_within_the_bandwidth)
{
  const std::string soon = undisturbed([] { return the_second_job_of_a_period(0, "A+ B+ B- A-"); });
  return soon.empty() ? undisturbed([] { return the_second_job_of_a_period(170, "A+ A- B+ B-"); })
                      : soon;
}

// One thread works for two servers in turn. What the first has used up is not owed by the second, nor what was used
// since the thread was last charged.
std::string three_jobs_with_what_is_left()
{
  Stage stage(2, 0);
  rclrt_scx::Slot & slot = stage[0].slot();
  const auto job = [&](int64_t left_ms) {
    slot.set_budget(20 * kMs, 300 * kMs, static_cast<uint64_t>(left_ms * kMs));
    stage[1].go(250, 5);
    stage[0].go(200, 15);
    return wait_all(stage.workers);
  };
  const bool ended = job(20) && job(5) && job(20);
  return ended ? expect(stage, "A+ A- B+ B- A+ B+ B- A- A+ A- B+ B-") : "hangs";
}

// It does not sleep in between. Each of the later servers has enough, but less than what is used from tick to tick.
std::string one_server_after_another()
{
  constexpr int64_t kEnough = 1000000;
  constexpr int64_t kUsed = 400000;
  Stage stage(3, 0);
  rclrt_scx::Slot & slot = stage[0].slot();
  slot.set_budget(5 * kMs, 300 * kMs);
  stage[1].go(250, 5);
  stage[0].go(200, 0, [&] {
    spin_ms(15);
    stage.log.add("next");
    int64_t before = cpu_time_ns();
    slot.set_budget(kEnough, 300 * kMs);
    slot.set_deadline(now_ns() + 200 * kMs);
    stage[2].go(250, 5);
    for (int i = 0; i < 30; ++i) {
      slot.set_budget(kEnough, 300 * kMs);
      for (const int64_t end = now_ns() + kUsed; now_ns() < end;) {
        end_turn();
      }
      const int64_t now = cpu_time_ns();
      note_excess(now - before - kUsed, (kEnough - kUsed) / 2);
      before = now;
    }
    slot.set_budget(100 * kMs, 300 * kMs);  // to the end of the job
  });
  return expect(stage, "A+ B+ B- next A- C+ C-");
}

SCENARIO(order, 1, a_budget_that_begins_owes_nothing_and_has_what_is_left)
{
  return undisturbed(three_jobs_with_what_is_left);
}

SCENARIO(order, 1, a_thread_works_for_one_server_after_another_without_a_pause)
{
  return undisturbed(one_server_after_another);
}

SCENARIO(order, 1, budgets_that_cannot_hold_are_refused)
{
  Stage stage(1, 0);
  rclrt_scx::Slot & slot = stage[0].slot();
  const bool any = slot.set_budget(0, 5) || slot.set_budget(5, 0) || slot.set_budget(6, 5) ||
                   slot.set_budget(5, RCLRT_SCX_LONGEST_PERIOD_NS + 1);
  const bool all = slot.set_budget(5, 5) && slot.set_budget(0, 0);
  return any ? "accepted" : all ? "" : "refused";
}

}  // namespace
}  // namespace guest
