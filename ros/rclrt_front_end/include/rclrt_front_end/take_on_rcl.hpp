// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How a job takes a message, and what it inherits from it: a deadline, or the stamp that its own deadline counts from.
/// Inline, since this package itself is built without ROS.
///
/// The stamp with which a message begins is that of its std_msgs/Header, or a field `stamp` of builtin_interfaces/Time.
/// No message type is needed for it. The description that every type brings along (since Iron) says whether the first
/// field is one of the two. Then the first 8 bytes of the message are the stamp, in memory as in CDR: the first member
/// of a struct lies at its beginning, and a header begins with its stamp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/message_stamp.hpp"
#include "rclrt_core/status.hpp"
#include "rmw/serialized_message.h"
#include "rmw/types.h"
#include "rosidl_runtime_c/message_type_support_struct.h"
#if __has_include("rosidl_runtime_c/type_description/type_description__struct.h")
#include "rosidl_runtime_c/type_description/type_description__struct.h"
#define RCLRT_TYPES_DESCRIBE_THEMSELVES
#endif

namespace rclrt_front_end
{

/// Real-time safe, but for the first call for a type.
inline bool begins_with_stamp(const rosidl_message_type_support_t & type) noexcept
{
#ifdef RCLRT_TYPES_DESCRIBE_THEMSELVES
  const auto * const description =
    type.get_type_description_func ? type.get_type_description_func(&type) : nullptr;
  if (description == nullptr || description->type_description.fields.size == 0) {
    return false;
  }
  const auto & first = description->type_description.fields.data[0];
  const auto text = [](const rosidl_runtime_c__String & string) {
    return std::string_view(string.data, string.size);
  };
  constexpr uint8_t kNested = 1;  // not an array
  const std::string_view of = text(first.type.nested_type_name);
  return first.type.type_id == kNested &&
         (of == "std_msgs/msg/Header" ||
          (of == "builtin_interfaces/msg/Time" && text(first.name) == "stamp"));
#else
  (void)type;
  return false;
#endif
}

/// The stamp of a message in memory whose type begins with one, in C or C++. Real-time safe.
inline int64_t leading_stamp(const void * message) noexcept
{
  struct
  {
    int32_t sec;
    uint32_t nanosec;
  } time{};
  std::memcpy(&time, message, sizeof(time));
  return int64_t{time.sec} * 1'000'000'000 + time.nanosec;
}

/// The stamp of a message in CDR. Real-time safe, for any bytes; kNoStamp if these are too few, or of an encoding that begins
/// otherwise.
inline int64_t leading_stamp(const rmw_serialized_message_t & bytes) noexcept
{
  constexpr std::size_t kEncapsulation = 4;
  constexpr std::size_t kTime = 8;
  if (bytes.buffer == nullptr || bytes.buffer_length < kEncapsulation + kTime) {
    return rclrt_core::kNoStamp;
  }
  const uint8_t kind = bytes.buffer[1];
  const bool is_plain = bytes.buffer[0] == 0 && (kind <= 1 || kind == 6 || kind == 7);
  if (!is_plain) {
    return rclrt_core::kNoStamp;
  }
  const auto word = [&](std::size_t at) {
    uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t byte = kind % 2 == 1 ? 3 - i : i;  // odd: little endian
      value = value << 8 | bytes.buffer[at + byte];
    }
    return value;
  };
  return int64_t{static_cast<int32_t>(word(kEncapsulation))} * 1'000'000'000 +
         word(kEncapsulation + 4);
}

/// The one that the deadline of this job counts from. `header_stamp()`: that of the message, or kNoStamp.
template <typename HeaderStamp>
int64_t stamp_of(int64_t source_stamp_ns, HeaderStamp header_stamp) noexcept
{
  switch (rclrt_core::deadline_counts_from()) {
    case rclrt_core::DeadlineFrom::kSourceStamp:
      return source_stamp_ns;
    case rclrt_core::DeadlineFrom::kHeaderStamp:
      return header_stamp();
    case rclrt_core::DeadlineFrom::kRelease:
      break;
  }
  return rclrt_core::kNoStamp;
}

/// An id is the beginning of a gid.
inline rclrt_core::DeadlineRing::PublisherId publisher_of(const rmw_message_info_t & info) noexcept
{
  rclrt_core::DeadlineRing::PublisherId id{};
  static_assert(RMW_GID_STORAGE_SIZE >= id.size());
  std::copy_n(std::begin(info.publisher_gid.data), id.size(), id.begin());
  return id;
}

/// One message, on the thread of its job. `take()` takes it from the middleware and fills `info`; false: there is none. From
/// then on the deadline counts that the message brings, if deadlines are shared with other processes, or its stamp.
/// `leading_stamp()`: that in the message, or kNoStamp. `unless_carried`: what counts if it brings no deadline. Then
/// `handle()` runs the user's function. Returns whether there was a message. Adds no lock.
template <typename Take, typename LeadingStamp, typename Handle>
bool take_and_handle(
  const rmw_message_info_t & info, Take take, LeadingStamp leading_stamp, Handle handle,
  std::optional<rclrt_core::TimePoint> unless_carried = std::nullopt)
{
  if (!take()) {
    return false;
  }
  const auto publisher = publisher_of(info);
  const auto source_stamp = static_cast<uint64_t>(info.source_timestamp);
  rclrt_core::note_taken(rclrt_core::publisher_in_trace(publisher), source_stamp);
  const rclrt_core::DeadlineRing * const ring = rclrt_core::DeadlineRing::of_process();
  const int64_t stamp_ns = stamp_of(info.source_timestamp, leading_stamp);
  if (!info.from_intra_process && (ring != nullptr || stamp_ns != rclrt_core::kNoStamp)) {
    const auto carried = ring == nullptr ? std::nullopt : ring->find(publisher, source_stamp);
    rclrt_core::inherit_deadline(carried ? carried : unless_carried, stamp_ns);
  }
  handle();
  return true;
}

/// The finding that a callback wants a stamp, and its messages have none.
inline rclrt_core::Finding no_leading_stamp(const std::string & who)
{
  rclrt_core::Finding finding;
  finding.subject = who;
  finding.what =
    "counts its deadlines from the arrival of messages, although it asks for deadline_from: "
    "header_stamp: its messages do not begin with a std_msgs/Header or a stamp";
#ifndef RCLRT_TYPES_DESCRIBE_THEMSELVES
  finding.what += " that could be found (types describe themselves since Iron)";
#endif
  finding.fix = "Use deadline_from: source_stamp, or a message with a header";
  return finding;
}

}  // namespace rclrt_front_end
