// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
// Around a spin: what the callbacks that are here ask of the machine.

#include <algorithm>
#include <utility>

#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_front_end/executor_report.hpp"
#include "rclrt_front_end/named_threads.hpp"

namespace rclrt_front_end
{

using rclrt_config::Unmatched;
using rclrt_core::Attributes;
using rclrt_core::AttributesMode;
using rclrt_core::Finding;
using rclrt_core::SchedulingPolicy;
using rclrt_core::Status;

namespace
{

constexpr int kHighestPriority = 99;
// Looks are a second apart, see Teller::OwnThread. The first one is at once.
constexpr int kLooksBeforeTold = 3;

}  // namespace

// For what the callbacks that are here ask for: a scheduler of deadlines, and threads that outrank them.
Status ConfiguredEngine::make_room()
{
  choose_deadline_scheduler();
  share_deadlines();
  return outrank_callbacks();
}

Status ConfiguredEngine::begin_spin(const Tell & tell)
{
  std::unique_lock<PiMutex> lock(mutex_);
  const std::vector<Finding> notes = configuration_.notes();
  const std::vector<Unmatched> unmatched = configuration_.unmatched();
  lock.unlock();
  for (const Finding & note : notes) {
    tell(note);
  }
  for (const Unmatched & entry : unmatched) {
    tell(entry.finding);
  }
  if (engine_->options().attributes_mode == AttributesMode::kRequire) {
    for (const Unmatched & entry : unmatched) {
      if (entry.node_is_here) {
        return Status::error(to_string(entry.finding));
      }
    }
  }
  lock.lock();
  outranked_ = {};
  Status status = name_threads();
  if (status.ok()) {
    status = make_room();
  }
  if (status.ok()) {
    spinning_ = true;
  } else {
    MiddlewareThreads::instance().release(this);
    NamedThreads::instance().release(this);
  }
  return status;
}

// Before the middleware's threads are raised, of which some may have been named.
Status ConfiguredEngine::name_threads()
{
  if (engine_->options().attributes_mode == AttributesMode::kOff) {
    return {};
  }
  std::vector<NamedThreads::Wish> wishes;
  for (const rclrt_config::NamedThread & thread : configuration_.threads()) {
    wishes.push_back({thread.name, thread.attributes});
  }
  if (wishes.empty()) {
    return {};
  }
  const std::string refused = NamedThreads::instance().require(
    this, std::move(wishes), [this](const Finding & finding) { report(finding); },
    middleware_.busy_waiting);
  return refused.empty() || engine_->options().attributes_mode != AttributesMode::kRequire
           ? Status()
           : Status::error(refused);
}

bool ConfiguredEngine::look_at_threads()
{
  std::unique_lock<PiMutex> lock(mutex_);
  const bool has_names = !configuration_.threads().empty();
  const bool looks = looks_ > 0;
  lock.unlock();
  if (has_names) {
    NamedThreads::instance().look();
  }
  const bool is_complete = looks && MiddlewareThreads::instance().look();
  lock.lock();
  if (looks_ > 0) {
    // Again after the first one: a thread may get its name later than the one that the middleware cannot do without.
    looks_ = is_complete && looks_ > 1 ? 0 : looks_ + 1;
    // What was found in the beginning is told if it is still so after a second.
    if (is_complete || looks_ > kLooksBeforeTold) {
      tell_outranked();
    }
  }
  return has_names || looks_ > 0;
}

// Under the mutex.
void ConfiguredEngine::tell_outranked()
{
  if (!doubtful_.empty()) {
    const Finding finding = find_outranked(outranked_, std::exchange(doubtful_, {}));
    if (!finding.what.empty()) {
      report(finding);
    }
  }
}

void ConfiguredEngine::end_spin()
{
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    spinning_ = false;
    looks_ = 0;
    tell_outranked();
  }
  MiddlewareThreads::instance().release(this);
  NamedThreads::instance().release(this);
}

