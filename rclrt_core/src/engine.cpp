// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/engine.hpp"

#include "engine_impl.hpp"

namespace rclrt_core
{

Engine::Impl::Impl(Platform & engine_platform, EngineOptions engine_options)
: platform(engine_platform),
  options(std::move(engine_options)),
  cpus(static_cast<std::size_t>(engine_platform.usable_cpus())),
  mutex(platform.make_mutex()),
  threads_mutex(platform.make_mutex()),
  report_mutex(platform.make_mutex())
{
  timer_thread = options.timer_thread;
  deadlines = options.deadlines;
  clocks.resize(2);
  clocks[kSteadyClock].now_ns = [this] { return nanoseconds_of(platform.now()); };
  clocks[kSystemClock].now_ns = [this] { return platform.system_now_ns(); };
  clocks[kSteadyClock].driven = clocks[kSystemClock].driven = true;
  if (options.model != ExecutionModel::kIsolated) {
    shared_lane = &new_lane("rclrt worker", {});
  }
  if (options.model == ExecutionModel::kEvents && options.release_and_execute) {
    timer_lane = &new_lane("rclrt timers", {});
  }
  inline_worker = new_worker("rclrt inline", nullptr);
  inline_worker->keeps_attributes = true;
}

Engine::Engine(Platform & platform, EngineOptions options)
: impl_(std::make_unique<Impl>(platform, std::move(options)))
{
}

Engine::~Engine()
{
  stop();
  // The thread in spin() uses the engine until it has joined all others.
  while (impl_->spinning.load()) {
    impl_->platform.wait(impl_->stop_word, 1, impl_->platform.now() + std::chrono::milliseconds(1));
  }
  // Whose list the worker is on reads from it.
  const std::atomic<uint32_t> & word = impl_->inline_worker->word;
  while (word.load(std::memory_order_acquire) == Worker::kAwakeAndHeld) {
    impl_->platform.wait(word, Worker::kAwakeAndHeld, kNever);
  }
  // Nodes leave the queues before either is destroyed; users may hold callbacks for longer.
  Impl::Lock lock(*impl_->mutex);
  for (const auto & group : impl_->groups) {
    group->taken.clear();
    group->bring_together.clear();
  }
  for (const auto & entry : impl_->callbacks) {
    impl_->drop_waiting(*entry.second);
    if (entry.second->timer) {
      impl_->clocks[entry.second->timer->clock].queue.disarm(*entry.second->timer);
    }
  }
}

const EngineOptions & Engine::options() const noexcept { return impl_->options; }
Platform & Engine::platform() noexcept { return impl_->platform; }

Status Engine::add_group(GroupOptions options, std::shared_ptr<Group> * group)
{
  return impl_->add_group(std::move(options), group);
}
Status Engine::remove_group(const std::shared_ptr<Group> & group)
{
  return impl_->remove_group(group);
}

Status Engine::add_group_again(const std::shared_ptr<Group> & group)
{
  return impl_->add_group_again(group);
}
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
void Engine::remove(const std::shared_ptr<Callback> & callback) { impl_->remove(callback); }
bool Engine::wait_until_idle(const std::shared_ptr<Callback> & callback)
{
  return impl_->wait_until_idle(callback);
}
std::vector<std::shared_ptr<Callback>> Engine::callbacks() const
{
  std::vector<std::shared_ptr<Callback>> all;
  Impl::Lock lock(*impl_->mutex);
  all.reserve(impl_->callbacks.size());
  for (const auto & entry : impl_->callbacks) {
    all.push_back(entry.second);
  }
  return all;
}
Status Engine::set_attributes(
  const std::shared_ptr<Callback> & callback, const Attributes & attributes)
{
  return impl_->set_attributes(callback, attributes);
}
Attributes Engine::attributes(const Callback & callback) const
{
  Impl::Lock lock(*impl_->mutex);
  return impl_->attributes.asked(static_cast<const CallbackNode &>(callback).attributes);
}

Status Engine::set_timer_thread(const Attributes & attributes)
{
  return impl_->set_timer_thread(attributes);
}

Status Engine::set_deadline_scheduler(std::shared_ptr<DeadlineScheduler> deadlines)
{
  WakeList wakes;
  {
    Impl::Lock lock(*impl_->mutex);
    // Until they end, threads have slots of one scheduler only.
    if (impl_->spinning.load() && impl_->deadlines) {
      return Status::error("set_deadline_scheduler(): there is one in use, as long as it spins");
    }
    std::swap(impl_->deadlines, deadlines);
    for (const auto & worker : impl_->workers) {
      if (worker->sleeping) {
        impl_->take_from_sleep(*worker, wakes);  // to ask for a slot
      }
    }
  }
  wakes.wake_or_defer();
  return {};
}
std::shared_ptr<DeadlineScheduler> Engine::deadline_scheduler() const
{
  Impl::Lock lock(*impl_->mutex);
  return impl_->deadlines;
}

void Engine::notify(Callback & callback, std::size_t count) noexcept
{
  impl_->notify(static_cast<CallbackNode &>(callback), count);
}

Status Engine::cancel_timer(const std::shared_ptr<Callback> & timer)
{
  return impl_->cancel_timer(timer);
}
Status Engine::reset_timer(const std::shared_ptr<Callback> & timer, std::optional<Duration> first)
{
  return impl_->reset_timer(timer, first);
}
Status Engine::set_timer_period(const std::shared_ptr<Callback> & timer, Duration period)
{
  return impl_->set_timer_period(timer, period);
}
Status Engine::set_timer_clock(const std::shared_ptr<Callback> & timer, ClockId clock)
{
  return impl_->set_timer_clock(timer, clock);
}
bool Engine::is_timer_cancelled(const std::shared_ptr<Callback> & timer) const
{
  return impl_->is_timer_cancelled(timer);
}
Duration Engine::time_until_release(const std::shared_ptr<Callback> & timer) const
{
  return impl_->time_until_release(timer);
}
ClockId Engine::add_clock(std::function<int64_t()> now_ns)
{
  return impl_->add_clock(std::move(now_ns));
}
Status Engine::remove_clock(ClockId clock) { return impl_->remove_clock(clock); }
void Engine::clock_changed(ClockId clock) noexcept { impl_->clock_changed(clock); }

Status Engine::spin() { return impl_->spin(); }
void Engine::stop() noexcept { impl_->stop(); }
void Engine::clear_stop() noexcept { impl_->clear_stop(); }
bool Engine::is_stopped() const noexcept
{
  return impl_->stop_word.load(std::memory_order_acquire) != 0;
}
bool Engine::is_spinning() const noexcept { return impl_->spinning.load(); }
bool Engine::run_one(TimePoint until, uint64_t before_sequence)
{
  return impl_->run_one(until, before_sequence);
}
uint64_t Engine::next_sequence() { return impl_->next_sequence(); }

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
std::vector<Finding> Engine::findings() const
{
  Impl::Lock lock(*impl_->report_mutex);
  return impl_->findings;
}
std::vector<ThreadReport> Engine::threads() const { return impl_->threads(); }
void Engine::read_trace(const std::function<void(const rclrt_job_record &)> & visit)
{
  impl_->read_trace(visit);
}
uint64_t Engine::trace_dropped() const { return impl_->trace_dropped(); }

}  // namespace rclrt_core
