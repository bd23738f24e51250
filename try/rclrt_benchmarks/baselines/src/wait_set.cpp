// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "wait_set.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>

#include "check.hpp"

namespace rclrt_baselines
{
namespace
{

WaitSet::Kind kind_of(const Member & member)
{
  switch (member.entity->kind()) {
    case rclrt_core::CallbackKind::kTimer:
      return WaitSet::kTimers;
    case rclrt_core::CallbackKind::kSubscription:
      return WaitSet::kSubscriptions;
    case rclrt_core::CallbackKind::kService:
      return WaitSet::kServices;
    case rclrt_core::CallbackKind::kClient:
      return WaitSet::kClients;
    case rclrt_core::CallbackKind::kWaitable:
      break;
  }
  return WaitSet::kOthers;
}

using Members = std::unordered_set<const Member *>;

Members set_of(const std::vector<MemberPointer> & members)
{
  Members set;
  set.reserve(members.size());
  for (const auto & member : members) {
    set.insert(member.get());
  }
  return set;
}

}  // namespace

WaitSet::WaitSet(std::shared_ptr<rclrt_rcl::Context> context, const GuardCondition & interrupt)
: context_(std::move(context)), interrupt_(interrupt)
{
  check(
    rcl_wait_set_init(&set_, 0, 1, 0, 0, 0, 0, context_->handle(), rcl_get_default_allocator()),
    "making a wait set");
}

WaitSet::~WaitSet() { ignore_failure(rcl_wait_set_fini(&set_)); }

void WaitSet::update(const std::vector<MemberPointer> & present)
{
  std::array<std::vector<MemberPointer>, kKinds> sorted;
  for (const auto & member : present) {
    sorted[kind_of(*member)].push_back(member);
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    auto & mine = members_[kind];
    const Members wanted = set_of(sorted[kind]);
    mine.erase(
      std::remove_if(
        mine.begin(), mine.end(),
        [&](const auto & member) { return wanted.count(member.get()) == 0; }),
      mine.end());
    const Members stay = set_of(mine);
    std::copy_if(
      sorted[kind].begin(), sorted[kind].end(), std::back_inserter(mine),
      [&](const auto & member) { return stay.count(member.get()) == 0; });
  }
  needs_resize_ = true;
  has_result_ = false;
}

void WaitSet::fill()
{
  if (needs_resize_) {
    std::size_t subscriptions = 0;
    std::size_t guard_conditions = 1;
    std::size_t services = 0;
    std::size_t clients = 0;
    for (const auto & members : members_) {
      for (const auto & member : members) {
        for (const auto & handle : member->handles) {
          std::visit(
            [&](auto pointer) {
              using Handle = decltype(pointer);
              subscriptions += std::is_same_v<Handle, const rcl_subscription_t *> ? 1 : 0;
              guard_conditions += std::is_same_v<Handle, const rcl_guard_condition_t *> ? 1 : 0;
              services += std::is_same_v<Handle, const rcl_service_t *> ? 1 : 0;
              clients += std::is_same_v<Handle, const rcl_client_t *> ? 1 : 0;
            },
            handle);
        }
      }
    }
    check(
      rcl_wait_set_resize(
        &set_, subscriptions, guard_conditions, members_[kTimers].size(), clients, services, 0),
      "resizing a wait set");
    needs_resize_ = false;
  } else {
    check(rcl_wait_set_clear(&set_), "clearing a wait set");
  }
  check(
    rcl_wait_set_add_guard_condition(&set_, interrupt_.handle(), &interrupt_place_),
    "filling a wait set");
  for (const auto & members : members_) {
    for (const auto & member : members) {
      add(*member);
    }
  }
}

void WaitSet::add(Member & member)
{
  struct
  {
    rcl_wait_set_t * set;
    const rclrt_rcl::Entity & entity;
    std::size_t place = 0;
    rcl_ret_t operator()(const rcl_subscription_t * handle)
    {
      return rcl_wait_set_add_subscription(set, handle, &place);
    }
    rcl_ret_t operator()(const rcl_service_t * handle)
    {
      return rcl_wait_set_add_service(set, handle, &place);
    }
    rcl_ret_t operator()(const rcl_client_t * handle)
    {
      return rcl_wait_set_add_client(set, handle, &place);
    }
    rcl_ret_t operator()(const rcl_guard_condition_t * handle)
    {
      // Waiting resets it, also where the group was busy and nothing was taken. Its const is that
      // of the entity, whose state this does not change.
      if (entity.backlog() > 0) {
        ignore_failure(rcl_trigger_guard_condition(const_cast<rcl_guard_condition_t *>(handle)));
      }
      return rcl_wait_set_add_guard_condition(set, handle, &place);
    }
  } adder{&set_, *member.entity};

  member.places.clear();
  if (member.timer) {
    check(
      rcl_wait_set_add_timer(&set_, member.timer->handle(), &adder.place), "filling a wait set");
    member.places.push_back(adder.place);
  }
  for (const auto & handle : member.handles) {
    check(std::visit(adder, handle), "filling a wait set");
    member.places.push_back(adder.place);
  }
}

bool WaitSet::wait(std::chrono::nanoseconds timeout)
{
  fill();
  next_.fill(0);
  has_result_ = false;
  const rcl_ret_t result = rcl_wait(&set_, timeout.count() < 0 ? -1 : timeout.count());
  if (result == RCL_RET_TIMEOUT) {
    ignore_failure(result);
    return false;
  }
  check(result, "waiting");
  has_result_ = true;
  return set_.guard_conditions[interrupt_place_] != nullptr;
}

// What rcl_wait() did not find ready it has set to null.
bool WaitSet::take(const Member & member)
{
  bool ready = false;
  const auto take_place = [&ready](auto ** places, std::size_t place) {
    ready |= places[place] != nullptr;
    places[place] = nullptr;
  };
  if (member.timer) {
    take_place(set_.timers, member.places[0]);
  }
  struct
  {
    rcl_wait_set_t & set;
    decltype(take_place) & take;
    std::size_t place = 0;
    void operator()(const rcl_subscription_t *) { take(set.subscriptions, place); }
    void operator()(const rcl_service_t *) { take(set.services, place); }
    void operator()(const rcl_client_t *) { take(set.clients, place); }
    void operator()(const rcl_guard_condition_t *) { take(set.guard_conditions, place); }
  } taker{set_, take_place};
  for (std::size_t i = 0; i < member.handles.size(); ++i) {
    taker.place = member.places[i];
    std::visit(taker, member.handles[i]);
  }
  return ready;
}

MemberPointer WaitSet::next_ready(Kind kind, const std::function<bool(const Member &)> & may_run)
{
  if (!has_result_) {
    return nullptr;
  }
  auto & members = members_[kind];
  if (kind == kTimers) {
    for (const auto & member : members) {
      if (set_.timers[member->places[0]] && may_run(*member)) {
        take(*member);
        return member;
      }
    }
    return nullptr;
  }
  for (std::size_t & i = next_[kind]; i < members.size();) {
    const MemberPointer & member = members[i++];
    if (take(*member) && may_run(*member)) {
      return member;
    }
  }
  return nullptr;
}

}  // namespace rclrt_baselines
