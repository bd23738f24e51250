// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/other_process.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "platform/linux/limits.hpp"

namespace rclrt_core::linux_platform
{
namespace
{

// The C library's header may be older than the kernel; one number for all architectures.
#ifdef SYS_pidfd_open
constexpr long kPidfdOpen = SYS_pidfd_open;
#else
constexpr long kPidfdOpen = 434;  // Linux 5.3
#endif

std::string text_of(int folder, const char * name)
{
  const Descriptor file(openat(folder, name, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t length = file.is_open() ? read(file.get(), text, sizeof(text)) : 0;
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

// The text behind a word at the beginning of a line.
const char * find_line(const std::string & text, const char * word)
{
  const std::size_t at = text.find(std::string("\n") + word);
  return at == std::string::npos ? nullptr : text.c_str() + at + 1 + std::strlen(word);
}

bool read_facts(int folder, ProcessFacts * facts)
{
  // proc(5): the 22nd field of stat, the 20th after the name, which stands in brackets and may hold
  // anything.
  const std::string stat = text_of(folder, "stat");
  const char * field = std::strrchr(stat.c_str(), ')');
  for (int i = 0; i < 20 && field; ++i) {
    field = std::strchr(field + 1, ' ');
  }
  const std::string status = text_of(folder, "status");
  const char * const users = find_line(status, "Uid:");
  const char * const capabilities = find_line(status, "CapEff:");
  if (!field || !users || !capabilities) {
    return false;
  }
  facts->born = static_cast<uint32_t>(std::strtoull(field, nullptr, 10));
  char * effective = nullptr;
  static_cast<void>(std::strtoul(users, &effective, 10));  // the real one
  facts->user = static_cast<uid_t>(std::strtoul(effective, nullptr, 10));
  facts->may_raise = ((std::strtoull(capabilities, nullptr, 16) >> CAP_SYS_NICE) & 1) != 0 &&
                     is_in_machines_user_namespace(folder);
  return true;
}

}  // namespace

OtherProcess::Found OtherProcess::open(int32_t number, uint32_t born, OtherProcess * process)
{
  if (number <= 0) {
    return Found::kGone;
  }
  OtherProcess opened;
  errno = 0;
  opened.number_ = number;
  opened.handle_ = Descriptor(static_cast<int>(syscall(kPidfdOpen, number, 0U)));
  const std::string path = "/proc/" + std::to_string(number);
  opened.folder_ = Descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // Asked for after both were opened: if the process that began then still runs, both are of it.
  if (
    !opened.handle_.is_open() || !opened.folder_.is_open() ||
    !read_facts(opened.folder_.get(), &opened.facts_)) {
    return is_shortage(errno) ? Found::kUnknown : Found::kGone;
  }
  if (opened.facts_.born != born || !opened.is_alive()) {
    return Found::kGone;
  }
  *process = std::move(opened);
  return Found::kYes;
}

bool OtherProcess::facts_of_self(ProcessFacts * facts)
{
  const Descriptor folder(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return folder.is_open() && read_facts(folder.get(), facts);
}

bool OtherProcess::is_alive() const noexcept
{
  pollfd event{handle_.get(), POLLIN, 0};
  return poll(&event, 1, 0) <= 0;  // a signal that is pending says nothing about it
}

}  // namespace rclrt_core::linux_platform
