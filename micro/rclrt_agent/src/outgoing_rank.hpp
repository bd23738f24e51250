// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// In which order Outgoing sends what is of one urgency; for its own files.
#ifndef OUTGOING_RANK_HPP_
#define OUTGOING_RANK_HPP_

#include <cstddef>
#include <cstdint>

namespace rclrt_agent
{

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

#endif  // OUTGOING_RANK_HPP_
