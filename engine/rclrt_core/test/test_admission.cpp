// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Budgets that do not fit together: who gives way, in virtual time.

#include "../src/budgets/accounts.hpp"

#include <random>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

Budget low(int64_t runtime_ms, int64_t period_ms, int64_t max_period_ms = 0)
{
  Budget low = budget(runtime_ms, period_ms);
  low.criticality = Criticality::kLow;
  low.max_period = milliseconds(max_period_ms);
  return low;
}

// ---- The rules

std::string who_has_room(double capacity, const std::vector<Budget> & budgets)
{
  std::vector<Claim> claims;
  for (const Budget & one : budgets) {
    claims.push_back({one});
  }
  admit(capacity, &claims);
  std::string text;
  for (const Claim & claim : claims) {
    text += claim.has_room ? std::to_string(claim.period / milliseconds(1)) + " " : "- ";
  }
  return text;
}

TEST(Admission, gives_room_in_the_order_in_which_they_came)
{
  EXPECT_EQ(who_has_room(1, {budget(6, 10), budget(5, 10), budget(4, 10)}), "10 - 10 ");
  EXPECT_EQ(who_has_room(1, {budget(5, 10), budget(5, 10)}), "10 10 ") << "just enough";
  EXPECT_EQ(who_has_room(1, {low(5, 10), low(5, 10), low(1, 10)}), "10 10 - ");
  EXPECT_EQ(who_has_room(1, {}), "");
}

TEST(Admission, serves_high_before_low_whenever_it_came)
{
  EXPECT_EQ(who_has_room(1, {low(6, 10), budget(5, 10)}), "- 10 ");
  EXPECT_EQ(who_has_room(1, {low(6, 10), low(3, 10), budget(5, 10)}), "- 10 10 ");
}

TEST(Admission, stretches_all_that_may_be_before_anybody_gives_way_and_no_more_than_is_enough)
{
  // 50 % of high. 6 in 10 must become 5 in 10 or less: 12 ms. Steps of 1/16 of 16 ms.
  EXPECT_EQ(who_has_room(1, {low(6, 10, 26), budget(5, 10)}), "12 10 ");
  EXPECT_EQ(who_has_room(1, {low(6, 10, 26), low(1, 10), budget(5, 10)}), "15 10 10 ");
  EXPECT_EQ(who_has_room(1, {low(4, 10, 26), low(4, 10, 26), budget(5, 10)}), "16 16 10 ");
  EXPECT_EQ(who_has_room(1, {low(6, 10, 11), budget(5, 10)}), "- 10 ");
  EXPECT_EQ(who_has_room(1, {low(3, 10, 20), budget(5, 10)}), "10 10 ");
}

// By another reading of the rules: all that is said of the outcome, checked on random sets.
TEST(Admission, keeps_its_promises_for_random_sets)
{
  std::mt19937 random(18);
  const auto from = [&random](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int with_refusals = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Claim> claims;
    for (int64_t i = from(1, 8); i > 0; --i) {
      const int64_t period = from(5, 50);
      Claim claim;
      claim.budget = budget(from(1, period), period);
      if (from(0, 1) == 1) {
        claim.budget = low(from(1, period), period, from(0, 1) * from(period, 3 * period));
      }
      claims.push_back(claim);
    }
    const auto capacity = static_cast<double>(from(1, 4));
    admit(capacity, &claims);
    double used = 0;
    double used_by_high = 0;
    bool any_refused = false;
    for (const Claim & claim : claims) {
      const bool is_low = claim.budget.criticality == Criticality::kLow;
      const double share = static_cast<double>(claim.budget.runtime.count()) /
                           static_cast<double>(claim.period.count());
      used += claim.has_room ? share : 0;
      used_by_high += claim.has_room && !is_low ? share : 0;
      any_refused |= !claim.has_room;
      EXPECT_GE(claim.period, claim.budget.period);
      EXPECT_LE(claim.period, std::max(claim.budget.period, claim.budget.max_period));
      if (!claim.has_room && !is_low) {
        EXPECT_GT(used_by_high + share, capacity) << "a high one that would fit";
      }
      if (!claim.has_room && claim.budget.max_period > Duration{0}) {
        EXPECT_GE(claim.period + Duration(16), claim.budget.max_period) << "it was not tried";
      }
    }
    EXPECT_LE(used, capacity + 1e-6);
    with_refusals += any_refused ? 1 : 0;
  }
  EXPECT_GT(with_refusals, 500);
  EXPECT_LT(with_refusals, 1900);
}

