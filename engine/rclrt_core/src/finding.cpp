// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/status.hpp"

#include <system_error>

namespace rclrt_core
{

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
