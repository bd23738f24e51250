// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Files in /dev/shm have names that anybody can guess: what others can write is not for us.
#ifndef RCLRT_CORE__PLATFORM__LINUX__OWN_FILE_HPP_
#define RCLRT_CORE__PLATFORM__LINUX__OWN_FILE_HPP_

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "rclrt_core/status.hpp"

namespace rclrt_core::linux_platform
{

/// Error: the open file is not a plain one of this user alone.
inline Status check_own_file(const std::string & path, const struct stat & status)
{
  if (!S_ISREG(status.st_mode)) {
    return Status::error(path + ": is not a plain file; remove it");
  }
  if (status.st_uid != geteuid()) {
    return Status::error(
      path + ": belongs to user " + std::to_string(status.st_uid) + ", not to user " +
      std::to_string(geteuid()) + " of this program; have its owner or root remove it");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status::error(
      path +
      ": other users may open it; stop the programs that use it and remove it, or chmod 600");
  }
  return {};
}

}  // namespace rclrt_core::linux_platform

#endif  // RCLRT_CORE__PLATFORM__LINUX__OWN_FILE_HPP_
