// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One stream from a client: puts messages into order and fragments together.
///
/// Not thread-safe. What it keeps is bounded: 16 messages ahead of a gap, and the bytes of `Storage`, which all
/// streams of a client share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "wire.hpp"

namespace rclrt_agent
{

struct Storage
{
  std::size_t limit = 1U << 18U;
  std::size_t used = 0;
};

class Incoming
{
public:
  enum class Verdict : uint8_t
  {
    kKept,       ///< take() may have something
    kDuplicate,  ///< it has been here; reliable: acknowledge it again
    kNoRoom,     ///< it is to come again
  };

  Incoming(uint8_t stream, Storage & storage) : stream_(stream), storage_(storage) {}
  ~Incoming() { clear(); }
  Incoming(const Incoming &) = delete;
  Incoming & operator=(const Incoming &) = delete;

  Verdict put(uint16_t sequence, View submessages);
  /// The next message in order.
  bool take(Bytes * submessages);
  /// A reliable stream's acknowledgement: of everything up to `last`, if that is later than what has come.
  rclrt_acknack acknack(const uint16_t * last = nullptr) const;
  /// The client gives up everything before `first`, and has sent everything up to `last`.
  void on_heartbeat(const rclrt_heartbeat & heartbeat);

  /// A fragment, in order. Whether the message is whole: then assembled() has it, until the next call.
  bool fragment(View bytes, bool last);
  const Bytes & assembled() const { return assembly_; }
  uint64_t unassembled() const { return unassembled_; }

private:
  void clear();
  void drop_assembly();

  const uint8_t stream_;
  Storage & storage_;
  bool started_ = false;
  uint16_t expected_ = 0;
  uint16_t seen_ = 0;                // one after the highest number that came
  std::map<uint16_t, Bytes> ahead_;  // reliable; and best effort, the one to be taken
  Bytes assembly_;
  bool whole_ = false;
  bool skipping_ = false;  // the rest of a message that lacks something
  uint64_t unassembled_ = 0;
};

}  // namespace rclrt_agent
