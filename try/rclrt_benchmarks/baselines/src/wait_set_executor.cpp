// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_baselines/baselines.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "member.hpp"
#include "rclrt_rcl/error.hpp"
#include "wait_set.hpp"

namespace rclrt_baselines
{

class WaitSetExecutor::Impl
{
public:
  explicit Impl(const std::shared_ptr<rclrt_rcl::Context> & context)
  : interrupt(context), set(context, interrupt)
  {
  }

  GuardCondition interrupt;
  /// Only for the thread that waits.
  WaitSet set;
  std::atomic<bool> must_collect{true};

  std::mutex members_mutex;
  // Guarded by members_mutex:
  std::vector<MemberPointer> members;
  std::map<const rclrt_rcl::CallbackGroup *, std::shared_ptr<GroupState>> groups;

  void collect()
  {
    std::vector<MemberPointer> present;
    {
      std::lock_guard<std::mutex> lock(members_mutex);
      std::copy_if(
        members.begin(), members.end(), std::back_inserter(present),
        [](const auto & member) { return member->group->is_free.load(); });
    }
    set.update(present);
  }

  void changed() noexcept
  {
    must_collect.store(true);
    interrupt.trigger();
  }
};

WaitSetExecutor::WaitSetExecutor(std::shared_ptr<rclrt_rcl::Context> context)
: Executor(std::move(context)), impl_(std::make_unique<Impl>(Executor::context()))
{
}

WaitSetExecutor::~WaitSetExecutor() = default;

void WaitSetExecutor::on_group_added(const std::shared_ptr<rclrt_rcl::CallbackGroup> & group)
{
  std::lock_guard<std::mutex> lock(impl_->members_mutex);
  impl_->groups.emplace(group.get(), std::make_shared<GroupState>(group->type()));
}

void WaitSetExecutor::on_group_removed(const rclrt_rcl::CallbackGroup * group)
{
  std::lock_guard<std::mutex> lock(impl_->members_mutex);
  impl_->groups.erase(group);
}

void WaitSetExecutor::on_entity_added(const std::shared_ptr<rclrt_rcl::Entity> & entity)
{
  std::shared_ptr<GroupState> group;
  {
    std::lock_guard<std::mutex> lock(impl_->members_mutex);
    group = impl_->groups.at(entity->group().get());
  }
  auto member = std::make_shared<Member>(entity, std::move(group));
  if (member->is_timer) {
    rclrt_rcl::Timer & timer = member->as_timer();
    timer.drive([&](const rclrt_rcl::Timer::State & state) {
      member->timer =
        std::make_shared<RclTimer>(timer, context(), state, [this] { impl_->interrupt.trigger(); });
      return member->timer;
    });
    if (!member->timer) {
      return;  // closed
    }
  }
  {
    std::lock_guard<std::mutex> lock(impl_->members_mutex);
    impl_->members.push_back(std::move(member));
  }
  impl_->changed();
}

void WaitSetExecutor::on_entity_removed(const std::shared_ptr<rclrt_rcl::Entity> & entity)
{
  MemberPointer member;
  {
    std::lock_guard<std::mutex> lock(impl_->members_mutex);
    auto & members = impl_->members;
    const auto found = std::find_if(
      members.begin(), members.end(), [&](const auto & known) { return known->entity == entity; });
    if (found == members.end()) {
      return;
    }
    member = *found;
    members.erase(found);
  }
  member->is_removed.store(true);
  if (member->is_timer) {
    member->as_timer().release_driver();
  }
  impl_->changed();
}

void WaitSetExecutor::interrupt() noexcept { impl_->interrupt.trigger(); }

void WaitSetExecutor::wait_for_work(std::chrono::nanoseconds timeout)
{
  if (impl_->must_collect.exchange(false)) {
    impl_->collect();
  }
  if (impl_->set.wait(timeout)) {
    impl_->must_collect.store(true);
  }
}

void WaitSetExecutor::drop_result() { impl_->set.drop_result(); }

bool WaitSetExecutor::next_ready(Executable * executable)
{
  const auto group_is_free = [](const Member & member) { return member.group->is_free.load(); };
  MemberPointer found;
  while ((found = impl_->set.next_ready(WaitSet::kTimers, group_is_free))) {
    if (const auto job = found->timer->call()) {
      executable->job = *job;
      break;
    }
  }
  for (std::size_t kind = WaitSet::kSubscriptions; !found && kind < WaitSet::kKinds; ++kind) {
    found = impl_->set.next_ready(static_cast<WaitSet::Kind>(kind), group_is_free);
    if (found) {
      executable->job = job_of_now();
    }
  }
  if (!found) {
    return false;
  }
  if (found->group->type == rclrt_rcl::CallbackGroupType::kMutuallyExclusive) {
    found->group->is_free.store(false);
  }
  executable->member = std::move(found);
  return true;
}

bool WaitSetExecutor::next(Executable * executable, std::chrono::nanoseconds timeout)
{
  if (next_ready(executable)) {
    return true;
  }
  wait_for_work(timeout);
  return !stop_requested() && next_ready(executable);
}

void WaitSetExecutor::execute(const Executable & executable)
{
  struct GivesGroupBack
  {
    ~GivesGroupBack() { group.is_free.store(true); }
    GroupState & group;
  } const gives_group_back{*executable.member->group};

  if (executable.member->is_removed.load() || stop_requested()) {
    return;
  }
  try {
    executable.member->entity->take_and_run(executable.job, executable.member->stay);
  } catch (const rclrt_rcl::ShutdownError &) {
    if (!stop_requested()) {
      throw;
    }
  }
}

bool WaitSetExecutor::in_exclusive_group(const Executable & executable) noexcept
{
  return executable.member->group->type == rclrt_rcl::CallbackGroupType::kMutuallyExclusive;
}

rclrt_core::Job WaitSetExecutor::job_of_now()
{
  rclrt_core::Job job;
  job.release = std::chrono::steady_clock::now();
  job.ready = job.release;
  return job;
}

std::chrono::nanoseconds WaitSetExecutor::time_until(rclrt_core::TimePoint until)
{
  if (until == rclrt_core::kNever) {
    return std::chrono::nanoseconds(-1);
  }
  return std::max<std::chrono::nanoseconds>(
    until - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
}

void WaitSetExecutor::do_spin_some(rclrt_core::TimePoint until, bool exhaustive)
{
  wait_for_work(std::chrono::nanoseconds(0));
  bool just_waited = true;
  while (!stop_requested() && std::chrono::steady_clock::now() < until) {
    Executable executable;
    if (next_ready(&executable)) {
      execute(executable);
      just_waited = false;
    } else if (just_waited || !exhaustive) {
      break;
    } else {
      wait_for_work(std::chrono::nanoseconds(0));
      just_waited = true;
    }
  }
  drop_result();
}

bool WaitSetExecutor::do_spin_once(rclrt_core::TimePoint until)
{
  Executable executable;
  const bool found = next(&executable, time_until(until));
  drop_result();
  if (found) {
    execute(executable);
  }
  return found;
}

WaitSetSingleThreadedExecutor::WaitSetSingleThreadedExecutor(
  std::shared_ptr<rclrt_rcl::Context> context)
: WaitSetExecutor(std::move(context))
{
}

WaitSetSingleThreadedExecutor::~WaitSetSingleThreadedExecutor() { detach_all(); }

void WaitSetSingleThreadedExecutor::do_spin()
{
  struct DropsResult
  {
    ~DropsResult() { executor.drop_result(); }
    WaitSetSingleThreadedExecutor & executor;
  } const drops_result{*this};

  while (!stop_requested()) {
    Executable executable;
    if (next(&executable, std::chrono::nanoseconds(-1))) {
      execute(executable);
    }
  }
}

WaitSetMultiThreadedExecutor::WaitSetMultiThreadedExecutor(
  std::size_t threads, std::shared_ptr<rclrt_rcl::Context> context)
: WaitSetExecutor(std::move(context)),
  threads_(threads > 0 ? threads : std::max(std::thread::hardware_concurrency(), 2U))
{
}

WaitSetMultiThreadedExecutor::~WaitSetMultiThreadedExecutor() { detach_all(); }

void WaitSetMultiThreadedExecutor::do_spin()
{
  std::vector<std::thread> others;
  {
    std::lock_guard<std::mutex> lock(wait_mutex_);  // none runs ahead
    exception_ = nullptr;
    failed_ = false;
    for (std::size_t i = 1; i < threads_; ++i) {
      others.emplace_back([this] { work(); });
    }
  }
  work();
  for (std::thread & thread : others) {
    thread.join();
  }
  drop_result();
  if (exception_) {
    std::rethrow_exception(std::exchange(exception_, nullptr));
  }
}

void WaitSetMultiThreadedExecutor::work()
{
  while (true) {
    try {
      Executable executable;
      {
        std::lock_guard<std::mutex> lock(wait_mutex_);
        if (stop_requested() || failed_) {
          return;
        }
        if (!next(&executable, std::chrono::nanoseconds(-1))) {
          continue;
        }
      }
      execute(executable);
      if (in_exclusive_group(executable)) {
        interrupt();  // somebody may wait without the group, or it was passed over
      }
    } catch (...) {
      std::exception_ptr thrown = std::current_exception();
      // Before the lock, which whoever waits holds: interrupted, it must see why and not wait again.
      failed_ = true;
      interrupt();
      std::lock_guard<std::mutex> lock(wait_mutex_);
      if (!exception_) {
        exception_ = std::move(thrown);
      }
    }
  }
}

StaticExecutor::StaticExecutor(std::shared_ptr<rclrt_rcl::Context> context)
: WaitSetExecutor(std::move(context))
{
}

StaticExecutor::~StaticExecutor() { detach_all(); }

void StaticExecutor::do_spin()
{
  while (!stop_requested()) {
    wait_for_work(std::chrono::nanoseconds(-1));
    execute_ready(false);
  }
}

void StaticExecutor::do_spin_some(rclrt_core::TimePoint until, bool exhaustive)
{
  while (!stop_requested() && std::chrono::steady_clock::now() < until) {
    wait_for_work(std::chrono::nanoseconds(0));
    if (!execute_ready(false) || !exhaustive) {
      break;
    }
  }
}

bool StaticExecutor::do_spin_once(rclrt_core::TimePoint until)
{
  wait_for_work(time_until(until));
  return execute_ready(true);
}

bool StaticExecutor::execute_ready(bool only_one)
{
  constexpr std::array<WaitSet::Kind, WaitSet::kKinds> kOrder = {
    WaitSet::kSubscriptions, WaitSet::kTimers, WaitSet::kClients, WaitSet::kServices,
    WaitSet::kOthers};
  const auto any = [](const Member &) { return true; };
  bool executed = false;
  for (const WaitSet::Kind kind : kOrder) {
    while (!(executed && only_one) && !stop_requested()) {
      Executable executable;
      executable.member = impl_->set.next_ready(kind, any);
      if (!executable.member) {
        break;
      }
      if (executable.member->timer) {
        const auto job = executable.member->timer->call();
        if (!job) {
          continue;
        }
        executable.job = *job;
      } else {
        executable.job = job_of_now();
      }
      execute(executable);
      executed = true;
    }
  }
  drop_result();
  return executed;
}

}  // namespace rclrt_baselines
