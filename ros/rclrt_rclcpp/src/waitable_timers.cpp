// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "waitable_timers.hpp"

#include <algorithm>
#include <mutex>

#include "rcl/error_handling.h"
#include "rcl/timer.h"
#include "rclcpp/exceptions.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{
namespace
{

void check_rcl(rcl_ret_t result, const char * what)
{
  if (result != RCL_RET_OK) {
    rclcpp::exceptions::throw_from_rcl_error(result, what);
  }
}

bool is_due(const rcl_timer_t * timer)
{
  bool due = false;
  return timer != nullptr && rcl_timer_is_ready(timer, &due) == RCL_RET_OK && due;
}

}  // namespace

WaitableTimers::WaitableTimers(
  rclcpp::Waitable & waitable, const std::shared_ptr<rclcpp::Context> & context)
: context_(context)
{
  check_rcl(
    rcl_wait_set_init(
      &wait_set_, waitable.get_number_of_ready_subscriptions(),
      waitable.get_number_of_ready_guard_conditions(), waitable.get_number_of_ready_timers(),
      waitable.get_number_of_ready_clients(), waitable.get_number_of_ready_services(),
      waitable.get_number_of_ready_events(), context->get_rcl_context().get(),
      rcl_get_default_allocator()),
    "making a wait set for a waitable's timers");
}

WaitableTimers::~WaitableTimers()
{
  if (rcl_wait_set_fini(&wait_set_) != RCL_RET_OK) {
    rcl_reset_error();  // nobody to tell
  }
}

bool WaitableTimers::run(rclcpp::Waitable & waitable)
{
  std::shared_ptr<void> data;
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
    check_rcl(rcl_wait_set_clear(&wait_set_), "clearing the wait set of a waitable's timers");
    waitable.add_to_wait_set(detail::parameter(wait_set_));
    // As after a wait: what is not ready is not there.
    const auto clear = [](auto ** entities, std::size_t count) {
      std::fill_n(entities, count, nullptr);
    };
    clear(wait_set_.subscriptions, wait_set_.size_of_subscriptions);
    clear(wait_set_.guard_conditions, wait_set_.size_of_guard_conditions);
    clear(wait_set_.clients, wait_set_.size_of_clients);
    clear(wait_set_.services, wait_set_.size_of_services);
    clear(wait_set_.events, wait_set_.size_of_events);
    bool any = false;
    for (std::size_t i = 0; i < wait_set_.size_of_timers; ++i) {
      if (is_due(wait_set_.timers[i])) {
        any = true;
      } else {
        wait_set_.timers[i] = nullptr;
      }
    }
    if (!any || !waitable.is_ready(detail::parameter(wait_set_))) {
      return false;
    }
    data = waitable.take_data();
  }
  detail::execute(waitable, data);
  return true;
}

}  // namespace rclrt_rclcpp
