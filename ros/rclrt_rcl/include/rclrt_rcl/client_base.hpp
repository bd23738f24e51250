// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The common part of clients of all types: finding the service, and the requests that wait for
/// their answers.
///
/// A request waits until its answer has come or it is removed. It is removed by a call, when the
/// client is destroyed, or when the context is shut down. The future of a removed request throws
/// Error (ShutdownError), so that no thread waits for ever. The callback of a removed request is
/// never called.
#ifndef RCLRT_RCL__CLIENT_BASE_HPP_
#define RCLRT_RCL__CLIENT_BASE_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rcl/client.h"
#include "rcl/node.h"
#include "rclrt_core/time.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/qos.hpp"

namespace rclrt_rcl
{

namespace detail
{

/// Handles the answer to one request. One of the two functions is called, at most once.
class PendingResponse
{
public:
  virtual ~PendingResponse() = default;
  /// `response` is of the client's response type, and may be moved from.
  virtual void complete(void * response) = 0;
  virtual void fail(const std::exception_ptr & why) = 0;
};

}  // namespace detail

class ClientBase : public Entity
{
public:
  ~ClientBase() override;

  /// After remapping.
  std::string service_name() const;
  /// Whether a server is known here now.
  bool service_is_ready() const;
  /// Wait until a server is known; false on timeout or shutdown. Needs no executor. Negative: for
  /// ever.
  bool wait_for_service(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1)) const;

  /// Requests that wait for their answers.
  std::size_t pending_request_count() const;
  /// Forget a request; an answer that comes later is dropped. False if it does not wait (any more).
  bool remove_pending_request(int64_t id);
  /// Forget all requests; returns how many.
  std::size_t remove_pending_requests();
  /// Forget the requests sent longer than `age` ago; returns how many.
  std::size_t remove_requests_older_than(std::chrono::nanoseconds age);

  const std::shared_ptr<rcl_client_t> & handle() const noexcept { return handle_; }
  std::vector<WaitHandle> wait_handles() override;

protected:
  ClientBase(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const rosidl_service_type_support_t * type, const std::string & name, const QoS & qos,
    std::size_t max_pending_requests);

  /// Returns the request's id. Throws Error if too many wait, ShutdownError after shutdown.
  int64_t send_request(const void * request, std::unique_ptr<detail::PendingResponse> pending);
  /// False if there is none. Thread-safe.
  bool take_response(void * response, int64_t * id);
  /// Null if it does not wait (any more).
  std::unique_ptr<detail::PendingResponse> claim(int64_t id);

  void set_middleware_callback(rcl_event_callback_t callback, const void * user_data) override;
  void on_close() override;

private:
  struct Pending
  {
    rclrt_core::TimePoint sent;
    std::unique_ptr<detail::PendingResponse> response;
  };
  using PendingMap = std::map<int64_t, Pending>;

  ClientBase(
    EntitySetup setup, std::shared_ptr<Context> context, std::shared_ptr<rcl_node_t> node,
    std::shared_ptr<rcl_client_t> handle, std::size_t max_pending_requests);

  /// The requests sent before `until`.
  PendingMap extract(rclrt_core::TimePoint until);
  void fail(const PendingMap & requests, const std::exception_ptr & why) const;
  void stop_listening_for_shutdown();

  std::shared_ptr<Context> context_;
  std::shared_ptr<rcl_node_t> node_;
  std::shared_ptr<rcl_client_t> handle_;
  std::unique_ptr<rclrt_core::Mutex> take_mutex_;
  const std::size_t max_pending_;
  /// Guards pending_; held while sending, so that no answer comes before its entry.
  const std::unique_ptr<rclrt_core::Mutex> pending_mutex_;
  PendingMap pending_;
  Context::ShutdownHandle on_shutdown_ = 0;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__CLIENT_BASE_HPP_
