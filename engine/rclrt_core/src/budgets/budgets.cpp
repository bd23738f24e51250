// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "budgets/budgets.hpp"

#include <algorithm>
#include <utility>

namespace rclrt_core
{
namespace
{

// In one section of the engine's lock: it is left between them, however many there are.
constexpr std::size_t kMaxLooks = 4;
// Threads that change when one budget is renewed: those that the callbacks of a chain need, and the one that runs.
constexpr std::size_t kMostOfOne = BudgetNode::kMaxMembers + 2;
// The enforcer sleeps for at least this part of a budget: the rest of one that is nearly used up is not worth more looks.
constexpr int64_t kLooksOfABudget = 32;
constexpr Duration kShortestSleep = std::chrono::microseconds(50);

Duration shortest_sleep(const Budget & budget)
{
  return std::max(budget.runtime / kLooksOfABudget, kShortestSleep);
}

}  // namespace

// ---- The enforcer begins and ends

Status Budgets::enforce_with(
  const Attributes & attributes, Tell tell, const std::function<void(const Finding &)> & on_finding)
{
  if (thread_ && attributes != attributes_) {
    const int error = platform_.apply(static_cast<ThreadId>(thread_id_.load()), attributes);
    if (error != 0) {
      on_finding(platform_.explain("the thread that enforces budgets", attributes, error));
    }
  }
  attributes_ = attributes;
  if (thread_) {
    return {};
  }
  tell_ = std::move(tell);
  ThreadOptions options;
  options.name = "rclrt budgets";
  options.attributes = attributes;
  const Status started = platform_.start_thread(
    options,
    [this] {
      thread_id_.store(static_cast<uint32_t>(platform_.current_thread()));
      platform_.wake_one(thread_id_);
      enforce();
    },
    on_finding, &thread_);
  while (started.ok() && thread_id_.load() == 0) {
    platform_.wait(thread_id_, 0, kNever);
  }
  if (started.ok()) {
    Section section(mutex_);
    enforces_ = true;
    next_look_ = kNever;
    look_by(TimePoint{}, section);  // at jobs that run already
  }
  return started;
}

void Budgets::stop_enforcing()
{
  if (!thread_) {
    return;
  }
  {
    const std::lock_guard<Mutex> lock(mutex_);
    enforces_ = false;
    word_.store(kEnds, std::memory_order_relaxed);
  }
  platform_.wake_one(word_);
  thread_->join();
  thread_.reset();
  thread_id_.store(0);
  Section section(mutex_);  // wakes nobody: no thread is left
  word_.store(kSleeps, std::memory_order_relaxed);
  while (!demoted_.empty()) {  // O(n log n) in them; no job runs
    renew(*demoted_.begin(), TimePoint{}, section);
  }
}

// ---- By the thread of the job

void Budgets::begin(Worker & worker, Section & section) noexcept
{
  BudgetNode & node = *worker.callback->budget;
  const TimePoint now = platform_.now();
  worker.charged_to_ns.store(-1, std::memory_order_relaxed);
  ++worker.budget_jobs;
  ++node.running;
  worker.round = round_;
  worker.runs_demoted = worker.callback->is_demoted();  // as was decided when it was bound
  charged_.push_back(worker);
  if (node.running == 1 && now >= node.end) {
    renew(node, add_saturating(now, node.budget.period), section);
  }
  follow(worker, section);
  limit(worker);
  look_by(next_look(node, now), section);
}

// The enforcer looks by the end of the period at the latest, because the job has begun.
bool Budgets::end(Worker & worker, int64_t cpu_ns) noexcept
{
  charged_.erase(charged_.iterator_to(worker));
  worker.urgency.limit({});
  const bool needs_more = charge(worker, cpu_ns);
  --worker.callback->budget->running;
  return needs_more && count(*worker.callback);
}

void Budgets::forget(BudgetNode & node) noexcept
{
  node.is_gone = true;
  take_from_demoted(node);
}

void Budgets::recall(BudgetNode & node, Section & section) noexcept
{
  node.is_gone = false;
  renew(node, TimePoint{}, section);
}

void Budgets::take_from_demoted(BudgetNode & node) noexcept
{
  if (node.in_demoted.is_linked()) {
    demoted_.erase(demoted_.iterator_to(node));
  }
}

// ---- What a budget does

// The end of the period that contains `now`, if periods follow each other without a gap.
TimePoint Budgets::end_after(const BudgetNode & node, TimePoint now) noexcept
{
  const int64_t over = (now - node.end) / node.budget.period + 1;
  return add_saturating(node.end, node.budget.period * over);
}

// What is used while demoted is free. Returns whether the job has used more than there was.
bool Budgets::charge(Worker & worker, int64_t cpu_ns) noexcept
{
  const int64_t from_ns = worker.charged_to_ns.load(std::memory_order_relaxed);
  // The enforcer may have read the clock later than the thread itself.
  if (from_ns < 0 || cpu_ns <= from_ns) {
    return false;
  }
  worker.charged_to_ns.store(cpu_ns, std::memory_order_relaxed);
  BudgetNode & node = *worker.callback->budget;
  if (!worker.runs_demoted) {
    node.used += Duration(cpu_ns - from_ns);
  }
  const bool was_spent = node.is_spent;
  if (!was_spent && node.used >= node.budget.runtime) {
    spend(node);
  }
  return was_spent || node.used > node.budget.runtime;
}

void Budgets::spend(BudgetNode & node) noexcept
{
  node.is_spent = true;
  if (node.demotes() && enforces_ && !node.is_demoted) {
    set_demoted(node, true);
    if (!node.is_gone) {
      demoted_.insert(node);
    }
  }
}

void Budgets::set_demoted(BudgetNode & node, bool is_demoted) noexcept
{
  const auto change = [&node, is_demoted] { node.is_demoted = is_demoted; };
  if (node.group) {
    ready_.change(*node.group, change);
  } else {
    ready_.change_all(node.members, change);
  }
}

// Once a period. Returns whether it is to be told.
bool Budgets::count(CallbackNode & callback) noexcept
{
  BudgetNode & node = *callback.budget;
  if (std::exchange(node.is_over, true)) {
    return false;
  }
  ++callback.statistics.over_budget;
  return !std::exchange(node.told, true);
}

void Budgets::renew(BudgetNode & node, TimePoint end, Section & section) noexcept
{
  take_from_demoted(node);
  node.end = end;
  node.used = Duration::zero();
  node.is_spent = false;
  node.is_over = false;
  if (!node.is_demoted) {
    return;
  }
  set_demoted(node, false);
  // A job that waits is as urgent as it was.
  for (const CallbackNode * member : node.members) {
    if (!member->backlog.empty()) {
      member->queue->lane->released(*member, section);
    }
  }
  if (node.group) {
    for (GroupQueue * queue : {node.group->queue.get(), node.group->timer_queue.get()}) {
      if (queue && !queue->callbacks.empty()) {
        queue->lane->released(queue->first(), section);
      }
    }
  }
}

// A job that runs follows what has become of its budget.
void Budgets::follow(Worker & worker, Section & section) noexcept
{
  const bool is_demoted = worker.callback->is_demoted();
  if (is_demoted == std::exchange(worker.runs_demoted, is_demoted) || worker.is_left_alone) {
    return;
  }
  worker.urgency.decide(worker.needs());
  section.settle(worker);
}

// Several jobs may run, and use the budget together.
Duration Budgets::left_for_one(const BudgetNode & node) noexcept
{
  return (node.budget.runtime - node.used) / std::max(1U, node.running);
}

// Tells the scheduler in the kernel what is left for a job that runs. Called by the thread that runs it, or by the enforcer.
// It allows what the enforcer may be late by.
void Budgets::limit(Worker & worker) noexcept
{
  const BudgetNode & node = *worker.callback->budget;
  const bool is_limited =
    enforces_ && node.demotes() && !worker.runs_demoted && worker.callback->attributes->is_ext();
  DeadlineScheduler::Limit limit;
  if (is_limited) {
    limit = {
      left_for_one(node) + shortest_sleep(node.budget), node.budget.runtime, node.budget.period};
  }
  worker.urgency.limit(limit);
}

TimePoint Budgets::next_look(const BudgetNode & node, TimePoint now) const noexcept
{
  if (node.is_spent) {
    return node.end;
  }
  const Duration sleep = std::max(left_for_one(node), shortest_sleep(node.budget));
  return std::min(node.end, add_saturating(now, sleep));
}

void Budgets::look_by(TimePoint time, Section & section) noexcept
{
  if (enforces_ && time < next_look_) {
    next_look_ = time;
    word_.store(kLooks, std::memory_order_relaxed);
    section.wake(platform_, word_);
  }
}

// ---- The enforcer

void Budgets::enforce() noexcept
{
  while (begin_round()) {
    while (look_at_some()) {
    }
    while (renew_some()) {
    }
    TimePoint until = kNever;
    {
      const std::lock_guard<Mutex> lock(mutex_);
      until = next_look_;
    }
    platform_.wait(word_, kSleeps, until);
  }
}

bool Budgets::begin_round() noexcept
{
  const std::lock_guard<Mutex> lock(mutex_);
  if (word_.load(std::memory_order_relaxed) == kEnds) {
    return false;
  }
  word_.store(kSleeps, std::memory_order_relaxed);
  next_look_ = kNever;
  ++round_;
  return true;
}

// At jobs that this round has not looked at yet. Returns whether there may be more.
bool Budgets::look_at_some() noexcept
{
  struct Seen
  {
    std::shared_ptr<Worker> worker;
    uint32_t job = 0;
    int64_t cpu_ns = -1;
    std::shared_ptr<CallbackNode> tell;
  };
  boost::container::static_vector<Seen, kMaxLooks> seen;
  {
    const std::lock_guard<Mutex> lock(mutex_);
    while (!charged_.empty() && charged_.front().round != round_ && seen.size() < kMaxLooks) {
      Worker & worker = charged_.front();
      worker.round = round_;
      charged_.pop_front();
      charged_.push_back(worker);
      seen.push_back({worker.shared_from_this(), worker.budget_jobs, -1, nullptr});
    }
  }
  for (Seen & one : seen) {
    one.cpu_ns = platform_.cpu_time_ns(one.worker->thread_id.load(std::memory_order_relaxed));
  }
  const TimePoint now = platform_.now();
  {
    Section section(mutex_);
    for (Seen & one : seen) {
      if (!section.has_room(kMostOfOne)) {
        section.leave();
        section.enter();
      }
      Worker & worker = *one.worker;
      const bool still_runs = worker.in_charged.is_linked() && worker.budget_jobs == one.job;
      if (still_runs && look(worker, one.cpu_ns, now, section)) {
        one.tell = worker.callback;
      }
    }
  }
  for (const Seen & one : seen) {
    if (one.tell) {
      tell_(*one.tell);
    }
  }
  return !seen.empty();
}

// Returns whether that it is over its budget is to be told.
bool Budgets::look(Worker & worker, int64_t cpu_ns, TimePoint now, Section & section) noexcept
{
  BudgetNode & node = *worker.callback->budget;
  const bool was_demoted = node.is_demoted;
  bool needs_more = charge(worker, cpu_ns);
  needs_more |= node.is_spent && now >= node.end;  // it may have had no CPU since
  const bool is_told = needs_more && count(*worker.callback);
  if (now >= node.end) {  // what was used since then counts in the old period
    renew(node, end_after(node, now), section);
  }
  follow(worker, section);
  limit(worker);
  // Other threads that run jobs with this budget follow in another round.
  const bool concerns_others = node.is_demoted != was_demoted && node.running > 1;
  next_look_ = std::min(next_look_, concerns_others ? now : next_look(node, now));
  return is_told;
}

// Gives some budgets that are used up their next period, if it has begun. Returns whether there may be more.
bool Budgets::renew_some() noexcept
{
  const TimePoint now = platform_.now();
  Section section(mutex_);
  for (std::size_t i = 0; i < kMaxLooks && !demoted_.empty() && section.has_room(kMostOfOne); ++i) {
    BudgetNode & node = *demoted_.begin();
    if (node.end > now || node.running > 0) {  // if it runs, the next round renews it
      next_look_ = std::min(next_look_, node.end);
      return false;
    }
    renew(node, node.end, section);
  }
  return !demoted_.empty();
}

}  // namespace rclrt_core
