// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The result of configuring something: success, or a text that names the place and the remedy.
///
/// Only configuration returns a Status (it may allocate); after start nothing does.
#ifndef RCLRT_CORE__STATUS_HPP_
#define RCLRT_CORE__STATUS_HPP_

#include <string>
#include <utility>

namespace rclrt_core
{

class [[nodiscard]] Status
{
public:
  /// Success.
  Status() = default;

  static Status error(std::string message)
  {
    Status status;
    status.failed_ = true;
    status.message_ = std::move(message);
    return status;
  }

  bool ok() const noexcept { return !failed_; }

  /// The error, its place, and the remedy. Empty on success.
  const std::string & message() const noexcept { return message_; }

private:
  bool failed_ = false;
  std::string message_;
};

}  // namespace rclrt_core

#endif  // RCLRT_CORE__STATUS_HPP_
