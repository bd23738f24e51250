// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "outgoing.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kAnswers = 16;
constexpr unsigned kInVain = 2;  // heartbeats

bool is_last_fragment(const Bytes & submessages)
{
  return submessages.at(0) == RCLRT_FRAGMENT && (submessages.at(1) & RCLRT_FLAG_LAST_FRAGMENT) != 0;
}
}  // namespace

struct Outgoing::Candidate
{
  enum class Kind : uint8_t
  {
    kNothing,
    kAnswer,
    kAcknacks,
    kHeartbeats,
    kData,
  };
  Kind kind = Kind::kNothing;
  int value = -1;
  uint64_t order = 0;
  uint8_t stream = 0;

  void offer(const Candidate & other)
  {
    if (std::make_tuple(other.value, ~other.order) > std::make_tuple(value, ~order)) {
      *this = other;
    }
  }
};

uint16_t Outgoing::window(uint8_t stream) const
{
  return stream == RCLRT_STREAM_RELIABLE ? options_.shared_window : options_.window;
}

std::size_t Outgoing::room_in_message() const
{
  return options_.mtu - rclrt_message_header_size(options_.session);
}

std::size_t Outgoing::longest(uint8_t stream) const
{
  const std::size_t room = room_in_message();
  const bool cut = options_.piece != 0 && is_reliable(stream) && stream != RCLRT_STREAM_RELIABLE;
  return cut ? std::clamp<std::size_t>(options_.piece, 32, room) : room;
}

bool Outgoing::has_room(const Stream & stream) const
{
  return stream.waiting.size() < options_.waiting && bytes_ < options_.bytes;
}

bool Outgoing::has_room(uint8_t stream) const
{
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() ? bytes_ < options_.bytes : has_room(found->second);
}

Outgoing::Put Outgoing::put(uint8_t id, uint8_t urgency, Bytes submessage, bool always)
{
  const std::lock_guard lock(mutex_);
  if (
    submessage.empty() || submessage.size() > options_.bytes ||
    (!is_reliable(id) && submessage.size() > room_in_message())) {
    ++counters_.too_long;
    return Put::kTooLong;
  }
  if (ended_) {
    return Put::kTaken;
  }
  Stream & stream = streams_[id];
  if (is_reliable(id)) {
    if (!has_room(stream) && !always) {
      return Put::kFull;
    }
    if (stream.waiting.size() >= 4 * options_.waiting) {
      ++counters_.dropped;  // a client that asks and never acknowledges
      return Put::kTaken;
    }
  } else {
    // The oldest of the least urgent go, of which the new one may be the first.
    while (!has_room(stream) && !stream.waiting.empty()) {
      auto last = stream.waiting.lower_bound({stream.waiting.rbegin()->first.first, 0});
      ++counters_.dropped;
      if (last->first.first < kHighestUrgency - urgency) {
        return Put::kTaken;
      }
      bytes_ -= last->second.size();
      stream.waiting.erase(last);
    }
    // One message goes although other streams have filled the storage, but not one of every stream.
    if (bytes_ >= 2 * options_.bytes) {
      ++counters_.dropped;
      return Put::kTaken;
    }
  }
  bytes_ += submessage.size();
  const auto rank = static_cast<uint8_t>(kHighestUrgency - urgency);
  stream.waiting.emplace(std::make_pair(rank, ++order_), std::move(submessage));
  return Put::kTaken;
}

void Outgoing::when_room(uint8_t stream, uint16_t object, std::function<void()> call)
{
  const std::lock_guard lock(mutex_);
  Stream & of = streams_[stream];
  of.when_room[object] = std::move(call);
  tell_room(of);  // it may have come in between
}

void Outgoing::tell_room(Stream & stream)
{
  if (stream.when_room.empty() || !has_room(stream)) {
    return;
  }
  auto calls = std::move(stream.when_room);
  stream.when_room.clear();
  for (const auto & [object, call] : calls) {
    call();
  }
}

// All streams share the bytes.
void Outgoing::tell_rooms()
{
  for (auto & [id, stream] : streams_) {
    tell_room(stream);
  }
}

void Outgoing::forget(uint16_t object)
{
  const std::lock_guard lock(mutex_);
  for (auto & [id, stream] : streams_) {
    stream.when_room.erase(object);
  }
}

