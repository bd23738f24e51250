// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a thread does: take a job, settle what it needs, run it, sleep.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine_impl.hpp"
#include "messages/publication.hpp"
#include "trace/trace_log.hpp"

namespace rclrt_core
{
namespace
{

// After a job has lost its CPU, so many of the same callback are measured by system calls.
constexpr uint8_t kMeasuredJobs = 16;

// A thread comes to its next job with the urgency of the last one. If that is more than the next job has, it lowers
// itself before it takes the job: else it would hold the group of a job that is not urgent while others run which are
// more so, and each more urgent job of that group would lend it urgency to finish in their place.
bool gives_way(const Worker & worker, const CallbackNode & next) noexcept
{
  const Demand & decided = worker.urgency.decided();
  if (
    decided.attributes == next.attributes || next.attributes->is_ext() ||
    decided.attributes->is_ext()) {
    return false;
  }
  const Demand wanted = next.demand();
  const bool lowers = same_cpus(decided, wanted) && outranks(decided, wanted);
  return lowers && !worker.is_left_alone && !worker.cannot_lower;
}

}  // namespace

void Worker::wait(TimePoint until) const noexcept
{
  // Acquire: pairs with the release of the thread that changes the word.
  while (word.load(std::memory_order_acquire) == kAsleep) {
    platform.wait(word, kAsleep, until);
    if (word.load(std::memory_order_acquire) == kAsleep && platform.now() >= until) {
      break;
    }
  }
}

void Engine::Impl::sleep(
  Worker & worker, TimePoint until, TimerNode * timer, Section & section) noexcept
{
  const AttributesEntry * const first = worker.first_rest.load(std::memory_order_relaxed);
  if (first) {
    worker.decide_first(*first);
  }
  const Look look = life.runs() ? lookouts.next_look(worker) : Look();
  Demand rest = worker.urgency.decided();
  if (look.any() && !worker.is_left_alone) {
    worker.urgency.decide({&table.nothing(), rest.cpus});  // gives way to all that works
  } else if (rest.attributes->is_ext()) {
    rest.deadline = kNever;
    rest.rests = true;
    worker.urgency.decide(rest);
  }
  lie_down(worker);
  const bool covers = timer && worker.sleeping;
  if (covers) {
    clocks.cover(worker, *timer, section);
    until = time_point_of(timer->next_ns);
  }
  const bool is_lookout = worker.lane && worker.lane->lookout == &worker;
  const bool has_just_begun = !life.runs();
  section.unlock();
  if (first) {
    const int error = worker.settle_first(*first);
    if (error != 0) {
      findings.add(platform.explain("thread '" + worker.name + "'", first->complete, error));
    }
    worker.first_rest.store(nullptr, std::memory_order_release);
  } else if (!worker.urgency.is_settled()) {
    worker.urgency.settle();
  }
  if (has_just_begun) {
    life.arrive();
  }
  section.go();
  const TimePoint idle_since = is_lookout ? platform.now() : TimePoint{};
  if (look.any()) {
    lookouts.look(worker, idle_since, look, until);
  }
  worker.wait(until);
  section.enter();
  wake_up(worker);
  if (is_lookout && worker.lane->lookout == &worker) {
    worker.lane->lookout = nullptr;
    worker.lane->arrivals.add(platform.now() - idle_since);
  }
  if (covers && life.runs() && !life.is_stopped() && !worker.retired) {
    release_covered(worker, section);
  } else if (worker.covers) {  // it comes to its end
    clocks.uncover(worker);
    clocks.look_again(section);
  }
}

// What the worker does before it takes its next job or covers a timer, in place of what it has. Meanwhile it counts as
// coming, so that a more urgent job raises it again (GIVES_WAY in model/hand_over.pml).
int Engine::Impl::become(Worker & worker, const Demand & wanted, Section & section) noexcept
{
  worker.urgency.decide(wanted);
  worker.lane->coming.push_back(worker);
  section.leave();  // wakes others before it may lose its CPU
  const int error = worker.urgency.settle_itself().error;
  section.enter();
  worker.lane->coming.erase(worker.lane->coming.iterator_to(worker));
  return error;
}

void Engine::Impl::bind(Worker & worker, CallbackNode & callback) noexcept
{
  ready.take(callback, worker);
  worker.callback = callback.shared_from_this();
  worker.handed_on = false;
  worker.publisher = 0;
  worker.message = RCLRT_TRACE_NO_MESSAGE;
  worker.is_measured = callback.measured_jobs > 0;
  worker.fan_in();
  worker.job_demand = {
    callback.attributes, callback.cpus,
    callback.attributes->is_ext() ? worker.job.deadline : kNever};
  if (callback.attributes->is_ext() && worker.asked_for_slot && !worker.has_slot) {
    // The thread has no slot and said so when it began. Its job goes without; other threads have one.
    worker.job_demand = {&table.nothing(), &table.nothing()};
  }
  if (!worker.is_left_alone) {
    worker.urgency.decide(worker.needs());
  }
}

void Engine::Impl::handle_exception(const Callback & callback) noexcept
{
  const std::exception_ptr thrown = std::current_exception();
  const ExceptionAction action =
    options.on_exception ? options.on_exception(callback, thrown) : ExceptionAction::kStop;
  if (action == ExceptionAction::kStop) {
    {
      const Lock lock(*mutex);
      if (!exception) {
        exception = thrown;
      }
    }
    stop();
  }
}

bool Engine::Impl::execute(Worker & worker, Section & section) noexcept
{
  if (worker.lane) {
    worker.lane->taken(worker, section);
  }
  if (worker.callback->budget) {
    budgets.begin(worker, section);
  }
  section.unlock();
  settle(worker);
  section.go();
  run(worker);
  section.enter();
  end(worker, section);
  // Equals take turns: it does not go on while a thread that covers a timer waits for its CPU.
  const bool looks = worker.lane && clocks.alarm.is_used() && !life.is_stopped();
  if (looks && clocks[kSteadyClock].queue.next_ns() <= nanoseconds_of(worker.job_end)) {
    release_covered(worker, section);
  }
  return worker.job_outcome != RCLRT_JOB_EMPTY;
}

void Engine::Impl::run(Worker & worker) noexcept
{
  const CallbackNode & callback = *worker.callback;
  worker.outer = std::exchange(running_here, &worker);
  const bool is_traced = worker.ring.keeps();
  const int cpu = is_traced ? platform.current_cpu() : 0;
  const bool is_metered = is_traced || worker.is_courier;  // see check_bound()
  const CpuMeter meter = is_metered ? platform.start_meter(worker.is_measured) : CpuMeter();
  const ThreadId thread = worker.thread_id.load(std::memory_order_relaxed);
  if (callback.budget) {
    worker.charged_to_ns.store(platform.cpu_time_ns(thread), std::memory_order_relaxed);
  }
  worker.job_start = platform.now();
  try {
    worker.job_outcome = callback.run(worker.job) ? RCLRT_JOB_DONE : RCLRT_JOB_EMPTY;
  } catch (...) {
    worker.job_outcome = RCLRT_JOB_EXCEPTION;
    handle_exception(callback);
  }
  worker.job_end = platform.now();
  worker.job_use = is_metered ? platform.read_meter(meter) : CpuUse{true, -1, -1};
  running_here = worker.outer;
  worker.job_end_cpu_ns = callback.budget ? platform.cpu_time_ns(thread) : -1;
  if (is_traced) {
    worker.ring.push(record_of(worker, cpu));
  }
  worker.jobs.fetch_add(1, std::memory_order_relaxed);
}

void Engine::Impl::end(Worker & worker, Section & section) noexcept
{
  const rclrt_job_outcome outcome = worker.job_outcome;
  CallbackStatistics & statistics = worker.callback->statistics;
  const bool is_run = outcome == RCLRT_JOB_DONE || outcome == RCLRT_JOB_EXCEPTION;
  worker.callback->keep_usual(worker.job_end - worker.job_start);
  statistics.executed += is_run ? 1 : 0;
  statistics.skipped += outcome == RCLRT_JOB_SKIPPED ? 1 : 0;
  statistics.empty += outcome == RCLRT_JOB_EMPTY ? 1 : 0;
  statistics.exceptions += outcome == RCLRT_JOB_EXCEPTION ? 1 : 0;
  if (!worker.job_use.has_kept) {
    worker.callback->measured_jobs = kMeasuredJobs;
  } else if (worker.callback->measured_jobs > 0) {
    --worker.callback->measured_jobs;
  }
  if (is_run) {
    statistics.deadline_misses += worker.job_end > worker.job.deadline ? 1 : 0;
    statistics.max_response =
      std::max(statistics.max_response, worker.job_end - worker.job.release);
  }
  const bool is_over_budget = worker.callback->budget && budgets.end(worker, worker.job_end_cpu_ns);
  const auto refused_stamp = worker.callback->stamps
                               ? std::exchange(worker.callback->stamps->untold, std::nullopt)
                               : std::nullopt;
  finish(worker, is_run, section);
  const bool sets_clock = worker.callback->sets_clock;
  if (sets_clock) {
    worker.callback->clock_was_set();
  }

  std::shared_ptr<CallbackNode> finished = std::move(worker.callback);
  worker.ran_timer = finished->timer != nullptr;
  if (finished->removed || is_over_budget || refused_stamp) {
    // Possibly the last owner: what the callback holds is destroyed here, without the lock.
    section.unlock();
    if (is_over_budget) {
      findings.add(over_budget(*finished));
    }
    if (refused_stamp) {
      findings.add(finding_of(*finished, *refused_stamp));
    }
    finished.reset();
    section.enter();
  }
  while (sets_clock && release_held(section)) {
    section.leave();
    section.enter();
  }
}

void Engine::Impl::finish(Worker & worker, bool found_work, Section & section) noexcept
{
  CallbackNode & callback = *worker.callback;
  GroupNode & group = *callback.queue->group;
  ready.finish(callback);
  Lane::ended(worker, section);
  // What the job has taken waits for a job that hands it on; the newest of a callback stands for all it took.
  if (worker.handed_on) {
    hand_on(callback);
  } else if (
    found_work && callback.inherits_deadlines() && !callback.removed &&
    callback.taken != worker.own_deadline) {
    keep_taken(callback, worker.own_deadline);
  }
  if (callback.timer && callback.timer->releases_when_done() && callback.backlog.empty()) {
    const TimePoint now = platform.now();
    release(callback, now, now, 1, nullptr, section);
  }
  // The worker asks for the next job of its own lane itself.
  for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (queue && queue->in_lane.is_linked() && queue->lane != worker.lane) {
      queue->lane->released(queue->first(), section);
    }
  }
}

