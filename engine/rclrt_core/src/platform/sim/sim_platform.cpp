// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/sim_platform.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "platform/sim/sim_impl.hpp"

namespace rclrt_core
{
class SimPlatform::SimMutex : public Mutex
{
public:
  explicit SimMutex(std::shared_ptr<Impl> sim) : sim_(std::move(sim)) {}

  void lock() noexcept override
  {
    Impl::Lock locked = sim_->lock();
    sim_->count_step(locked);
    while (is_locked_) {
      sim::VirtualThread & self = sim_->self_or_abort("Mutex::lock()");
      const std::string holder = owner_ == nullptr ? "no virtual thread" : owner_->name;
      sim_->block(locked, self, sim::Reason::kMutex, this, holder, kNever);
    }
    is_locked_ = true;
    owner_ = sim_->self();
    if (owner_ != nullptr) {
      sim_->machine.acquire(*owner_, this);
    }
    ++sim_->counts.lock;
    sim_->pass_point(locked, Point::kLocked);
  }

  void unlock() noexcept override
  {
    Impl::Lock locked = sim_->lock();
    sim_->pass_point(locked, Point::kUnlock);
    is_locked_ = false;
    if (sim::VirtualThread * next = sim_->machine.most_urgent_blocked_on(this)) {
      sim_->machine.make_ready(*next);
    }
    if (owner_ != nullptr) {
      sim_->machine.release(*owner_, this);
    }
    owner_ = nullptr;
    sim_->preemption_point(locked);
  }

private:
  const std::shared_ptr<Impl> sim_;
  bool is_locked_ = false;
  sim::VirtualThread * owner_ = nullptr;
};

class SimPlatform::SimThread : public Thread
{
public:
  SimThread(std::shared_ptr<Impl> sim, std::shared_ptr<sim::VirtualThread> thread)
  : sim_(std::move(sim)), thread_(std::move(thread))
  {
  }
  ~SimThread() override { SimThread::join(); }
  void join() override { sim_->join(*thread_); }

private:
  const std::shared_ptr<Impl> sim_;
  const std::shared_ptr<sim::VirtualThread> thread_;
};

class SimPlatform::SimAlarm : public Alarm
{
public:
  explicit SimAlarm(std::shared_ptr<Impl> sim) : sim_(std::move(sim)) {}

  void set(TimePoint time) noexcept override
  {
    Impl::Lock locked = sim_->lock();
    sim_->count_step(locked);
    ++sim_->counts.alarm;
    time_ = time;
    if (sim::VirtualThread * thread = sim_->machine.most_urgent_blocked_on(this)) {
      thread->until = time;
      if (time <= sim_->machine.now()) {
        sim_->machine.make_ready(*thread);
        sim_->preemption_point(locked);
      }
    }
  }

