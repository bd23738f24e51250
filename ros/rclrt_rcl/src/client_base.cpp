// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/client.hpp"

#include <mutex>
#include <utility>

#include "of_all_entities.hpp"
#include "of_the_process.hpp"
#include "rcl/graph.h"
#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr std::chrono::milliseconds kGraphPoll(5);

std::shared_ptr<rcl_client_t> make_client(
  const std::shared_ptr<rcl_node_t> & node, const rosidl_service_type_support_t * type,
  const std::string & name, const QoS & qos)
{
  rcl_client_options_t options = rcl_client_get_default_options();
  options.qos = qos.profile();
  auto client = std::make_unique<rcl_client_t>(rcl_get_zero_initialized_client());
  {
    std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
    throw_unless_ok(
      rcl_client_init(client.get(), node.get(), type, name.c_str(), &options),
      "creating a client of '" + name + "'");
  }
  return std::shared_ptr<rcl_client_t>(client.release(), [node](rcl_client_t * used) {
    std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
    if (rcl_client_fini(used, node.get()) != RCL_RET_OK) {
      take_rcl_error();
    }
    delete used;
  });
}

uint32_t depth_of(const rcl_client_t & client)
{
  return detail::queue_depth(QoS(*rcl_client_response_subscription_get_actual_qos(&client)));
}

}  // namespace

ClientBase::ClientBase(
  EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
  const rosidl_service_type_support_t * type, const std::string & name, const QoS & qos,
  std::size_t max_pending_requests)
: ClientBase(
    std::move(setup), std::move(context), node, make_client(node, type, name, qos),
    max_pending_requests)
{
}

ClientBase::ClientBase(
  EntitySetup setup, std::shared_ptr<Context> context, std::shared_ptr<rcl_node_t> node,
  std::shared_ptr<rcl_client_t> handle, std::size_t max_pending_requests)
: Entity(std::move(setup), depth_of(*handle), depth_of(*handle)),
  context_(std::move(context)),
  node_(std::move(node)),
  handle_(std::move(handle)),
  take_mutex_(rclrt_front_end::process_platform().make_mutex()),
  max_pending_(max_pending_requests),
  pending_mutex_(rclrt_front_end::process_platform().make_mutex())
{
  if (max_pending_ == 0) {
    throw Error(
      "creating a client of '" + service_name() + "': max_pending_requests must be at least 1");
  }
  on_shutdown_ = context_->on_shutdown([this] {
    fail(
      extract(rclrt_core::kNever),
      std::make_exception_ptr(
        ShutdownError("no answer from '" + service_name() + "': the context was shut down")));
  });
}

ClientBase::~ClientBase() { stop_listening_for_shutdown(); }

void ClientBase::stop_listening_for_shutdown() { context_->remove_on_shutdown(on_shutdown_); }

void ClientBase::on_close()
{
  stop_listening_for_shutdown();
  remove_requests_older_than(std::chrono::nanoseconds::min());
}

std::string ClientBase::service_name() const { return rcl_client_get_service_name(handle_.get()); }

bool ClientBase::service_is_ready() const
{
  bool ready = false;
  const rcl_ret_t result = rcl_service_server_is_available(node_.get(), handle_.get(), &ready);
  if (result != RCL_RET_OK && !context_->ok()) {
    take_rcl_error();
    return false;
  }
  throw_unless_ok(result, "looking for service '" + service_name() + "'");
  return ready;
}

bool ClientBase::wait_for_service(std::chrono::nanoseconds timeout) const
{
  const auto now = std::chrono::steady_clock::now();
  const rclrt_core::TimePoint until =
    timeout.count() < 0 ? rclrt_core::kNever : rclrt_core::add_saturating(now, timeout);
  while (!service_is_ready()) {
    if (std::chrono::steady_clock::now() >= until || !context_->sleep_for(kGraphPoll)) {
      return false;
    }
  }
  return true;
}