void Outgoing::answer(Bytes submessage)
{
  const std::lock_guard lock(mutex_);
  if (answers_.size() == kAnswers) {
    answers_.pop_front();
    ++counters_.dropped;
  }
  answers_.push_back(std::move(submessage));
}

// Only where the answer can be to one thing: to the newest message that it confirms, or to the one heartbeat.
void Outgoing::note_round_trip(const Stream & stream, uint16_t confirmed, TimePoint now)
{
  TimePoint began;
  if (confirmed > 0 && !stream.unacked[confirmed - 1].timeless) {
    began = stream.unacked[confirmed - 1].at;
  } else if (stream.heartbeats == 1) {
    began = stream.heartbeat_sent;
  } else {
    return;
  }
  const Duration sample = now - began;
  round_trip_ = round_trip_ == Duration(0) ? sample : round_trip_ + (sample - round_trip_) / 8;
}

void Outgoing::mark_timeless(Stream & stream)
{
  for (Sent & sent : stream.unacked) {
    sent.timeless = true;
  }
}

// Four round trips, and twice as long each time that nothing comes of it.
Duration Outgoing::patience(unsigned times, Duration least) const
{
  Duration after = round_trip_ == Duration(0)
                     ? Duration(kFirstHeartbeat)
                     : std::clamp(4 * round_trip_, least, Duration(kLongestHeartbeat));
  for (unsigned i = 0; i < times && after < kLastHeartbeat; ++i) {
    after *= 2;
  }
  return std::min(after, Duration(kLastHeartbeat));
}

// Silence after which the client is asked.
Duration Outgoing::patience(const Stream & stream) const
{
  return patience(stream.heartbeats, kShortestHeartbeat);
}

void Outgoing::on_acknack(const rclrt_acknack & acknack, TimePoint now)
{
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(acknack.stream);
  if (found == streams_.end() || !is_reliable(acknack.stream)) {
    return;
  }
  Stream & stream = found->second;
  const auto first = static_cast<uint16_t>(stream.next - stream.unacked.size());
  const auto confirmed = static_cast<uint16_t>(acknack.first_unacked - first);
  if (confirmed > stream.unacked.size()) {
    return;  // of messages never sent, or an old one
  }
  note_round_trip(stream, confirmed, now);
  for (uint16_t i = 0; i < confirmed; ++i) {
    bytes_ -= stream.unacked[i].submessages.size();
  }
  stream.unacked.erase(stream.unacked.begin(), stream.unacked.begin() + confirmed);
  for (uint16_t i = 0; i < 16 && i < stream.unacked.size(); ++i) {
    Sent & sent = stream.unacked[i];
    // Several acknowledgements in a row say the same: one repeat is enough until it can have arrived.
    if ((acknack.missing >> i & 1U) != 0 && !sent.again && now - sent.at >= round_trip_ / 2) {
      sent.again = true;
    }
  }
  if (acknack.missing != 0) {
    mark_timeless(stream);  // what came behind the gap waits for it
  }
  stream.heartbeats = 0;
  stream.heartbeat_at = stream.unacked.empty() ? rclrt_core::kNever : now + patience(stream);
  tell_rooms();
}

// Messages with data that the client may never get. Of one in fragments the last counts.
uint64_t Outgoing::lost_with(const Stream & stream)
{
  const auto is_data = [](const Bytes & sent) { return sent.at(0) == RCLRT_DATA; };
  uint64_t lost = stream.fragmented.empty() ? 0 : 1;
  for (const auto & [order, bytes] : stream.waiting) {
    lost += is_data(bytes) ? 1 : 0;
  }
  for (const Sent & sent : stream.unacked) {
    lost += is_data(sent.submessages) || is_last_fragment(sent.submessages) ? 1 : 0;
  }
  return lost;
}

void Outgoing::reset(bool keep)
{
  const std::lock_guard lock(mutex_);
  owed_.clear();
  asked_.clear();
  answers_.clear();
  if (!keep) {
    for (const auto & [id, stream] : streams_) {
      counters_.given_up += lost_with(stream);
    }
    streams_.clear();
    bytes_ = 0;
    return;
  }
  for (auto & [id, stream] : streams_) {
    // A fragment alone is worth nothing at the other end. Its message is given up, and counted once: at its last one,
    // or at what has not gone yet.
    counters_.given_up += stream.fragmented.empty() ? 0 : 1;
    bytes_ -= stream.fragmented.size();
    stream.fragmented.clear();
    while (!stream.unacked.empty()) {
      Sent & sent = stream.unacked.back();
      if (sent.submessages.at(0) == RCLRT_FRAGMENT) {
        counters_.given_up += is_last_fragment(sent.submessages) ? 1 : 0;
        bytes_ -= sent.submessages.size();
      } else {
        const auto rank = static_cast<uint8_t>(kHighestUrgency - sent.urgency);
        stream.waiting.emplace(std::make_pair(rank, --front_), std::move(sent.submessages));
      }
      stream.unacked.pop_back();
    }
    stream.next = 0;
    stream.heartbeats = 0;
    stream.heartbeat_at = rclrt_core::kNever;
  }
  tell_rooms();
}

