// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/roll.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <system_error>

namespace rclrt_core::linux_platform
{
namespace
{

// Somebody may have filled the directory.
constexpr int kMaxEntries = 4096;

}  // namespace

Status Roll::open(
  const std::string & name, uint32_t version, const std::vector<OwnDirectory::Place> & places,
  Roll * roll)
{
  if (name.empty() || name.size() > 100 || name.find_first_of("/~") != std::string::npos) {
    return Status::error(
      "'" + name + "' cannot be the name of shared memory: 1 to 100 bytes, no '/' and no '~'");
  }
  struct stat pid_namespace{};
  if (stat("/proc/self/ns/pid", &pid_namespace) != 0) {
    return Status::error("/proc/self/ns/pid: " + std::generic_category().message(errno));
  }
  roll->places_ = places;
  roll->name_ = name + "~";
  roll->version_ = version;
  roll->pid_namespace_ = pid_namespace.st_ino;
  return OwnDirectory::open(places, &roll->directory_);
}

Status Roll::add(uint32_t born, int first, int second)
{
  own_ = name_ + std::to_string(version_) + "~" + std::to_string(pid_namespace_) + "~" +
         std::to_string(getpid()) + "~" + std::to_string(born) + "~" + std::to_string(first) + "~" +
         std::to_string(second);
  return mend();
}

Status Roll::mend()
{
  if (!directory_.is_there()) {
    OwnDirectory again;
    if (Status opened = OwnDirectory::open(places_, &again); !opened.ok()) {
      return opened;
    }
    directory_ = std::move(again);
  }
  // Whatever else has the name, a link for example, is in the way: the directory is ours alone.
  for (int i = 0; i < 2; ++i) {
    const Descriptor file(openat(
      directory_.descriptor(), own_.c_str(),
      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (file.is_open()) {
      return {};
    }
    if (is_shortage(errno)) {
      break;  // then it says nothing about the file
    }
    remove(own_);
  }
  return Status::error(
    directory_.path() + "/" + own_ + ": " + std::generic_category().message(errno));
}

void Roll::remove(const std::string & file) const noexcept
{
  if (unlinkat(directory_.descriptor(), file.c_str(), 0) != 0) {
    unlinkat(directory_.descriptor(), file.c_str(), AT_REMOVEDIR);
  }
}

std::vector<RollEntry> Roll::entries() const
{
  std::vector<RollEntry> entries;
  const int again =
    openat(directory_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR *)> listing(
    again < 0 ? nullptr : fdopendir(again), closedir);
  if (!listing) {
    return entries;
  }
  for (int i = 0; i < kMaxEntries; ++i) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads this listing
    const dirent * const file = readdir(listing.get());
    if (!file) {
      break;
    }
    const std::string text = file->d_name;
    RollEntry entry{text, 0, 0, 0, {-1, -1}};
    uint64_t pid_namespace = 0;
    int length = 0;
    // A number that does not fit makes an entry of nobody: whatever is opened by it is checked.
    // NOLINTBEGIN(cert-err34-c)
    if (
      text.compare(0, name_.size(), name_) == 0 &&
      std::sscanf(
        text.c_str() + name_.size(), "%" SCNu32 "~%" SCNu64 "~%" SCNd32 "~%" SCNu32 "~%d~%d%n",
        &entry.version, &pid_namespace, &entry.process, &entry.born, &entry.descriptors[0],
        &entry.descriptors[1], &length) == 6 &&
      name_.size() + static_cast<std::size_t>(length) == text.size() &&
      pid_namespace == pid_namespace_) {
      // NOLINTEND(cert-err34-c)
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace rclrt_core::linux_platform
