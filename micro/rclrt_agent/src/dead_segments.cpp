// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "dead_segments.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "line_thread.hpp"

namespace rclrt_agent
{
namespace
{

// fastdds_0123456789abcdef_el is locked by the process that has fastdds_0123456789abcdef.
constexpr const char * kPrefix = "fastdds_";
constexpr const char * kLock = "_el";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kSegmentLength = 8 + kDigits;

bool is_lock(const std::string & name)
{
  if (
    name.size() != kSegmentLength + 3 || name.rfind(kPrefix, 0) != 0 ||
    name.compare(kSegmentLength, 3, kLock) != 0) {
    return false;
  }
  for (std::size_t i = 8; i < kSegmentLength; ++i) {
    if (std::isxdigit(static_cast<unsigned char>(name[i])) == 0) {
      return false;
    }
  }
  return true;
}

bool is_dead(const std::string & lock, std::chrono::seconds age)
{
  const Descriptor file(::open(lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found = {};
  if (!file.is_open() || ::fstat(file.get(), &found) != 0) {
    return false;
  }
  const bool old = std::time(nullptr) - found.st_mtime >= age.count();
  return old && found.st_uid == ::geteuid() && S_ISREG(found.st_mode) &&
         ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::size_t remove_dead_segments(const std::string & folder, std::chrono::seconds age)
{
  std::size_t removed = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string lock = entry->path().string();
    if (is_lock(name) && is_dead(lock, age)) {
      ::unlink(lock.substr(0, lock.size() - 3).c_str());
      removed += ::unlink(lock.c_str()) == 0 ? 1 : 0;
    }
  }
  return removed;
}

}  // namespace rclrt_agent
