// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Deadlines by topic, as a text says them: "/scan=20,/imu/data=0.5" in milliseconds.
#ifndef RELATIVE_DEADLINES_HPP_
#define RELATIVE_DEADLINES_HPP_

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

}  // namespace rclrt_probe

#endif  // RELATIVE_DEADLINES_HPP_
