// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An entity: what an executor schedules. Subscriptions, timers, services, clients and waitables are
/// entities; publishers are not.
///
/// Life:
///
///   created --Node::adopt()--> in its group --set_on_ready(f)--> scheduled --set_on_ready({})--+   (or notify())
///      |                            ^                                                          |
///      |                            +----------------------------------------------------------+
///      +--close()--> closed: never runs or notifies again
///
/// The user holds an *owner* pointer: when the last copy of it goes, the entity is closed, which
/// waits until its callback has returned (unless that happens inside a callback, where waiting
/// could deadlock). So what the callback refers to may be destroyed right after the pointer.
/// Executors hold ordinary shared pointers to the same object, so it is never freed under them.
///
/// Thread-safe. Costs on the way of a message: one uncontended lock in notification, two atomic
/// operations around the callback, no allocation. What waits is counted once: by the engine that the
/// entity is in, else here.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rcl/client.h"
#include "rcl/event_callback.h"
#include "rcl/guard_condition.h"
#include "rcl/service.h"
#include "rcl/subscription.h"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_front_end/local_publishers.hpp"

namespace rclrt_rcl
{

/// The handles that an executor puts into its wait set to learn that an entity has work.
///
/// Executors that are notified (Entity::set_on_ready) do not need it.
using WaitHandle = std::variant<
  const rcl_subscription_t *, const rcl_service_t *, const rcl_client_t *,
  const rcl_guard_condition_t *>;

/// What matters about a callback, said in code: one of these comes with every subscription, timer,
/// service, client. All of it is optional, and a parameters file may override it without a change to
/// the code (ExecutorOptions::configuration_file).
struct Scheduling : rclrt_core::Scheduling
{
  /// Last part of the entity's name, e.g. "plan" for "/node/timer/plan". Empty: the topic or service
  /// name, or the period of a timer. A second entity without a name of its own gets the suffix "#2";
  /// a given name that is taken is an error.
  std::string name;
  /// Bound on waiting jobs. 0: the QoS depth; for a timer 16, for a waitable 1.
  uint32_t depth = 0;
};

class CallbackGroup;
class Context;

/// Facts about an entity that is about to be made, found by Node::prepare().
struct EntitySetup
{
  rclrt_core::CallbackKind kind = rclrt_core::CallbackKind::kWaitable;
  std::string name;
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
  const void * node = nullptr;  ///< handle of rcl, for trace points
};

class Entity : public std::enable_shared_from_this<Entity>
{
public:
  using OnReady = std::function<void(std::size_t)>;

  virtual ~Entity();
  Entity(const Entity &) = delete;
  Entity & operator=(const Entity &) = delete;

  rclrt_core::CallbackKind kind() const noexcept { return kind_; }
  /// Node's full name + "/" + kind + "/" + topic, service or given name, e.g.
  /// "/planner/subscription/map", "/planner/timer/100ms". Unique within the node.
  const std::string & name() const noexcept { return name_; }
  const std::shared_ptr<CallbackGroup> & group() const noexcept { return group_; }
  const Scheduling & scheduling() const noexcept { return scheduling_; }
  /// Bound on jobs that may wait: Scheduling::depth or what stands in for it.
  uint32_t depth() const noexcept { return depth_; }
  /// Throws if `depth`, as in Scheduling::depth, is too small: a job takes the oldest message. With
  /// fewer jobs than messages, later messages would lag for ever.
  void check_depth(uint32_t depth) const;
  /// One stay in an executor, from on_entity_added() to on_entity_removed(). Even: in none.
  using Stay = uint32_t;
  Stay stay() const noexcept { return stay_of(word_.load()); }
  // For the executor's base class, one call at a time:
  /// Returns false if it is in an executor already.
  bool begin_stay() noexcept;
  /// If it is in an executor: a thread that has picked a job of this stay and not begun it does not
  /// run it any more. To wait for a thread that has begun, call wait_until_idle().
  void end_stay() noexcept;

  // ---- For an executor on an engine

  /// What a callback of the engine runs: one unit of work, with the user's callback. Nothing when this stay
  /// has ended. May be called by several threads at once; the engine keeps the rules of the group. What the
  /// callback throws is passed on, but for a ShutdownError when `context` is shut down.
  std::function<bool(const rclrt_core::Job &)> job(const std::shared_ptr<Context> & context);
  /// Until stop_notifying(), work that arrives is a job of this callback, which counts it. Begins with what
  /// waits. Ignored when closed, and by timers.
  void notify(rclrt_core::Engine & engine, const std::shared_ptr<rclrt_core::Callback> & callback);
  /// On return no work is notified any more.
  void stop_notifying() { listen({}); }
  /// So many jobs waited in the engine when it forgot the callback: the next executor gets them.
  void give_back(std::size_t count) { arrived(count, nullptr); }

  // ---- For any other executor

