// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A roll of the processes that share something, as empty files of an OwnDirectory:
///
///   <name>~<version>~<PID namespace>~<process>~<when it began>~<descriptor>~<descriptor>
///
/// A name says where to look, and is believed nothing else: its reader opens that process and its
/// descriptors, and the kernel says what they are. Any process of the user may write or remove any of
/// these files; a process that finds its own missing writes it again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/linux/own_directory.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core::linux_platform
{

struct RollEntry
{
  std::string file;
  uint32_t version;
  int32_t process;
  uint32_t born;
  int descriptors[2];
};

class Roll
{
public:
  /// `name`: 1 to 100 bytes, no '/' and no '~'; else an error. Makes the directory. May block.
  static Status open(
    const std::string & name, uint32_t version, const std::vector<OwnDirectory::Place> & places,
    Roll * roll);

  /// Write an entry for this process.
  Status add(uint32_t born, int first, int second);
  /// Remove an entry.
  void remove(const std::string & file) const noexcept;
  /// The file of the entry that add() has written.
  const std::string & own() const noexcept { return own_; }
  /// Write it again if somebody has removed it, or the directory.
  Status mend();
  /// All of this name and PID namespace, of whatever version; at most some thousand.
  std::vector<RollEntry> entries() const;

  const OwnDirectory & directory() const noexcept { return directory_; }

private:
  std::vector<OwnDirectory::Place> places_;
  OwnDirectory directory_;
  std::string name_;  ///< with the '~' behind it
  uint32_t version_ = 0;
  uint64_t pid_namespace_ = 0;
  std::string own_;
};

}  // namespace rclrt_core::linux_platform
