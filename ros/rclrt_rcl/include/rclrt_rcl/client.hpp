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
#ifndef RCLRT_RCL__CLIENT_HPP_
#define RCLRT_RCL__CLIENT_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/client_base.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rosidl_typesupport_cpp/service_type_support.hpp"

namespace rclrt_rcl
{

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
    /// For remove_pending_request().
    int64_t request_id = 0;
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
    FutureResponse answer{pending->promise.get_future().share(), 0};
    answer.request_id = send_request(&request, std::move(pending));
    return answer;
  }

  /// `callback` runs as the client's callback. Returns the id for remove_pending_request().
  int64_t async_send_request(const Request & request, ResponseCallback callback)
  {
    return send_request(&request, std::make_unique<CalledBack>(std::move(callback)));
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

#endif  // RCLRT_RCL__CLIENT_HPP_
