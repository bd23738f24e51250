// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/entity.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "rcl/guard_condition.h"
#include "rclrt_front_end/named_threads.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/waitable.hpp"
#include "rcutils/logging_macros.h"

namespace rclrt_rcl
{
namespace
{

thread_local int callback_depth = 0;

}  // namespace

bool in_callback() noexcept { return callback_depth > 0; }

class Entity::GuardCondition
{
public:
  explicit GuardCondition(std::shared_ptr<Context> context) : context_(std::move(context))
  {
    throw_unless_ok(
      rcl_guard_condition_init(
        &handle_, context_->handle(), rcl_guard_condition_get_default_options()),
      "making a guard condition");
  }
  ~GuardCondition()
  {
    if (rcl_guard_condition_fini(&handle_) != RCL_RET_OK) {
      take_rcl_error();
    }
  }
  GuardCondition(const GuardCondition &) = delete;
  GuardCondition & operator=(const GuardCondition &) = delete;

  void trigger()
  {
    if (rcl_trigger_guard_condition(&handle_) != RCL_RET_OK) {
      take_rcl_error();  // after shutdown, when nobody waits any more
    }
  }
  const rcl_guard_condition_t * handle() const noexcept { return &handle_; }

private:
  const std::shared_ptr<Context> context_;
  rcl_guard_condition_t handle_ = rcl_get_zero_initialized_guard_condition();
};

Entity::Entity(EntitySetup setup, uint32_t default_depth, uint32_t least_depth)
: kind_(setup.kind),
  name_(std::move(setup.name)),
  group_(std::move(setup.group)),
  scheduling_(std::move(setup.scheduling)),
  least_depth_(least_depth),
  depth_(scheduling_.depth != 0 ? scheduling_.depth : std::max(default_depth, 1U)),
  ready_mutex_(rclrt_front_end::process_platform().make_mutex())
{
  check_depth(depth_);
}

Entity::~Entity() = default;

void Entity::check_depth(uint32_t depth) const
{
  if (depth != 0 && depth < least_depth_) {
    throw Error(
      "'" + name_ + "': Scheduling::depth " + std::to_string(depth) +
      " is less than the depth of the QoS, " + std::to_string(least_depth_) +
      "; give the QoS the depth that is wanted");
  }
}

std::function<bool(const rclrt_core::Job &)> Entity::job(const std::shared_ptr<Context> & context)
{
  return [self = shared_from_this(), context, stay = stay()](const rclrt_core::Job & job) {
    try {
      return self->run(job, stay, false);
    } catch (const ShutdownError &) {
      if (context->ok()) {
        throw;
      }
      return true;
    }
  };
}

bool Entity::take_and_run(const rclrt_core::Job & job, Stay stay) { return run(job, stay, true); }

bool Entity::run(const rclrt_core::Job & job, Stay stay, bool takes_unit)
{
  struct Inside
  {
    explicit Inside(Entity & inside) : entity(inside) { ++callback_depth; }
    ~Inside()
    {
      --callback_depth;
      entity.leave();
    }
    Entity & entity;
  };

  const uint32_t word = word_.fetch_add(1);
  const Inside inside(*this);
  if ((word & kClosed) != 0 || stay != stay_of(word)) {
    if (!takes_unit && kind_ != rclrt_core::CallbackKind::kTimer) {
      give_back(1);  // the engine has counted it as taken
    }
    return false;
  }
  // What the middleware announces to a wait set is not counted here, what a program triggers is.
  if (takes_unit && !take_unit() && kind_ == rclrt_core::CallbackKind::kWaitable) {
    return false;
  }
  return do_take_and_run(job);
}

bool Entity::take_unit()
{
  std::lock_guard<rclrt_core::Mutex> lock(*ready_mutex_);
  const bool any = backlog_ > 0;
  backlog_ -= any ? 1 : 0;
  return any;
}

std::size_t Entity::backlog() const
{
  std::lock_guard<rclrt_core::Mutex> lock(*ready_mutex_);
  return backlog_;
}

bool Entity::begin_stay() noexcept { return set_stay(true); }
void Entity::end_stay() noexcept { set_stay(false); }

bool Entity::set_stay(bool is_in) noexcept
{
  uint32_t word = word_.load();
  while ((stay_of(word) % 2 != 0) != is_in) {
    if (word_.compare_exchange_weak(word, word + kStay)) {
      return true;
    }
  }
  return false;
}

void Entity::leave() noexcept
{
  word_.fetch_sub(1);
  if (waiters_.load() > 0) {
    rclrt_front_end::process_platform().wake_one(word_);
  }
}

bool Entity::is_closed() const noexcept { return (word_.load() & kClosed) != 0; }

void Entity::wait_until_idle()
{
  if (in_callback()) {
    return;
  }
  waiters_.fetch_add(1);
  for (uint32_t word = word_.load(); (word & kInside) != 0; word = word_.load()) {
    rclrt_front_end::process_platform().wait(word_, word, rclrt_core::kNever);
  }
  if (waiters_.fetch_sub(1) > 1) {
    rclrt_front_end::process_platform().wake_one(word_);
  }
}

void Entity::notify(
  rclrt_core::Engine & engine, const std::shared_ptr<rclrt_core::Callback> & callback)
{
  listen({{}, &engine, callback});
}

void Entity::listen(Listener listener)
{
  std::lock_guard<std::mutex> registration(registration_mutex_);
  if ((!listener.on_ready && !listener.engine) || is_closed()) {
    set_middleware_callback(nullptr, nullptr);
    std::lock_guard<rclrt_core::Mutex> lock(*ready_mutex_);
    std::swap(listener, listener_);
    return;  // what it held is destroyed after the lock
  }
  {
    std::lock_guard<rclrt_core::Mutex> lock(*ready_mutex_);
    std::swap(listener, listener_);
    if (const std::size_t waiting = std::exchange(backlog_, 0)) {
      tell(waiting, nullptr);
    }
  }
  set_middleware_callback(&Entity::on_middleware, this);
}

void Entity::set_middleware_callback(rcl_event_callback_t, const void *) {}

void Entity::on_middleware(const void * entity, std::size_t count)
{
  // The middleware hands back what it was given; it was not const then.
  auto & self = *const_cast<Entity *>(static_cast<const Entity *>(entity));
  auto & threads = rclrt_front_end::MiddlewareThreads::instance();
  threads.greet();
  const bool may_run = self.local_publishers_ && self.local_publishers_->load() == 0;
  if (rclrt_core::Engine * engine = self.arrived(count, may_run ? threads.here() : nullptr)) {
    engine->run_inline();  // without the lock
  }
}

void Entity::announce(std::size_t count)
{
  rclrt_front_end::MiddlewareThreads::instance().greet();  // it may be one of them, in user code
  arrived(count, nullptr);
}

rclrt_core::Engine * Entity::arrived(std::size_t count, const rclrt_core::Attributes * thread)
{
  std::lock_guard<rclrt_core::Mutex> lock(*ready_mutex_);
  return tell(count, thread);
}

// Under `ready_mutex_`.
rclrt_core::Engine * Entity::tell(std::size_t count, const rclrt_core::Attributes * thread)
{
  if (listener_.engine) {
    const bool is_bound = listener_.engine->notify(*listener_.callback, count, thread);
    return is_bound ? listener_.engine : nullptr;
  }
  backlog_ = static_cast<uint32_t>(std::min<std::size_t>(depth_, backlog_ + count));
  if (listener_.on_ready) {
    listener_.on_ready(count);
  }
  if (guard_condition_) {
    guard_condition_->trigger();
  }
  return nullptr;
}

const rcl_guard_condition_t * Entity::guard_condition(const std::shared_ptr<Context> & context)
{
  std::lock_guard<std::mutex> registration(registration_mutex_);
  if (!guard_condition_) {
    auto made = std::make_unique<GuardCondition>(context);
    std::lock_guard<rclrt_core::Mutex> lock(*ready_mutex_);
    guard_condition_ = std::move(made);
    if (backlog_ > 0) {
      guard_condition_->trigger();
    }
  }
  return guard_condition_->handle();
}

void Entity::on_close() {}

void Entity::close()
{
  const bool is_first = (word_.fetch_or(kClosed) & kClosed) == 0;
  if (is_first && rclrt_core::runs_inline()) {
    // The middleware holds locks around the job that finish_closing() needs.
    try {
      std::thread([self = shared_from_this()] { self->finish_closing(); }).detach();
    } catch (const std::system_error & error) {
      RCUTILS_LOG_WARN_NAMED(
        "rclrt",
        "%s: closed, but kept until its group goes: no thread can be started to take it out (%s). "
        "See the limits on "
        "threads: ulimit -u, systemd TasksMax=, container --pids-limit",
        name().c_str(), error.what());
    }
  } else if (is_first) {
    finish_closing();
  }
  wait_until_idle();
}

void Entity::finish_closing()
{
  on_close();
  listen({});
  group_->remove(shared_from_this());
}

Waitable::Waitable(
  EntitySetup setup, std::shared_ptr<Context> context, std::function<void()> callback)
: Entity(std::move(setup), 1), context_(std::move(context)), callback_(std::move(callback))
{
}

std::vector<WaitHandle> Waitable::wait_handles() { return {guard_condition(context_)}; }

}  // namespace rclrt_rcl