void ConfiguredEngine::choose_deadline_scheduler()
{
  const rclrt_core::EngineOptions & options = engine_->options();
  const auto all = engine_->callbacks();
  const auto ext = std::find_if(all.begin(), all.end(), [this](const auto & callback) {
    return engine_->attributes(*callback).scheduling_policy == SchedulingPolicy::kExt;
  });
  if (ext == all.end() || options.attributes_mode == AttributesMode::kOff) {
    return;
  }
  if (!options.policy->uses_deadlines()) {
    report(
      {"'" + (*ext)->name() + "'",
       std::string(
         "scheduling_policy ext orders threads by deadline, but the executor's policy for "
         "jobs that wait is ") +
         options.policy->name(),
       0, "Set executor.policy to edf, or PreemptiveExecutorOptions::policy to edf_policy()"});
  }
  const auto present = engine_->deadline_scheduler();
  // One that the user has brought stays. While it spins its threads have slots of the one there is.
  if (!present || (present == chosen_ && !spinning_ && !present->in_force())) {
    if (present) {
      for (const Finding & finding : present->findings()) {
        report(finding);
      }
    }
    chosen_ = make_deadline_scheduler_(
      deadline_backend_, engine_->platform(), [this](const Finding & finding) { report(finding); });
    // It cannot fail: there is none yet, or it does not spin.
    (void)engine_->set_deadline_scheduler(chosen_);
  }
  for (const auto & callback : all) {
    const Attributes attributes = engine_->attributes(*callback);
    const Attributes of_ext = os_attributes(engine_->attributes(**ext));
    if (is_fixed_priority(attributes.scheduling_policy) && !more_urgent(attributes, of_ext)) {
      report(
        {"'" + callback->name() + "'",
         "its priority " + std::to_string(attributes.priority) +
           " is among those that stand for deadlines of ext callbacks (1 to " +
           std::to_string(of_ext.priority) + "): they may preempt it",
         0, "Give it a priority above them"});
    }
    // The bands count on every thread being free to go to any CPU.
    const std::size_t cpus = attributes.cpu_affinity.cpus().size();
    const bool has_bands = of_ext.scheduling_policy == SchedulingPolicy::kFifo;
    if (
      has_bands && attributes.scheduling_policy == SchedulingPolicy::kExt && cpus > 0 &&
      cpus < static_cast<std::size_t>(engine_->platform().usable_cpus())) {
      report(
        {"'" + callback->name() + "'",
         "its cpu_affinity " + attributes.cpu_affinity.to_string() +
           " is narrower than that of the process: ext callbacks that share a CPU for it need not "
           "preempt each other under the FIFO bands",
         0, "Leave it out, or load the scheduler in the kernel, which heeds it"});
    }
  }
}

// Also executors that only order by deadline want to know those of other processes' messages.
void ConfiguredEngine::share_deadlines()
{
  const auto all = engine_->callbacks();
  const bool has_deadlines =
    engine_->options().policy->uses_deadlines() ||
    std::any_of(all.begin(), all.end(), [this](const auto & callback) {
      return engine_->attributes(*callback).scheduling_policy == SchedulingPolicy::kExt;
    });
  if (!has_deadlines) {
    return;
  }
  // A test or a program without a middleware has no messages either.
  if (!middleware_.rmw.empty() && !middleware_.carries_deadlines()) {
    report(middleware_.no_deadlines());
    return;
  }
  const Status joined = rclrt_core::DeadlineRing::join();
  if (!joined.ok()) {
    report(
      {"deadlines of messages", "stay within this process: " + joined.message(), 0,
       "Callbacks of other processes go by their own deadlines until this is mended"});
  }
}

// As the OS sees it: an ext callback's thread may have a priority.
Attributes ConfiguredEngine::os_attributes(const Attributes & attributes) const
{
  const auto deadlines = engine_->deadline_scheduler();
  if (attributes.scheduling_policy != SchedulingPolicy::kExt || !deadlines) {
    return attributes;
  }
  Attributes threads = deadlines->above();
  if (--threads.priority == 0) {
    return attributes;  // below every priority
  }
  return threads;
}

std::string ConfiguredEngine::deadline_scheduler() const
{
  const std::lock_guard<PiMutex> lock(mutex_);
  const auto deadlines = engine_->deadline_scheduler();
  if (!deadlines) {
    return "";
  }
  return std::string(deadlines->name()) + (deadlines->in_force() ? "" : " (not in force any more)");
}

