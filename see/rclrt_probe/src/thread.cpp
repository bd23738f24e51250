// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace rclrt_probe
{
namespace
{

/// After a job has lost its CPU, so many of the same callback are measured by system calls, as by our engine.
constexpr uint8_t kMeasuredJobs = 16;

/// No allocation by a first access: a preloaded library has its place from the start of every thread.
__attribute__((tls_model("initial-exec"))) thread_local Thread of_thread;

void thread_ends(void * probe) { of_thread.finish(*static_cast<Probe *>(probe)); }

pthread_key_t make_key() noexcept
{
  pthread_key_t key{};
  pthread_key_create(&key, thread_ends);
  return key;
}

rclrt_job_record blank_record() noexcept
{
  rclrt_job_record record{};
  record.deadline_ns = RCLRT_TRACE_NO_DEADLINE;
  record.preemptions = RCLRT_TRACE_UNKNOWN;
  record.cpu_ns = RCLRT_TRACE_UNKNOWN;
  record.root_ns = RCLRT_TRACE_UNKNOWN;
  record.message = RCLRT_TRACE_NO_MESSAGE;
  record.by_callback = RCLRT_TRACE_NO_CALLBACK;
  record.jobs = 1;
  return record;
}

}  // namespace

Thread & thread() noexcept { return of_thread; }

int64_t now_ns() noexcept
{
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void Thread::write(Probe & probe, rclrt_job_record * record, uint16_t executor) noexcept
{
  if (!ring_) {
    static const pthread_key_t key = make_key();
    id_ = static_cast<int>(syscall(SYS_gettid));
    ring_ = probe.rings.take(id_);
    if (!ring_) {
      probe.seen.note(Point::kNoRing);
      return;
    }
    pthread_setspecific(key, &probe);
  }
  record->thread = static_cast<uint32_t>(id_);
  ring_->in_force.put_into(record);
  record->reserved = executor;  // On the way to its file; there it is 0.
  ring_->records.push(*record);
  probe.writer.start();
}

void Thread::push_job(Probe & probe, const Release & release, const void * key) noexcept
{
  if (depth_ == kDepth) {
    depth_ = 0;  // Callbacks that threw have left them here.
  }
  Callback & callback = *release.callback;
  uint16_t executor = callback.executor.load(std::memory_order_relaxed);
  if (executor == 0 && executor_) {
    executor = executor_->number;
    callback.executor.store(executor, std::memory_order_relaxed);
  }
  Job & job = jobs_[depth_];
  job = Job{};
  job.release = release;
  job.key = key;
  job.executor = executor;
  job.sequence = probe.sequence.fetch_add(1, std::memory_order_relaxed);
  job.is_measured = callback.measured_jobs.load(std::memory_order_relaxed) > 0;
  const int cpu = sched_getcpu();
  job.cpu = static_cast<uint16_t>(cpu < 0 ? 0 : cpu);
  ++depth_;
  job.meter = rclrt_core::linux_platform::start_meter(job.is_measured);
  job.start_ns = now_ns();
  const int64_t woken = executor_ ? executor_->woken.load(std::memory_order_relaxed) : 0;
  if (release.at_ns > 0) {
    job.release.at_ns = std::min(release.at_ns, job.start_ns);
    job.ready_ns = std::clamp(woken, job.release.at_ns, job.start_ns);
  } else {
    // Nobody knows when it came; it was there when the thread came back from waiting.
    job.ready_ns = woken > 0 ? std::min(woken, job.start_ns) : job.start_ns;
    job.release.at_ns = job.ready_ns;
  }
}

void Thread::pop_job(Probe & probe) noexcept
{
  const int64_t now = now_ns();
  Job & job = jobs_[depth_ - 1];
  const rclrt_core::CpuUse use = rclrt_core::linux_platform::read_meter(job.meter);
  --depth_;
  const bool is_guessed = job.key == nullptr;
  const bool has_end = job.triggers > 1;
  if (is_guessed && !has_end && !executor_) {
    probe.seen.note(Point::kUnseenJob);
    return;
  }
  Callback & callback = *job.release.callback;
  if (is_guessed && callback.stands_in.load(std::memory_order_relaxed)) {
    return;
  }
  rclrt_job_record record = blank_record();
  record.release_ns = job.release.at_ns;
  record.ready_ns = job.ready_ns;
  record.start_ns = job.start_ns;
  record.end_ns = is_guessed && has_end ? job.triggered_ns : now;
  record.sequence = job.sequence;
  record.callback = callback.id;
  record.cpu = job.cpu;
  record.cause = job.release.cause;
  record.publisher = job.release.publisher;
  record.message = job.release.message;
  if (job.release.cause == RCLRT_CAUSE_TIMER) {
    record.root_ns = record.release_ns;
  }
  const int64_t passed = record.end_ns - record.start_ns;
  if (use.has_kept) {
    record.cpu_ns = passed;
    record.preemptions = 0;
  } else if (use.cpu_ns >= 0) {
    record.cpu_ns = std::min(use.cpu_ns, passed);
  }
  // Threads that run the same callback at once may overwrite each other's hint.
  const uint8_t left = callback.measured_jobs.load(std::memory_order_relaxed);
  if (!use.has_kept) {
    callback.measured_jobs.store(kMeasuredJobs, std::memory_order_relaxed);
  } else if (left > 0) {
    callback.measured_jobs.store(static_cast<uint8_t>(left - 1), std::memory_order_relaxed);
  }
  if (!callback.has_run.load(std::memory_order_relaxed)) {
    callback.has_run.store(true, std::memory_order_relaxed);
  }
  if (is_guessed) {
    probe.seen.note(Point::kGuessed);
  }
  write(probe, &record, job.executor);
}

void Thread::begin(Probe & probe, Callback & callback, const void * key) noexcept
{
  const bool is_timer = callback.kind == rclrt_core::CallbackKind::kTimer;
  int64_t called = 0;
  if (is_timer && is_guessing() && jobs_[depth_ - 1].release.cause == RCLRT_CAUSE_TIMER) {
    --depth_;
    jobs_[depth_].release.callback->stands_in.store(true, std::memory_order_relaxed);
    rclrt_core::linux_platform::read_meter(jobs_[depth_].meter);
    called = jobs_[depth_].release.at_ns;
  }
  goes_on(probe);
  for (unsigned i = 0; i < depth_; ++i) {
    if (jobs_[i].key == key) {
      depth_ = i;  // It threw; nobody knows when.
    }
  }
  const bool is_from_queue = !taken_.callback && taken_.cause != RCLRT_CAUSE_UNKNOWN;
  Release release = is_from_queue || taken_.callback == &callback ? taken_ : Release{};
  release.callback = &callback;
  taken_ = Release{};
  if (is_timer) {
    release.cause = RCLRT_CAUSE_TIMER;
    release.at_ns = callback.called.exchange(0, std::memory_order_relaxed);
    release.at_ns = release.at_ns != 0 ? release.at_ns : called;
    if (release.at_ns == 0) {
      probe.seen.note(Point::kBareTimer);
    }
  } else if (release.cause == RCLRT_CAUSE_UNKNOWN) {
    probe.seen.note(Point::kBareMessage);
  }
  push_job(probe, release, key);
}

void Thread::end(Probe & probe, const void * key) noexcept
{
  unsigned i = depth_;
  while (i > 0 && jobs_[i - 1].key != key) {
    --i;
  }
  if (i == 0) {
    return;
  }
  goes_on(probe);
  depth_ = std::min(depth_, i);  // The jobs inside of it threw.
  pop_job(probe);
}

void Thread::released(Probe & probe, const Release & release) noexcept
{
  if (release.callback->has_points.load(std::memory_order_relaxed)) {
    probe.seen.note(Point::kAnnounced);
    taken_ = release;
    if (release.cause == RCLRT_CAUSE_TIMER) {
      release.callback->called.store(
        release.at_ns, std::memory_order_relaxed);  // Another thread may run it.
    }
  } else {
    push_job(probe, release, nullptr);
  }
}

void Thread::dequeued(const Release & release) noexcept { taken_ = release; }

void Thread::goes_on(Probe & probe) noexcept
{
  if (is_guessing()) {
    pop_job(probe);
  }
}

void Thread::executes(Probe & probe) noexcept
{
  if (!is_guessing() || jobs_[depth_ - 1].release.cause != RCLRT_CAUSE_TIMER) {
    goes_on(probe);  // A timer has been called to be executed now: see begin().
  }
}

void Thread::triggered(const void * guard_condition) noexcept
{
  if (!is_guessing()) {
    return;
  }
  Job & job = jobs_[depth_ - 1];
  if (!job.guard_condition) {
    job.guard_condition = guard_condition;
  }
  if (job.guard_condition == guard_condition && ++job.triggers > 1) {
    job.triggered_ns = now_ns();
  }
}

void Thread::waits(Probe & probe, const void * wait_set) noexcept
{
  goes_on(probe);
  Executor * const known = probe.inventory.find_wait_set(wait_set);
  executor_ = known ? known : probe.inventory.executor_of(wait_set, executor_);
}

void Thread::woken() noexcept
{
  if (executor_) {
    executor_->woken.store(now_ns(), std::memory_order_relaxed);
  }
}

void Thread::published(Probe & probe, uint64_t publisher, uint64_t message, int64_t at_ns) noexcept
{
  rclrt_job_record record = blank_record();
  record.release_ns = at_ns;
  record.ready_ns = record.start_ns = record.end_ns = record.release_ns;
  record.outcome = RCLRT_PUBLISHED;
  record.publisher = publisher;
  record.message = message;
  const Job * const job = depth_ > 0 ? &jobs_[depth_ - 1] : nullptr;
  record.callback = job ? job->release.callback->id : kOutside;
  record.sequence = job ? job->sequence : probe.sequence.fetch_add(1, std::memory_order_relaxed);
  write(probe, &record, job ? job->executor : uint16_t{0});
}

void Thread::finish(Probe & probe) noexcept
{
  // Nobody knows when a guessed job has ended, unless it has said so itself.
  if (is_guessing() && jobs_[depth_ - 1].triggers > 1) {
    pop_job(probe);
  }
  if (ring_) {
    Rings::give_back(*ring_);
  }
  start_anew();
}

void Thread::start_anew() noexcept
{
  ring_ = nullptr;
  depth_ = 0;
  taken_ = Release{};
}

}  // namespace rclrt_probe
