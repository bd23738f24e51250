// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/sim/machine.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace rclrt_core::sim
{
namespace
{

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool runs_before(const VirtualThread * a, const VirtualThread * b)
{
  if (more_urgent(a->urgency, b->urgency)) {
    return true;
  }
  return !more_urgent(b->urgency, a->urgency) && a->order < b->order;
}

}  // namespace

std::string in_milliseconds(Duration duration)
{
  const int64_t ns = duration.count();
  std::string text = std::to_string(ns / 1'000'000);
  if (const int64_t rest = ns % 1'000'000; rest != 0) {
    std::string fraction = std::to_string(1'000'000 + std::abs(rest)).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text;
}

Machine::Machine(int cpus)
: cpus_(static_cast<std::size_t>(cpus), nullptr), last_segment_(cpus_.size(), kNone)
{
}

VirtualThread * Machine::find(ThreadId id) const
{
  for (const auto & thread : threads_) {
    if (thread->id == id) {
      return thread.get();
    }
  }
  return nullptr;
}

std::shared_ptr<VirtualThread> Machine::add(const std::string & name)
{
  auto thread = std::make_shared<VirtualThread>();
  thread->id = ++last_id_;
  thread->name = name;
  thread->attributes.scheduling_policy = SchedulingPolicy::kOther;
  std::vector<int> all;
  for (int cpu = 0; cpu < cpu_count(); ++cpu) {
    all.push_back(cpu);
  }
  thread->attributes.cpu_affinity = CpuSet(all);
  thread->urgency = thread->attributes;
  thread->order = ++tail_;
  threads_.push_back(thread);
  return thread;
}

int Machine::set_attributes(VirtualThread & thread, const Attributes & attributes)
{
  if (!validate(attributes, cpu_count(), "").ok()) {
    return EINVAL;
  }
  Attributes next = attributes;
  if (attributes.scheduling_policy == SchedulingPolicy::kUnchanged) {
    next = thread.attributes;
    next.cpu_affinity = attributes.cpu_affinity;
  }
  if (next.cpu_affinity.empty()) {
    next.cpu_affinity = thread.attributes.cpu_affinity;
  }
  thread.attributes = next;
  lend_urgency();
  if (thread.state == State::kRunning && !next.cpu_affinity.contains(thread.cpu)) {
    leave_cpu(thread);
    thread.state = State::kReady;
    thread.order = --head_;
  }
  return 0;
}

void Machine::set_locks(bool preemptible, bool inheritance)
{
  preemptible_locks_ = preemptible;
  inheritance_ = preemptible && inheritance;
  lend_urgency();
}

bool Machine::may_be_preempted(const VirtualThread & thread) const
{
  return preemptible_locks_ || thread.held.empty();
}

void Machine::acquire(VirtualThread & thread, const void * key)
{
  thread.held.push_back(key);
  if (inheritance_) {
    lend_urgency();
  }
}

void Machine::release(VirtualThread & thread, const void * key)
{
  thread.held.erase(std::find(thread.held.begin(), thread.held.end(), key));
  if (inheritance_) {
    lend_urgency();
  }
}

void Machine::lend_urgency()
{
  std::vector<Attributes> next;
  for (const auto & thread : threads_) {
    next.push_back(thread->attributes);
  }
  // Along a chain of mutexes urgency goes one further in each round; it only ever grows, so this
  // ends in a deadlock too.
  bool changed = inheritance_;
  while (changed) {
    changed = false;
    for (std::size_t waiter = 0; waiter < threads_.size(); ++waiter) {
      for (std::size_t holder = 0; holder < threads_.size(); ++holder) {
        const auto & held = threads_[holder]->held;
        const bool waits = std::find(held.begin(), held.end(), threads_[waiter]->key) != held.end();
        if (waits && more_urgent(next[waiter], next[holder])) {
          next[holder] = next[waiter];
          changed = true;
        }
      }
    }
  }
  for (std::size_t index = 0; index < threads_.size(); ++index) {
    VirtualThread & thread = *threads_[index];
    // As in Linux: a thread that is raised comes after its new equals, one that is lowered before them.
    if (thread.state != State::kRunning) {
      if (more_urgent(next[index], thread.urgency)) {
        thread.order = ++tail_;
      } else if (more_urgent(thread.urgency, next[index])) {
        thread.order = --head_;
      }
    }
    thread.urgency = next[index];
  }
}

void Machine::begin_work(VirtualThread & thread, Duration duration)
{
  thread.work_left = duration;
  if (thread.finished_work_now && thread.state == State::kReady) {
    // It lost its CPU at the end of the previous work(), and now needs one.
    ++thread.preemptions;
    ++thread.switches;
  }
  thread.finished_work_now = false;
}

void Machine::block(
  VirtualThread & thread, Reason reason, const void * key, const std::string & key_name,
  TimePoint until)
{
  leave_cpu(thread);
  ++thread.switches;
  thread.finished_work_now = false;
  thread.state = State::kBlocked;
  thread.reason = reason;
  thread.key = key;
  thread.key_name = key_name;
  thread.until = until;
  thread.blocked_order = ++tail_;
  if (inheritance_) {
    lend_urgency();
  }
}

void Machine::end(VirtualThread & thread)
{
  leave_cpu(thread);
  thread.state = State::kEnded;
  const auto is_it = [&](const auto & other) { return other.get() == &thread; };
  threads_.erase(std::find_if(threads_.begin(), threads_.end(), is_it));
}

VirtualThread * Machine::most_urgent_blocked_on(const void * key) const
{
  VirtualThread * best = nullptr;
  for (const auto & thread : threads_) {
    if (thread->state != State::kBlocked || thread->key != key) {
      continue;
    }
    if (
      best == nullptr || more_urgent(thread->urgency, best->urgency) ||
      (!more_urgent(best->urgency, thread->urgency) &&
       thread->blocked_order < best->blocked_order)) {
      best = thread.get();
    }
  }
  return best;
}

void Machine::make_ready(VirtualThread & thread)
{
  thread.state = State::kReady;
  thread.key = nullptr;
  thread.until = kNever;
  thread.order = ++tail_;
}

void Machine::reschedule()
{
  std::vector<VirtualThread *> ready;
  for (;;) {
    ready.clear();
    for (const auto & thread : threads_) {
      if (thread->state == State::kReady) {
        ready.push_back(thread.get());
      }
    }
    std::sort(ready.begin(), ready.end(), runs_before);
    // Placing a thread may displace another, which is ready then: start over. Each displacement
    // replaces a thread by a more urgent one, so this ends.
    const auto placed = std::find_if(ready.begin(), ready.end(), [this](VirtualThread * thread) {
      const int cpu = cpu_for(*thread);
      if (cpu >= 0) {
        place(*thread, cpu);
      }
      return cpu >= 0;
    });
    if (placed == ready.end()) {
      return;
    }
  }
}

int Machine::cpu_for(const VirtualThread & thread) const
{
  const CpuSet & allowed = thread.attributes.cpu_affinity;
  const auto occupant = [this](int cpu) { return cpus_[static_cast<std::size_t>(cpu)]; };
  if (allowed.contains(thread.cpu) && occupant(thread.cpu) == nullptr) {
    return thread.cpu;
  }
  int victim = -1;
  for (int cpu = 0; cpu < cpu_count(); ++cpu) {
    if (!allowed.contains(cpu)) {
      continue;
    }
    if (occupant(cpu) == nullptr) {
      return cpu;
    }
    const bool may_preempt =
      may_be_preempted(*occupant(cpu)) && more_urgent(thread.urgency, occupant(cpu)->urgency);
    if (may_preempt && (victim < 0 || runs_before(occupant(victim), occupant(cpu)))) {
      victim = cpu;
    }
  }
  return victim;
}

void Machine::place(VirtualThread & thread, int cpu)
{
  VirtualThread *& occupant = cpus_[static_cast<std::size_t>(cpu)];
  if (occupant != nullptr) {
    displace(*occupant);
  }
  occupant = &thread;
  thread.cpu = cpu;
  thread.state = State::kRunning;
}

void Machine::displace(VirtualThread & thread)
{
  leave_cpu(thread);
  thread.state = State::kReady;
  // As in SCHED_FIFO: a thread that is preempted goes on before others of the same urgency.
  thread.order = --head_;
  if (!thread.finished_work_now) {
    ++thread.preemptions;
    ++thread.switches;
  }
}

void Machine::leave_cpu(VirtualThread & thread)
{
  if (thread.state == State::kRunning) {
    cpus_[static_cast<std::size_t>(thread.cpu)] = nullptr;
  }
}

VirtualThread * Machine::next_in_code() const
{
  VirtualThread * best = nullptr;
  for (VirtualThread * thread : cpus_) {
    const bool in_code = thread != nullptr && thread->work_left == Duration{0};
    if (in_code && (best == nullptr || runs_before(thread, best))) {
      best = thread;
    }
  }
  if (best != nullptr || needs_cpu_) {
    return best;
  }
  // A thread that lost its CPU at the very instant when its work was done has done it: the code
  // that follows, which takes no time, still belongs to this instant.
  for (const auto & thread : threads_) {
    const bool is_finishing = thread->state == State::kReady && thread->finished_work_now;
    if (is_finishing && (best == nullptr || runs_before(thread.get(), best))) {
      best = thread.get();
    }
  }
  return best;
}

TimePoint Machine::next_event() const
{
  TimePoint next = kNever;
  for (const auto & thread : threads_) {
    if (thread->state == State::kBlocked) {
      next = std::min(next, thread->until);
    } else if (thread->state == State::kRunning) {
      next = std::min(next, add_saturating(now_, thread->work_left));
    }
  }
  return next;
}

void Machine::advance(TimePoint time)
{
  const Duration step = time - now_;
  for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    VirtualThread * thread = cpus_[cpu];
    if (thread == nullptr || step == Duration{0}) {
      continue;
    }
    thread->work_left -= step;
    thread->worked += step;
    thread->finished_work_now = thread->work_left == Duration{0};
    const std::size_t last = last_segment_[cpu];
    if (last != kNone && segments_[last].thread == thread->id && segments_[last].end == now_) {
      segments_[last].end = time;
    } else {
      last_segment_[cpu] = segments_.size();
      segments_.push_back({now_, time, static_cast<int>(cpu), thread->id, thread->name});
    }
  }
  now_ = time;
  for (const auto & thread : threads_) {
    if (thread->state == State::kBlocked && thread->until <= now_) {
      make_ready(*thread);
    }
  }
}

std::vector<std::string> Machine::schedule() const
{
  std::vector<std::string> lines;
  lines.reserve(segments_.size());
  for (const Segment & segment : segments_) {
    lines.push_back(
      in_milliseconds(segment.begin.time_since_epoch()) + "-" +
      in_milliseconds(segment.end.time_since_epoch()) + "ms cpu" + std::to_string(segment.cpu) +
      " " + segment.name);
  }
  return lines;
}

std::string Machine::describe_threads() const
{
  std::string text;
  for (const auto & thread : threads_) {
    text += (text.empty() ? "'" : "; '") + thread->name + "' ";
    if (thread->state != State::kBlocked) {
      text += thread->state == State::kRunning ? "runs" : "is ready";
      continue;
    }
    switch (thread->reason) {
      case Reason::kWord:
        text += "waits on a word";
        break;
      case Reason::kSleep:
        text += "sleeps";
        break;
      case Reason::kJoin:
        text += "joins '" + thread->key_name + "'";
        break;
      case Reason::kMutex:
        text += "locks a mutex held by '" + thread->key_name + "'";
        break;
    }
    if (thread->until != kNever) {
      text += " until " + in_milliseconds(thread->until.time_since_epoch()) + "ms";
    }
  }
  return text;
}

}  // namespace rclrt_core::sim
