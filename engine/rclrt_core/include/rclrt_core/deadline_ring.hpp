// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The deadlines of messages that are on their way between processes of one machine, beside the
/// messages: the messages keep their format, and other readers see no difference.
///
/// A publisher states the deadline of the message that it is about to send. The thread that takes
/// the message asks for the deadline by the publisher's id and the message's source time stamp,
/// which both know. For requests and replies: request_deadlines.hpp. A thread that asks after many
/// other messages finds none: an entry has 8 places where it may be, and of those the one farthest
/// away in time is overwritten. With 1,000 messages between, 1 of 100,000 is lost; with 4,000, 1 of
/// 20. None is found either for a message of a publisher that states nothing.
///
/// An entry is six words, of which the last is a hash of the others. It is written and read
/// without a lock: an entry that is half written or damaged does not match its hash, and is
/// ignored. So a process may die anywhere, and any content of the memory is safe. Two deadlines
/// never mix, up to one in 2^64. The memory is sealed, so no process can cut it short. The first
/// process that opens it makes it, and the others get it from any process that has it.
#ifndef RCLRT_CORE__DEADLINE_RING_HPP_
#define RCLRT_CORE__DEADLINE_RING_HPP_

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

}  // namespace rclrt_core

#endif  // RCLRT_CORE__DEADLINE_RING_HPP_
