// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What tests of budgets in virtual time need.
#ifndef BUDGET_SCENE_HPP_
#define BUDGET_SCENE_HPP_

#include "engine_on_sim.hpp"

namespace rclrt_core
{

inline Budget budget(int64_t runtime_ms, int64_t period_ms, OnOverrun reaction = OnOverrun::kDemote)
{
  Budget budget;
  budget.runtime = milliseconds(runtime_ms);
  budget.period = milliseconds(period_ms);
  budget.on_overrun = reaction;
  return budget;
}

class Scene : public EngineOnSim
{
public:
  using EngineOnSim::EngineOnSim;

  CallbackOptions options(
    const std::string & name, int priority, int64_t work_ms, const Budget & its_budget = {})
  {
    CallbackOptions options = callback_options(name, milliseconds(work_ms));
    options.attributes = fifo(priority);
    options.budget = its_budget;
    return options;
  }

  /// "tick": every 10 ms from 0 on, 1 ms of work, a deadline at the end of its period, FIFO 50.
  void add_tick()
  {
    CallbackOptions tick = options("tick", 50, 1);
    tick.relative_deadline = milliseconds(10);
    tick.overrun_rule = OverrunRule::kSkip;
    TimerOptions timer;
    timer.period = milliseconds(10);
    timer.first = Duration{0};
    add_timer(tick, timer);
  }

  Lines told() const
  {
    Lines told;
    for (const Finding & finding : engine.findings()) {
      told.push_back(finding.subject + " " + finding.what);
    }
    return told;
  }
};

}  // namespace rclrt_core

#endif  // BUDGET_SCENE_HPP_
