// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "order/ready.hpp"

#include "budgets/budgets.hpp"
#include "timers/timer_clocks.hpp"
#include "trace/trace_log.hpp"

namespace rclrt_core
{
namespace
{

template <typename Set, typename Node>
void erase_from(Set & set, Node & node) noexcept
{
  set.erase(set.iterator_to(node));
}

}  // namespace

Backlog::Backlog(uint32_t depth)
: depth_(depth), capacity_(std::min(depth, kMaxRuns)), runs_(new Run[capacity_])
{
}

TimePoint Backlog::earliest_of_runs() const noexcept
{
  TimePoint earliest = kNever;
  for (uint32_t i = 0; i < used_; ++i) {
    earliest = std::min(earliest, run(i).deadline);
  }
  return earliest;
}

uint32_t Backlog::push(const Job & stamp, uint32_t count) noexcept
{
  const uint32_t room = depth_ - size_;
  const uint32_t dropped = count > room ? count - room : 0;
  if (dropped > 0) {
    drop(dropped);
  }
  size_ += count;
  if (used_ == capacity_) {
    const uint32_t older = run(0).count;
    if (older == 1) {
      run(used_ - 1).count += count;
      return dropped;
    }
    // The two oldest become one, with the stamp of the second.
    leave_oldest();
    run(0).sequence -= older;
    run(0).count += older;
  }
  Run & newest = run(used_++);
  static_cast<Job &>(newest) = stamp;
  newest.count = count;
  return dropped;
}

void Backlog::drop(uint32_t count) noexcept
{
  size_ -= count;
  while (count > 0) {
    Run & oldest = run(0);
    const uint32_t at_once = std::min(count, oldest.count);
    oldest.sequence += at_once;
    oldest.count -= at_once;
    count -= at_once;
    if (oldest.count == 0) {
      leave_oldest();
    }
  }
}

CallbackNode::CallbackNode(CallbackOptions options, uint32_t callback_id, const void * its_engine)
: Callback(
    std::move(options.name), options.kind, callback_id, options.relative_deadline,
    options.deadline_from),
  run(std::move(options.run)),
  overrun_rule(options.overrun_rule.value_or(OverrunRule::kQueueAll)),
  inherit_priority(options.inherit_priority),
  sets_clock(options.sets_clock),
  own_priority(options.queue_priority),
  priority(options.queue_priority),
  engine(its_engine),
  backlog(options.depth)
{
}

CallbackNode::~CallbackNode() = default;

bool CallbackNode::is_demoted() const noexcept
{
  return budget && budget->is_demoted && budget->background->level < attributes->level;
}

const AttributesEntry & CallbackNode::attributes_in_group() const noexcept
{
  return budget && budget->group ? *attributes : attributes_now();
}

Urgency CallbackNode::urgency_now() const noexcept
{
  Urgency now = urgency;
  if (is_demoted()) {
    now.level = budget->background->level;
    now.os_deadline_ns = budget->background->relative_deadline_ns;
  }
  return now;
}

const AttributesEntry & CallbackNode::background() const noexcept { return *budget->background; }

TimePoint CallbackNode::place(const Job & job) const noexcept
{
  return timer && timer->follows_a_told_clock() ? job.ready : job.release;
}

void CallbackNode::clock_was_set() noexcept
{
  if (!backlog.empty()) {
    clock_waits_since = backlog.front().release;
  } else if (running == 0) {
    clock_waits_since = kNever;
  }
}

TimePoint CallbackNode::deadline(TimePoint release, TimePoint inherited) const noexcept
{
  const bool is_own = stamps ? inherited == kNever : !inherits_deadlines();
  return is_own ? add_saturating(release, relative_deadline()) : inherited;
}

bool MoreUrgent::operator()(const GroupQueue & a, const GroupQueue & b) const noexcept
{
  const CallbackNode & of_a = a.first();
  const CallbackNode & of_b = b.first();
  if (!of_a.budget && !of_b.budget) {  // nearly always
    return more_urgent(of_a.urgency, of_b.urgency);
  }
  return more_urgent(of_a.urgency_now(), of_b.urgency_now());
}

void Ready::unlink(GroupQueue & queue) noexcept
{
  if (queue.in_lane.is_linked()) {
    erase_from(queue.lane->ready, queue);
  }
}

void Ready::link(GroupQueue & queue) noexcept
{
  if (!queue.in_lane.is_linked() && !queue.callbacks.empty() && queue.group->has_room()) {
    queue.lane->ready.insert(queue);
  }
}

// A queue's place in its lane follows from its most urgent callback: the queue leaves the lane before the
// callback's urgency changes and comes back after.
void Ready::unlink(CallbackNode & callback) noexcept
{
  unlink(*callback.queue);
  if (callback.in_group.is_linked()) {
    erase_from(callback.queue->callbacks, callback);
    erase_from(waiting_, callback);
  }
}

void Ready::link(CallbackNode & callback) noexcept
{
  if (!callback.backlog.empty()) {
    Job job = callback.backlog.front();
    job.priority = callback.priority;
    // A later message with an earlier deadline waits for the oldest one to be run, and lends it its own.
    job.deadline = callback.backlog.earliest_deadline();
    Urgency & urgency = callback.urgency;
    if (!callback.is_in_line) {
      callback.is_in_line = true;
      urgency.release_ns = nanoseconds_of(callback.place(job));
      urgency.sequence = job.sequence;
    }
    const AttributesEntry & attributes = callback.attributes_in_group();
    urgency.level = attributes.level;
    urgency.os_deadline_ns =
      attributes.is_ext() ? nanoseconds_of(job.deadline) : attributes.relative_deadline_ns;
    urgency.rank = policy_.rank(job);
    callback.queue->callbacks.insert(callback);
    waiting_.push_back(callback);
  }
  link(*callback.queue);
}

bool Ready::release(CallbackNode & callback, Job & stamp, uint64_t count) noexcept
{
  Backlog & backlog = callback.backlog;
  latest_release_ = std::max(latest_release_, callback.place(stamp));
  callback.count_released(count);
  switch (callback.overrun_rule) {
    case OverrunRule::kQueueAll:
      unlink(callback);
      if (count == 1 && backlog.size() < backlog.depth()) {  // nearly always
        stamp.sequence = next_sequence_++;
        backlog.push(stamp);
      } else {
        queue_all(callback, stamp, count);
      }
      break;
    case OverrunRule::kSkip:
      stamp.sequence = next_sequence_;
      if (!backlog.empty() || callback.running > 0) {
        give_up(callback, stamp, count, RCLRT_JOB_SKIPPED, stamp.ready);
        return false;
      }
      unlink(callback);
      give_up(callback, stamp, count - 1, RCLRT_JOB_SKIPPED, stamp.ready);
      ++next_sequence_;
      backlog.push(stamp);
      break;
    case OverrunRule::kKeepLatest:
      unlink(callback);
      stamp.sequence = next_sequence_++;
      give_up(
        callback, backlog.empty() ? stamp : backlog.front(), count - 1 + backlog.size(),
        RCLRT_JOB_SKIPPED, stamp.ready);
      backlog.clear();
      backlog.push(stamp);
      break;
  }
  link(callback);
  return true;
}

// Only the newest jobs of a burst can wait: the others are counted without a loop.
void Ready::queue_all(CallbackNode & callback, Job & stamp, uint64_t count) noexcept
{
  Backlog & backlog = callback.backlog;
  const uint64_t kept = std::min<uint64_t>(count, backlog.depth());
  Job first = stamp;
  first.sequence = next_sequence_;
  if (!backlog.empty()) {
    first = backlog.front();
  }
  stamp.sequence = next_sequence_ + (count - kept);
  next_sequence_ += count;
  const uint32_t dropped = backlog.push(stamp, static_cast<uint32_t>(kept));
  give_up(callback, first, count - kept + dropped, RCLRT_JOB_DROPPED, stamp.ready);
}

void Ready::release_late(CallbackNode & callback, Job last, Duration step, uint64_t count) noexcept
{
  Backlog & backlog = callback.backlog;
  latest_release_ = std::max(latest_release_, callback.place(last));
  callback.count_released(count);
  Job first = last;
  first.release -= step * static_cast<int64_t>(count - 1);
  const uint64_t kept = std::min<uint64_t>(count, backlog.depth());
  first.sequence = next_sequence_;
  if (!backlog.empty()) {
    first = backlog.front();
  }
  uint64_t dropped = count - kept;
  unlink(callback);
  // Beyond the runs that a backlog keeps the jobs are alike: they are pushed at once.
  for (uint64_t left = kept; left > 0;) {
    Job stamp = last;
    const Duration earlier = step * static_cast<int64_t>(left - 1);
    stamp.release -= earlier;
    stamp.root = stamp.release;
    stamp.deadline = callback.deadline(stamp.release, kNever);
    const bool stamped = kept - left + 1 < Backlog::kMaxRuns;
    const auto at_once = static_cast<uint32_t>(stamped ? 1 : left);
    stamp.sequence = next_sequence_;
    next_sequence_ += at_once;
    dropped += backlog.push(stamp, at_once);
    left -= at_once;
  }
  give_up(callback, first, dropped, RCLRT_JOB_DROPPED, last.ready);
  link(callback);
}

void Ready::withdraw(CallbackNode & callback, TimePoint now) noexcept
{
  if (callback.backlog.empty()) {
    return;
  }
  unlink(callback);
  give_up(callback, callback.backlog.front(), callback.backlog.size(), RCLRT_JOB_SKIPPED, now);
  callback.backlog.clear();
  callback.is_in_line = false;
  link(callback);
}

void Ready::give_up(
  CallbackNode & callback, const Job & first, uint64_t count, rclrt_job_outcome why,
  TimePoint now) noexcept
{
  if (count == 0) {
    return;
  }
  callback.has_lost_jobs = true;
  (why == RCLRT_JOB_DROPPED ? callback.statistics.dropped : callback.statistics.skipped) += count;
  rclrt_job_record record = record_of(first, callback);
  record.start_ns = nanoseconds_of(now);
  record.end_ns = record.start_ns;
  record.outcome = static_cast<uint8_t>(why);
  record.jobs = static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
  given_up_.push(record);
}

void Ready::take(CallbackNode & callback, Worker & runner) noexcept
{
  GroupNode & group = *callback.queue->group;
  unlink(callback);
  runner.job = callback.backlog.front();
  callback.backlog.pop();
  callback.is_in_line = !callback.backlog.empty() || callback.has_lost_jobs;
  callback.has_lost_jobs = false;
  if (callback.is_in_line) {
    // At the end of the line: behind what was released until now and what has been taken until now. In the
    // nanosecond that this takes from what comes next no release can happen.
    latest_release_ += Duration(1);
    callback.urgency.release_ns = nanoseconds_of(latest_release_);
    callback.urgency.sequence = next_sequence_;
  }
  runner.job.priority = callback.priority;
  ++callback.running;
  ++group.running;
  if (group.parallelism == 1) {
    group.runner = &runner;
  }
  link(callback);
  for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (queue && !group.has_room()) {
      unlink(*queue);
    }
  }
}

void Ready::finish(CallbackNode & callback) noexcept
{
  GroupNode & group = *callback.queue->group;
  --callback.running;
  --group.running;
  group.runner = nullptr;
  for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (queue) {
      link(*queue);
    }
  }
}

TimePoint earliest_to_bring_together(const CallbackNode & callback) noexcept
{
  const auto & taken = callback.queue->group->taken;
  auto other = taken.begin();
  if (other != taken.end() && &*other == &callback) {
    ++other;
  }
  return other != taken.end() && callback.inherits_deadlines() ? other->taken : kNever;
}

void hand_on(CallbackNode & callback) noexcept
{
  callback.queue->group->taken.clear_and_dispose(
    [](CallbackNode * other) { other->taken = kNever; });
}

void forget_taken(CallbackNode & callback) noexcept
{
  if (callback.in_taken.is_linked()) {
    erase_from(callback.queue->group->taken, callback);
  }
  callback.taken = kNever;
}

void keep_taken(CallbackNode & callback, TimePoint deadline) noexcept
{
  forget_taken(callback);
  callback.taken = deadline;
  if (deadline != kNever) {
    callback.queue->group->taken.insert(callback);
  }
}

}  // namespace rclrt_core
