// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for the functions by which a program has rclcpp's executors spin: they call the library that does it by the
// engine (next.hpp), or the next definition if that declines.

#include <cstdint>

#include "next.hpp"

namespace
{

/// A function of the library, looked up by the first call with the library.
template <typename FunctionT>
FunctionT * of_module(rclrt_probe::Next<FunctionT> & function)
{
  return rclrt_probe::has_module() ? function.get(nullptr) : nullptr;
}

using Function = void(void *);
using Timed = void(void *, int64_t);

rclrt_probe::Next<bool(void *)> spin("rclrt_stock_spin");
rclrt_probe::Next<bool(void *, int64_t)> spin_some("rclrt_stock_spin_some");
rclrt_probe::Next<bool(void *, int64_t)> spin_all("rclrt_stock_spin_all");
rclrt_probe::Next<bool(void *, int64_t)> spin_once("rclrt_stock_spin_once");
rclrt_probe::Next<bool(void *, int64_t)> spin_once_impl("rclrt_stock_spin_once_impl");
rclrt_probe::Next<bool(void *)> update("rclrt_stock_update");
rclrt_probe::Next<void(void *, const void *)> add_node("rclrt_stock_add_node");
rclrt_probe::Next<void(void *)> forget("rclrt_stock_forget");

}  // namespace

#define RCLRT_SYMBOL(symbol) extern "C" __attribute__((visibility("default"))) void symbol

