// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A service of type S. The callback has one of the forms
///
///   (const Request &, Response &)      the answer is sent when the callback returns
///   (const Request &, Responder<S>)    the answer is sent by Responder::send(), whenever that is
///
/// The request lives until the callback returns. A callback that throws sends no answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rcl/node.h"
#include "rcl/service.h"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/qos.hpp"
#include "rmw/types.h"
#include "rosidl_typesupport_cpp/service_type_support.hpp"

namespace rclrt_rcl
{

/// The common part of services of all types.

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

struct ServiceOptions
{
  /// Null: the node's default group.
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
};

/// The right to answer one request of a service of type S, now or later, from any thread.
///
/// It can be moved, not copied: a request is answered at most once. A responder that is destroyed
/// without an answer leaves its client waiting and writes a warning to the log, at most one a second for a service.
template <typename S>
class Responder
{
public:
  Responder(std::shared_ptr<const detail::ResponseSender> sender, const RequestHeader & header)
  : sender_(std::move(sender)), header_(header)
  {
  }
  Responder(Responder &&) noexcept = default;
  Responder & operator=(Responder && other) noexcept
  {
    std::swap(sender_, other.sender_);
    std::swap(header_, other.header_);
    return *this;
  }
  ~Responder()
  {
    if (sender_ != nullptr) {
      sender_->warn_unanswered();
    }
  }

  /// Errors: answered already; the service has gone; ShutdownError after shutdown. Not real-time
  /// safe as far as the middleware is not.
  void send(typename S::Response response)
  {
    const auto sender = std::move(sender_);
    if (sender == nullptr) {
      throw Error("a request can be answered only once");
    }
    sender->send(header_, &response);
  }

private:
  std::shared_ptr<const detail::ResponseSender> sender_;
  RequestHeader header_;
};

template <typename S>
class Service : public ServiceBase
{
public:
  using Request = typename S::Request;
  using Response = typename S::Response;

  template <typename F>
  Service(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const std::string & name, const QoS & qos, F && callback)
  : ServiceBase(
      std::move(setup), std::move(context), node,
      rosidl_typesupport_cpp::get_service_type_support_handle<S>(), name, qos,
      detail::symbol_of(callback)),
    callback_(unified(std::forward<F>(callback)))
  {
  }

private:
  using Callback = std::function<void(const Request &, Responder<S>)>;

  bool do_take_and_run(const rclrt_core::Job &) override
  {
    Request request;
    RequestHeader header;
    if (!take_request(&request, &header)) {
      return false;
    }
    const detail::Running running(static_cast<const ServiceBase *>(this));
    callback_(request, Responder<S>(sender(), header));
    return true;
  }

  template <typename F>
  static Callback unified(F && function)
  {
    if constexpr (std::is_invocable_v<F &, const Request &, Responder<S>>) {
      return std::forward<F>(function);
    } else {
      static_assert(
        std::is_invocable_v<F &, const Request &, Response &>,
        "a service's callback takes const Request & and Response &, or const Request & and "
        "Responder<S>");
      return
        [function = std::forward<F>(function)](const Request & request, Responder<S> to) mutable {
          Response response;
          function(request, response);
          to.send(std::move(response));
        };
    }
  }

  const Callback callback_;
};

}  // namespace rclrt_rcl
