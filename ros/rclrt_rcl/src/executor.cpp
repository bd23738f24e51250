// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/executor.hpp"

#include <string>
#include <utility>

#include "membership.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

/// A future that is not made ready by a callback is noticed this much late.
constexpr std::chrono::milliseconds kFuturePoll(5);

rclrt_core::TimePoint after(std::chrono::nanoseconds duration, bool zero_is_never = false)
{
  if (duration.count() < 0 || (zero_is_never && duration.count() == 0)) {
    return rclrt_core::kNever;
  }
  return rclrt_core::add_saturating(rclrt_front_end::process_platform().now(), duration);
}

}  // namespace

class Executor::SpinGuard
{
public:
  SpinGuard(Executor & executor, const char * what) : executor_(executor)
  {
    if (executor_.spinning_.exchange(true)) {
      throw Error(std::string(what) + " called while already spinning");
    }
    executor_.heed_shutdown();
  }
  ~SpinGuard()
  {
    std::lock_guard<std::mutex> lock(executor_.spin_mutex_);
    executor_.clear_interrupt();
    executor_.cancelled_.store(false);
    executor_.spinning_.store(false);
  }
  SpinGuard(const SpinGuard &) = delete;
  SpinGuard & operator=(const SpinGuard &) = delete;

private:
  Executor & executor_;
};

Executor::Executor(std::shared_ptr<Context> context)
: context_(context ? std::move(context) : default_context()),
  membership_(std::make_shared<Membership>(*this))
{
}

Executor::~Executor() = default;

void Executor::detach_all(bool waits)
{
  context_->remove_on_shutdown(on_shutdown_);
  for (const auto & entity : membership_->remove_all()) {
    if (waits) {
      entity->wait_until_idle();
    }
  }
}

// The constructor must not call it: the subclass that is to be interrupted does not exist yet.
void Executor::heed_shutdown()
{
  if (on_shutdown_ == 0) {
    on_shutdown_ = context_->on_shutdown([this] {
      std::lock_guard<std::mutex> lock(spin_mutex_);
      interrupt();
    });
  }
}

void Executor::cancel()
{
  std::lock_guard<std::mutex> lock(spin_mutex_);
  cancelled_.store(true);
  interrupt();
}

void Executor::spin()
{
  const SpinGuard guard(*this, "spin()");
  if (!stop_requested()) {
    do_spin();
  }
}

void Executor::spin_some(std::chrono::nanoseconds max_duration)
{
  const SpinGuard guard(*this, "spin_some()");
  if (!stop_requested()) {
    do_spin_some(after(max_duration, true), false);
  }
}

void Executor::spin_all(std::chrono::nanoseconds max_duration)
{
  if (max_duration.count() < 0) {
    throw Error("spin_all(): max_duration must be greater than or equal to 0");
  }
  const SpinGuard guard(*this, "spin_all()");
  if (!stop_requested()) {
    do_spin_some(after(max_duration, true), true);
  }
}

bool Executor::spin_once(std::chrono::nanoseconds timeout)
{
  const SpinGuard guard(*this, "spin_once()");
  return !stop_requested() && do_spin_once(after(timeout));
}

FutureReturnCode Executor::spin_until(
  const std::function<bool()> & ready, std::chrono::nanoseconds timeout)
{
  const SpinGuard guard(*this, "spin_until_future_complete()");
  const rclrt_core::TimePoint until = after(timeout);
  while (!ready()) {
    if (stop_requested()) {
      return FutureReturnCode::kInterrupted;
    }
    if (rclrt_front_end::process_platform().now() >= until) {
      return FutureReturnCode::kTimeout;
    }
    do_spin_once(std::min(until, after(kFuturePoll)));
  }
  return FutureReturnCode::kSuccess;
}

void Executor::add_node(Node & node) { membership_->add_node(node.state_); }

void Executor::remove_node(Node & node)
{
  for (const auto & entity : membership_->remove_node(node.state_)) {
    entity->wait_until_idle();
  }
}

void Executor::add_callback_group(const std::shared_ptr<CallbackGroup> & group)
{
  membership_->add_group(group);
}

void Executor::remove_callback_group(const std::shared_ptr<CallbackGroup> & group)
{
  for (const auto & entity : membership_->remove_group(group)) {
    entity->wait_until_idle();
  }
}

std::vector<std::shared_ptr<CallbackGroup>> Executor::callback_groups() const
{
  return membership_->groups(true, true);
}
std::vector<std::shared_ptr<CallbackGroup>> Executor::manually_added_callback_groups() const
{
  return membership_->groups(true, false);
}
std::vector<std::shared_ptr<CallbackGroup>> Executor::automatically_added_callback_groups() const
{
  return membership_->groups(false, true);
}

}  // namespace rclrt_rcl