#define RCLRT_SPIN(symbol)                                       \
  RCLRT_SYMBOL(symbol)(void * executor)                          \
  {                                                              \
    static rclrt_probe::Next<Function> next(#symbol);            \
    auto * const ours = of_module(spin);                         \
    auto * const theirs = next.get(__builtin_return_address(0)); \
    if (!(ours && ours(executor)) && theirs) {                   \
      theirs(executor);                                          \
    }                                                            \
  }

#define RCLRT_TIMED(class_, length_and_name, function) \
  RCLRT_TIMED_SYMBOL(                                  \
    class_##length_and_name##ENSt6chrono8durationIlSt5ratioILl1ELl1000000000EEEE, function)

#define RCLRT_TIMED_SYMBOL(symbol, function)                     \
  RCLRT_SYMBOL(symbol)(void * executor, int64_t nanoseconds)     \
  {                                                              \
    static rclrt_probe::Next<Timed> next(#symbol);               \
    auto * const ours = of_module(function);                     \
    auto * const theirs = next.get(__builtin_return_address(0)); \
    if (!(ours && ours(executor, nanoseconds)) && theirs) {      \
      theirs(executor, nanoseconds);                             \
    }                                                            \
  }

RCLRT_SPIN(_ZN6rclcpp9executors22SingleThreadedExecutor4spinEv)
RCLRT_SPIN(_ZN6rclcpp9executors21MultiThreadedExecutor4spinEv)
RCLRT_SPIN(_ZN6rclcpp9executors28StaticSingleThreadedExecutor4spinEv)

RCLRT_TIMED(_ZN6rclcpp8Executor, 9spin_some, spin_some)
RCLRT_TIMED(_ZN6rclcpp8Executor, 8spin_all, spin_all)
RCLRT_TIMED(_ZN6rclcpp8Executor, 9spin_once, spin_once)
RCLRT_TIMED(_ZN6rclcpp8Executor, 14spin_once_impl, spin_once_impl)
RCLRT_TIMED(_ZN6rclcpp9executors28StaticSingleThreadedExecutor, 9spin_some, spin_some)
RCLRT_TIMED(_ZN6rclcpp9executors28StaticSingleThreadedExecutor, 8spin_all, spin_all)
RCLRT_TIMED(_ZN6rclcpp9executors28StaticSingleThreadedExecutor, 14spin_once_impl, spin_once_impl)
RCLRT_SPIN(_ZN6rclcpp12experimental9executors14EventsExecutor4spinEv)
RCLRT_TIMED(_ZN6rclcpp12experimental9executors14EventsExecutor, 9spin_some, spin_some)
RCLRT_TIMED(_ZN6rclcpp12experimental9executors14EventsExecutor, 8spin_all, spin_all)
RCLRT_TIMED(_ZN6rclcpp12experimental9executors14EventsExecutor, 14spin_once_impl, spin_once_impl)

// Parameters are pointers by value up to Kilted, by reference later: both are handed over as an address.

#define RCLRT_ADD_NODE(symbol)                                                \
  RCLRT_SYMBOL(symbol)(void * executor, const void * node, bool notify)       \
  {                                                                           \
    static rclrt_probe::Next<void(void *, const void *, bool)> next(#symbol); \
    if (auto * const ours = of_module(add_node)) {                            \
      ours(executor, node);                                                   \
    }                                                                         \
    if (auto * const theirs = next.get(__builtin_return_address(0))) {        \
      theirs(executor, node, notify);                                         \
    }                                                                         \
  }

#define RCLRT_ADD_GROUP(symbol)                                                             \
  RCLRT_SYMBOL(symbol)(void * executor, const void * group, const void * node, bool notify) \
  {                                                                                         \
    static rclrt_probe::Next<void(void *, const void *, const void *, bool)> next(#symbol); \
    if (auto * const ours = of_module(add_node)) {                                          \
      ours(executor, node);                                                                 \
    }                                                                                       \
    if (auto * const theirs = next.get(__builtin_return_address(0))) {                      \
      theirs(executor, group, node, notify);                                                \
    }                                                                                       \
  }

RCLRT_ADD_NODE(
  _ZN6rclcpp8Executor8add_nodeESt10shared_ptrINS_15node_interfaces17NodeBaseInterfaceEEb)
RCLRT_ADD_NODE(
  _ZN6rclcpp8Executor8add_nodeERKSt10shared_ptrINS_15node_interfaces17NodeBaseInterfaceEEb)
RCLRT_ADD_GROUP(
  _ZN6rclcpp8Executor18add_callback_groupESt10shared_ptrINS_13CallbackGroupEES1_INS_15node_interfaces17NodeBaseInterfaceEEb)
RCLRT_ADD_GROUP(
  _ZN6rclcpp8Executor18add_callback_groupERKSt10shared_ptrINS_13CallbackGroupEERKS1_INS_15node_interfaces17NodeBaseInterfaceEEb)

#define RCLRT_REMOVE(symbol)                                                  \
  RCLRT_SYMBOL(symbol)(void * executor, const void * what, bool notify)       \
  {                                                                           \
    static rclrt_probe::Next<void(void *, const void *, bool)> next(#symbol); \
    if (auto * const theirs = next.get(__builtin_return_address(0))) {        \
      theirs(executor, what, notify);                                         \
    }                                                                         \
    if (auto * const ours = of_module(update)) {                              \
      ours(executor);                                                         \
    }                                                                         \
  }

RCLRT_REMOVE(
  _ZN6rclcpp8Executor11remove_nodeESt10shared_ptrINS_15node_interfaces17NodeBaseInterfaceEEb)
RCLRT_REMOVE(
  _ZN6rclcpp8Executor11remove_nodeERKSt10shared_ptrINS_15node_interfaces17NodeBaseInterfaceEEb)
RCLRT_REMOVE(_ZN6rclcpp8Executor21remove_callback_groupESt10shared_ptrINS_13CallbackGroupEEb)
RCLRT_REMOVE(_ZN6rclcpp8Executor21remove_callback_groupERKSt10shared_ptrINS_13CallbackGroupEEb)

/// Destroys an executor: both of its names.
#define RCLRT_DESTROY(symbol)                                          \
  RCLRT_SYMBOL(symbol)(void * executor)                                \
  {                                                                    \
    static rclrt_probe::Next<Function> next(#symbol);                  \
    if (auto * const ours = of_module(forget)) {                       \
      ours(executor);                                                  \
    }                                                                  \
    if (auto * const theirs = next.get(__builtin_return_address(0))) { \
      theirs(executor);                                                \
    }                                                                  \
  }

RCLRT_DESTROY(_ZN6rclcpp8ExecutorD1Ev)
RCLRT_DESTROY(_ZN6rclcpp8ExecutorD2Ev)

RCLRT_SYMBOL(_ZN6rclcpp12experimental9executors14EventsExecutor23handle_updated_entitiesEb)
(void * executor, bool notify)
{
  static rclrt_probe::Next<void(void *, bool)> next(
    "_ZN6rclcpp12experimental9executors14EventsExecutor23handle_updated_entitiesEb");
  auto * const ours = of_module(update);
  auto * const theirs = next.get(__builtin_return_address(0));
  if (!(ours && ours(executor)) && theirs) {
    theirs(executor, notify);
  }
}
