// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The deadlines of messages that are on their way between processes of one machine, beside the
/// messages: the messages keep their format, and other readers see no difference.
///
/// A publisher states the deadline of the message that it is about to send. The thread that takes
/// the message asks for the deadline by the publisher's id and the message's source time stamp,
/// which both know. For requests and replies, see the end of this file. A thread that asks after many
/// other messages finds none: an entry has 8 places where it may be, and of those the one farthest
/// away in time is overwritten. With 1,000 messages between, 1 of 100,000 is lost; with 4,000, 1 of
/// 20. None is found either for a message of a publisher that states nothing.
///
/// An entry is six words, of which the last is a hash of the others. It is written and read
/// without a lock: an entry that is half written or damaged does not match its hash, and is
/// ignored. So a process may die anywhere, and any content of the memory is safe. Two deadlines
/// never mix, up to one in 2^64. The memory is sealed, so no process can cut it short. The first
/// process that opens it makes it, and the others get it from any process that has it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

class DeadlineRing
{
public:
  static constexpr std::size_t kEntries = 8192;

  using PublisherId = std::array<uint8_t, 16>;

  /// Shared by all processes of the user and PID namespace that give the same name. Either all of
  /// them have CAP_SYS_NICE, or none has. Errors: there is no directory that only this user can
  /// write, no memory, or another process keeps the lock of the name for a second (the text says
  /// which). May block.
  static Status open(const std::string & name, std::unique_ptr<DeadlineRing> * ring);
  ~DeadlineRing();
  DeadlineRing(const DeadlineRing &) = delete;
  DeadlineRing & operator=(const DeadlineRing &) = delete;

  /// The one of this process, once join() has been called; else null. Real-time safe.
  static DeadlineRing * of_process() noexcept;
  /// Open it. Idempotent.
  static Status join();

  struct Found
  {
    TimePoint deadline;
    uint64_t written;  ///< nanoseconds, as given to put()
  };

  /// `number`: what tells the messages of this publisher apart. Replaces what was put for the same number.
  /// `written`: the time of the system's clock, nanoseconds; entries far from it are overwritten first.
  /// Real-time safe: no lock, no system call.
  void put(
    const PublisherId & publisher, uint64_t number, TimePoint deadline, uint64_t written) noexcept;
  std::optional<Found> look_up(const PublisherId & publisher, uint64_t number) const noexcept;

  /// States the deadline of a message on a topic; its number is its source time stamp.
  void put(const PublisherId & publisher, uint64_t stamp, TimePoint deadline) noexcept
  {
    put(publisher, stamp, deadline, stamp);
  }
  std::optional<TimePoint> find(const PublisherId & publisher, uint64_t number) const noexcept
  {
    const auto found = look_up(publisher, number);
    return found ? std::optional<TimePoint>(found->deadline) : std::nullopt;
  }

private:
  /// Relaxed throughout: the hash tells whether the words belong together, and the way of the message
  /// through the kernel or the middleware's locks orders put() before find().
  struct Entry
  {
    std::atomic<uint64_t> words[6];  ///< id, id, number, deadline, written, hash
    uint64_t reserved[2];            ///< one entry, one cache line
  };
  struct Key
  {
    uint64_t id[2];
    uint64_t number;
  };
  static constexpr std::size_t kPlaces = 8;  ///< where an entry may be

  struct Impl;

  explicit DeadlineRing(std::unique_ptr<Impl> impl);
  static Key key_of(const PublisherId & publisher, uint64_t number) noexcept;
  static uint64_t hash(const Key & key, uint64_t deadline, uint64_t written) noexcept;
  Entry * places_of(const Key & key) const noexcept;

  const std::unique_ptr<Impl> impl_;
  Entry * const entries_;
};

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
