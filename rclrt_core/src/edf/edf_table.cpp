// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "edf/edf_table.hpp"

#include <algorithm>
#include <cerrno>

namespace rclrt_core
{
namespace
{

constexpr uint32_t kNone = UINT32_MAX;

// Of two threads with the same deadline the later one has the job: the other was woken for it, and may
// wait until the job after it.
bool goes_before(const EdfJob & a, const EdfJob & b) noexcept
{
  return a.deadline_ns != b.deadline_ns ? a.deadline_ns < b.deadline_ns : a.arrival > b.arrival;
}

uint32_t index_of(const EdfTable & table, const EdfThread & who, uint32_t count) noexcept
{
  for (uint32_t i = 0; i < count; ++i) {
    if (table.jobs[i].who == who) {
      return i;
    }
  }
  return kNone;
}

void erase(EdfTable & table, uint32_t index) noexcept
{
  std::move(table.jobs + index + 1, table.jobs + table.count, table.jobs + index);
  --table.count;
}

uint32_t insert(EdfTable & table, const EdfJob & job) noexcept
{
  EdfJob * const end = table.jobs + table.count;
  EdfJob * const place = std::upper_bound(table.jobs, end, job, goes_before);
  std::move_backward(place, end, end + 1);
  *place = job;
  ++table.count;
  return static_cast<uint32_t>(place - table.jobs);
}

// Of a job that waits: between its neighbours. At either end of the waiting ones only a quarter of what
// is left is used up, since that is where jobs come and go. One that fits already is kept.
int32_t waiting_priority(const EdfTable & table, uint32_t index) noexcept
{
  const int32_t highest = table.run_priority - 1;
  const bool is_first = index == table.runners;
  const bool is_last = index + 1 == table.count;
  // Neighbours are below the line, but may be on their way across it.
  const int32_t above =
    is_first ? table.run_priority : std::min(table.jobs[index - 1].priority, table.run_priority);
  const int32_t below = is_last ? 0 : std::min(table.jobs[index + 1].priority, highest);
  const int32_t present = table.jobs[index].priority;
  if (below < present && present < above) {
    return present;
  }
  const int32_t room = above - below;
  int32_t wanted = below + room / 2;
  if (is_first && !is_last) {
    wanted = below + std::max(1, room / 4);
  } else if (is_last && !is_first) {
    wanted = above - std::max(1, room / 4);
  }
  return std::clamp(wanted, 1, highest);
}

// Give the job at `index` the priority of its place, if it has another. False: the thread is gone.
bool settle(EdfTable & table, EdfHost & host, uint32_t index, int * error) noexcept
{
  EdfJob & job = table.jobs[index];
  const int32_t wanted =
    index < table.runners ? table.run_priority : waiting_priority(table, index);
  if (job.priority == wanted) {
    return true;
  }
  *error = host.set_priority(job.who, wanted);
  job.priority = *error == 0 ? wanted : 0;
  return *error != ESRCH;
}

// After one job has come, gone or moved: the one that has crossed the line. The first m have the run
// priority, the others have not. Those that are found gone are removed, each at most once.
void settle_others(EdfTable & table, EdfHost & host, const EdfJob * self) noexcept
{
  const auto is_self = [self](const EdfJob & job) { return self && job.who == self->who; };
  for (uint32_t i = 0; i < table.count;) {
    const bool runs = i < table.runners;
    const EdfJob & job = table.jobs[i];
    int error = 0;
    const bool is_settled = runs == (job.priority == table.run_priority) || is_self(job);
    if (is_settled || settle(table, host, i, &error)) {
      ++i;
    } else {
      erase(table, i);
      i = 0;  // one more may have to be promoted
    }
  }
}

}  // namespace

bool is_usable(const EdfTable & table) noexcept
{
  return table.runners > 0 && table.runners <= EdfTable::kMaxJobs && table.run_priority >= 2 &&
         table.run_priority <= 98 && table.count <= EdfTable::kMaxJobs;
}

bool is_sound(const EdfTable & table) noexcept
{
  if (!is_usable(table)) {
    return false;
  }
  for (uint32_t i = 0; i < table.count; ++i) {
    const EdfJob & job = table.jobs[i];
    if (
      job.who.thread <= 0 || job.who.process <= 0 || job.priority < 0 ||
      job.priority > table.run_priority || (i > 0 && goes_before(job, table.jobs[i - 1])) ||
      index_of(table, job.who, i) != kNone) {
      return false;
    }
  }
  return true;
}

void clear(EdfTable & table, uint32_t runners, int32_t run_priority) noexcept
{
  table.runners = std::clamp<uint32_t>(runners, 1, EdfTable::kMaxJobs);
  table.run_priority = run_priority;
  table.count = 0;
  table.reserved = 0;
  table.arrivals = 0;
}

int start(
  EdfTable & table, EdfHost & host, const EdfThread & who, int64_t deadline_ns,
  int32_t * priority) noexcept
{
  const uint32_t before = index_of(table, who, table.count);
  if (before != kNone) {
    *priority = table.jobs[before].priority;
    erase(table, before);
  } else if (table.count == EdfTable::kMaxJobs) {
    remove_dead(table, host, who);
    if (table.count == EdfTable::kMaxJobs) {
      return ENOSPC;
    }
  }
  const EdfJob job{deadline_ns, table.arrivals++, who, *priority};
  uint32_t index = insert(table, job);
  if (index >= table.runners) {
    // Somebody who will never run again may keep it from running. One look at a time is enough.
    const EdfJob & suspect = table.jobs[job.arrival % table.runners];
    if (!suspect.who.is_of_the_process_of(who) && !host.is_alive(suspect.who)) {
      erase(table, static_cast<uint32_t>(job.arrival % table.runners));
      --index;
    }
  }
  // Whoever loses its CPU for this job does so before it is woken: there is a CPU for it to go to. But
  // a thread that lowers itself does it last, so that it is not preempted on the way.
  int error = 0;
  settle_others(table, host, &job);
  index = index_of(table, who, table.count);
  settle(table, host, index, &error);
  *priority = table.jobs[index].priority;
  if (error != 0) {
    erase(table, index);
    settle_others(table, host, nullptr);
  }
  return error;
}

void stop(EdfTable & table, EdfHost & host, const EdfThread & who, int32_t * priority) noexcept
{
  const uint32_t index = index_of(table, who, table.count);
  if (index == kNone) {
    return;
  }
  *priority = table.jobs[index].priority;
  erase(table, index);
  settle_others(table, host, nullptr);
}

void remove_dead(EdfTable & table, EdfHost & host, const EdfThread & us) noexcept
{
  EdfJob * const end =
    std::remove_if(table.jobs, table.jobs + table.count, [&](const EdfJob & job) {
      return !job.who.is_of_the_process_of(us) && !host.is_alive(job.who);
    });
  table.count = static_cast<uint32_t>(end - table.jobs);
  settle_others(table, host, nullptr);
}

}  // namespace rclrt_core
