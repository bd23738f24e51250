// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/callback.hpp"

#include <cstddef>
#include <system_error>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/message_stamp.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core
{

namespace
{

/// Values are numbered from 0.
template <typename Value, std::size_t size>
const char * word_of(Value value, const char * const (&words)[size]) noexcept
{
  const auto number = static_cast<std::size_t>(value);
  return number < size ? words[number] : "unknown";
}

}  // namespace

const char * to_string(CallbackKind kind) noexcept
{
  return word_of(kind, {"timer", "subscription", "service", "client", "waitable"});
}

const char * to_string(OverrunRule rule) noexcept
{
  return word_of(rule, {"queue_all", "keep_latest", "skip"});
}

const char * to_string(OnOverrun reaction) noexcept
{
  return word_of(reaction, {"demote", "notify"});
}

const char * to_string(ExecutionModel model) noexcept
{
  return word_of(model, {"priority_events", "preemptive", "isolated"});
}

const char * to_string(Waiting waiting) noexcept
{
  return word_of(waiting, {"block", "spin", "adaptive"});
}

const char * to_string(DeadlineFrom from) noexcept
{
  return word_of(from, {"release", "source_stamp", "header_stamp"});
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
