// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What waits to be sent to one client: the most urgent first.
///
/// Streams are numbered when a message goes, not when it comes. So an urgent message overtakes others
/// of its own stream too, unless one of them is being sent in fragments.
///
/// Order, from the most urgent: answers to requests outside streams; data by urgency, and of equal
/// urgency in the order in which it came; an acknowledgement counts as data of its stream once it is
/// old, before that goes only if nothing else waits, and goes first once it is four times as old; a
/// heartbeat comes after data of its stream.
///
/// Thread-safe. Every operation is O(streams + log messages), without system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "rclrt_front_end/process_platform.hpp"
#include "wire.hpp"

namespace rclrt_agent
{

struct OutgoingOptions
{
  uint8_t session = RCLRT_SESSION_DEFAULT;
  Key key{};
  uint16_t mtu = 508;  ///< longest message to this client, bytes
  /// Longest fragment on a reliable stream other than 80, bytes; 0 is the MTU. Only messages longer than the MTU are cut.
  /// A client that puts fragments together in the slots of one shared stream needs them long; that stream is 80.
  uint16_t piece = 0;
  /// Messages of a stream that may be on their way; of stream 80, whose client may have few slots, less.
  uint16_t window = 16;
  uint16_t shared_window = 4;
  std::size_t waiting = 16;  ///< messages of a stream that wait besides
  /// What waits or is not acknowledged, in bytes; best effort streams add as much at most.
  std::size_t bytes = 1U << 18U;
  Duration acknack_delay{10'000'000};
  uint16_t acknack_every = 4;  ///< messages; a client may have no more slots
  /// At least so long after the last acknowledgement of the same stream. Some clients bear no acknowledgement that is
  /// overtaken by a later one: for networks that reorder, as long as a datagram may be late.
  Duration acknack_spacing{0};
};

struct OutgoingCounters
{
  uint64_t messages = 0;
  uint64_t repeated = 0;
  uint64_t heartbeats = 0;
  uint64_t acknacks = 0;
  uint64_t dropped = 0;   ///< best effort, too many waited
  uint64_t too_long = 0;  ///< best effort, longer than the MTU; or longer than all storage
  uint64_t given_up =
    0;  ///< the client began anew: messages that waited or were not acknowledged, or their fragments
};

class Outgoing
{
public:
  enum class Put : uint8_t
  {
    kTaken,
    kFull,     ///< reliable: try again when there is room
    kTooLong,  ///< never possible
  };

  explicit Outgoing(const OutgoingOptions & options) : options_(options) {}

  /// A submessage for a stream. `always`: although there is no room; for answers, of which the client
  /// asks for each.
  Put put(uint8_t stream, uint8_t urgency, Bytes submessage, bool always = false);
  bool has_room(uint8_t stream) const;
  /// Have `call` called once, under the lock, when the stream has room. One for each object.
  void when_room(uint8_t stream, uint16_t object, std::function<void()> call);
  void forget(uint16_t object);
  /// Outside streams, before everything else. Beyond 16 the oldest goes.
  void answer(Bytes submessage);
  /// What is missing is asked for once, and once more for each `again` (the client has sent a heartbeat) and after a
  /// while: 100 ms to 2 s. A client may answer each request by all that it has not seen acknowledged; if each of those
  /// were a request, too, there would be no end to it. And it may send no heartbeat while it gets data.
  void owe_acknack(
    const rclrt_acknack & acknack, uint8_t urgency, TimePoint now, bool again = false);
  /// What the client says of a stream of ours.
  void on_acknack(const rclrt_acknack & acknack, TimePoint now);
  /// The client begins anew: streams start at 0, and what was sent and not acknowledged is sent again,
  /// if `keep`; otherwise all that waits is given up.
  void reset(bool keep);
  /// Only answers go from now on.
  void end();

