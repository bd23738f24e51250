// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Quality of service of a topic or service, in the words of ROS 2.
///
///   QoS(10).best_effort()      QoS(1).transient_local()      QoS::services()
///
/// A plain value. A middleware replaces "system default" and "best available" values; actual_qos()
/// of the publisher or subscription says by which.
#ifndef RCLRT_RCL__QOS_HPP_
#define RCLRT_RCL__QOS_HPP_

#include <cstddef>
#include <string>

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

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__QOS_HPP_