void Outgoing::end()
{
  const std::lock_guard lock(mutex_);
  ended_ = true;
  streams_.clear();
  owed_.clear();
  asked_.clear();
  bytes_ = 0;
}

Outgoing::Candidate Outgoing::best(TimePoint now)
{
  using Kind = Candidate::Kind;
  Candidate best;
  if (!answers_.empty()) {
    return {Kind::kAnswer, score(kHighestUrgency + 1, kAcknackRank), 0, 0};
  }
  for (const auto & [id, owed] : owed_) {
    best.offer({Kind::kAcknacks, acknack_value(owed, now), 0, id});
  }
  for (const auto & [id, stream] : streams_) {
    if (stream.heartbeat_at <= now) {
      const uint8_t urgency = stream.unacked.empty() ? uint8_t{0} : stream.unacked.front().urgency;
      best.offer({Kind::kHeartbeats, score(urgency, kHeartbeatRank), 0, id});
    }
    const auto again = std::find_if(
      stream.unacked.begin(), stream.unacked.end(), [](const Sent & sent) { return sent.again; });
    if (again != stream.unacked.end()) {
      best.offer({Kind::kData, score(again->urgency, kDataRank), 0, id});
      continue;
    }
    if (is_reliable(id) && stream.unacked.size() >= window(id)) {
      continue;
    }
    if (!stream.fragmented.empty()) {
      best.offer(
        {Kind::kData, score(stream.fragmented_urgency, kDataRank), stream.fragmented_order, id});
      // What waits behind the fragments lends them its urgency.
      if (!stream.waiting.empty()) {
        const auto & [key, bytes] = *stream.waiting.begin();
        const auto urgency = static_cast<uint8_t>(kHighestUrgency - key.first);
        best.offer({Kind::kData, score(urgency, kDataRank), key.second, id});
      }
    } else if (!stream.waiting.empty()) {
      const auto & [key, bytes] = *stream.waiting.begin();
      const auto urgency = static_cast<uint8_t>(kHighestUrgency - key.first);
      best.offer({Kind::kData, score(urgency, kDataRank), key.second, id});
    }
  }
  return best;
}

bool Outgoing::next(TimePoint now, Bytes * message)
{
  const std::lock_guard lock(mutex_);
  ask_again(now);
  const Candidate chosen = best(now);
  switch (chosen.kind) {
    case Candidate::Kind::kNothing:
      return false;
    case Candidate::Kind::kAnswer: {
      const Bytes answer = std::move(answers_.front());
      answers_.pop_front();
      *message = outside(view_of(answer));
      break;
    }
    case Candidate::Kind::kAcknacks:
      *message = take_acknacks(now);
      break;
    case Candidate::Kind::kHeartbeats:
      *message = take_heartbeats(now);
      break;
    case Candidate::Kind::kData:
      *message = take_data(chosen.stream, streams_[chosen.stream], now);
      break;
  }
  ++counters_.messages;
  return true;
}