Status ConfiguredEngine::outrank_callbacks()
{
  Attributes most_urgent;
  std::string whose;
  for (const auto & callback : engine_->callbacks()) {
    const Attributes attributes = os_attributes(engine_->attributes(*callback));
    if (
      is_strict(attributes.scheduling_policy) &&
      (whose.empty() || more_urgent(attributes, most_urgent))) {
      most_urgent = attributes;
      whose = callback->name();
    }
  }
  const rclrt_core::EngineOptions & options = engine_->options();
  const bool known = spinning_ && most_urgent == outranked_;
  outranked_ = most_urgent;
  if (
    known || options.attributes_mode == AttributesMode::kOff ||
    (whose.empty() && !middleware_threads_.attributes)) {
    return {};
  }
  Attributes above;
  above.scheduling_policy = SchedulingPolicy::kFifo;
  above.priority = most_urgent.scheduling_policy == SchedulingPolicy::kDeadline
                     ? kHighestPriority
                     : std::min(most_urgent.priority + 1, kHighestPriority);
  if (!whose.empty() && options.timer_thread.scheduling_policy == SchedulingPolicy::kUnchanged) {
    above.cpu_affinity = timer_thread_cpus_;
    const Status status = engine_->set_timer_thread(above);
    if (!status.ok()) {
      return status;
    }
    above.cpu_affinity = rclrt_core::CpuSet();
  }
  int refused = 0;
  if (middleware_threads_.mode != AttributesMode::kOff) {
    refused = MiddlewareThreads::instance().require(
      this, middleware_threads_.attributes.value_or(above),
      [this](const Finding & finding) { report(finding); });
    looks_ = 1;
  }
  if (whose.empty()) {
    return {};
  }
  const std::string who =
    "'" + whose + "' (" + to_string(most_urgent.scheduling_policy) +
    (most_urgent.priority > 0 ? " " + std::to_string(most_urgent.priority) : "") + ")";
  if (middleware_.publishes_by_busy_waiting) {
    report(middleware_.publishes_late(who));
  }
  const Finding finding = find_outranked(most_urgent, who);
  if (finding.what.empty()) {
    return {};
  }
  const bool is_required = middleware_threads_.mode == AttributesMode::kRequire;
  if (middleware_.is_known && middleware_threads_.mode == AttributesMode::kPrefer && refused == 0) {
    doubtful_ = who;  // threads may not be there yet
  } else if (refused == 0 || is_required) {
    report(finding);  // else the refusal was told
  }
  return is_required ? Status::error(to_string(finding)) : Status();
}

// Nothing in it: all is well.
Finding ConfiguredEngine::find_outranked(
  const Attributes & most_urgent, const std::string & who) const
{
  const MiddlewareThreads & threads = MiddlewareThreads::instance();
  std::string outranked;
  for (const auto & name : threads.outranked_by(most_urgent)) {
    outranked += (outranked.empty() ? "" : ", ") + name;
  }
  Finding finding;
  if (!outranked.empty()) {
    finding.subject = "middleware threads " + outranked;
    finding.what =
      "are not more urgent than " + who + ", which will preempt them while they hold its locks";
    finding.fix =
      "Leave the option middleware_threads at its default, leave priority 99 unused, and see that "
      "the "
      "process may use real-time priorities";
  } else if (threads.names().empty() && middleware_threads_.mode != AttributesMode::kOff) {
    finding = middleware_.no_thread_found(who);
  }
  return finding;
}

std::vector<rclrt_core::Finding> ExecutorReport::findings() const
{
  return configured().findings();
}

std::string ExecutorReport::deadline_scheduler() const { return configured().deadline_scheduler(); }

std::vector<ChainReport> ExecutorReport::chains() const { return configured().chains(); }

std::map<std::string, rclrt_core::CallbackStatistics> ExecutorReport::statistics() const
{
  return configured().statistics();
}

std::map<uint32_t, std::string> ExecutorReport::callback_names() const
{
  return configured().callback_names();
}

std::vector<rclrt_core::ThreadReport> ExecutorReport::threads() const
{
  return configured().engine().threads();
}

void ExecutorReport::read_trace(const std::function<void(const rclrt_job_record &)> & visit)
{
  configured().engine().read_trace(visit);
}

rclrt_core::TraceSource ExecutorReport::trace_source() const
{
  return configured().engine().trace_source();
}

}  // namespace rclrt_front_end
