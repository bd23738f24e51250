// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What callbacks below one with a budget wait for it at most, as docs/how-to/budgets.md says: random systems in virtual
// time, and the bound that follows from the sentence.

#include <random>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

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
  const int64_t used =
    runtime + std::max<int64_t>(runtime / 32, 50);  // what the enforcer lets pass
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
