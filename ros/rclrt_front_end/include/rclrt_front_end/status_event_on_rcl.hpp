// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A status event of the middleware (matches, lost messages, missed deadlines), so that no change is lost and no thread
/// hangs. Inline, since this package itself is built without ROS.
///
/// What rmw_fastrtps (9.3) does:
/// - A thread that gives it the function for an event loses what has changed before: it is told how many changes there
///   were, and their sum is set to 0. So the changes are taken before, and what comes in between is added again.
/// - It asks the reader or writer while it holds the lock of the entity's events. A thread of DDS that finds a
///   message lost, a deadline missed or the liveliness changed has the lock of the reader or writer, and wants that
///   of the events if somebody listens for this kind. Both wait for ever. So nobody listens for these kinds: they
///   are looked for.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "rcl/error_handling.h"
#include "rcl/event.h"
#include "rclrt_front_end/process_platform.hpp"
#include "rmw/events_statuses/events_statuses.h"

namespace rclrt_front_end
{

/// A change of a kind that is looked for may be found this much late.
constexpr std::chrono::milliseconds kLookForStatus(10);

inline bool is_looked_for(rmw_event_type_t kind)
{
  return kind == RMW_EVENT_MESSAGE_LOST || kind == RMW_EVENT_LIVELINESS_CHANGED ||
         kind == RMW_EVENT_LIVELINESS_LOST || kind == RMW_EVENT_REQUESTED_DEADLINE_MISSED ||
         kind == RMW_EVENT_OFFERED_DEADLINE_MISSED;
}

namespace detail
{

// How two statuses become one: `add` the later one, and return whether it brings a change; `restore` changes of which
// only the number is known; `forget` the changes.

template <typename Status>
bool add(const Status & later, Status * sum)
{
  const auto before = sum->total_count_change;
  *sum = later;
  sum->total_count_change += before;
  return later.total_count_change != 0;
}
template <typename Status>
void restore(std::size_t count, const Status &, const Status &, Status * sum)
{
  sum->total_count_change += static_cast<decltype(sum->total_count_change)>(count);
}
template <typename Status>
void forget(Status * sum)
{
  sum->total_count_change = 0;
}

inline bool add(
  const rmw_liveliness_changed_status_t & later, rmw_liveliness_changed_status_t * sum)
{
  const auto before = *sum;
  *sum = later;
  sum->alive_count_change += before.alive_count_change;
  sum->not_alive_count_change += before.not_alive_count_change;
  return later.alive_count_change != 0 || later.not_alive_count_change != 0;
}
inline void restore(
  std::size_t, const rmw_liveliness_changed_status_t &, const rmw_liveliness_changed_status_t &,
  rmw_liveliness_changed_status_t *)
{
}
inline void forget(rmw_liveliness_changed_status_t * sum)
{
  sum->alive_count_change = sum->not_alive_count_change = 0;
}

#if __has_include("rmw/events_statuses/matched.h")  // not in Humble

inline bool add(const rmw_matched_status_t & later, rmw_matched_status_t * sum)
{
  const auto before = *sum;
  *sum = later;
  sum->total_count_change += before.total_count_change;
  sum->current_count_change += before.current_count_change;
  return later.total_count_change != 0 || later.current_count_change != 0;
}
/// The current count says what the number does not: how many have gone.
inline void restore(
  std::size_t count, const rmw_matched_status_t & before, const rmw_matched_status_t & later,
  rmw_matched_status_t * sum)
{
  sum->total_count_change += count;
  sum->current_count_change += static_cast<int32_t>(later.current_count) -
                               static_cast<int32_t>(before.current_count) -
                               later.current_count_change;
}
inline void forget(rmw_matched_status_t * sum)
{
  sum->total_count_change = 0;
  sum->current_count_change = 0;
}

#endif

/// Where the calling thread counts what it is told, instead of telling; null: it tells.
inline std::size_t *& counts_in_this_thread() noexcept
{
  thread_local std::size_t * counts = nullptr;
  return counts;
}

template <rcl_event_callback_t call>
void tell_or_count(const void * user_data, std::size_t count)
{
  if (std::size_t * const counts = counts_in_this_thread()) {
    *counts += count;
  } else {
    call(user_data, count);
  }
}

}  // namespace detail

/// `Status`: what rmw has for the kind. Thread-safe; its lock inherits priorities, and is not taken by threads of the
/// middleware.
template <typename Status>
class StatusEvent
{
public:
  /// Takes what has changed since the last time. Returns false if nothing has.
  bool take(const rcl_event_t & event, Status * status)
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    fetch(event);
    if (!has_changed_) {
      return false;
    }
    *status = sum_;
    detail::forget(&sum_);
    has_changed_ = false;
    return true;
  }

  /// Returns whether there is something to take.
  bool look(const rcl_event_t & event)
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    fetch(event);
    return has_changed_;
  }

  /// Has the middleware call `call` at changes, and calls it if there is something to take. Errors: rcl's. For kinds
  /// that are looked for it must not be called.
  template <rcl_event_callback_t call>
  rcl_ret_t listen(const rcl_event_t & event, const void * user_data)
  {
    {
      const std::lock_guard<PiMutex> lock(mutex_);
      fetch(event);
      const Status before = sum_;
      std::size_t lost = 0;
      detail::counts_in_this_thread() = &lost;
      const rcl_ret_t result =
        rcl_event_set_callback(&event, &detail::tell_or_count<call>, user_data);
      detail::counts_in_this_thread() = nullptr;
      if (result != RCL_RET_OK) {
        return result;
      }
      // Also what came when the middleware had counted and did not listen yet.
      const Status later = fetch(event);
      if (lost > 0) {
        detail::restore(lost, before, later, &sum_);
        has_changed_ = true;
      }
      if (!has_changed_) {
        return result;
      }
    }
    call(user_data, 1);
    return RCL_RET_OK;
  }

private:
  Status fetch(const rcl_event_t & event)
  {
    Status later{};
    if (rcl_take_event(&event, &later) != RCL_RET_OK) {
      rcl_reset_error();  // some RMWs have nothing to take if nothing has changed
      later = sum_;
      detail::forget(&later);
      return later;
    }
    has_changed_ = detail::add(later, &sum_) || has_changed_;
    return later;
  }

  PiMutex mutex_;
  // Under the mutex:
  Status sum_{};  ///< the last status, with the changes since the last take()
  bool has_changed_ = false;
};

}  // namespace rclrt_front_end
