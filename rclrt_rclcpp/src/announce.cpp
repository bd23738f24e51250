// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "announce.hpp"

#include <chrono>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/client.hpp"
#include "rclcpp_action/server.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{

void outlive_destruction(const std::shared_ptr<const void> & announced)
{
  using Clock = std::chrono::steady_clock;
  using Kept = std::pair<Clock::time_point, std::shared_ptr<const void>>;
  static std::mutex & mutex = *new std::mutex;  // neither is destroyed: the middleware outlives us
  static std::deque<Kept> & kept = *new std::deque<Kept>;
  std::vector<Kept> dropped;  // after the lock
  const std::lock_guard<std::mutex> lock(mutex);
  const auto now = Clock::now();
  while (!kept.empty() && now - kept.front().first > std::chrono::seconds(10)) {
    dropped.push_back(std::move(kept.front()));
    kept.pop_front();
  }
  kept.emplace_back(now, announced);
}

namespace
{

/// Access to what action clients and servers tell rcl.
template <typename Base>
struct Opened : Base
{
  using Entity = typename Base::EntityType;
  using Set = void (Base::*)(Entity, rcl_event_callback_t, const void *);
  static Set set() { return &Opened::set_on_ready_callback; }
};

/// For an action client or server, of which each entity is told by itself.
template <typename Base>
Undo register_action(
  const std::shared_ptr<Base> & action, const std::shared_ptr<const Announce> & announce,
  const std::vector<typename Base::EntityType> & entities)
{
  struct OfEntity
  {
    std::shared_ptr<const Announce> announce;
    int id;
  };
  const auto all = std::make_shared<std::vector<OfEntity>>();
  for (const auto entity : entities) {
    all->push_back({announce, static_cast<int>(entity)});
  }
  const auto set_each = [all, entities](Base & of, rcl_event_callback_t callback) {
    for (std::size_t i = 0; i < entities.size(); ++i) {
      (of.*Opened<Base>::set())(entities[i], callback, callback ? &(*all)[i] : nullptr);
    }
  };
  const Undo undo = [set_each, all, weak = std::weak_ptr<Base>(action)] {
    try {
      if (const auto present = weak.lock()) {
        set_each(*present, nullptr);
        return;
      }
    } catch (const std::exception &) {
      // As if it were gone.
    }
    outlive_destruction(all);
  };
  try {
    set_each(*action, [](const void * self, std::size_t count) {
      const auto & entity = *static_cast<const OfEntity *>(self);
      (*entity.announce)(count, entity.id);
    });
  } catch (...) {
    undo();
    throw;
  }
  return undo;
}

#if RCLRT_RCLCPP_IS_HUMBLE

/// Humble's take the function back in their destructors, but of what they have let go by then. So they are
/// not told either.
Undo register_event(
  const std::shared_ptr<detail::EventHandlerBase> & event,
  const std::shared_ptr<const Announce> & announce)
{
  struct Opened : detail::EventHandlerBase
  {
    static auto set() { return &Opened::set_on_new_event_callback; }
  };
  (event.get()->*Opened::set())(&Announce::call, announce.get());
  return [weak = std::weak_ptr<detail::EventHandlerBase>(event), announce] {
    try {
      if (const auto present = weak.lock()) {
        (present.get()->*Opened::set())(nullptr, nullptr);
        return;
      }
    } catch (const std::exception &) {
      // As if it were gone.
    }
    outlive_destruction(announce);
  };
}

#endif

}  // namespace

Undo register_waitable(
  const std::shared_ptr<rclcpp::Waitable> & waitable,
  const std::shared_ptr<const Announce> & announce)
{
  using Client = rclcpp_action::ClientBase;
  using Server = rclcpp_action::ServerBase;
  if (const auto client = std::dynamic_pointer_cast<Client>(waitable)) {
    using Entity = Client::EntityType;
    return register_action<Client>(
      client, announce,
      {Entity::GoalClient, Entity::ResultClient, Entity::CancelClient, Entity::FeedbackSubscription,
       Entity::StatusSubscription});
  }
  if (const auto server = std::dynamic_pointer_cast<Server>(waitable)) {
    using Entity = Server::EntityType;
    return register_action<Server>(
      server, announce, {Entity::GoalService, Entity::ResultService, Entity::CancelService});
  }
#if RCLRT_RCLCPP_IS_HUMBLE
  if (const auto event = std::dynamic_pointer_cast<detail::EventHandlerBase>(waitable)) {
    return register_event(event, announce);
  }
#endif
  // QoS events take the function back in their destructors; for others, whoever wrote them has to.
  waitable->set_on_ready_callback(
    [announce](std::size_t count, int id) { (*announce)(count, id); });
  return [weak = std::weak_ptr<rclcpp::Waitable>(waitable)] {
    if (const auto present = weak.lock()) {
      present->clear_on_ready_callback();
    }
  };
}

}  // namespace rclrt_rclcpp
