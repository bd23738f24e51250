// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "incoming.hpp"

#include <utility>

namespace rclrt_agent
{
namespace
{

constexpr uint16_t kWindow = 16;  // as many as an acknowledgement has bits
// Best effort messages with numbers before the expected one are late, or copies. If they are farther back than this, the
// line was cut for so long that numbers have come round.
constexpr uint16_t kLate = 1024;

}  // namespace

Incoming::Verdict Incoming::put(uint16_t sequence, View submessages)
{
  if (!is_reliable(stream_)) {
    if (started_ && static_cast<uint16_t>(expected_ - 1 - sequence) < kLate) {
      return Verdict::kDuplicate;
    }
    started_ = true;
    expected_ = sequence;
  } else {
    if (static_cast<uint16_t>(sequence - expected_) >= kWindow) {
      return rclrt_sequence_before(sequence, expected_) ? Verdict::kDuplicate : Verdict::kNoRoom;
    }
    if (ahead_.count(sequence) > 0) {
      return Verdict::kDuplicate;
    }
  }
  // The next in order is always taken, or nothing would ever go on.
  if (sequence != expected_ && storage_.used + submessages.size > storage_.limit) {
    return Verdict::kNoRoom;
  }
  storage_.used += submessages.size;
  ahead_.emplace(sequence, bytes_of(submessages));
  const auto after = static_cast<uint16_t>(sequence + 1);
  seen_ = rclrt_sequence_before(seen_, after) ? after : seen_;
  return Verdict::kKept;
}

bool Incoming::take(Bytes * submessages)
{
  const auto next = ahead_.find(expected_);
  if (next == ahead_.end()) {
    return false;
  }
  *submessages = std::move(next->second);
  storage_.used -= submessages->size();
  ahead_.erase(next);
  ++expected_;
  return true;
}

rclrt_acknack Incoming::acknack(const uint16_t * last) const
{
  uint16_t end = rclrt_sequence_before(expected_, seen_) ? seen_ : expected_;
  if (last != nullptr) {
    const auto after = static_cast<uint16_t>(*last + 1);
    // Only what fits the window can be asked for.
    if (rclrt_sequence_before(end, after)) {
      const auto most = static_cast<uint16_t>(expected_ + kWindow);
      end = rclrt_sequence_before(most, after) ? most : after;
    }
  }
  rclrt_acknack acknack{expected_, 0, stream_};
  for (uint16_t i = 0; i < kWindow && static_cast<uint16_t>(expected_ + i) != end; ++i) {
    if (ahead_.count(static_cast<uint16_t>(expected_ + i)) == 0) {
      acknack.missing = static_cast<uint16_t>(acknack.missing | 1U << i);
    }
  }
  return acknack;
}

void Incoming::on_heartbeat(const rclrt_heartbeat & heartbeat)
{
  if (!rclrt_sequence_before(expected_, heartbeat.first_unacked)) {
    return;
  }
  // What came ahead of the gap is delivered; a message in fragments that lacks one is not.
  for (auto message = ahead_.begin(); message != ahead_.end();) {
    if (rclrt_sequence_before(message->first, heartbeat.first_unacked)) {
      storage_.used -= message->second.size();
      message = ahead_.erase(message);
    } else {
      ++message;
    }
  }
  expected_ = heartbeat.first_unacked;
  seen_ = rclrt_sequence_before(seen_, expected_) ? expected_ : seen_;
  // Clients give up whole messages, so the next fragment begins one.
  skipping_ = false;
  drop_assembly();
}

bool Incoming::fragment(View bytes, bool last)
{
  if (whole_) {
    drop_assembly();
  }
  if (skipping_ || storage_.used + bytes.size > storage_.limit) {
    skipping_ = !last;
    unassembled_ += last ? 1 : 0;
    drop_assembly();
    return false;
  }
  storage_.used += bytes.size;
  assembly_.insert(assembly_.end(), bytes.data, bytes.data + bytes.size);
  whole_ = last;
  return last;
}

void Incoming::drop_assembly()
{
  storage_.used -= assembly_.size();
  assembly_.clear();
  whole_ = false;
}

void Incoming::clear()
{
  for (const auto & [sequence, bytes] : ahead_) {
    storage_.used -= bytes.size();
  }
  ahead_.clear();
  drop_assembly();
}

}  // namespace rclrt_agent
