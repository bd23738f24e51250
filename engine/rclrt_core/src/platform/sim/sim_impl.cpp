// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/sim/sim_impl.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

namespace rclrt_core
{
namespace
{

// More calls than this without any virtual time passing: the program waits in a loop for something
// that only time can bring. Far above what a burst of some thousand jobs at one instant needs.
constexpr int64_t kMaxStepsNow = 3'000'000;

struct Current
{
  const void * sim = nullptr;
  sim::VirtualThread * thread = nullptr;
};
thread_local Current current;

}  // namespace

sim::VirtualThread * SimPlatform::Impl::self() const
{
  return current.sim == this ? current.thread : nullptr;
}

sim::VirtualThread & SimPlatform::Impl::self_or_abort(const char * call) const
{
  sim::VirtualThread * thread = self();
  if (thread == nullptr) {
    std::fprintf(
      stderr,
      "SimPlatform: %s would block, but the caller is no virtual thread; call it inside "
      "run()%s%s\n",
      call, status_.ok() ? "" : ". The sim had stopped before: ", status_.message().c_str());
    std::abort();
  }
  return *thread;
}

Status SimPlatform::Impl::run(std::function<void()> main_body, Duration limit)
{
  {
    Lock locked = lock();
    if (stopped_ || running_) {
      return Status::error(
        stopped_ ? "SimPlatform::run(): this sim stopped with an error before; make a new one"
                 : "SimPlatform::run(): already running");
    }
    running_ = true;
    limit_ = limit;
    limit_time_ = add_saturating(machine.now(), limit);
    steps_now_ = 0;
  }
  ThreadOptions options;
  options.name = "main";
  options.attributes.scheduling_policy = SchedulingPolicy::kFifo;
  options.attributes.priority = 99;
  // An exception must not end the other threads: they finish, then it is thrown again here.
  auto thrown = std::make_shared<std::exception_ptr>();
  auto body = [main_body = std::move(main_body), thrown] {
    try {
      main_body();
    } catch (...) {
      *thrown = std::current_exception();
    }
  };
  std::shared_ptr<sim::VirtualThread> main;
  const Status main_status = start(options, std::move(body), nullptr, &main);

  Lock locked = lock();
  if (!main_status.ok()) {
    running_ = false;
    return main_status;
  }
  pass_baton();
  run_over_.wait(locked, [this] { return !running_; });
  const auto started = std::move(started_);
  started_.clear();
  locked.unlock();

  for (const auto & thread : started) {
    if (thread->state == sim::State::kEnded) {
      thread->os_thread.join();
    } else {
      thread->os_thread.detach();
    }
  }
  if (status_.ok() && *thrown) {
    std::rethrow_exception(*thrown);
  }
  return status_;
}

Status SimPlatform::Impl::start(
  const ThreadOptions & options, std::function<void()> body,
  std::function<void(const Finding &)> on_finding, std::shared_ptr<sim::VirtualThread> * thread)
{
  Lock locked = lock();
  if (!running_) {
    return Status::error(
      "SimPlatform: thread '" + options.name + "' cannot start outside run(); start it in there");
  }
  const auto added = machine.add(options.name);
  const int error_number =
    options.attributes == Attributes() ? 0 : apply(added.get(), options.attributes);
  if (error_number != 0 && on_finding) {
    body = [finding = explain(options.name, options.attributes, error_number),
            on_finding = std::move(on_finding), body = std::move(body)] {
      on_finding(finding);
      body();
    };
  }
  try {
    added->os_thread =
      std::thread([keep_alive = shared_from_this(), added, body = std::move(body)]() mutable {
        keep_alive->os_thread_main(*added, std::move(body));
      });
  } catch (const std::system_error & error) {
    machine.end(*added);
    return Status::error("SimPlatform: thread '" + options.name + "': " + error.what());
  }
  started_.push_back(added);
  *thread = added;
  preemption_point(locked);
  return Status();
}

void SimPlatform::Impl::os_thread_main(sim::VirtualThread & self, std::function<void()> body)
{
  current = {this, &self};
  {
    Lock locked = lock();
    wait_for_baton(locked, self);
  }
  body();
  body = nullptr;  // What it captured is destroyed by this thread while it has the baton.

  Lock locked = lock();
  machine.end(self);
  while (sim::VirtualThread * joiner = machine.most_urgent_blocked_on(&self)) {
    machine.make_ready(*joiner);
  }
  pass_baton();
}

Finding SimPlatform::Impl::explain(
  const std::string & subject, const Attributes & attributes, int error_number)
{
  return {
    subject, "asked for " + to_string(attributes), error_number,
    "The simulated platform refuses what refuse() names and what validate() rejects"};
}

void SimPlatform::Impl::join(sim::VirtualThread & thread)
{
  Lock locked = lock();
  while (thread.state != sim::State::kEnded) {
    if (self() == nullptr && stopped_) {
      return;  // It never runs again; whoever cleans up after the error must not hang.
    }
    block(
      locked, self_or_abort("Thread::join()"), sim::Reason::kJoin, &thread, thread.name, kNever);
  }
  const auto is_it = [&](const auto & other) { return other.get() == &thread; };
  const auto found = std::find_if(started_.begin(), started_.end(), is_it);
  if (found != started_.end()) {
    // It has passed the baton on and needs nothing of us any more.
    std::thread os_thread = std::move(thread.os_thread);
    started_.erase(found);
    locked.unlock();
    os_thread.join();
  }
}

int SimPlatform::Impl::apply(sim::VirtualThread * thread, const Attributes & attributes)
{
  if (thread == nullptr) {
    return ESRCH;
  }
  if (refused.count(attributes.scheduling_policy) == 0) {
    return machine.set_attributes(*thread, attributes);
  }
  // The affinity needs no permission.
  Attributes rest;
  rest.cpu_affinity = attributes.cpu_affinity;
  const int error_number = machine.set_attributes(*thread, rest);
  return error_number != 0 ? error_number : EPERM;
}

void SimPlatform::Impl::block(
  Lock & lock, sim::VirtualThread & self, sim::Reason reason, const void * key,
  const std::string & key_name, TimePoint until)
{
  machine.block(self, reason, key, key_name, until);
  dispatch(lock, self);
}

void SimPlatform::Impl::preemption_point(Lock & lock)
{
  sim::VirtualThread * caller = self();
  if (caller == nullptr || !machine.may_be_preempted(*caller)) {
    return;
  }
  machine.reschedule();
  if (caller->state != sim::State::kRunning) {
    dispatch(lock, *caller);
  }
}

void SimPlatform::Impl::dispatch(Lock & lock, sim::VirtualThread & self)
{
  pass_baton();
  wait_for_baton(lock, self);
}

void SimPlatform::Impl::pass_baton()
{
  for (;;) {
    machine.reschedule();
    baton_ = machine.next_in_code();
    if (baton_ != nullptr) {
      baton_->has_baton.notify_one();
      return;
    }
    if (machine.live_threads().empty()) {
      running_ = false;
      run_over_.notify_one();
      return;
    }
    const TimePoint next = machine.next_event();
    if (next == kNever) {
      stop("nothing can happen any more");
      return;
    }
    if (next > limit_time_) {
      stop("not over after the limit of " + sim::in_milliseconds(limit_) + "ms of virtual time");
      return;
    }
    machine.advance(next);
    steps_now_ = 0;
  }
}

void SimPlatform::Impl::wait_for_baton(Lock & lock, sim::VirtualThread & self)
{
  self.has_baton.wait(lock, [&] { return baton_ == &self; });
}

void SimPlatform::Impl::stop(const std::string & why)
{
  status_ = Status::error(
    "SimPlatform: " + why + " at " + sim::in_milliseconds(machine.now().time_since_epoch()) +
    "ms: " + machine.describe_threads());
  baton_ = nullptr;
  stopped_ = true;
  running_ = false;
  run_over_.notify_one();
}

void SimPlatform::Impl::pass_point(Lock & lock, Point point)
{
  sim::VirtualThread * caller = self();
  if (caller == nullptr || caller->in_hook) {
    return;
  }
  if (hook) {
    const auto called = hook;  // The hook may set another.
    caller->in_hook = true;
    lock.unlock();
    (*called)(point, caller->name);
    lock.lock();
    caller->in_hook = false;
  }
  Duration cost{0};
  switch (point) {
    case Point::kLocked:
      break;
    case Point::kUnlock:
      cost = costs.lock_section;
      break;
    case Point::kApply:
      cost = costs.apply;
      break;
    case Point::kWakeOne:
      cost = costs.wake_one;
      break;
    case Point::kWait:
      cost = costs.wait;
      break;
  }
  if (cost > Duration{0}) {
    machine.begin_work(*caller, cost);
    dispatch(lock, *caller);
  }
}

void SimPlatform::Impl::count_step(Lock & lock)
{
  sim::VirtualThread * caller = self();
  if (caller != nullptr && ++steps_now_ > kMaxStepsNow) {
    stop(
      "no virtual time passes: " + std::to_string(kMaxStepsNow) + " calls, the last by '" +
      caller->name + "',");
    wait_for_baton(lock, *caller);
  }
}

}  // namespace rclrt_core
