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
// Between the priorities of jobs that wait, so that own jobs still have about ten places there.
constexpr int32_t kRoomForOwn = 16;

bool is_own(const EdfJob & job) noexcept { return job.thread != 0; }

// If two threads have the same deadline, the later one has the job: the other was woken for it, and may
// wait until the job after it. All processes order by the same two numbers.
bool goes_before(const EdfJob & a, const EdfJob & b) noexcept
{
  return a.deadline_ns != b.deadline_ns ? a.deadline_ns < b.deadline_ns : a.arrival > b.arrival;
}

}  // namespace

EdfTable::EdfTable(uint32_t runners, int32_t run_priority)
: runners_(1), run_priority_(run_priority)
{
  set_runners(runners);
  jobs_.reserve(std::size_t{2} * kMaxJobs);
}

void EdfTable::set_runners(uint32_t runners) noexcept
{
  runners_ = std::clamp<uint32_t>(runners, 1, kMaxJobs);
}

uint32_t EdfTable::index_of(int32_t thread) const noexcept
{
  for (uint32_t i = 0; thread != 0 && i < jobs_.size(); ++i) {
    if (jobs_[i].thread == thread) {
      return i;
    }
  }
  return kNone;
}

// There is room: the caller has made sure.
void EdfTable::insert(const EdfJob & job) noexcept
{
  jobs_.insert(std::upper_bound(jobs_.begin(), jobs_.end(), job, goes_before), job);
  own_count_ += is_own(job) ? 1 : 0;
}

void EdfTable::erase(uint32_t index) noexcept
{
  own_count_ -= is_own(jobs_[index]) ? 1 : 0;
  jobs_.erase(jobs_.begin() + index);
}

bool EdfTable::put(int32_t thread, int64_t deadline_ns, uint64_t arrival, int32_t priority) noexcept
{
  const uint32_t before = index_of(thread);
  if (before != kNone) {
    priority = jobs_[before].priority;
    erase(before);
  } else if (own_count_ == kMaxJobs) {
    return false;
  }
  insert({deadline_ns, arrival, thread, 0, priority});
  return true;
}

void EdfTable::remove(int32_t thread, int32_t * priority) noexcept
{
  const uint32_t index = index_of(thread);
  if (index != kNone) {
    *priority = jobs_[index].priority;
    erase(index);
  }
}

void EdfTable::replace_others(uint32_t process, const EdfCopy & copy) noexcept
{
  remove_others(process);
  for (uint32_t i = 0; i < copy.count && jobs_.size() - own_count_ < kMaxJobs; ++i) {
    const EdfPublished & job = copy.jobs[i];
    insert({job.deadline_ns, job.arrival, 0, process, job.priority});
  }
}

void EdfTable::remove_others(uint32_t process) noexcept
{
  const auto is_theirs = [process](const EdfJob & job) {
    return !is_own(job) && job.process == process;
  };
  jobs_.erase(std::remove_if(jobs_.begin(), jobs_.end(), is_theirs), jobs_.end());
}

// The priority of an own job that waits lies between those of its neighbours. At either end of the own jobs only a quarter
// of what is left is used up, since jobs come and go there. A priority that fits already is kept.
int32_t EdfTable::waiting_priority(uint32_t index) const noexcept
{
  const int32_t highest = run_priority_ - 1;
  bool is_first = true;
  bool is_last = true;
  // Neighbours are below the line, but may be on their way across it. Own jobs come first: between those
  // two the priority must be. Jobs of others in between count only as long as they leave room for more
  // of ours, since they may say anything.
  int32_t above = run_priority_;
  int32_t below = 0;
  for (uint32_t i = index; is_first && i > runners_; --i) {
    if (is_own(jobs_[i - 1]) && jobs_[i - 1].thread != unsettled_) {
      above = std::min(jobs_[i - 1].priority, run_priority_);
      is_first = false;
    }
  }
  for (uint32_t i = index + 1; is_last && i < jobs_.size(); ++i) {
    if (is_own(jobs_[i]) && jobs_[i].thread != unsettled_) {
      below = std::min(jobs_[i].priority, highest);
      is_last = false;
    }
  }
  if (index > runners_ && !is_own(jobs_[index - 1])) {
    const int32_t theirs = jobs_[index - 1].priority;
    above = theirs < above && theirs - below >= kRoomForOwn ? theirs : above;
  }
  if (index + 1 < jobs_.size() && !is_own(jobs_[index + 1])) {
    const int32_t theirs = jobs_[index + 1].priority;
    below = theirs > below && above - theirs >= kRoomForOwn ? theirs : below;
  }
  const int32_t present = jobs_[index].priority;
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

// Give the own job at `index` the priority of its place, if it has another. False: the thread is gone.
bool EdfTable::settle_one(EdfHost & host, uint32_t index, int * error) noexcept
{
  EdfJob & job = jobs_[index];
  const int32_t wanted = index < runners_ ? run_priority_ : waiting_priority(index);
  if (job.priority == wanted) {
    return true;
  }
  *error = host.set_priority(job.thread, wanted);
  job.priority = *error == 0 ? wanted : 0;
  return *error != ESRCH;
}

// After jobs have come, gone or moved: those that have crossed the line. The first m have the run
// priority, the others have not. Own ones that are found gone are removed, each at most once.
void EdfTable::settle_others(EdfHost & host, int32_t self) noexcept
{
  for (uint32_t i = 0; i < jobs_.size();) {
    const bool runs = i < runners_;
    const EdfJob & job = jobs_[i];
    const bool is_settled = runs == (job.priority == run_priority_);
    int error = 0;
    if (is_settled || job.thread == self || !is_own(job) || settle_one(host, i, &error)) {
      ++i;
    } else {
      erase(i);
      i = 0;  // one more may have to be promoted
    }
  }
}

int EdfTable::settle(EdfHost & host, int32_t self, int32_t * priority) noexcept
{
  // The thread that loses its CPU for this job does so before the job's own is woken: there is a CPU for
  // it to go to.
  unsettled_ = self;
  settle_others(host, self == 0 ? -1 : self);
  unsettled_ = 0;
  int error = 0;
  if (const uint32_t index = index_of(self); index != kNone) {
    settle_one(host, index, &error);
    *priority = jobs_[index].priority;
    if (error != 0) {
      erase(index);
      settle_others(host, -1);
    }
  }
  for (uint32_t i = 0; i < jobs_.size(); ++i) {
    if (!is_own(jobs_[i]) && (i < runners_) != (jobs_[i].priority == run_priority_)) {
      host.is_wrong(jobs_[i].process);
    }
  }
  return error;
}

uint32_t EdfTable::own(EdfPublished * jobs) const noexcept
{
  uint32_t count = 0;
  for (const EdfJob & job : jobs_) {
    if (is_own(job) && count < EdfCopy::kMaxJobs) {
      jobs[count++] = {job.deadline_ns, job.arrival, job.priority};
    }
  }
  return count;
}

uint32_t EdfTable::process_in_the_way_of(int32_t thread, uint64_t turn) const noexcept
{
  const uint32_t index = index_of(thread);
  if (index == kNone || index < runners_) {
    return 0;
  }
  return jobs_[turn % runners_].process;  // 0 for own jobs
}

}  // namespace rclrt_core
