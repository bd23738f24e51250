// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/engine.hpp"

#include <algorithm>

#include "engine_impl.hpp"
#include "messages/publication.hpp"
#include "platform/forks.hpp"

namespace rclrt_core
{
namespace
{

// In one section of the lock.
constexpr int kMostHeldAtOnce = 8;
// Full rings of threads that have ended, kept until they are read.
constexpr std::size_t kLeftoverRings = 64;

uint16_t next_number() noexcept
{
  static std::atomic<uint16_t> last{0};
  return static_cast<uint16_t>(last.fetch_add(1, std::memory_order_relaxed) + 1);
}

}  // namespace

Engine::Impl::Impl(Platform & engine_platform, EngineOptions engine_options)
: platform(engine_platform),
  options(std::move(engine_options)),
  number(next_number()),
  configuration(platform.make_mutex()),
  mutex(platform.make_mutex()),
  timer_thread(options.timer_thread),
  clocks(platform),
  lanes(options, table, *mutex, clocks, static_cast<std::size_t>(platform.usable_cpus())),
  deadlines(options.deadlines),
  life(platform, *mutex),
  lookouts(platform, *mutex, options.waiting),
  budgets(platform, *mutex, ready),
  ready(*options.policy, options.trace_capacity, options.trace_memory.get()),
  findings(platform, options.on_finding),
  trace(platform, ready.given_up(), kLeftoverRings * options.trace_capacity)
{
  visitor = new_worker("rclrt visitor", nullptr);
  visitor->is_left_alone = true;
  if (options.trace_memory) {
    options.trace_memory->describe(trace_source(0));
  }
  count_forks();  // the first call may block: not in a publication
}

Engine::Impl::~Impl()
{
  // Nodes leave the queues before either is destroyed; users may hold callbacks for longer.
  const TimePoint now = platform.now();
  const Lock lock(*mutex);
  for (const auto & entry : callbacks) {
    CallbackNode & callback = *entry.second;
    ready.withdraw(callback, now);
    forget_taken(callback);
    callback.removed = true;
    if (callback.timer) {
      clocks[callback.timer->clock].queue.disarm(*callback.timer);
    }
  }
}

Engine::Engine(Platform & platform, EngineOptions options)
: impl_(std::make_unique<Impl>(platform, std::move(options)))
{
}

Engine::~Engine()
{
  stop();
  impl_->life.wait_until_nobody_spins();
  impl_->life.wait_until_let_go(*impl_->visitor);
}

// ---- Releases

bool Engine::notify(Callback & notified, std::size_t count, const Attributes * thread) noexcept
{
  auto & callback = static_cast<CallbackNode &>(notified);
  if (count == 0) {
    return false;
  }
  const TimePoint now = impl_->platform.now();
  Worker * const publisher = Impl::running_here;
  if (publisher) {
    publisher->handed_on = true;
  }
  std::optional<Loan> loan;
  Section section(*impl_->mutex);
  if (callback.removed) {
    return false;
  }
  impl_->inherit_from_publisher(callback);
  const bool is_bound = impl_->arrive(callback, now, count, publisher, section, thread);
  const bool asks_the_os =
    impl_->life.runs() && impl_->options.attributes_mode != AttributesMode::kOff;
  const bool may_be_lent =
    callback.in_group.is_linked() && callback.attributes_now().level >= kFirstStrictLevel;
  if (may_be_lent && asks_the_os && publishes_here()) {
    loan.emplace(callback.demand(), impl_->deadlines.get());
  }
  section.unlock();
  if (loan) {
    lend_to_publisher(*loan, publisher, impl_->platform);
  }
  section.go();
  return is_bound;
}

bool Engine::Impl::release(
  CallbackNode & callback, TimePoint release, TimePoint now, std::size_t count, Worker * running,
  Section & section, const Attributes * thread) noexcept
{
  Job job;
  job.release = release;
  job.ready = now;
  job.root = release;
  job.cause = callback.timer ? RCLRT_CAUSE_TIMER : RCLRT_CAUSE_MESSAGE;
  TimePoint inherited = kNever;
  if (running) {
    const Job & publisher = running->job;
    inherited = publisher.deadline;
    job.root = publisher.root;
    job.cause = RCLRT_CAUSE_JOB;
    job.by_sequence = publisher.sequence;
    job.by_callback = running->callback->id();
    job.by_engine = running->engine.number;
  } else if (callback.learned >= Duration::zero()) {
    inherited = add_saturating(release, callback.learned);
    job.is_expected = true;
  }
  // Until the message is taken, and its stamp read.
  job.is_expected = job.is_expected || (callback.stamps && inherited == kNever);
  job.deadline = callback.deadline(release, inherited);
  job.found_busy(callback.queue->lane->what_is_busy(callback));
  if (!ready.release(callback, job, count)) {
    return false;
  }
  const bool is_bound = thread && callback.inlining && bind_inline(callback, *thread);
  if (!is_bound) {
    callback.queue->lane->released(callback, section);
  }
  return is_bound;
}

// What a job publishes is not held: it belongs to the time at which that job runs. Nor is anything while nobody spins:
// then one thread at a time takes what there is in its order.
bool Engine::Impl::arrive(
  CallbackNode & callback, TimePoint now, std::size_t count, Worker * running, Section & section,
  const Attributes * thread) noexcept
{
  const bool may_wait = !running && !callback.sets_clock && life.runs();
  const bool waits =
    may_wait && !clock_setters.all.empty() &&
    (!held.empty() || (clocks.drive_simulated_timers() && clock_setters.waiting_since() != kNever));
  if (!waits) {
    const bool is_bound = release(callback, now, now, count, running, section, thread);
    if (callback.sets_clock && callback.clock_waits_since == kNever) {
      callback.clock_waits_since = now;
    }
    return is_bound;
  }
  if (held.full()) {
    const Held::Arrival oldest = held.pop();
    if (oldest.callback) {
      release(*oldest.callback, oldest.time, now, oldest.count, nullptr, section);
    }
  }
  held.push({&callback, count, now});
  return false;
}

bool Engine::Impl::release_held(Section & section) noexcept
{
  const TimePoint since = life.runs() ? clock_setters.waiting_since() : kNever;
  for (int released = 0; !held.empty() && held.front().time < since; ++released) {
    if (released == kMostHeldAtOnce || !section.has_room()) {
      return true;
    }
    const Held::Arrival arrival = held.pop();
    if (arrival.callback) {
      release(*arrival.callback, arrival.time, platform.now(), arrival.count, nullptr, section);
    }
  }
  return false;
}

// From callbacks of this engine only: its timer thread and the middleware's threads outrank all its callbacks, and would not
// know of what comes from another one.
void Engine::Impl::inherit_from_publisher(CallbackNode & callback) noexcept
{
  if (
    !callback.inherit_priority || !running_here || &running_here->engine != this ||
    running_here->job.priority <= callback.priority) {
    return;
  }
  const Worker & publisher = *running_here;
  ready.change(callback, [&] {
    callback.priority = publisher.job.priority;
    const AttributesEntry & theirs = *publisher.callback->attributes;
    if (
      is_fixed_priority(theirs.complete.scheduling_policy) &&
      is_fixed_priority(callback.attributes->complete.scheduling_policy) &&
      theirs.level > callback.attributes->level) {
      callback.attributes = &theirs;
    }
  });
}

// ---- Deadlines of jobs that run

void Worker::fan_in() noexcept
{
  own_deadline = job.deadline;
  job.deadline = std::min(job.deadline, earliest_to_bring_together(*callback));
}

// By the worker's own thread, for the job that it runs.
void Engine::Impl::inherit_deadline(std::optional<TimePoint> carried, int64_t stamp_ns) noexcept
{
  Worker & worker = *running_here;
  CallbackNode & callback = *worker.callback;
  if (!callback.inherits_deadlines()) {
    return;
  }
  const bool is_stamped = callback.stamps && stamp_ns != kNoStamp &&
                          (carried ? *carried == kNever : worker.job.is_expected);
  const Clocks both = is_stamped ? read_clocks(platform) : Clocks();
  {
    const Lock lock(*mutex);
    const TimePoint known = is_stamped ? count_from_stamp(callback, worker.job, stamp_ns, both)
                                       : carried.value_or(kNever);
    callback.learned =
      known == kNever ? Duration{-1} : std::max(known - worker.job.release, Duration::zero());
    if (!carried && !worker.job.is_expected) {  // so it is not stamped either
      return;
    }
    worker.job.is_expected = false;
    worker.job.deadline = callback.deadline(worker.job.release, known);
    worker.fan_in();
    if (worker.is_left_alone || !worker.job_demand.attributes->is_ext()) {
      return;
    }
    worker.job_demand.deadline = worker.job.deadline;
    worker.urgency.decide(worker.needs());
  }
  if (!worker.urgency.is_settled()) {
    worker.urgency.settle_itself();
  }
}

thread_local Worker * Engine::Impl::running_here = nullptr;

const Job * current_job() noexcept
{
  return Engine::Impl::running_here ? &Engine::Impl::running_here->job : nullptr;
}

// The courier's job is the outermost: its thread has none else to begin with.
bool runs_inline() noexcept
{
  const Worker * running = Engine::Impl::running_here;
  while (running && !running->is_courier) {
    running = running->outer;
  }
  return running != nullptr;
}

TimePoint deadline_to_publish() noexcept
{
  if (!Engine::Impl::running_here) {
    return kNever;
  }
  Worker & worker = *Engine::Impl::running_here;
  worker.handed_on = true;
  return worker.job.deadline;
}

void inherit_deadline(std::optional<TimePoint> carried, int64_t stamp_ns) noexcept
{
  if (Engine::Impl::running_here) {
    Engine::Impl::running_here->engine.inherit_deadline(carried, stamp_ns);
  }
}

void note_taken(uint64_t publisher, uint64_t number) noexcept
{
  if (Engine::Impl::running_here) {
    Worker & worker = *Engine::Impl::running_here;
    worker.publisher = publisher;
    worker.message = number;
  }
}

void note_published(uint64_t publisher, uint64_t number) noexcept
{
  if (!Engine::Impl::running_here) {
    return;
  }
  Engine::Impl & engine = Engine::Impl::running_here->engine;
  Worker & worker = *Engine::Impl::running_here;
  worker.handed_on = true;  // also if nobody has asked for the deadline: some RMWs tell no stamps
  if (!worker.ring.keeps()) {
    return;
  }
  rclrt_job_record record{};
  record.release_ns = nanoseconds_of(engine.platform.now());
  record.ready_ns = record.start_ns = record.end_ns = record.release_ns;
  record.deadline_ns = RCLRT_TRACE_NO_DEADLINE;
  record.sequence = worker.job.sequence;
  record.callback = worker.callback->id();
  record.thread = static_cast<uint32_t>(worker.thread_id.load(std::memory_order_relaxed));
  record.preemptions = RCLRT_TRACE_UNKNOWN;
  record.outcome = RCLRT_PUBLISHED;
  record.cpu_ns = RCLRT_TRACE_UNKNOWN;
  record.root_ns = nanoseconds_of(worker.job.root);
  record.publisher = publisher;
  record.message = number;
  record.by_callback = RCLRT_TRACE_NO_CALLBACK;
  record.jobs = 1;
  worker.ring.push(record);
}

// ---- The public functions that are more than a call

bool Engine::runs_here() const noexcept
{
  const Worker * running = Impl::running_here;
  while (running && &running->engine != impl_.get()) {
    running = running->outer;
  }
  return running != nullptr;
}
const EngineOptions & Engine::options() const noexcept { return impl_->options; }
Platform & Engine::platform() noexcept { return impl_->platform; }

Status Engine::add_callback(
  CallbackOptions options, const std::shared_ptr<Group> & group,
  std::shared_ptr<Callback> * callback)
{
  return impl_->add_callback(std::move(options), nullptr, group, callback);
}
Status Engine::add_timer(
  CallbackOptions options, TimerOptions timer, const std::shared_ptr<Group> & group,
  std::shared_ptr<Callback> * callback)
{
  options.kind = CallbackKind::kTimer;
  return impl_->add_callback(std::move(options), &timer, group, callback);
}
std::vector<std::shared_ptr<Callback>> Engine::callbacks() const
{
  std::vector<std::shared_ptr<Callback>> all;
  const Impl::Lock lock(*impl_->configuration);
  all.reserve(impl_->callbacks.size());
  for (const auto & entry : impl_->callbacks) {
    all.push_back(entry.second);
  }
  return all;
}
Attributes Engine::attributes(const Callback & callback) const
{
  const auto & node = static_cast<const CallbackNode &>(callback);
  const Impl::Lock lock(*impl_->mutex);
  Attributes attributes = node.attributes->asked;
  attributes.cpu_affinity = node.cpus->asked.cpu_affinity;
  return attributes;
}

Status Engine::set_deadline_scheduler(std::shared_ptr<DeadlineScheduler> deadlines)
{
  const Impl::Lock configuration(*impl_->configuration);
  {
    Section section(*impl_->mutex);
    // Until they end, threads have slots of one scheduler only.
    if (impl_->life.is_spinning() && impl_->deadlines) {
      return Status::error("set_deadline_scheduler(): there is one in use, as long as it spins");
    }
    std::swap(impl_->deadlines, deadlines);
    for (const auto & worker : impl_->life.workers()) {
      if (worker->sleeping) {
        take_from_sleep(*worker, {}, section);  // to ask for a slot
      }
    }
  }
  return impl_->budgets.is_enforced() ? impl_->accounts.enforce() : Status();
}
std::shared_ptr<DeadlineScheduler> Engine::deadline_scheduler() const
{
  const Impl::Lock lock(*impl_->mutex);
  return impl_->deadlines;
}

void Engine::stop() noexcept { impl_->stop(); }
void Engine::clear_stop() noexcept
{
  const Impl::Lock lock(*impl_->mutex);
  impl_->life.take_stop_back();
}
bool Engine::is_stopped() const noexcept { return impl_->life.is_stopped(); }
bool Engine::is_spinning() const noexcept { return impl_->life.is_spinning(); }

std::exception_ptr Engine::take_exception() noexcept
{
  Impl::Lock lock(*impl_->mutex);
  return std::exchange(impl_->exception, nullptr);
}

CallbackStatistics Engine::statistics(const Callback & callback) const
{
  Impl::Lock lock(*impl_->mutex);
  return static_cast<const CallbackNode &>(callback).statistics;
}
std::vector<Finding> Engine::findings() const { return impl_->findings.all(); }
TraceSource Engine::trace_source(uint32_t from_callback) const
{
  return impl_->trace_source(from_callback);
}

}  // namespace rclrt_core
