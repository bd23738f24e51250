// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/deadline_ring.hpp"

#include <ctime>

namespace rclrt_core
{
namespace
{

// The two highest bits say what an entry is of. Middlewares number requests from 0 or 1 on, so none gets there.
constexpr uint64_t kReply = uint64_t{1} << 63;
constexpr uint64_t kNewest = uint64_t{1} << 62;
constexpr uint64_t kNumber = kNewest - 1;

uint64_t now_ns() noexcept
{
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t of_request(int64_t number) noexcept { return static_cast<uint64_t>(number) & kNumber; }
uint64_t of_reply(int64_t number) noexcept { return of_request(number) | kReply; }

}  // namespace

// Without a deadline as well: what is there of an older request is none of this one.
SentRequest::SentRequest(DeadlineRing * table, const ClientId & client, TimePoint deadline) noexcept
: table_(table), client_(client), deadline_(deadline)
{
  if (table_ != nullptr) {
    table_->put(client_, kNewest, deadline_, now_ns());
  }
}

void SentRequest::is_sent(int64_t number) const noexcept
{
  if (table_ != nullptr && deadline_ != kNever) {
    table_->put(client_, of_request(number), deadline_, now_ns());
  }
}

std::optional<TimePoint> deadline_of_request(
  const DeadlineRing * table, const ClientId & client, int64_t number,
  int64_t source_timestamp) noexcept
{
  if (table == nullptr) {
    return std::nullopt;
  }
  if (const auto known = table->find(client, of_request(number))) {
    return known;
  }
  const auto newest = table->look_up(client, kNewest);
  if (newest && static_cast<int64_t>(newest->written) <= source_timestamp) {
    return newest->deadline;
  }
  return std::nullopt;
}

void state_deadline_of_reply(
  DeadlineRing * table, const ClientId & client, int64_t number, TimePoint deadline) noexcept
{
  if (table != nullptr && deadline != kNever) {
    table->put(client, of_reply(number), deadline, now_ns());
  }
}

std::optional<TimePoint> deadline_of_reply(
  const DeadlineRing * table, const ClientId & client, int64_t number) noexcept
{
  return table == nullptr ? std::nullopt : table->find(client, of_reply(number));
}

}  // namespace rclrt_core
