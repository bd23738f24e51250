// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What entities call when work has arrived, and how the middleware is told to.
///
/// Most of rclcpp's entities keep the function that the middleware calls inside themselves, and their
/// destructors do not take it back: while the last reference is dropped, a message that arrives would call
/// what is gone. Such entities are not told; the middleware is, of something that lives longer.
#ifndef ANNOUNCE_HPP_
#define ANNOUNCE_HPP_

#include <cstddef>
#include <functional>
#include <memory>

#include "publications.hpp"
#include "rcl/error_handling.h"
#include "rcl/event_callback.h"
#include "rclcpp/exceptions.hpp"
#include "rclcpp/waitable.hpp"
#include "rclrt_config/configured_engine.hpp"
#include "rclrt_config/middleware_threads.hpp"
#include "waitable_events.hpp"

namespace rclrt_rclcpp
{

struct Announce
{
  /// Weak: this may stay long after the executor is gone (see outlive_destruction()).
  std::weak_ptr<rclrt_config::ConfiguredEngine> engine;
  std::shared_ptr<rclrt_core::Callback> callback;
  std::shared_ptr<WaitableEvents> events;  // of a waitable only
  bool is_intra_process = false;           // of a subscription's queue

  void operator()(std::size_t count, int id = 0) const
  {
    const auto present = engine.lock();
    if (!present) {
      return;
    }
    rclrt_config::MiddlewareThreads::instance().greet();
    if (is_intra_process) {
      begin_intra_process_publication();
    }
    if (events) {
      events->push(count, id);
    }
    present->engine().notify(*callback, count);
  }

  /// For rcl, which is given the address of one.
  static void call(const void * self, std::size_t count)
  {
    (*static_cast<const Announce *>(self))(count);
  }
};

/// Takes an announcement back from whoever has it: on return nobody calls it, or it stays for as long as
/// somebody might.
using Undo = std::function<void()>;

/// The middleware may be destroying its side in another thread right now, which takes milliseconds.
void outlive_destruction(const std::shared_ptr<const void> & announced);

/// `set`: rcl's function for the kind of entity. Throws rclcpp's exceptions.
template <typename Handle>
Undo register_with_rcl(
  rcl_ret_t (*set)(const Handle *, rcl_event_callback_t, const void *),
  const std::shared_ptr<Handle> & handle, const std::shared_ptr<const Announce> & announce)
{
  const rcl_ret_t ret = set(handle.get(), &Announce::call, announce.get());
  if (ret != RCL_RET_OK) {
    rclcpp::exceptions::throw_from_rcl_error(ret, "failed to set the callback for new messages");
  }
  return [set, weak = std::weak_ptr<Handle>(handle), announce] {
    const auto present = weak.lock();
    if (!present || set(present.get(), nullptr, nullptr) != RCL_RET_OK) {
      rcl_reset_error();
      outlive_destruction(announce);
    }
  };
}

/// By whatever means the waitable has. Throws rclcpp's exceptions.
Undo register_waitable(
  const std::shared_ptr<rclcpp::Waitable> & waitable,
  const std::shared_ptr<const Announce> & announce);

}  // namespace rclrt_rclcpp

#endif  // ANNOUNCE_HPP_
