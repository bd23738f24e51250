// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The deadlines of requests and replies of services, and so of actions, on their way between processes
/// of one machine. They lie in the table of messages (DeadlineRing).
///
/// Client and service both know the client's GID and the number of the request. But the client learns
/// the number only when the request has been sent, and the service may have taken it by then. So the
/// client states the deadline twice:
///
///  - before it sends, as that of its newest request;
///  - when it knows the number, as that of this request.
///
/// The service looks for the number first. If nothing is there, the client is still sending, or the
/// request has no deadline. Then the newest request is the one that was taken if it was stated before
/// the source time stamp of the one that was taken: any later request is stated after that stamp. For
/// this the requests of one client must not be sent by two threads at once. rclcpp, rclpy and rclrt_rcl
/// send under a lock of the client. A program that sends by rcl from several threads may see the deadlines of two
/// requests swapped that are sent at the same time.
///
/// A reply needs none of that: the service knows the number before it sends.
///
/// All functions are real-time safe: no lock, no system call but for the clock. They do nothing, and
/// find nothing, without a table. Thread-safe, but for the above.
#ifndef RCLRT_CORE__REQUEST_DEADLINES_HPP_
#define RCLRT_CORE__REQUEST_DEADLINES_HPP_

#include <cstdint>
#include <optional>

#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

/// A client's GID, as rmw_get_gid_for_client() and the header of its requests have it.
using ClientId = DeadlineRing::PublisherId;

/// On the stack of the thread that sends a request, made before the call of the middleware.
class SentRequest
{
public:
  /// `deadline`: kNever if it has none.
  SentRequest(DeadlineRing * table, const ClientId & client, TimePoint deadline) noexcept;
  /// The middleware has sent it, and has given it this number.
  void is_sent(int64_t number) const noexcept;

private:
  DeadlineRing * const table_;
  const ClientId client_;
  const TimePoint deadline_;
};

/// `source_timestamp`: of the request, as the service got it, nanoseconds of CLOCK_REALTIME. kNever: the client
/// has said that it has none. Empty: nothing is known.
std::optional<TimePoint> deadline_of_request(
  const DeadlineRing * table, const ClientId & client, int64_t number,
  int64_t source_timestamp) noexcept;

/// By the service, before it sends the reply to that request. kNever: it has none.
void state_deadline_of_reply(
  DeadlineRing * table, const ClientId & client, int64_t number, TimePoint deadline) noexcept;

/// Empty: nothing is known.
std::optional<TimePoint> deadline_of_reply(
  const DeadlineRing * table, const ClientId & client, int64_t number) noexcept;

}  // namespace rclrt_core

#endif  // RCLRT_CORE__REQUEST_DEADLINES_HPP_
