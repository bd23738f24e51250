// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What entities call when work has arrived, and how the middleware is told to.
///
/// Most of rclcpp's entities keep the function that the middleware calls inside themselves, and their
/// destructors do not take it back: while the last reference is dropped, a message that arrives would call
/// what is gone. Such entities are not told; the middleware is, and what it is given is not an address but a
/// number (Token), which may be called at any time: also long after it was taken back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "publications.hpp"
#include "rcl/error_handling.h"
#include "rcl/event_callback.h"
#include "rcl/service.h"
#include "rclcpp/exceptions.hpp"
#include "rclcpp/service.hpp"
#include "rclcpp/waitable.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "waitable_events.hpp"

namespace rclrt_rclcpp
{

struct Announce
{
  rclrt_core::Engine * engine = nullptr;
  std::shared_ptr<rclrt_core::Callback> callback;
  std::shared_ptr<WaitableEvents> events;       // of a waitable only
  bool is_intra_process = false;                // of a subscription's queue
  rclrt_front_end::LocalPublishers publishers;  // of a subscription, if they are known

  /// `thread`: as for Engine::notify(). Returns the engine that has bound a job to the calling thread, or null.
  rclrt_core::Engine * operator()(
    std::size_t count, int id = 0, const rclrt_core::Attributes * thread = nullptr) const;
};

/// Stands for an announcement, with an entity's id, while it may be called. Given to the middleware as the
/// address that it hands back, and never used as one. What belongs to a token lies in memory that is never
/// freed, so that a call of one that was taken back finds out that it was. Memory grows with the greatest
/// number of tokens that there were at a time.
using Token = const void *;

/// Allocates; configuration time.
Token make_token(const Announce & announce, int id = 0);
/// On return nobody uses the announcement through the token, and nobody will. Waits for a call in progress,
/// which takes as long as Engine::notify().
/// Returns how much was announced after park().
std::size_t take_back(Token token) noexcept;
/// As take_back(), but the middleware keeps the token, and what it announces is counted.
void park(Token token) noexcept;
/// From any thread, at any time. Real-time safe: two locks that inherit priorities (of a waitable three), no
/// allocation. Does nothing if the token was taken back. For rcl, which is given this function.
void announce(Token token, std::size_t count) noexcept;
/// Announces with the id that the caller knows.
void announce(Token token, std::size_t count, int id) noexcept;

/// Takes an announcement back from whoever has it: on return it is not called any more.
using Undo = std::function<void()>;

/// `set`: rcl's function for the kind of entity; `handle_of(entity)`: what it is called with. Throws rclcpp's
/// exceptions. It does not keep a weak pointer to the handle: the handle's deleter has the node, and lasts as long as
/// weak pointers do.
template <typename EntityT, typename Handle, typename HandleOf>
Undo register_with_rcl(
  rcl_ret_t (*set)(const Handle *, rcl_event_callback_t, const void *),
  const std::shared_ptr<EntityT> & entity, HandleOf handle_of, const Announce & announced)
{
  const Token token = make_token(announced);
  const rcl_event_callback_t call = &announce;
  const auto handle = handle_of(*entity);
  const rcl_ret_t ret = rclrt_front_end::tell_of_work<Handle>(set, handle.get(), call, token);
  if (ret != RCL_RET_OK) {
    take_back(token);
    rclcpp::exceptions::throw_from_rcl_error(ret, "failed to set the callback for new messages");
  }
  return [set, weak = std::weak_ptr<EntityT>(entity), handle_of, token] {
    const auto present = weak.lock();
    if (present && set(handle_of(*present).get(), nullptr, nullptr) != RCL_RET_OK) {
      rcl_reset_error();
    }
    // It may be destroyed in another thread right now, and announce until that is done.
    take_back(token);
  };
}

/// As register_with_rcl(), but rcl never gets the null pointer. rmw_fastrtps calls what it was given for a service
/// without looking whether there is anything (ServiceListener::on_data_available() of 9.3). So a request on its way
/// would end the program when the function is taken from a service that stays. What such a service announces is
/// counted until it is registered again, or is gone.
Undo register_service(
  const std::shared_ptr<rclcpp::ServiceBase> & service, const Announce & announced);

/// By whatever means the waitable has. Throws rclcpp's exceptions.
Undo register_waitable(
  const std::shared_ptr<rclcpp::Waitable> & waitable, const Announce & announced);

}  // namespace rclrt_rclcpp
