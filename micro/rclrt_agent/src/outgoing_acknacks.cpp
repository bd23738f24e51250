// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What is owed to the client: acknowledgements, and requests for what is missing.
#include <algorithm>
#include <mutex>

#include "outgoing.hpp"

namespace rclrt_agent
{

// What is missing and has not been asked for yet; or all of it.
uint16_t Outgoing::to_ask(const Owed & owed) const
{
  const auto done =
    static_cast<uint16_t>(asked_.at(owed.acknack.stream).until - owed.acknack.first_unacked);
  const unsigned fresh = done >= 16 ? 0U : 0xFFFFU << done;
  return owed.again ? owed.acknack.missing : static_cast<uint16_t>(owed.acknack.missing & fresh);
}

void Outgoing::owe_acknack(
  const rclrt_acknack & acknack, uint8_t urgency, TimePoint now, bool again)
{
  const std::lock_guard lock(mutex_);
  if (ended_) {
    return;
  }
  const auto [place, is_new] = asked_.try_emplace(acknack.stream);
  Asked & asked = place->second;
  if (is_new || rclrt_sequence_before(asked.until, acknack.first_unacked)) {
    asked.until = acknack.first_unacked;
  }
  asked.times = asked.latest.first_unacked == acknack.first_unacked ? asked.times : 0;
  asked.latest = acknack;
  asked.urgency = urgency;
  Owed & owed = owed_[acknack.stream];
  if (owed.messages == 0) {
    owed.since = now;
  }
  owed.acknack = acknack;
  owed.urgency = urgency;
  owed.again = owed.again || again;
  // What the client waits for is not put off: a gap, which it has to fill.
  owed.messages =
    static_cast<uint16_t>(to_ask(owed) != 0 ? options_.acknack_every : owed.messages + 1);
}

TimePoint Outgoing::may_acknowledge_at(uint8_t stream) const
{
  return options_.acknack_spacing == Duration(0) ? TimePoint::min()
                                                 : asked_.at(stream).at + options_.acknack_spacing;
}

TimePoint Outgoing::ask_again_at(const Asked & asked) const
{
  const unsigned times = std::max(1U, asked.times) - 1;
  return asked.latest.missing == 0 ? rclrt_core::kNever
                                   : asked.at + patience(times, kFirstHeartbeat);
}

void Outgoing::ask_again(TimePoint now)
{
  for (const auto & [id, asked] : asked_) {
    if (ask_again_at(asked) <= now && owed_.count(id) == 0) {
      owed_[id] = {asked.latest, asked.urgency, options_.acknack_every, now, true};
    }
  }
}

int Outgoing::acknack_value(const Owed & owed, TimePoint now) const
{
  if (now < may_acknowledge_at(owed.acknack.stream)) {
    return -1;
  }
  const Duration age = now - owed.since;
  // The client's window is about to be full, or it has waited long enough: data of any urgency waits for these few
  // bytes, or a steady stream of it would stop the client.
  if (owed.messages >= 2 * options_.acknack_every || age >= 4 * options_.acknack_delay) {
    return score(kHighestUrgency, kAcknackRank);
  }
  const bool old = owed.messages >= options_.acknack_every || age >= options_.acknack_delay;
  return old ? score(owed.urgency, kAcknackRank) : 0;
}

Bytes Outgoing::take_acknacks(TimePoint now)
{
  Bytes submessages;
  for (auto owed = owed_.begin(); owed != owed_.end();) {
    if (
      now < may_acknowledge_at(owed->first) ||
      submessages.size() + kAcknackSize > room_in_message()) {
      ++owed;
      continue;
    }
    rclrt_submessage submessage{};
    submessage.id = RCLRT_ACKNACK;
    submessage.of.acknack = owed->second.acknack;
    const uint16_t missing = to_ask(owed->second);
    submessage.of.acknack.missing = missing;
    Asked & asked = asked_.at(owed->first);
    asked.at = now;
    asked.times += missing == 0 ? 0 : 1;
    for (uint16_t i = 0; i < 16; ++i) {
      const auto after = static_cast<uint16_t>(submessage.of.acknack.first_unacked + i + 1);
      if ((missing >> i & 1U) != 0 && rclrt_sequence_before(asked.until, after)) {
        asked.until = after;
      }
    }
    const Bytes bytes = write(submessage);
    submessages.resize((submessages.size() + 3) / 4 * 4);
    submessages.insert(submessages.end(), bytes.begin(), bytes.end());
    owed = owed_.erase(owed);
    ++counters_.acknacks;
  }
  return outside(view_of(submessages));
}

}  // namespace rclrt_agent