  void wait() noexcept override
  {
    Impl::Lock locked = sim_->lock();
    sim_->count_step(locked);
    while (time_ > sim_->machine.now()) {
      sim_->block(
        locked, sim_->self_or_abort("Alarm::wait()"), sim::Reason::kSleep, this, "", time_);
    }
    time_ = kNever;  // it goes off once
  }

private:
  const std::shared_ptr<Impl> sim_;
  TimePoint time_ = kNever;
};

SimPlatform::SimPlatform(int cpus)
: impl_(std::make_shared<Impl>(std::clamp(cpus, 1, CpuSet::kMaxCpus)))
{
}

SimPlatform::~SimPlatform() = default;

Status SimPlatform::run(std::function<void()> main_body, Duration limit)
{
  return impl_->run(std::move(main_body), limit);
}

void SimPlatform::work(Duration duration)
{
  Impl::Lock locked = impl_->lock();
  impl_->count_step(locked);
  sim::VirtualThread & self = impl_->self_or_abort("work()");
  impl_->machine.begin_work(self, std::max(duration, Duration{0}));
  impl_->dispatch(locked, self);
}

void SimPlatform::sleep_until(TimePoint time)
{
  Impl::Lock locked = impl_->lock();
  impl_->count_step(locked);
  if (time > impl_->machine.now()) {
    impl_->block(
      locked, impl_->self_or_abort("sleep_until()"), sim::Reason::kSleep, nullptr, "", time);
  }
}

void SimPlatform::refuse(std::set<SchedulingPolicy> policies)
{
  Impl::Lock locked = impl_->lock();
  impl_->refused = std::move(policies);
}

void SimPlatform::need_cpu()
{
  Impl::Lock locked = impl_->lock();
  impl_->machine.need_cpu();
}

void SimPlatform::set_locks(Locks locks)
{
  Impl::Lock locked = impl_->lock();
  impl_->machine.set_locks(locks.preemptible, locks.inheritance);
}

void SimPlatform::set_costs(const Costs & costs)
{
  Impl::Lock locked = impl_->lock();
  impl_->costs = costs;
}

void SimPlatform::set_hook(Hook hook)
{
  auto next = hook ? std::make_shared<const Hook>(std::move(hook)) : nullptr;
  Impl::Lock locked = impl_->lock();
  impl_->hook.swap(next);
}

void SimPlatform::set_system_now_ns(int64_t now_ns)
{
  Impl::Lock locked = impl_->lock();
  impl_->system_offset_ns = now_ns - nanoseconds_of(impl_->machine.now());
}

SimPlatform::Counts SimPlatform::counts() const
{
  Impl::Lock locked = impl_->lock();
  return impl_->counts;
}

std::vector<std::string> SimPlatform::schedule() const
{
  Impl::Lock locked = impl_->lock();
  return impl_->machine.schedule();
}

TimePoint SimPlatform::now() noexcept
{
  Impl::Lock locked = impl_->lock();
  impl_->count_step(locked);
  return impl_->machine.now();
}

int64_t SimPlatform::system_now_ns() noexcept
{
  Impl::Lock locked = impl_->lock();
  impl_->count_step(locked);
  return nanoseconds_of(impl_->machine.now()) + impl_->system_offset_ns;
}

std::unique_ptr<Mutex> SimPlatform::make_mutex() { return std::make_unique<SimMutex>(impl_); }

Status SimPlatform::start_thread(
  const ThreadOptions & options, std::function<void()> body,
  const std::function<void(const Finding &)> & on_finding, std::unique_ptr<Thread> * thread)
{
  {
    Impl::Lock locked = impl_->lock();
    ++impl_->counts.start_thread;
  }
  std::shared_ptr<sim::VirtualThread> started;
  Status status = impl_->start(options, std::move(body), on_finding, &started);
  if (status.ok()) {
    *thread = std::make_unique<SimThread>(impl_, std::move(started));
  }
  return status;
}

void SimPlatform::wait(
  const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept
{
  Impl::Lock locked = impl_->lock();
  impl_->count_step(locked);
  impl_->pass_point(locked, Point::kWait);
  // The order does not matter: the thread that changes the word has passed the baton under the lock.
  if (word.load() == expected && until > impl_->machine.now()) {
    impl_->block(locked, impl_->self_or_abort("wait()"), sim::Reason::kWord, &word, "", until);
  }
}

void SimPlatform::wake_one(const std::atomic<uint32_t> & word) noexcept
{
  Impl::Lock locked = impl_->lock();
  impl_->count_step(locked);
  ++impl_->counts.wake;
  impl_->pass_point(locked, Point::kWakeOne);
  if (sim::VirtualThread * thread = impl_->machine.most_urgent_blocked_on(&word)) {
    impl_->machine.make_ready(*thread);
    impl_->preemption_point(locked);
  }
}

std::unique_ptr<Alarm> SimPlatform::make_alarm() { return std::make_unique<SimAlarm>(impl_); }

ThreadId SimPlatform::current_thread() noexcept
{
  const sim::VirtualThread * self = impl_->self();
  return self == nullptr ? 0 : self->id;
}

int SimPlatform::current_cpu() noexcept
{
  const sim::VirtualThread * self = impl_->self();
  return self == nullptr ? 0 : self->cpu;
}

CpuMeter SimPlatform::start_meter(bool measures) noexcept
{
  CpuMeter meter;
  if (const sim::VirtualThread * self = impl_->self()) {
    meter.cpu_ns = measures ? self->worked.count() : -1;
    meter.preemptions = self->preemptions;
    meter.switches = self->switches;
  }
  return meter;
}

CpuUse SimPlatform::read_meter(const CpuMeter & meter) noexcept
{
  CpuUse use;
  if (const sim::VirtualThread * self = impl_->self()) {
    use.has_kept = self->switches == meter.switches;
    use.preemptions = static_cast<int32_t>(self->preemptions - meter.preemptions);
    if (!use.has_kept && meter.cpu_ns >= 0) {
      use.cpu_ns = self->worked.count() - meter.cpu_ns;
    }
  }
  return use;
}

int64_t SimPlatform::cpu_time_ns(ThreadId thread) noexcept
{
  Impl::Lock locked = impl_->lock();
  const sim::VirtualThread * found = impl_->machine.find(thread);
  return found == nullptr ? -1 : found->worked.count();
}

int SimPlatform::cpu_count() noexcept { return impl_->machine.cpu_count(); }

int SimPlatform::apply(ThreadId thread, const Attributes & attributes) noexcept
{
  Impl::Lock locked = impl_->lock();
  ++impl_->counts.apply;
  impl_->pass_point(locked, Point::kApply);
  const int error_number = impl_->apply(impl_->machine.find(thread), attributes);
  impl_->preemption_point(locked);
  return error_number;
}

int SimPlatform::read_back(ThreadId thread, Attributes * attributes) noexcept
{
  Impl::Lock locked = impl_->lock();
  const sim::VirtualThread * found = impl_->machine.find(thread);
  if (found == nullptr) {
    return ESRCH;
  }
  *attributes = found->attributes;
  return 0;
}

Finding SimPlatform::explain(
  const std::string & subject, const Attributes & attributes, int error_number)
{
  return Impl::explain(subject, attributes, error_number);
}

std::vector<Finding> SimPlatform::check_system(bool) { return {}; }

std::vector<Finding> SimPlatform::lock_memory() { return {}; }

}  // namespace rclrt_core
