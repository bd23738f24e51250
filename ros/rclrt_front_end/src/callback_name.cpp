// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/callback_name.hpp"

#include <cstdint>
#include <utility>

namespace rclrt_front_end
{

std::string callback_name(
  const std::string & node, rclrt_core::CallbackKind kind, const std::string & label)
{
  return node + "/" + to_string(kind) + (label.empty() || label.front() == '/' ? "" : "/") + label;
}

std::string period_label(rclrt_core::Duration period)
{
  constexpr std::pair<int64_t, const char *> kUnits[] = {
    {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
  const int64_t ns = period.count();
  for (const auto & [size, unit] : kUnits) {
    if (ns != 0 && ns % size == 0) {
      return std::to_string(ns / size) + unit;
    }
  }
  return "0ns";
}

}  // namespace rclrt_front_end