Bytes Outgoing::take_data(uint8_t id, Stream & stream, TimePoint now)
{
  rclrt_message_header header{options_.session, id, 0, {}};
  std::copy(options_.key.begin(), options_.key.end(), header.key);

  for (std::size_t i = 0; i < stream.unacked.size(); ++i) {
    Sent & sent = stream.unacked[i];
    if (sent.again) {
      header.sequence = static_cast<uint16_t>(stream.next - stream.unacked.size() + i);
      sent.again = false;
      sent.timeless = true;
      sent.at = now;
      ++counters_.repeated;
      return write_message(header, view_of(sent.submessages));
    }
  }

  Sent sent;
  sent.at = now;
  if (stream.fragmented.empty()) {
    const auto first = stream.waiting.begin();
    sent.urgency = static_cast<uint8_t>(kHighestUrgency - first->first.first);
    sent.submessages = std::move(first->second);
    // What the client takes in one message goes so: it may have no storage to put fragments together.
    if (sent.submessages.size() > room_in_message()) {
      stream.fragmented = std::move(sent.submessages);
      stream.fragmented_urgency = sent.urgency;
      stream.fragmented_order = first->first.second;
    } else {
      bytes_ -= sent.submessages.size();
    }
    stream.waiting.erase(first);
  }
  if (!stream.fragmented.empty()) {
    const std::size_t size =
      std::min(stream.fragmented.size(), (longest(id) - RCLRT_SUBMESSAGE_HEADER) / 4 * 4);
    rclrt_submessage fragment{};
    fragment.id = RCLRT_FRAGMENT;
    fragment.flags = size == stream.fragmented.size() ? RCLRT_FLAG_LAST_FRAGMENT : 0;
    fragment.of.data = {stream.fragmented.data(), size};
    sent.submessages = write(fragment);
    sent.urgency = stream.fragmented_urgency;
    stream.fragmented.erase(
      stream.fragmented.begin(), stream.fragmented.begin() + static_cast<std::ptrdiff_t>(size));
    bytes_ -= size;
  }

  header.sequence = id == RCLRT_STREAM_NONE ? uint16_t{0} : stream.next++;
  const Bytes message = write_message(header, view_of(sent.submessages));
  if (is_reliable(id)) {
    if (stream.unacked.empty()) {
      stream.heartbeat_at = now + patience(stream);
    }
    bytes_ += sent.submessages.size();
    stream.unacked.push_back(std::move(sent));
  }
  tell_rooms();
  return message;
}

Bytes Outgoing::take_heartbeats(TimePoint now)
{
  Bytes submessages;
  for (auto & [id, stream] : streams_) {
    if (stream.heartbeat_at > now || submessages.size() + kAcknackSize > room_in_message()) {
      continue;
    }
    rclrt_submessage submessage{};
    submessage.id = RCLRT_HEARTBEAT;
    submessage.of.heartbeat = {
      static_cast<uint16_t>(stream.next - stream.unacked.size()),
      static_cast<uint16_t>(stream.next - 1), id};
    const Bytes bytes = write(submessage);
    submessages.resize((submessages.size() + 3) / 4 * 4);
    submessages.insert(submessages.end(), bytes.begin(), bytes.end());
    mark_timeless(stream);  // the answer may be to either
    // Nobody has answered two of them: what they ask about goes along. It may be what is missing, and on a line that
    // loses half of all frames that saves a question and an answer.
    if (stream.heartbeats >= kInVain && !stream.unacked.empty()) {
      stream.unacked.front().again = true;
    }
    ++stream.heartbeats;
    stream.heartbeat_sent = now;
    stream.heartbeat_at = now + patience(stream);
    ++counters_.heartbeats;
  }
  return outside(view_of(submessages));
}

Bytes Outgoing::outside(View submessages) const
{
  rclrt_message_header header{options_.session, RCLRT_STREAM_NONE, 0, {}};
  std::copy(options_.key.begin(), options_.key.end(), header.key);
  return write_message(header, submessages);
}

TimePoint Outgoing::due() const
{
  const std::lock_guard lock(mutex_);
  if (!answers_.empty()) {
    return TimePoint::min();
  }
  TimePoint due = rclrt_core::kNever;
  for (const auto & [id, owed] : owed_) {
    due = std::min(due, may_acknowledge_at(id));
  }
  for (const auto & [id, asked] : asked_) {
    due = owed_.count(id) > 0 ? due : std::min(due, ask_again_at(asked));
  }
  for (const auto & [id, stream] : streams_) {
    const bool blocked = is_reliable(id) && stream.unacked.size() >= window(id);
    const bool again = std::any_of(
      stream.unacked.begin(), stream.unacked.end(), [](const Sent & sent) { return sent.again; });
    if (again || (!blocked && (!stream.waiting.empty() || !stream.fragmented.empty()))) {
      return TimePoint::min();
    }
    due = std::min(due, stream.heartbeat_at);
  }
  return due;
}

OutgoingCounters Outgoing::counters() const
{
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::size_t Outgoing::unacknowledged() const
{
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto & [id, stream] : streams_) {
    all += stream.unacked.size();
  }
  return all;
}

}  // namespace rclrt_agent
