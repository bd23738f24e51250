// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Quality of service of a topic or service, in the words of ROS 2.
///
///   QoS(10).best_effort()      QoS(1).transient_local()      QoS::services()
///
/// A plain value. A middleware replaces "system default" and "best available" values; actual_qos()
/// of the publisher or subscription says by which.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "rcl/types.h"
#include "rmw/types.h"

namespace rclrt_rcl
{

class QoS
{
public:
  /// Keep the last `depth` messages; reliable, volatile. Implicit, as in create_publisher("t", 10).
  QoS(std::size_t depth);  // NOLINT(runtime/explicit)
  explicit QoS(const rmw_qos_profile_t & profile) : profile_(profile) {}

  static QoS services();
  /// For /clock: best effort, keep last 1.
  static QoS clock();

  QoS & keep_last(std::size_t depth);
  /// Keep everything, as far as the middleware's resource limits go.
  QoS & keep_all();
  QoS & reliable();
  QoS & best_effort();
  QoS & transient_local();

  std::size_t depth() const noexcept { return profile_.depth; }
  bool is_keep_all() const noexcept { return profile_.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL; }
  bool is_reliable() const noexcept
  {
    return profile_.reliability == RMW_QOS_POLICY_RELIABILITY_RELIABLE;
  }
  bool is_transient_local() const noexcept
  {
    return profile_.durability == RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL;
  }
  const rmw_qos_profile_t & profile() const noexcept { return profile_; }

private:
  rmw_qos_profile_t profile_;
};

/// Whether a publisher and a subscription with these values are matched. If not, `reason` (unless
/// null) says why, in the middleware's words.
bool compatible(const QoS & publisher, const QoS & subscription, std::string * reason = nullptr);

/// Where a message came from, and when.
struct MessageInfo
{
  /// CLOCK_REALTIME of the publishing machine at publish(), since 1970; 0 if unknown.
  std::chrono::nanoseconds source_timestamp{0};
  /// CLOCK_REALTIME at arrival, since 1970; 0 if unknown.
  std::chrono::nanoseconds received_timestamp{0};
  /// Number of the message at its publisher; UINT64_MAX if unknown.
  uint64_t publication_sequence_number = UINT64_MAX;
  /// Number of the message at this subscription; UINT64_MAX if unknown.
  uint64_t reception_sequence_number = UINT64_MAX;
  /// Identifies the publisher; zeros if unknown.
  std::array<uint8_t, 16> publisher_gid{};
  /// Delivered by pointer, without the middleware.
  bool from_intra_process = false;
};

/// A message as bytes (CDR, with its encapsulation header).
///
/// Owns its buffer, which grows as needed and is kept when the object is used again. Movable, not
/// copyable. Not thread-safe.
class SerializedMessage
{
public:
  explicit SerializedMessage(std::size_t capacity = 0);
  ~SerializedMessage();
  SerializedMessage(SerializedMessage && other) noexcept;
  SerializedMessage & operator=(SerializedMessage && other) noexcept;

  const uint8_t * data() const noexcept { return message_.buffer; }
  uint8_t * data() noexcept { return message_.buffer; }
  std::size_t size() const noexcept { return message_.buffer_length; }
  std::size_t capacity() const noexcept { return message_.buffer_capacity; }
  /// Set the size, growing the capacity if needed. Content up to the smaller size is kept.
  void resize(std::size_t size);

  const rcl_serialized_message_t & handle() const noexcept { return message_; }
  rcl_serialized_message_t & handle() noexcept { return message_; }

private:
  rcl_serialized_message_t message_;
};

}  // namespace rclrt_rcl
