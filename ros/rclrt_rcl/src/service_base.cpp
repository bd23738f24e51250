// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/service.hpp"

#include <mutex>
#include <utility>

#include "of_all_entities.hpp"
#include "of_the_process.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_front_end/requests_on_rcl.hpp"  // here: every node has services, so this file is in every program
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

std::shared_ptr<rcl_service_t> make_service(
  const std::shared_ptr<rcl_node_t> & node, const rosidl_service_type_support_t * type,
  const std::string & name, const QoS & qos)
{
  rcl_service_options_t options = rcl_service_get_default_options();
  options.qos = qos.profile();
  auto service = std::make_unique<rcl_service_t>(rcl_get_zero_initialized_service());
  {
    std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
    throw_unless_ok(
      rcl_service_init(service.get(), node.get(), type, name.c_str(), &options),
      "creating service '" + name + "'");
  }
  return std::shared_ptr<rcl_service_t>(
    service.release(), [node = std::shared_ptr<rcl_node_t>(node)](rcl_service_t * used) mutable {
      {
        std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
        if (rcl_service_fini(used, node.get()) != RCL_RET_OK) {
          take_rcl_error();
        }
      }
      delete used;
      node.reset();  // weak pointers to the service (ResponseSender) keep this function
    });
}

uint32_t depth_of(const rcl_service_t & service)
{
  return detail::queue_depth(QoS(*rcl_service_request_subscription_get_actual_qos(&service)));
}

}  // namespace

namespace detail
{

ResponseSender::ResponseSender(
  std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
  const std::shared_ptr<rcl_service_t> & service)
: context_(std::move(context)),
  service_(service),
  name_(rcl_service_get_service_name(service.get())),
  logger_(rcl_node_get_logger_name(node.get()))
{
}

void ResponseSender::send(const RequestHeader & header, void * response) const
{
  if (!context_->ok()) {
    throw ShutdownError("answering a request to '" + name_ + "': the context was shut down");
  }
  const auto service = service_.lock();
  if (service == nullptr) {
    throw Error("answering a request to '" + name_ + "': the service does not exist any more");
  }
  rmw_request_id_t id = header.id;
  const rclrt_core::Publication publication;
  const rcl_ret_t result = rcl_send_response(service.get(), &id, response);
  if (result == RCL_RET_TIMEOUT) {
    rcutils_reset_error();
    detail::warn_rarely(
      Logger(logger_), "the answer of '" + name_ + "' is lost",
      ": the client that asked cannot be reached");
    return;
  }
  throw_unless_ok(result, "answering a request to '" + name_ + "'");
}

void ResponseSender::warn_unanswered() const
{
  if (context_->ok() && !service_.expired()) {
    warn_rarely(Logger(logger_), "a request to '" + name_ + "' was dropped without an answer", "");
  }
}

}  // namespace detail

ServiceBase::ServiceBase(
  EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
  const rosidl_service_type_support_t * type, const std::string & name, const QoS & qos,
  const detail::Symbol & symbol)
: ServiceBase(
    std::move(setup), std::move(context), node, make_service(node, type, name, qos), symbol)
{
}

ServiceBase::ServiceBase(
  EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
  std::shared_ptr<rcl_service_t> handle, const detail::Symbol & symbol)
: Entity(std::move(setup), depth_of(*handle), depth_of(*handle)),
  handle_(std::move(handle)),
  sender_(std::make_shared<detail::ResponseSender>(std::move(context), node, handle_)),
  take_mutex_(rclrt_front_end::process_platform().make_mutex())
{
  detail::trace_service(handle_.get(), this, symbol);
}

ServiceBase::~ServiceBase() = default;

std::string ServiceBase::service_name() const
{
  return rcl_service_get_service_name(handle_.get());
}

std::vector<WaitHandle> ServiceBase::wait_handles() { return {handle_.get()}; }

void ServiceBase::set_middleware_callback(rcl_event_callback_t callback, const void * user_data)
{
  const rcl_ret_t result = rclrt_front_end::tell_of_work<rcl_service_t>(
    &rcl_service_set_on_new_request_callback, handle_.get(), callback, user_data);
  if (callback != nullptr) {
    throw_unless_ok(result, "listening to service '" + service_name() + "'");
  } else if (result != RCL_RET_OK) {
    take_rcl_error();
  }
}

bool ServiceBase::take_request(void * request, RequestHeader * header)
{
  rmw_service_info_t info{};
  rcl_ret_t result = RCL_RET_OK;
  {
    std::lock_guard<rclrt_core::Mutex> lock(*take_mutex_);
    result = rcl_take_request_with_info(handle_.get(), &info, request);
  }
  if (result == RCL_RET_SERVICE_TAKE_FAILED) {
    rcutils_reset_error();
    return false;
  }
  if (result != RCL_RET_OK) {
    // One bad request from somewhere must not end the program.
    detail::warn_rarely(
      Logger("rclrt_rcl"), "taking a request to '" + service_name() + "'",
      ": " + take_rcl_error() + "; it is lost");
    return false;
  }
  header->id = info.request_id;
  header->source_timestamp = std::chrono::nanoseconds(info.source_timestamp);
  header->received_timestamp = std::chrono::nanoseconds(info.received_timestamp);
  return true;
}

}  // namespace rclrt_rcl
