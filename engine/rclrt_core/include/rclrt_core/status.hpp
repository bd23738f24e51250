// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The result of configuring something: success, or a text that names the place and the remedy.
///
/// Only configuration returns a Status (it may allocate); after start nothing does.
#pragma once

#include <cstdint>
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

/// A finding: something about the machine or a refused request that the user should know.
///
/// Findings replace log lines and silence. They are rare and made outside the dispatch path, or on
/// it only when the operating system refuses something for the first time.
enum class Severity : uint8_t
{
  kWarning,  ///< something is not as it was asked for
  kNote,     ///< it may be as it should: only the user can know
};

struct Finding
{
  std::string subject;   ///< name of the callback, the thread or the machine
  std::string what;      ///< the request or the observation, with values
  int error_number = 0;  ///< errno of the refusal, or 0
  std::string fix;       ///< the line to add or the thing to do
  Severity severity = Severity::kWarning;
  /// Not empty: of all findings with the same cause a log tells one, because one remedy mends them all.
  std::string cause{};
};

/// One line: "subject: what (errno text). fix".
std::string to_string(const Finding & finding);

}  // namespace rclrt_core
