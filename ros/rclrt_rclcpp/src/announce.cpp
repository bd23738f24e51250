// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "announce.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/client.hpp"
#include "rclcpp_action/server.hpp"
#include "rclrt_front_end/named_threads.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{
namespace
{

// A token is the number of a slot and, above it, how often the slot has been given out. On a 32 bit machine
// that may wrap around: then a late call announces work that is not there, and a job finds none.
constexpr uintptr_t kNumberMask = 0xffff;
constexpr std::size_t kSlotsInChunk = 64;

struct Slot
{
  rclrt_front_end::PiMutex mutex;  // of all below; held while the announcement is used
  uintptr_t value = 0;             // the token's, or of the one before
  bool is_given = false;
  bool is_parked = false;
  std::size_t parked = 0;  // announced since park()
  int id = 0;
  Announce announce;

  rclrt_core::Engine * operator()(std::size_t count, int of, const rclrt_core::Attributes * thread)
  {
    if (!is_parked) {
      return announce(count, of, thread);
    }
    parked += count;
    return nullptr;
  }
};
using Chunk = std::array<Slot, kSlotsInChunk>;

/// Never destroyed, nor is any slot.
struct Slots
{
  /// Each is written once, under `free_mutex`, before the first token of it is made. Release and acquire: the
  /// slot is seen whole by whoever has got a token of it by whatever way.
  std::array<std::atomic<Chunk *>, (kNumberMask + 1) / kSlotsInChunk> chunks{};

  rclrt_front_end::PiMutex free_mutex;  // of both below; configuration time only
  std::size_t count = 0;
  std::vector<Slot *> free;

  static Slots & instance()
  {
    static auto & slots = *new Slots;
    return slots;
  }

  Slot & of(uintptr_t value)
  {
    const uintptr_t number = value & kNumberMask;
    Chunk & chunk = *chunks[number / kSlotsInChunk].load(std::memory_order_acquire);
    return chunk[number % kSlotsInChunk];
  }

  Slot & take_free()
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(free_mutex);
    if (!free.empty()) {
      Slot & slot = *free.back();
      free.pop_back();
      return slot;
    }
    if (count > kNumberMask) {
      throw std::runtime_error("too many entities: each number for the middleware is in use");
    }
    free.reserve(count + 1);  // so that giving one back never fails
    auto & chunk = chunks[count / kSlotsInChunk];
    if (count % kSlotsInChunk == 0) {
      chunk.store(new Chunk, std::memory_order_release);
    }
    Slot & slot = (*chunk.load(std::memory_order_relaxed))[count % kSlotsInChunk];
    slot.value = count++;
    return slot;
  }
};

uintptr_t value_of(Token token) { return reinterpret_cast<uintptr_t>(token); }

template <typename Use>
void use(Token token, const Use & use_announcement)
{
  Slot & slot = Slots::instance().of(value_of(token));
  const std::lock_guard<rclrt_front_end::PiMutex> lock(slot.mutex);
  if (slot.is_given && slot.value == value_of(token)) {
    use_announcement(slot);
  }
}

}  // namespace

rclrt_core::Engine * Announce::operator()(
  std::size_t count, int id, const rclrt_core::Attributes * thread) const
{
  if (is_intra_process) {
    begin_intra_process_publication();
  }
  if (events) {
    events->push(count, id);
  }
  const bool may_run = publishers && publishers->load() == 0;
  return engine->notify(*callback, count, may_run ? thread : nullptr) ? engine : nullptr;
}

Token make_token(const Announce & announce, int id)
{
  Slot & slot = Slots::instance().take_free();
  const std::lock_guard<rclrt_front_end::PiMutex> lock(slot.mutex);
  slot.value += kNumberMask + 1;
  slot.is_given = true;
  slot.is_parked = false;
  slot.parked = 0;
  slot.id = id;
  slot.announce = announce;
  // Never used as one.
  return reinterpret_cast<Token>(slot.value);  // NOLINT(performance-no-int-to-ptr)
}

std::size_t take_back(Token token) noexcept
{
  Announce dropped;  // after the lock
  bool was_given = false;
  std::size_t parked = 0;
  use(token, [&](Slot & slot) {
    was_given = true;
    slot.is_given = false;
    parked = slot.parked;
    dropped = std::exchange(slot.announce, {});
  });
  if (was_given) {
    Slots & slots = Slots::instance();
    const std::lock_guard<rclrt_front_end::PiMutex> lock(slots.free_mutex);
    slots.free.push_back(&slots.of(value_of(token)));
  }
  return parked;
}

void park(Token token) noexcept
{
  Announce dropped;  // after the lock
  use(token, [&](Slot & slot) {
    slot.is_parked = true;
    dropped = std::exchange(slot.announce, {});
  });
}

void announce(Token token, std::size_t count) noexcept
{
  auto & threads = rclrt_front_end::MiddlewareThreads::instance();
  threads.greet();
  rclrt_core::Engine * engine = nullptr;
  use(token, [&](Slot & slot) { engine = slot(count, slot.id, threads.here()); });
  if (engine) {
    engine->run_inline();  // without the lock
  }
}

void announce(Token token, std::size_t count, int id) noexcept
{
  rclrt_front_end::MiddlewareThreads::instance().greet();
  use(token, [count, id](Slot & slot) { slot(count, id, nullptr); });
}

