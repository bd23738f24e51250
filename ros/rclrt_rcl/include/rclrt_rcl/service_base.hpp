// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The common part of services of all types.
#ifndef RCLRT_RCL__SERVICE_BASE_HPP_
#define RCLRT_RCL__SERVICE_BASE_HPP_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rcl/node.h"
#include "rcl/service.h"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/qos.hpp"
#include "rmw/types.h"

namespace rclrt_rcl
{

/// The client that asked, and the time. Needed to answer a request.
struct RequestHeader
{
  /// The client (`writer_guid`) and the number of the request at it (`sequence_number`).
  rmw_request_id_t id{};
  /// CLOCK_REALTIME of the asking machine, since 1970; 0 if unknown.
  std::chrono::nanoseconds source_timestamp{0};
  /// CLOCK_REALTIME at arrival, since 1970; 0 if unknown.
  std::chrono::nanoseconds received_timestamp{0};
};

namespace detail
{

/// The way back to the clients of a service. It does not keep the service alive. Thread-safe.
class ResponseSender
{
public:
  ResponseSender(
    std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const std::shared_ptr<rcl_service_t> & service);

  /// A client that cannot be reached (it has gone, usually) is a warning in the log. Throws
  /// ShutdownError after shutdown, Error if the service has gone or the middleware refuses.
  void send(const RequestHeader & header, void * response) const;
  /// Log that a request will never be answered.
  void warn_unanswered() const;

private:
  std::shared_ptr<Context> context_;
  std::weak_ptr<rcl_service_t> service_;
  std::string name_;
  std::string logger_;
};

}  // namespace detail

class ServiceBase : public Entity
{
public:
  ~ServiceBase() override;

  /// After remapping.
  std::string service_name() const;
  const std::shared_ptr<rcl_service_t> & handle() const noexcept { return handle_; }
  std::vector<WaitHandle> wait_handles() override;

protected:
  ServiceBase(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const rosidl_service_type_support_t * type, const std::string & name, const QoS & qos,
    const detail::Symbol & symbol);
  /// False if there is none. Thread-safe.
  bool take_request(void * request, RequestHeader * header);
  const std::shared_ptr<const detail::ResponseSender> & sender() const noexcept { return sender_; }

  void set_middleware_callback(rcl_event_callback_t callback, const void * user_data) override;

private:
  ServiceBase(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    std::shared_ptr<rcl_service_t> handle, const detail::Symbol & symbol);

  std::shared_ptr<rcl_service_t> handle_;
  std::shared_ptr<const detail::ResponseSender> sender_;
  std::unique_ptr<rclrt_core::Mutex> take_mutex_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SERVICE_BASE_HPP_
