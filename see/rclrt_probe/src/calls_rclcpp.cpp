// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for what rclcpp does when an entity comes into a callback group, of which no tracepoint tells. They are known
// by the names that C++ gives them. Where these are others, as in a version with other arguments, nothing calls us, and
// the groups are unknown.
//
// An argument that is a shared pointer comes as its address, and a shared pointer goes back into memory of the caller:
// the rule of the C++ ABI for all classes that are not trivial. Its first word is the object.

#include <memory>

#include "stand_in.hpp"

using rclrt_probe::Next;
using rclrt_probe::Point;
using rclrt_probe::Probe;

namespace
{

using Shared = std::shared_ptr<const void>;
using HandleOf = Shared(void * entity);
using TypeOf = const int &(const void * group);
using Add = void(void * group, void * entity);

constexpr int kMutuallyExclusive = 0;  // rclcpp::CallbackGroupType

Next<TypeOf> next_type("_ZNK6rclcpp13CallbackGroup4typeEv");

void add(
  Next<Add> * next, Next<HandleOf> * handle_of, const void * caller, void * group, void * entity)
{
  Probe * const here = rclrt_probe::probe();
  auto * const type = next_type.get(caller);
  auto * const handle = handle_of->get(caller);
  if (here && type && handle) {
    here->seen.note(Point::kGroup);
    const Shared kept = handle(*static_cast<void **>(entity));
    here->inventory.set_group(kept.get(), group, type(group) == kMutuallyExclusive);
  }
  if (auto * const call = next->get(caller)) {
    call(group, entity);
  }
}

}  // namespace

#define RCLRT_ADD(what, function_name, handle_name)                  \
  extern "C" __attribute__((visibility("default"))) void add_##what( \
    void * group, void * entity) __asm__(function_name);             \
  extern "C" void add_##what(void * group, void * entity)            \
  {                                                                  \
    static Next<Add> next(function_name);                            \
    static Next<HandleOf> handle(handle_name);                       \
    add(&next, &handle, __builtin_return_address(0), group, entity); \
  }

// Up to Kilted they take a shared pointer by value, later by reference: both are handed over as an address.

#define RCLRT_ADD_BOTH(what, length_and_name, of_entity, handle)                            \
  RCLRT_ADD(                                                                                \
    what, "_ZN6rclcpp13CallbackGroup" length_and_name "ESt10shared_ptrINS_" of_entity "EE", \
    "_ZN6rclcpp" of_entity handle)                                                          \
  RCLRT_ADD(                                                                                \
    what##_by_reference,                                                                    \
    "_ZN6rclcpp13CallbackGroup" length_and_name "ERKSt10shared_ptrINS_" of_entity "EE",     \
    "_ZN6rclcpp" of_entity handle)

RCLRT_ADD_BOTH(timer, "9add_timer", "9TimerBase", "16get_timer_handleEv")
RCLRT_ADD_BOTH(
  subscription, "16add_subscription", "16SubscriptionBase", "23get_subscription_handleEv")
RCLRT_ADD_BOTH(service, "11add_service", "11ServiceBase", "18get_service_handleEv")
RCLRT_ADD_BOTH(client, "10add_client", "10ClientBase", "17get_client_handleEv")