namespace
{

constexpr rcl_event_callback_t kAnnounce = &announce;

/// The tokens that services have kept.
class Parked
{
public:
  static Parked & instance()
  {
    static auto & parked = *new Parked;  // never destroyed: executors may outlive what is static
    return parked;
  }

  /// `id`: which of the services that `of` has.
  void keep(const std::shared_ptr<const void> & of, int id, Token token)
  {
    park(token);
    const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
    for (auto known = all_.begin(); known != all_.end();) {
      if (known->of.expired()) {
        take_back(known->token);
        known = all_.erase(known);
      } else {
        ++known;
      }
    }
    all_.push_back({of, id, token});
  }
  /// `token` has taken the place of the one that is kept, if there is one, and announces what that has counted.
  void replace(const std::shared_ptr<const void> & of, int id, Token token)
  {
    std::size_t count = 0;
    {
      const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
      for (auto known = all_.begin(); known != all_.end();) {
        const bool is_same = !known->of.owner_before(of) && !of.owner_before(known->of);
        if (known->id == id && is_same) {
          count += take_back(known->token);
          known = all_.erase(known);
        } else {
          ++known;
        }
      }
    }
    if (count > 0) {
      announce(token, count);
    }
  }

private:
  struct Entry
  {
    std::weak_ptr<const void> of;
    int id;
    Token token;
  };

  rclrt_front_end::PiMutex mutex_;
  std::vector<Entry> all_;
};

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
  const std::shared_ptr<Base> & action, const Announce & announced,
  const std::vector<typename Base::EntityType> & entities)
{
  std::vector<Token> tokens;
  for (const auto entity : entities) {
    tokens.push_back(make_token(announced, static_cast<int>(entity)));
  }
  const auto set_each = [tokens, entities](Base & of, rcl_event_callback_t callback) {
    for (std::size_t i = 0; i < entities.size(); ++i) {
      (of.*Opened<Base>::set())(entities[i], callback, callback ? tokens[i] : nullptr);
    }
  };
  constexpr bool is_server = std::is_same_v<Base, rclcpp_action::ServerBase>;
  const Undo undo = [set_each, tokens, entities, weak = std::weak_ptr<Base>(action)] {
    const auto present = weak.lock();
    if (is_server && present) {  // see register_service()
      for (std::size_t i = 0; i < entities.size(); ++i) {
        Parked::instance().keep(present, static_cast<int>(entities[i]), tokens[i]);
      }
      return;
    }
    try {
      if (present) {
        set_each(*present, nullptr);
      }
    } catch (const std::exception &) {
      // As if it were gone.
    }
    for (const Token token : tokens) {
      take_back(token);
    }
  };
  try {
    set_each(*action, kAnnounce);
    set_each(*action, kAnnounce);  // see rclrt_front_end::tell_of_work()
  } catch (...) {
    undo();
    throw;
  }
  for (std::size_t i = 0; is_server && i < entities.size(); ++i) {
    Parked::instance().replace(action, static_cast<int>(entities[i]), tokens[i]);
  }
  return undo;
}

}  // namespace

Undo register_service(
  const std::shared_ptr<rclcpp::ServiceBase> & service, const Announce & announced)
{
  const Token token = make_token(announced);
  const auto handle = service->get_service_handle();
  const rcl_ret_t ret = rclrt_front_end::tell_of_work<rcl_service_t>(
    &rcl_service_set_on_new_request_callback, handle.get(), kAnnounce, token);
  if (ret != RCL_RET_OK) {
    take_back(token);
    rclcpp::exceptions::throw_from_rcl_error(ret, "failed to set the callback for new requests");
  }
  Parked::instance().replace(service, 0, token);
  return [weak = std::weak_ptr<rclcpp::ServiceBase>(service), token] {
    if (const auto present = weak.lock()) {
      Parked::instance().keep(present, 0, token);
    } else {
      take_back(token);
    }
  };
}

Undo register_waitable(
  const std::shared_ptr<rclcpp::Waitable> & waitable, const Announce & announced)
{
  using Client = rclcpp_action::ClientBase;
  using Server = rclcpp_action::ServerBase;
  if (const auto client = std::dynamic_pointer_cast<Client>(waitable)) {
    using Entity = Client::EntityType;
    return register_action<Client>(
      client, announced,
      {Entity::GoalClient, Entity::ResultClient, Entity::CancelClient, Entity::FeedbackSubscription,
       Entity::StatusSubscription});
  }
  if (const auto server = std::dynamic_pointer_cast<Server>(waitable)) {
    using Entity = Server::EntityType;
    return register_action<Server>(
      server, announced, {Entity::GoalService, Entity::ResultService, Entity::CancelService});
  }
  // The author of the waitable has to take the function back in its destructor.
  const Token token = make_token(announced);
  const Undo undo = [weak = std::weak_ptr<rclcpp::Waitable>(waitable), token] {
    const auto present = weak.lock();
    take_back(token);
    if (present) {
      present->clear_on_ready_callback();
    }
  };
  try {
    waitable->set_on_ready_callback(
      [token](std::size_t count, int id) { announce(token, count, id); });
  } catch (...) {
    take_back(token);
    throw;
  }
  return undo;
}

}  // namespace rclrt_rclcpp
