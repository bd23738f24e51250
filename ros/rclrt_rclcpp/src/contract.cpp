// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a release of rclcpp may not change, or this does not compile. tools/requirements/contract.txt has the same as data,
// with the releases that were read.

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "rclcpp/executor.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp::contract
{

template <typename Is, typename Wanted>
constexpr bool kIs = std::is_same_v<Is, Wanted>;
/// Picks one of several functions with a name: a compiler that finds none says so here.
template <typename Function>
constexpr bool has(Function)
{
  return true;
}
#define RCLRT_NEEDS(member, ...) \
  static_assert(kIs<decltype(&Of::member), __VA_ARGS__>, "this rclcpp has another " #member)

using Group = rclcpp::CallbackGroup::SharedPtr;
using Node = rclcpp::node_interfaces::NodeBaseInterface::SharedPtr;

/// Whether it takes shared pointers by value, or by reference: all of these functions do the same.
template <typename GroupT, typename NodeT, typename OwnerT>
constexpr bool takes()
{
  using rclcpp::Executor;
  return kIs<decltype(&Executor::add_callback_group), void (Executor::*)(GroupT, NodeT, bool)> &&
         kIs<decltype(&Executor::remove_callback_group), void (Executor::*)(GroupT, bool)> &&
         has<void (Executor::*)(NodeT, bool)>(&Executor::add_node) &&
         has<void (Executor::*)(OwnerT, bool)>(&Executor::add_node) &&
         has<void (Executor::*)(NodeT, bool)>(&Executor::remove_node);
}
constexpr bool takes_what_it_may()
{
  using Owner = std::shared_ptr<rclcpp::Node>;
  if constexpr (kIs<
                  decltype(&rclcpp::Executor::remove_callback_group),
                  void (rclcpp::Executor::*)(Group, bool)>) {
    return takes<Group, Node, Owner>();
  } else {
    return takes<const Group &, const Node &, const Owner &>();
  }
}
static_assert(takes_what_it_may(), "this rclcpp takes nodes and groups in another way");

struct OfExecutor : rclcpp::Executor
{
  using Of = OfExecutor;
  using Base = rclcpp::Executor;
  RCLRT_NEEDS(spinning, std::atomic_bool Base::*);
  RCLRT_NEEDS(context_, std::shared_ptr<rclcpp::Context> Base::*);
  RCLRT_NEEDS(mutex_, std::mutex Base::*);
  RCLRT_NEEDS(spin_some, void (Base::*)(std::chrono::nanoseconds));
  RCLRT_NEEDS(spin_all, void (Base::*)(std::chrono::nanoseconds));
  RCLRT_NEEDS(spin_once, void (Base::*)(std::chrono::nanoseconds));
  RCLRT_NEEDS(spin_once_impl, void (Base::*)(std::chrono::nanoseconds));
  RCLRT_NEEDS(cancel, void (Base::*)());
#if RCLRT_RCLCPP_IS_HUMBLE
  RCLRT_NEEDS(interrupt_guard_condition_, rclcpp::GuardCondition Base::*);
  RCLRT_NEEDS(shutdown_guard_condition_, std::shared_ptr<rclcpp::GuardCondition> Base::*);
  RCLRT_NEEDS(add_callback_groups_from_nodes_associated_to_executor, void (Base::*)());
#else
  RCLRT_NEEDS(collector_, rclcpp::executors::ExecutorEntitiesCollector Base::*);
  RCLRT_NEEDS(notify_waitable_, std::shared_ptr<rclcpp::executors::ExecutorNotifyWaitable> Base::*);
  RCLRT_NEEDS(entities_need_rebuild_, std::atomic_bool Base::*);
  RCLRT_NEEDS(collect_entities, void (Base::*)());
#endif
};

struct OfTimer : rclcpp::TimerBase
{
  using Of = OfTimer;
  RCLRT_NEEDS(clock_, std::shared_ptr<rclcpp::Clock> rclcpp::TimerBase::*);
#if RCLRT_RCLCPP_IS_HUMBLE
  RCLRT_NEEDS(call, bool (rclcpp::TimerBase::*)());
#else
  RCLRT_NEEDS(call, std::shared_ptr<void> (rclcpp::TimerBase::*)());
  static_assert(
    has<void (rclcpp::TimerBase::*)(std::function<void(std::size_t)>)>(&Of::set_on_reset_callback),
    "this rclcpp has another set_on_reset_callback");
#endif
};

struct OfEvent : detail::EventHandlerBase
{
  using Of = OfEvent;
  RCLRT_NEEDS(event_handle_, rcl_event_t detail::EventHandlerBase::*);
};

#undef RCLRT_NEEDS

}  // namespace rclrt_rclcpp::contract
