// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/callback.hpp"

#include <system_error>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core
{

const char * to_string(CallbackKind kind) noexcept
{
  switch (kind) {
    case CallbackKind::kTimer:
      return "timer";
    case CallbackKind::kSubscription:
      return "subscription";
    case CallbackKind::kService:
      return "service";
    case CallbackKind::kClient:
      return "client";
    case CallbackKind::kWaitable:
      return "waitable";
  }
  return "unknown";
}

const char * to_string(OverrunRule rule) noexcept
{
  switch (rule) {
    case OverrunRule::kQueueAll:
      return "queue_all";
    case OverrunRule::kKeepLatest:
      return "keep_latest";
    case OverrunRule::kSkip:
      return "skip";
  }
  return "unknown";
}

const char * to_string(OnOverrun reaction) noexcept
{
  switch (reaction) {
    case OnOverrun::kDemote:
      return "demote";
    case OnOverrun::kNotify:
      return "notify";
  }
  return "unknown";
}

const char * to_string(ExecutionModel model) noexcept
{
  switch (model) {
    case ExecutionModel::kPriorityEvents:
      return "priority_events";
    case ExecutionModel::kPreemptive:
      return "preemptive";
    case ExecutionModel::kIsolated:
      return "isolated";
  }
  return "unknown";
}

const char * to_string(Waiting waiting) noexcept
{
  switch (waiting) {
    case Waiting::kBlock:
      return "block";
    case Waiting::kSpin:
      return "spin";
    case Waiting::kAdaptive:
      return "adaptive";
  }
  return "unknown";
}

std::string to_string(const Finding & finding)
{
  std::string text = finding.subject + ": " + finding.what;
  if (finding.error_number != 0) {
    text += " (" + std::generic_category().message(finding.error_number) + ")";
  }
  if (!finding.fix.empty()) {
    text += ". " + finding.fix;
  }
  return text;
}

}  // namespace rclrt_core
