// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/context.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <mutex>
#include <thread>
#include <utility>

#include "arguments.hpp"
#include "of_the_process.hpp"
#include "rcl/init.h"
#include "rcl/logging.h"
#include "rclrt_rcl/detail/intra_process.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

/// The highest whose ports, by the RTPS rule 7400 + 250 * domain + ..., are ports.
constexpr std::size_t kHighestDomainId = 232;

/// Contexts that use rcl's logging; the last one ends it. Under the logging mutex.
std::size_t logging_users = 0;

void log_under_mutex(
  const rcutils_log_location_t * location, int severity, const char * name,
  rcutils_time_point_value_t timestamp, const char * format, va_list * arguments)
{
  std::lock_guard<std::recursive_mutex> lock(detail::logging_mutex());
  rcl_logging_multiple_output_handler(location, severity, name, timestamp, format, arguments);
}

}  // namespace

class Context::Impl
{
public:
  using Callbacks = std::vector<std::pair<ShutdownHandle, ShutdownCallback>>;

  rcl_context_t context = rcl_get_zero_initialized_context();
  std::vector<std::string> non_ros_arguments;
  bool uses_logging = false;
  detail::IntraProcess intra_process;

  std::atomic<bool> ok{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::string reason;
  Callbacks callbacks;
  ShutdownHandle next_handle = 1;
  ShutdownHandle running = 0;
  std::thread::id runner;

  void run_callbacks()
  {
    std::unique_lock<std::mutex> lock(mutex);
    runner = std::this_thread::get_id();
    while (!callbacks.empty()) {
      {
        const auto callback = std::move(callbacks.front());
        callbacks.erase(callbacks.begin());
        running = callback.first;
        lock.unlock();
        callback.second();
      }  // destroyed without the lock: that may remove another callback
      lock.lock();
      running = 0;
      changed.notify_all();
    }
  }
};

Context::Context() : impl_(std::make_unique<Impl>()) {}

std::shared_ptr<Context> Context::make(
  int argc, const char * const * argv, const ContextOptions & options)
{
  rcl_init_options_t init_options = rcl_get_zero_initialized_init_options();
  throw_unless_ok(
    rcl_init_options_init(&init_options, rcl_get_default_allocator()), "making init options");
  const std::unique_ptr<rcl_init_options_t, void (*)(rcl_init_options_t *)> guard(
    &init_options, [](rcl_init_options_t * o) {
      if (rcl_init_options_fini(o) != RCL_RET_OK) {
        take_rcl_error();
      }
    });
  if (options.domain_id) {
    throw_unless_ok(
      rcl_init_options_set_domain_id(&init_options, *options.domain_id), "setting the domain id");
  }

  std::shared_ptr<Context> made(new Context);
  Impl & impl = *made->impl_;
  std::lock_guard<std::recursive_mutex> lock(detail::logging_mutex());
  detail::throw_unless_parsed(
    rcl_init(argc, argc > 0 ? argv : nullptr, &init_options, &impl.context), "initialising ROS 2",
    argc, argv);
  impl.ok = true;
  if (made->domain_id() > kHighestDomainId) {
    throw Error(
      "ROS domain " + std::to_string(made->domain_id()) +
      ": its network ports would be beyond 65535; "
      "choose 0-" +
      std::to_string(kHighestDomainId) + " ($ROS_DOMAIN_ID or ContextOptions)");
  }

  if (argc > 0) {
    const rcl_arguments_t & arguments = impl.context.global_arguments;
    impl.non_ros_arguments = detail::unparsed_arguments(arguments, argv);
    detail::reject_unknown_ros_arguments(arguments, argv);
  }
  if (options.configure_logging) {
    if (logging_users == 0) {
      const rcl_allocator_t allocator = rcl_get_default_allocator();
      throw_unless_ok(
        rcl_logging_configure_with_output_handler(
          &impl.context.global_arguments, &allocator, &log_under_mutex),
        "configuring logging");
    }
    ++logging_users;
    impl.uses_logging = true;
  }
  detail::remember_context(made);
  return made;
}

Context::~Context()
{
  shutdown("the last user of the context is gone");
  std::lock_guard<std::recursive_mutex> lock(detail::logging_mutex());
  if (impl_->uses_logging && --logging_users == 0) {
    if (rcl_logging_fini() != RCL_RET_OK) {
      take_rcl_error();
    }
  }
  if (impl_->context.impl != nullptr && rcl_context_fini(&impl_->context) != RCL_RET_OK) {
    take_rcl_error();
  }
}

bool Context::ok() const noexcept { return impl_->ok.load(); }

bool Context::shutdown(const std::string & reason)
{
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (!impl_->ok.exchange(false)) {
      return false;
    }
    impl_->reason = reason;
    if (rcl_shutdown(&impl_->context) != RCL_RET_OK) {
      take_rcl_error();
    }
    impl_->changed.notify_all();
  }
  impl_->run_callbacks();
  return true;
}

std::string Context::shutdown_reason() const
{
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->reason;
}

Context::ShutdownHandle Context::on_shutdown(ShutdownCallback callback)
{
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (ok()) {
      impl_->callbacks.emplace_back(impl_->next_handle, std::move(callback));
      return impl_->next_handle++;
    }
  }
  callback();
  return 0;
}

void Context::remove_on_shutdown(ShutdownHandle handle)
{
  ShutdownCallback removed;  // destroyed without the lock: that may remove another callback
  std::unique_lock<std::mutex> lock(impl_->mutex);
  auto & callbacks = impl_->callbacks;
  const auto found = std::find_if(
    callbacks.begin(), callbacks.end(),
    [handle](const auto & callback) { return callback.first == handle; });
  if (found != callbacks.end()) {
    removed = std::move(found->second);
    callbacks.erase(found);
  }
  if (impl_->runner != std::this_thread::get_id()) {
    impl_->changed.wait(lock, [&] { return handle == 0 || impl_->running != handle; });
  }
}

bool Context::sleep_for(std::chrono::nanoseconds duration) const
{
  std::unique_lock<std::mutex> lock(impl_->mutex);
  const auto until = rclrt_core::add_saturating(
    std::chrono::steady_clock::now(), std::max(duration, std::chrono::nanoseconds::zero()));
  impl_->changed.wait_until(lock, until, [this] { return !ok(); });
  return ok();
}

std::size_t Context::domain_id() const
{
  std::size_t id = 0;
  throw_unless_ok(rcl_context_get_domain_id(&impl_->context, &id), "asking for the domain id");
  return id;
}

std::vector<std::string> Context::non_ros_arguments() const { return impl_->non_ros_arguments; }

rcl_context_t * Context::handle() noexcept { return &impl_->context; }
detail::IntraProcess & Context::intra_process() noexcept { return impl_->intra_process; }

}  // namespace rclrt_rcl