  /// Units of work that were announced and not yet taken, at most depth().
  std::size_t backlog() const;
  /// Take one unit of work and run the user's callback with it. Returns whether there was any; there
  /// is none when `stay` has ended. May be called by several threads at once; the executor keeps the
  /// rules of the group. Passes on what the callback throws.
  bool take_and_run(const rclrt_core::Job & job, Stay stay);
  /// Have `on_ready(n)` called when n units of work have arrived: by a thread of the middleware, or
  /// the one that publishes, triggers or calls this function (for what is waiting already). It must
  /// not block and not call this entity. Replaces the one before; an empty one clears it: on return
  /// no call is in progress and none follows. Ignored when closed, and by timers.
  void set_on_ready(OnReady on_ready) { listen({std::move(on_ready), nullptr, nullptr}); }
  /// For a wait set; the entity has work when any of them is ready. Not together with set_on_ready()
  /// on the same entity at the same time.
  virtual std::vector<WaitHandle> wait_handles() = 0;

  /// Stop for good: clears on_ready, leaves the group and its executor, and waits until the
  /// callback has returned, unless called inside a callback. Idempotent. If the calling thread is the middleware's, as
  /// with inline_bound, another thread does all that when that thread has let go of its locks.
  void close();
  bool is_closed() const noexcept;
  const rclrt_front_end::LocalPublishers & local_publishers() const noexcept
  {
    return local_publishers_;
  }
  /// Whether its messages have a stamp that deadlines can count from (DeadlineFrom::kHeaderStamp).
  bool begins_with_stamp() const noexcept { return begins_with_stamp_; }
  /// Wait until no thread runs the callback. Returns at once if called inside a callback.
  void wait_until_idle();

protected:
  /// `default_depth` counts unless the scheduling has one, which must not be less than `least_depth`.
  Entity(EntitySetup setup, uint32_t default_depth, uint32_t least_depth = 1);

  /// Take one unit and run the callback; false when there was nothing.
  virtual bool do_take_and_run(const rclrt_core::Job & job) = 0;
  /// Register (or with nullptr unregister) with the middleware. Default: nothing to register.
  virtual void set_middleware_callback(rcl_event_callback_t callback, const void * user_data);
  /// `count` units arrived by another way than the middleware's callback.
  void announce(std::size_t count);
  /// Ready while units that came by announce() wait. Made on first use; for wait_handles().
  const rcl_guard_condition_t * guard_condition(const std::shared_ptr<Context> & context);
  /// Called once by close(), before it waits.
  virtual void on_close();
  /// Publishers of this process that the middleware's thread would disturb if it ran the callback itself. Null: it must
  /// not. Constant after construction.
  rclrt_front_end::LocalPublishers local_publishers_;
  bool begins_with_stamp_ = false;  ///< constant after construction
  /// What the middleware is given, with the entity.
  static void on_middleware(const void * entity, std::size_t count);

private:
  class GuardCondition;
  /// Where the news goes that work has arrived: to a function or to a callback of an engine, or nowhere.
  struct Listener
  {
    OnReady on_ready;
    rclrt_core::Engine * engine = nullptr;
    std::shared_ptr<rclrt_core::Callback> callback;
  };

  /// `word_`: how many threads are inside the callback, whether it is closed, and the number of the stay.
  static constexpr uint32_t kInside = (1U << 14) - 1;
  static constexpr uint32_t kClosed = 1U << 14;
  static constexpr uint32_t kStay = 1U << 15;
  static Stay stay_of(uint32_t word) noexcept { return word / kStay; }

  void listen(Listener listener);
  /// `thread`: as for Engine::notify(). Both return the engine that has bound a job to the calling thread, or null.
  rclrt_core::Engine * tell(std::size_t count, const rclrt_core::Attributes * thread);
  rclrt_core::Engine * arrived(std::size_t count, const rclrt_core::Attributes * thread);
  bool run(const rclrt_core::Job & job, Stay stay, bool takes_unit);
  bool take_unit();
  bool set_stay(bool is_in) noexcept;
  void leave() noexcept;
  void finish_closing();

  const rclrt_core::CallbackKind kind_;
  const std::string name_;
  const std::shared_ptr<CallbackGroup> group_;
  const Scheduling scheduling_;
  const uint32_t least_depth_;
  const uint32_t depth_;

  /// Serialises listen() and close(); held while registering with the middleware, and
  /// therefore never taken in a notification.
  std::mutex registration_mutex_;
  /// Guards the next three; held while the listener and the guard condition are called.
  std::unique_ptr<rclrt_core::Mutex> ready_mutex_;
  Listener listener_;
  std::unique_ptr<GuardCondition> guard_condition_;
  uint32_t backlog_ = 0;  ///< nothing while an engine listens: then that counts
  /// A thread that is about to run the callback counts itself, and in the same step sees the stay and whether the
  /// entity is closed. The thread that ends the stay or closes then finds it counted, and wait_until_idle() sleeps on
  /// this word until it is not. So sequential consistency is more than is needed, but together with `waiters_`: a
  /// thread that waits has counted itself there before it looks here, and one that leaves looks there after.
  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> waiters_{0};
};

/// Whether the calling thread is inside a callback of any entity.
bool in_callback() noexcept;

}  // namespace rclrt_rcl