  /// The most urgent message; false if nothing is to be sent now.
  bool next(TimePoint now, Bytes * message);
  /// When next() may have something: in the past if it has, kNever if only a call can change that.
  TimePoint due() const;
  OutgoingCounters counters() const;
  std::size_t unacknowledged() const;

private:
  struct Sent
  {
    Bytes submessages;
    uint8_t urgency = 0;
    TimePoint at;
    bool again = false;     // asked for
    bool timeless = false;  // its round trip says nothing
  };
  struct Stream
  {
    uint16_t next = 0;
    std::deque<Sent> unacked;                               // numbers next - size to next - 1
    std::map<std::pair<uint8_t, uint64_t>, Bytes> waiting;  // by 31 - urgency, then as they came
    Bytes fragmented;  // the rest of a message of which fragments were sent
    uint8_t fragmented_urgency = 0;
    uint64_t fragmented_order = 0;
    TimePoint heartbeat_at = rclrt_core::kNever;
    TimePoint heartbeat_sent;
    unsigned heartbeats = 0;  // since the client was heard
    std::map<uint16_t, std::function<void()>> when_room;
  };
  struct Owed
  {
    rclrt_acknack acknack{};
    uint8_t urgency = 0;
    uint16_t messages = 0;  // since the last acknowledgement that was sent
    TimePoint since;
    bool again = false;  // ask for what has been asked for, too
  };
  struct Asked
  {
    uint16_t until = 0;      // what is missing before this number has been asked for
    rclrt_acknack latest{};  // as it is now
    uint8_t urgency = 0;
    unsigned times = 0;               // that nothing has changed
    TimePoint at = TimePoint::min();  // of the last acknowledgement
  };
  struct Candidate;

  static constexpr Duration kFirstHeartbeat{100'000'000};  // while no round trip is known
  static constexpr Duration kShortestHeartbeat{25'000'000};
  static constexpr Duration kLongestHeartbeat{500'000'000};  // while the client answers
  static constexpr Duration kLastHeartbeat{2'000'000'000};

  bool has_room(const Stream & stream) const;
  uint16_t window(uint8_t stream) const;
  std::size_t room_in_message() const;
  std::size_t longest(uint8_t stream) const;  // submessages that go in one message
  void tell_room(Stream & stream);
  void tell_rooms();
  void note_round_trip(const Stream & stream, uint16_t confirmed, TimePoint now);
  static void mark_timeless(Stream & stream);
  static uint64_t lost_with(const Stream & stream);
  Duration patience(unsigned times, Duration least) const;
  Duration patience(const Stream & stream) const;
  int acknack_value(const Owed & owed, TimePoint now) const;
  Candidate best(TimePoint now);
  Bytes take_data(uint8_t id, Stream & stream, TimePoint now);
  uint16_t to_ask(const Owed & owed) const;
  TimePoint may_acknowledge_at(uint8_t stream) const;
  TimePoint ask_again_at(const Asked & asked) const;
  void ask_again(TimePoint now);
  Bytes take_acknacks(TimePoint now);
  Bytes take_heartbeats(TimePoint now);
  Bytes outside(View submessages) const;

  const OutgoingOptions options_;
  mutable rclrt_front_end::PiMutex mutex_;
  std::map<uint8_t, Stream> streams_;
  std::map<uint8_t, Owed> owed_;
  std::map<uint8_t, Asked> asked_;
  std::deque<Bytes> answers_;
  uint64_t order_ = uint64_t{1} << 32U;  // of what comes
  uint64_t front_ = order_;              // of what comes back to the front
  std::size_t bytes_ = 0;                // of what waits in streams, or is not acknowledged
  bool ended_ = false;
  Duration round_trip_{0};
  OutgoingCounters counters_;
};

// In which order Outgoing sends what is of one urgency; for its own files.
constexpr std::size_t kAcknackSize = 12;  // with its head, aligned
// Within one urgency: heartbeats, then data, then acknowledgements that are old.
enum Rank : int
{
  kHeartbeatRank = 0,
  kDataRank = 1,
  kAcknackRank = 2
};

inline int score(uint8_t urgency, Rank rank) { return 1 + urgency * 3 + rank; }

}  // namespace rclrt_agent
