// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "order/ready.hpp"

#include "threads/worker.hpp"
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
  }
}

void Ready::link(CallbackNode & callback) noexcept
{
  if (!callback.backlog.empty()) {
    Job job;
    static_cast<ReleaseStamp &>(job) = callback.backlog.front();
    job.priority = callback.priority;
    // A later message with an earlier deadline waits for the oldest one to be run, and lends it its own.
    job.deadline = callback.backlog.earliest_deadline();
    Urgency & urgency = callback.urgency;
    if (!callback.is_in_line) {
      callback.is_in_line = true;
      urgency.release_ns = nanoseconds_of(callback.place(job));
      urgency.sequence = job.sequence;
    }
    const AttributesEntry & policy = callback.policy_in_group();
    urgency.level = policy.level;
    urgency.os_deadline_ns =
      policy.is_ext() ? nanoseconds_of(job.deadline) : policy.relative_deadline_ns;
    urgency.rank = policy_.rank(job);
    callback.queue->callbacks.insert(callback);
  }
  link(*callback.queue);
}

bool Ready::release(CallbackNode & callback, ReleaseStamp stamp, uint64_t count) noexcept
{
  Backlog & backlog = callback.backlog;
  latest_release_ = std::max(latest_release_, callback.place(stamp));
  callback.statistics.released += count;
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
void Ready::queue_all(CallbackNode & callback, ReleaseStamp stamp, uint64_t count) noexcept
{
  Backlog & backlog = callback.backlog;
  const uint64_t kept = std::min<uint64_t>(count, backlog.depth());
  ReleaseStamp first = stamp;
  first.sequence = next_sequence_;
  if (!backlog.empty()) {
    first = backlog.front();
  }
  stamp.sequence = next_sequence_ + (count - kept);
  next_sequence_ += count;
  const uint32_t dropped = backlog.push(stamp, static_cast<uint32_t>(kept));
  give_up(callback, first, count - kept + dropped, RCLRT_JOB_DROPPED, stamp.ready);
}

void Ready::release_late(
  CallbackNode & callback, ReleaseStamp last, Duration step, uint64_t count) noexcept
{
  Backlog & backlog = callback.backlog;
  latest_release_ = std::max(latest_release_, callback.place(last));
  callback.statistics.released += count;
  ReleaseStamp first = last;
  first.release -= step * static_cast<int64_t>(count - 1);
  const uint64_t kept = std::min<uint64_t>(count, backlog.depth());
  first.sequence = next_sequence_;
  if (!backlog.empty()) {
    first = backlog.front();
  }
  uint64_t dropped = count - kept;
  unlink(callback);
  // Beyond the stamps that a backlog keeps the jobs are alike: they are pushed at once.
  for (uint64_t left = kept; left > 0;) {
    ReleaseStamp stamp = last;
    const Duration earlier = step * static_cast<int64_t>(left - 1);
    stamp.release -= earlier;
    stamp.root = stamp.release;
    stamp.deadline = callback.deadline(stamp.release, kNever);
    const bool stamped = kept - left < Backlog::kMaxStamps;
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
  CallbackNode & callback, const ReleaseStamp & first, uint64_t count, rclrt_job_outcome why,
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
  static_cast<ReleaseStamp &>(runner.job) = callback.backlog.pop();
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