// ---- What the engine does

EngineOptions with_capacity(double cpus, AttributesMode mode = AttributesMode::kPrefer)
{
  EngineOptions options;
  options.capacity = cpus;
  options.attributes_mode = mode;
  return options;
}

TEST(Admission, a_budget_that_does_not_fit_has_the_background_until_another_one_goes)
{
  EngineOnSim scene(with_capacity(1));
  scene.add(scene.fifo_callback("a", 4, 50, budget(6, 10)));
  scene.add(scene.fifo_callback("b", 4, 80, budget(6, 10)));
  const Lines jobs = scene.run(80, {{0, "a"}, {0, "b"}, {30, "other"}, {30, "b"}}, [&] {
    scene.add(scene.fifo_callback("other", 4, 50));
    scene.until(20);
    scene.remove("a");
  });
  EXPECT_EQ(jobs, (Lines{"0-0-4 a", "0-4-8 b", "30-30-34 b", "30-34-38 other"}));
  EXPECT_EQ(scene.statistics("b").without_room, 1U);
  EXPECT_EQ(scene.statistics("a").without_room, 0U);
  EXPECT_EQ(
    scene.told(),
    Lines{
      "b its budget of 6000 us in 10000 us does not fit beside the others' into the capacity of "
      "100 % of a CPU: it runs in the background"});
}

TEST(Admission, a_high_one_that_comes_takes_the_room_of_a_low_one_also_while_that_runs)
{
  EngineOnSim scene(with_capacity(1));
  scene.add(scene.fifo_callback("low", 20, 80, low(9, 10)));
  scene.add(scene.fifo_callback("other", 5, 50));
  const Lines jobs = scene.run(80, {{0, "low"}, {0, "other"}}, [&] {
    scene.until(3);
    scene.add(scene.fifo_callback("high", 1, 70, budget(5, 10)));
  });
  EXPECT_EQ(jobs, (Lines{"0-0-25 low", "0-3-8 other"}));
}

TEST(Admission, where_attributes_are_required_refuses_high_ones_that_do_not_fit_and_no_others)
{
  EngineOnSim scene(with_capacity(1, AttributesMode::kRequire));
  scene.add(scene.fifo_callback("a", 1, 80, budget(6, 10)));
  scene.add(scene.fifo_callback("low", 1, 80, low(6, 10)));
  std::shared_ptr<Callback> callback;
  const auto group = scene.group("g");
  EXPECT_EQ(
    scene.engine.add_callback(scene.fifo_callback("b", 1, 80, budget(6, 10)), group, &callback)
      .message(),
    "callback 'b': its budget of 6000 us in 10000 us does not fit beside the others' into the "
    "capacity of 100 % of a CPU. Give it less, or give others criticality: low, or raise the "
    "capacity");
  EXPECT_TRUE(
    scene.engine.add_callback(scene.fifo_callback("c", 1, 80, budget(4, 10)), group, &callback)
      .ok());
  scene.group("with budget", 1, budget(1, 10));
  EXPECT_FALSE(
    scene.engine
      .add_callback(scene.fifo_callback("d", 1, 80), scene.group("with budget"), &callback)
      .ok());
}

TEST(Admission, counts_a_group_and_a_chain_once)
{
  EngineOnSim scene(with_capacity(1, AttributesMode::kRequire));
  scene.group("group", 1, budget(5, 10));
  scene.add(scene.fifo_callback("a", 1, 80), "group");
  scene.add(scene.fifo_callback("b", 1, 80), "group");
  for (const char * name : {"c", "d"}) {
    CallbackOptions link = scene.fifo_callback(name, 1, 80, budget(5, 10));
    link.chain = "chain";
    scene.add(link);
  }
  EXPECT_TRUE(scene.told().empty());
}

TEST(Admission, is_off_unless_there_is_a_capacity)
{
  EngineOnSim scene;
  scene.add(scene.fifo_callback("a", 1, 80, budget(10, 10)));
  scene.add(scene.fifo_callback("b", 1, 80, budget(10, 10)));
  EXPECT_TRUE(scene.told().empty());
}

