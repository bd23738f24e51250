// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The right to answer one request of a service of type S, now or later, from any thread.
///
/// It can be moved, not copied: a request is answered at most once. A responder that is destroyed
/// without an answer leaves its client waiting and writes a warning to the log, at most one a second for a service.
#ifndef RCLRT_RCL__RESPONDER_HPP_
#define RCLRT_RCL__RESPONDER_HPP_

#include <memory>
#include <string>
#include <utility>

#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/request_header.hpp"
#include "rclrt_rcl/service_base.hpp"

namespace rclrt_rcl
{

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

  const RequestHeader & header() const noexcept { return header_; }

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

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__RESPONDER_HPP_