std::size_t ClientBase::pending_request_count() const
{
  std::lock_guard<rclrt_core::Mutex> lock(*pending_mutex_);
  return pending_.size();
}

std::size_t ClientBase::remove_requests_older_than(std::chrono::nanoseconds age)
{
  const auto removed = extract(
    age.count() < 0 ? rclrt_core::kNever
                    : rclrt_core::TimePoint(std::chrono::steady_clock::now() - age));
  fail(
    removed, std::make_exception_ptr(
               Error("no answer from '" + service_name() + "': the request was removed")));
  return removed.size();
}

ClientBase::PendingMap ClientBase::extract(rclrt_core::TimePoint until)
{
  PendingMap extracted;
  std::lock_guard<rclrt_core::Mutex> lock(*pending_mutex_);
  for (auto next = pending_.begin(); next != pending_.end();) {
    const auto entry = next++;
    if (entry->second.sent < until) {
      extracted.insert(pending_.extract(entry));
    }
  }
  return extracted;
}

void ClientBase::fail(const PendingMap & requests, const std::exception_ptr & why) const
{
  for (const auto & request : requests) {
    request.second.response->fail(why);
  }
}

std::unique_ptr<detail::PendingResponse> ClientBase::claim(int64_t id)
{
  std::lock_guard<rclrt_core::Mutex> lock(*pending_mutex_);
  const auto found = pending_.find(id);
  if (found == pending_.end()) {
    return nullptr;
  }
  auto response = std::move(found->second.response);
  pending_.erase(found);
  return response;
}

int64_t ClientBase::send_request(
  const void * request, std::unique_ptr<detail::PendingResponse> pending)
{
  const rclrt_core::Publication publication;
  std::lock_guard<rclrt_core::Mutex> lock(*pending_mutex_);
  // Looked at under the lock: shutdown takes out what waits after ok() has become false.
  if (!context_->ok()) {
    throw ShutdownError("asking '" + service_name() + "': the context was shut down");
  }
  if (is_closed()) {
    throw Error("asking '" + service_name() + "': the client is closed");
  }
  if (pending_.size() >= max_pending_) {
    throw Error(
      "asking '" + service_name() + "': " + std::to_string(max_pending_) +
      " requests wait for their answers already; remove those that will get none "
      "(remove_requests_older_than()) or raise ClientOptions::max_pending_requests");
  }
  int64_t id = 0;
  const rcl_ret_t result = rcl_send_request(handle_.get(), request, &id);
  throw_unless_ok(result, "asking '" + service_name() + "'");
  pending_[id] = Pending{std::chrono::steady_clock::now(), std::move(pending)};
  return id;
}

bool ClientBase::take_response(void * response, int64_t * id)
{
  rmw_service_info_t info{};
  rcl_ret_t result = RCL_RET_OK;
  {
    std::lock_guard<rclrt_core::Mutex> lock(*take_mutex_);
    result = rcl_take_response_with_info(handle_.get(), &info, response);
  }
  if (result == RCL_RET_CLIENT_TAKE_FAILED) {
    rcutils_reset_error();
    return false;
  }
  if (result != RCL_RET_OK) {
    // One bad answer from somewhere must not end the program.
    detail::warn_rarely(
      Logger("rclrt_rcl"), "taking an answer from '" + service_name() + "'",
      ": " + take_rcl_error() + "; it is lost");
    return false;
  }
  *id = info.request_id.sequence_number;
  return true;
}

std::vector<WaitHandle> ClientBase::wait_handles() { return {handle_.get()}; }

void ClientBase::set_middleware_callback(rcl_event_callback_t callback, const void * user_data)
{
  const rcl_ret_t result = rclrt_front_end::tell_of_work<rcl_client_t>(
    &rcl_client_set_on_new_response_callback, handle_.get(), callback, user_data);
  if (callback != nullptr) {
    throw_unless_ok(result, "listening to the client of '" + service_name() + "'");
  } else if (result != RCL_RET_OK) {
    take_rcl_error();
  }
}

}  // namespace rclrt_rcl
