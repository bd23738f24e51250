// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Deadlines by topic, as a text says them: "/scan=20,/imu/data=0.5" in milliseconds.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rclrt_probe
{

class RelativeDeadlines
{
public:
  /// Returns what is wrong, or nothing. If something is, no topic has a deadline.
  std::string parse(std::string_view text);

  /// Nanoseconds; 0 if the topic has none. Real-time safe.
  int64_t of(std::string_view topic) const noexcept
  {
    const auto found = by_topic_.find(topic);
    return found != by_topic_.end() ? found->second : 0;
  }

private:
  std::map<std::string, int64_t, std::less<>> by_topic_;
};

inline std::string RelativeDeadlines::parse(std::string_view text)
{
  constexpr double kLongestMs = 3'600'000;  // an hour: more is a mistake in the unit
  by_topic_.clear();
  std::map<std::string, int64_t, std::less<>> found;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::string shown = "'" + std::string(entry.substr(0, 200)) + "'";
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || entry.empty() || entry.front() != '/') {
      return shown + " is not /topic=milliseconds, with the topic's whole name";
    }
    const std::string_view number = entry.substr(equals + 1);
    double ms = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ms);
    if (
      error != std::errc() || end != number.data() + number.size() ||
      !(ms > 0 && ms <= kLongestMs)) {
      return shown + ": the deadline is a number of milliseconds above 0, at most 3600000";
    }
    if (!found.emplace(entry.substr(0, equals), static_cast<int64_t>(ms * 1e6)).second) {
      return shown + ": the topic was there before";
    }
  }
  by_topic_ = std::move(found);
  return {};
}

}  // namespace rclrt_probe