TEST(Admission, a_low_timer_has_a_longer_period_while_that_is_needed)
{
  EngineOnSim scene(with_capacity(1));
  TimerOptions timer;
  timer.period = milliseconds(20);
  scene.add_timer(scene.fifo_callback("low", 1, 50, low(6, 10, 30)), timer);
  scene.run(400, {}, [&] {
    scene.until(100);
    EXPECT_EQ(scene.statistics("low").executed, 4U);
    scene.add(scene.fifo_callback("high", 1, 80, budget(7, 10)));  // 6 in 20: twice the period
    scene.until(300);
    EXPECT_EQ(scene.statistics("low").executed, 9U);
    scene.remove("high");
  });
  EXPECT_GE(scene.statistics("low").executed, 14U);
  EXPECT_EQ(
    scene.told(),
    Lines{"low its budget of 6000 us in 10000 us does not fit beside the others' into the capacity "
          "of 100 % of a CPU: its period is stretched, now to 20000 us"});
}

// ---- Overload

CallbackOptions with_deadline(
  EngineOnSim & scene, const std::string & name, Duration work, Duration deadline,
  const Budget & its)
{
  CallbackOptions options = scene.callback_options(name, work);
  options.attributes.policy = SchedulingPolicy::kExt;
  options.relative_deadline = deadline;
  options.overrun_rule = OverrunRule::kKeepLatest;
  options.budget = its;
  options.run = [&scene, work](const Job & job) {
    if (!job.is_given_up) {
      scene.sim.work(work);
    }
    return true;
  };
  return options;
}

/// Five timers that need 113 % of the CPU, under earliest deadline first. Returns how many are late or left out.
std::vector<uint64_t> lost(double capacity, const Budget & of_last)
{
  EngineOnSim scene(1, with_capacity(capacity));
  const int64_t periods[] = {10, 20, 30, 40, 50};
  const int64_t works[] = {1, 1, 5, 11, 27};
  const Budget budgets[] = {budget(1, 8), budget(1, 15), budget(5, 22), budget(11, 30), of_last};
  for (int i = 0; i < 5; ++i) {
    TimerOptions timer;
    timer.period = milliseconds(periods[i]);
    scene.add_timer(
      with_deadline(
        scene, std::to_string(i), milliseconds(works[i]), milliseconds(periods[i]), budgets[i]),
      timer);
  }
  scene.run(4000);
  std::vector<uint64_t> lost;
  for (int i = 0; i < 5; ++i) {
    const CallbackStatistics statistics = scene.statistics(std::to_string(i));
    lost.push_back(statistics.deadline_misses + statistics.skipped);
  }
  return lost;
}

TEST(Overload, of_earliest_deadline_first_makes_all_late_and_with_a_capacity_only_who_is_low)
{
  const std::vector<uint64_t> without = lost(0, budget(50, 50));
  for (const uint64_t one : without) {
    EXPECT_GT(one, 20U) << "the domino";
  }
  const std::vector<uint64_t> with = lost(1, low(27, 50));
  EXPECT_EQ(std::vector<uint64_t>(with.begin(), with.end() - 1), (std::vector<uint64_t>(4, 0)));
  EXPECT_GT(with.back(), 20U);
  EXPECT_LT(with.back(), 80U) << "it has what the others leave";
}

TEST(Overload, goes_away_where_a_period_may_be_stretched)
{
  EXPECT_EQ(lost(1, low(27, 50, 150)), (std::vector<uint64_t>(5, 0)));
}

