// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How front ends on rcl publish diagnostics. Inline, since this package itself is built without ROS. Where the front end
/// is built without diagnostic_msgs (RCLRT_HAS_DIAGNOSTIC_MSGS), it has no publisher, and the executor says so. For one
/// .cpp of a front end: what this says depends on how that is built.
#pragma once

#include <memory>
#include <vector>

#include "rcl/context.h"
#include "rclrt_front_end/executor_report.hpp"

#ifdef RCLRT_HAS_DIAGNOSTIC_MSGS
#include <chrono>
#include <string>
#include <utility>

#include "diagnostic_msgs/msg/detail/diagnostic_array__functions.h"
#include "diagnostic_msgs/msg/detail/diagnostic_status__functions.h"
#include "diagnostic_msgs/msg/detail/key_value__functions.h"
#include "diagnostic_msgs/msg/diagnostic_array.h"
#include "rcl/publisher.h"
#include "rclrt_front_end/on_rcl.hpp"
#include "rosidl_runtime_c/string_functions.h"
#endif

namespace rclrt_front_end
{

#ifdef RCLRT_HAS_DIAGNOSTIC_MSGS

/// A node with a publisher, made when the first message is to go out. For one thread at a time.
class DiagnosticsOnRcl
{
public:
  /// `context` keeps what it points to as long as this is here.
  explicit DiagnosticsOnRcl(std::shared_ptr<rcl_context_t> context)
  : node_(std::move(context), "diagnostics")
  {
  }
  ~DiagnosticsOnRcl()
  {
    if (has_publisher_) {
      HiddenNode::forget(rcl_publisher_fini(&publisher_, node_.handle()));
    }
  }
  DiagnosticsOnRcl(const DiagnosticsOnRcl &) = delete;
  DiagnosticsOnRcl & operator=(const DiagnosticsOnRcl &) = delete;

  rclrt_core::Status publish(const std::vector<DiagnosticStatus> & statuses)
  {
    if (!node_.has_context()) {
      return {};  // not initialised yet, or shut down
    }
    rcl_ret_t result = has_publisher_ ? RCL_RET_OK : make();
    if (result == RCL_RET_OK) {
      const std::unique_ptr<Array, void (*)(Array *)> message(
        diagnostic_msgs__msg__DiagnosticArray__create(),
        diagnostic_msgs__msg__DiagnosticArray__destroy);
      result = message && fill(message.get(), statuses)
                 ? rcl_publish(&publisher_, message.get(), nullptr)
                 : RCL_RET_BAD_ALLOC;
    }
    return node_.status_of(result);
  }

private:
  using Array = diagnostic_msgs__msg__DiagnosticArray;

  rcl_ret_t make()
  {
    rcl_ret_t result = node_.make();
    if (result != RCL_RET_OK) {
      return result;
    }
    rcl_publisher_options_t options = rcl_publisher_get_default_options();
    options.qos.depth = 1;
    result = rcl_publisher_init(
      &publisher_, node_.handle(),
      ROSIDL_GET_MSG_TYPE_SUPPORT(diagnostic_msgs, msg, DiagnosticArray), "/diagnostics", &options);
    has_publisher_ = result == RCL_RET_OK;
    return result;
  }

  static bool put(rosidl_runtime_c__String * to, const std::string & text)
  {
    return rosidl_runtime_c__String__assignn(to, text.data(), text.size());
  }

  static bool fill(Array * message, const std::vector<DiagnosticStatus> & statuses)
  {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now);
    message->header.stamp.sec = static_cast<int32_t>(seconds.count());
    message->header.stamp.nanosec =
      static_cast<uint32_t>(std::chrono::nanoseconds(now - seconds).count());
    if (!diagnostic_msgs__msg__DiagnosticStatus__Sequence__init(
          &message->status, statuses.size())) {
      return false;
    }
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      const DiagnosticStatus & from = statuses[i];
      diagnostic_msgs__msg__DiagnosticStatus & to = message->status.data[i];
      to.level = static_cast<uint8_t>(from.level);
      bool is_good = put(&to.name, from.name) && put(&to.message, from.message) &&
                     put(&to.hardware_id, from.hardware_id) &&
                     diagnostic_msgs__msg__KeyValue__Sequence__init(&to.values, from.values.size());
      for (std::size_t j = 0; is_good && j < from.values.size(); ++j) {
        is_good = put(&to.values.data[j].key, from.values[j].first) &&
                  put(&to.values.data[j].value, from.values[j].second);
      }
      if (!is_good) {
        return false;
      }
    }
    return true;
  }

  HiddenNode node_;
  rcl_publisher_t publisher_ = rcl_get_zero_initialized_publisher();
  bool has_publisher_ = false;
};

/// Through the middleware, as a node of `context`.
[[maybe_unused]] static PublishDiagnostics publish_diagnostics(
  std::shared_ptr<rcl_context_t> context)
{
  return [publisher = std::make_shared<DiagnosticsOnRcl>(std::move(context))](
           const std::vector<DiagnosticStatus> & statuses) { return publisher->publish(statuses); };
}

#else

[[maybe_unused]] static PublishDiagnostics publish_diagnostics(
  const std::shared_ptr<rcl_context_t> &)
{
  return {};
}

#endif

}  // namespace rclrt_front_end
