// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "relative_deadlines.hpp"

#include <charconv>

namespace rclrt_probe
{
namespace
{

constexpr double kLongestMs = 3'600'000;  // an hour: more is a mistake in the unit

}  // namespace

std::string RelativeDeadlines::parse(std::string_view text)
{
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
