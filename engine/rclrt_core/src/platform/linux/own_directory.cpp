// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/own_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace rclrt_core::linux_platform
{
namespace
{

constexpr int kOpenFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string message_of(int error) { return std::generic_category().message(error); }

// Empty: it is this user's, and nobody else may write or look into it.
std::string why_not(int descriptor)
{
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    return message_of(errno);
  }
  if (status.st_uid != geteuid()) {
    return "belongs to user " + std::to_string(status.st_uid) + ", not to user " +
           std::to_string(geteuid()) + " of this program; have its owner or root remove it";
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return "other users may open it; chmod 700";
  }
  return {};
}

std::string open_place(const OwnDirectory::Place & place, Descriptor * opened)
{
  const Descriptor parent(open(place.parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.is_open()) {
    return message_of(errno);
  }
  const int made = mkdirat(parent.get(), place.name.c_str(), 0700);
  const int error = made == 0 ? 0 : errno;
  *opened = Descriptor(openat(parent.get(), place.name.c_str(), kOpenFlags));
  if (!opened->is_open()) {
    if (error != EEXIST) {
      return message_of(error);
    }
    const bool is_other = errno == ENOTDIR || errno == ELOOP;
    return is_other ? "is not a directory, or a link; remove it" : message_of(errno);
  }
  return why_not(opened->get());
}

}  // namespace

std::vector<OwnDirectory::Place> OwnDirectory::places()
{
  const std::string user = std::to_string(geteuid());
  return {{"/dev/shm", "rclrt-" + user}, {"/run/user/" + user, "rclrt"}};
}

Status OwnDirectory::open(const std::vector<Place> & places, OwnDirectory * directory)
{
  OwnDirectory opened;
  for (const Place & place : places) {
    opened.path_ = place.parent + "/" + place.name;
    const std::string why = open_place(place, &opened.descriptor_);
    if (why.empty()) {
      *directory = std::move(opened);
      return {};
    }
    opened.refused_ += (opened.refused_.empty() ? "" : "; ") + opened.path_ + ": " + why;
  }
  return Status::error(opened.refused_);
}

bool OwnDirectory::is_there() const noexcept
{
  struct stat here{};
  struct stat there{};
  return fstat(descriptor_.get(), &here) == 0 && lstat(path_.c_str(), &there) == 0 &&
         here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

}  // namespace rclrt_core::linux_platform