// Whatever low ones do that have no room: those that have room run as if they were alone.
TEST(Overload, takes_nothing_from_those_that_have_room_in_random_systems)
{
  std::mt19937 random(18);
  const auto from = [&random](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int64_t given_up = 0;
  for (int system = 0; system < 25; ++system) {
    struct Task
    {
      int64_t period, work, first;
    };
    std::vector<Task> high;
    std::vector<Task> low_ones;
    for (int i = 0; i < 3; ++i) {
      const int64_t period = from(10, 60);
      // Two jobs begin within a period at most.
      high.push_back({period, from(1, std::max<int64_t>(1, period / 8)), from(0, period)});
      low_ones.push_back({from(10, 60), from(1, 40), from(0, 30)});
    }
    Lines of_high[2];
    for (const bool with_low : {false, true}) {
      EngineOnSim scene(1, with_capacity(0.99));
      const auto add = [&scene](const std::string & name, const Task & task, const Budget & its) {
        TimerOptions timer;
        timer.period = milliseconds(task.period);
        timer.first = milliseconds(task.first);
        scene.add_timer(
          with_deadline(scene, name, milliseconds(task.work), milliseconds(task.period), its),
          timer);
      };
      for (std::size_t i = 0; with_low && i < low_ones.size(); ++i) {
        add("low " + std::to_string(i), low_ones[i], low(100, 100));
      }
      for (std::size_t i = 0; i < high.size(); ++i) {
        add("high " + std::to_string(i), high[i], budget(2 * high[i].work, high[i].period));
      }
      scene.run(500);
      for (const rclrt_job_record & record : scene.ran) {
        const std::string name = scene.name_of(record.callback);
        if (name.rfind("high", 0) == 0) {  // A job may begin before it has a CPU for itself.
          of_high[with_low].push_back(
            std::to_string(record.release_ns) + "-" + std::to_string(record.end_ns) + " " + name);
        }
      }
      std::sort(of_high[with_low].begin(), of_high[with_low].end());
      for (std::size_t i = 0; with_low && i < low_ones.size(); ++i) {
        given_up += static_cast<int64_t>(scene.statistics("low " + std::to_string(i)).skipped);
      }
    }
    EXPECT_EQ(of_high[true], of_high[false]) << "system " << system;
    EXPECT_GT(of_high[true].size(), 10U);
  }
  EXPECT_GT(given_up, 100);
}

TEST(
  Overload, a_low_job_that_would_begin_after_its_deadline_is_not_run_unless_somebody_waits_for_it)
{
  const struct
  {
    CallbackKind kind;
    bool is_low;
    bool is_given_up;
  } cases[] = {
    {CallbackKind::kSubscription, true, true},
    {CallbackKind::kSubscription, false, false},
    {CallbackKind::kService, true, false},
    {CallbackKind::kWaitable, true, false},
  };
  for (const auto & c : cases) {
    EngineOnSim scene;
    CallbackOptions a = scene.fifo_callback("a", 2, 50, c.is_low ? low(5, 10) : budget(5, 10));
    a.kind = c.kind;
    a.relative_deadline = milliseconds(10);
    a.run = [&scene](const Job & job) {
      EXPECT_EQ(gives_up_job(), job.is_given_up);
      scene.work(job.is_given_up ? 0 : 2);
      return true;
    };
    scene.add(a);
    scene.add(scene.fifo_callback("b", 15, 80));
    const Lines jobs = scene.run(60, {{0, "b"}, {1, "a"}, {6, "a"}});
    EXPECT_EQ(
      jobs, c.is_given_up ? (Lines{"0-0-15 b", "6-15-17 a"})
                          : (Lines{"0-0-15 b", "1-15-17 a", "6-17-19 a"}))
      << to_string(c.kind);
    EXPECT_EQ(scene.statistics("a").skipped, c.is_given_up ? 1U : 0U);
    EXPECT_EQ(scene.given_up.size(), c.is_given_up ? 1U : 0U);
  }
}

// ---- What callbacks below one with a budget wait for it at most, as docs/how-to/budgets.md says: random systems, and
// the bound that follows from the sentence

constexpr int kSystems = 40;
constexpr int64_t kLengthMs = 500;

struct Periodic
{
  int64_t period;  // us, as all below
  int64_t work;
};

struct System
{
  Budget budget;
  std::vector<Periodic>
    timers;  // the most urgent first; the first one is above the callback with the budget
};

int64_t in_us(Duration duration) { return duration / microseconds(1); }

System random_system(std::mt19937 & random)
{
  const auto from = [&random](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  System system;
  const int64_t period = from(8000, 40000);
  system.budget.period = microseconds(period);
  system.budget.runtime = microseconds(from(period / 20, period / 3));
  for (int i = 0; i < 3; ++i) {
    const int64_t timer_period = from(10000, 60000);
    system.timers.push_back({timer_period, from(timer_period / 20, timer_period / 6)});
  }
  return system;
}

/// Bounds the response of timer `which`, below the budget; 0: there is no bound within its period.
/// `is_server`: a budget may be given at the end of one period and at the begin of the next.
int64_t bound(const System & system, std::size_t which, bool is_server)
{
  const int64_t period = in_us(system.budget.period);
  const int64_t runtime = in_us(system.budget.runtime);
  const int64_t used = runtime + std::max<int64_t>(runtime / 32, 50);  // what the watch lets pass
  const int64_t early = is_server ? period - used : 0;
  const auto ceil = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  for (int64_t response = system.timers[which].work; response <= system.timers[which].period;) {
    int64_t demand = system.timers[which].work + used * ceil(response + early, period);
    for (std::size_t i = 0; i < which; ++i) {
      demand += system.timers[i].work * ceil(response, system.timers[i].period);
    }
    if (demand == response) {
      return response;
    }
    response = demand;
  }
  return 0;
}

enum class Whose
{
  kCallback,
  kGroup,
  kChain,
};

/// Longest response times, us, beside callbacks whose jobs need up to three times the budget, again and again. Several
/// are a group or a chain, and share it.
std::vector<int64_t> longest(const System & system, Whose whose, std::mt19937 & random)
{
  EngineOnSim engine;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < system.timers.size(); ++i) {
    names.push_back("timer " + std::to_string(i));
    CallbackOptions options =
      engine.callback_options(names.back(), microseconds(system.timers[i].work));
    options.attributes = fifo(i == 0 ? 80 : 60 - static_cast<int>(i));
    TimerOptions timer;
    timer.period = microseconds(system.timers[i].period);
    timer.first =
      microseconds(std::uniform_int_distribution<int64_t>(0, system.timers[i].period)(random));
    engine.add_timer(std::move(options), timer);
  }
  engine.group("hungry", 1, whose == Whose::kGroup ? system.budget : Budget());
  const int callbacks = whose == Whose::kCallback ? 1 : 5;
  for (int i = 0; i < callbacks; ++i) {
    CallbackOptions hungry = engine.fifo_callback("hungry " + std::to_string(i), 0, 70 - i % 2);
    hungry.budget = whose == Whose::kGroup ? Budget() : system.budget;
    hungry.chain = whose == Whose::kChain ? "chain" : "";
    hungry.depth = 100;
    hungry.run = [&](const Job &) {
      const int64_t most = 3 * in_us(system.budget.runtime);
      engine.sim.work(microseconds(std::uniform_int_distribution<int64_t>(0, most)(random)));
      return true;
    };
    engine.add(std::move(hungry), whose == Whose::kChain ? "" : "hungry");
  }
  std::vector<Arrival> arrivals;
  for (int64_t at = 1; at < kLengthMs - 50;) {
    const int which = std::uniform_int_distribution<int>(0, callbacks - 1)(random);
    arrivals.push_back({at, "hungry " + std::to_string(which)});
    at += std::uniform_int_distribution<int64_t>(1, in_us(system.budget.period) / 1000)(random);
  }
  engine.run(kLengthMs, arrivals);
  std::vector<int64_t> found;
  for (const std::string & name : names) {
    found.push_back(in_us(engine.statistics(name).max_response));
  }
  return found;
}

void judge(Whose whose)
{
  std::mt19937 random(18);
  int judged = 0;
  int above_one_a_period = 0;
  double tightest = 0;
  for (int i = 0; i < kSystems; ++i) {
    const System system = random_system(random);
    const std::vector<int64_t> seen = longest(system, whose, random);
    for (std::size_t timer = 1; timer < seen.size(); ++timer) {
      const int64_t most = bound(system, timer, true);
      if (most == 0) {
        continue;
      }
      ++judged;
      EXPECT_LE(seen[timer], most) << "system " << i << ", timer " << timer;
      const int64_t less = bound(system, timer, false);
      above_one_a_period += less > 0 && seen[timer] > less ? 1 : 0;
      tightest = std::max(tightest, static_cast<double>(seen[timer]) / static_cast<double>(most));
    }
  }
  ::testing::Test::RecordProperty("judged", judged);
  EXPECT_GT(judged, kSystems / 2);
  EXPECT_GT(above_one_a_period, 0)
    << "without what meets at the end of a period the bound is wrong";
  EXPECT_GT(tightest, 0.8);
}

TEST(BudgetBound, is_kept_by_every_callback_below_and_needs_the_two_budgets_that_meet)
{
  judge(Whose::kCallback);
}

TEST(BudgetBound, of_a_group_is_that_of_one_callback_however_many_share_it)
{
  judge(Whose::kGroup);
}

TEST(BudgetBound, of_a_chain_is_that_of_one_callback_in_however_many_groups_it_is)
{
  judge(Whose::kChain);
}

}  // namespace
}  // namespace rclrt_core