void Engine::Impl::work(Worker & worker) noexcept
{
  {
    Section section(*mutex);
    bool is_refused = false;  // what a timer needs that it was to cover
    while (!life.is_stopped() && !worker.retired) {
      if (deadlines && !worker.asked_for_slot) {
        section.leave();
        enter_deadlines(worker);
        section.enter();
        continue;  // it may have been told to stop meanwhile
      }
      const bool releases = worker.drives_timers && life.runs();
      if (releases) {
        release_all_due(section);
      }
      if (releases && clocks.alarm.is_used()) {
        if (!life.is_stopped()) {
          lanes.look(section);
          clocks.alarm.decide(clocks.next_release());
        }
        section.set(clocks.alarm);
        section.leave();
        clocks.alarm.wait();
        section.enter();
        continue;
      }
      CallbackNode * const next =
        life.runs() && worker.lane ? worker.lane->next_for(worker) : nullptr;
      if (next && gives_way(worker, *next)) {
        worker.cannot_lower = become(worker, next->demand(), section) != 0;
        continue;  // another job may be the most urgent one by now
      }
      const bool is_idle = !next && life.runs();
      TimerNode * const timer =
        is_idle ? clocks.to_cover(worker, lanes.cpus(), worker.ran_timer && !is_refused) : nullptr;
      const Demand needed =
        timer ? Demand{timer->callback->attributes, timer->callback->cpus} : Demand();
      if (timer && !has_exactly(worker, needed)) {
        is_refused = become(worker, needed, section) != 0;
        continue;
      }
      if (next) {
        bind(worker, *next);
        execute(worker, section);
      } else {
        sleep(worker, releases ? clocks.next_release() : kNever, timer, section);
      }
      is_refused = false;
    }
    life.retire(worker, section);
  }
  life.arrive();  // it may have ended before anybody let it run
}

}  // namespace rclrt_core
