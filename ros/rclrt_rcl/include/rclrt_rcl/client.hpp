// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A client of services of type S.
///
///   auto answer = client->async_send_request(request);     // a future ...
///   executor.spin_until_future_complete(answer.future);    // ... the client's executor fulfils it
///   use(answer.get());
///
/// Waiting for the future inside a callback works only where another thread of the executor may run
/// the client: not in a callback of the client's own mutually exclusive group, and never in an
/// executor of one thread. With a callback instead of a future the question does not arise.
///
/// Thread-safe. Answers may come in any order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rcl/client.h"
#include "rcl/node.h"
#include "rclrt_core/time.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/qos.hpp"
#include "rosidl_typesupport_cpp/service_type_support.hpp"

namespace rclrt_rcl
{

namespace detail
{

/// The common part of clients of all types: finding the service, and the requests that wait for
/// their answers.
///
/// A request waits until its answer has come or it is removed. It is removed by a call, when the
/// client is destroyed, or when the context is shut down. The future of a removed request throws
/// Error (ShutdownError), so that no thread waits for ever. The callback of a removed request is
/// never called.

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
  /// Forget the requests sent longer than `age` ago; returns how many. Their answers are dropped when they come.
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

struct ClientOptions
{
  /// For the callbacks given with requests, and for completing futures. Null: the node's default
  /// group.
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
  /// How many requests may wait for their answers; one more is an error. At least 1.
  std::size_t max_pending_requests = 1000;
};

template <typename S>
class Client : public ClientBase
{
public:
  using Request = typename S::Request;
  using Response = typename S::Response;
  using ResponseCallback = std::function<void(const Response &)>;

  struct FutureResponse
  {
    std::shared_future<Response> future;
    /// Waits for the answer. Throws Error if the request was removed.
    const Response & get() const { return future.get(); }
  };

  Client(
    EntitySetup setup, std::shared_ptr<Context> context, std::shared_ptr<rcl_node_t> node,
    const std::string & name, const QoS & qos, std::size_t max_pending_requests)
  : ClientBase(
      std::move(setup), std::move(context), std::move(node),
      rosidl_typesupport_cpp::get_service_type_support_handle<S>(), name, qos, max_pending_requests)
  {
  }

  /// Errors: too many requests wait (ClientOptions::max_pending_requests); ShutdownError after
  /// shutdown; the middleware refuses. A server that is not there yet is no error: see
  /// wait_for_service().
  FutureResponse async_send_request(const Request & request)
  {
    auto pending = std::make_unique<Promised>();
    FutureResponse answer{pending->promise.get_future().share()};
    send_request(&request, std::move(pending));
    return answer;
  }

  /// `callback` runs as the client's callback.
  void async_send_request(const Request & request, ResponseCallback callback)
  {
    send_request(&request, std::make_unique<CalledBack>(std::move(callback)));
  }

private:
  struct Promised : detail::PendingResponse
  {
    void complete(void * response) override
    {
      promise.set_value(std::move(*static_cast<Response *>(response)));
    }
    void fail(const std::exception_ptr & why) override { promise.set_exception(why); }

    std::promise<Response> promise;
  };

  struct CalledBack : detail::PendingResponse
  {
    explicit CalledBack(ResponseCallback function) : callback(std::move(function)) {}
    void complete(void * response) override { callback(*static_cast<Response *>(response)); }
    void fail(const std::exception_ptr &) override {}

    ResponseCallback callback;
  };

  bool do_take_and_run(const rclrt_core::Job &) override
  {
    Response response;
    int64_t id = 0;
    if (!take_response(&response, &id)) {
      return false;
    }
    if (const auto pending = claim(id)) {
      pending->complete(&response);
    }
    return true;
  }
};

}  // namespace rclrt_rcl
