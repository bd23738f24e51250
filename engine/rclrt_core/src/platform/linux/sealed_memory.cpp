// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/sealed_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace rclrt_core::linux_platform
{
namespace
{

// The C library's headers may be older than the kernel.
constexpr unsigned kCloseOnExec = 1;
constexpr unsigned kAllowSealing = 2;
constexpr unsigned kNeverExecutable = 8;  // Linux 6.3; some systems insist on it
constexpr int kAddSeals = 1033;
constexpr int kGetSeals = 1034;
constexpr int kSealSeal = 1;
constexpr int kSealShrink = 2;
constexpr int kSealGrow = 4;
constexpr int kSealFutureWrite = 16;

int make_file(const char * name) noexcept
{
  const unsigned flags = kCloseOnExec | kAllowSealing;
  const auto made = static_cast<int>(syscall(SYS_memfd_create, name, flags | kNeverExecutable));
  return made >= 0 || errno != EINVAL ? made
                                      : static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

SealedMemory::Adopted why_not() noexcept
{
  using Adopted = SealedMemory::Adopted;
  if (is_shortage(errno)) {
    return Adopted::kNotNow;
  }
  return errno == EACCES || errno == EPERM ? Adopted::kNotAllowed : Adopted::kNotThere;
}

Status failed(const char * what)
{
  return Status::error(
    std::string("sealed memory: ") + what + ": " + std::generic_category().message(errno));
}

}  // namespace

SealedMemory::~SealedMemory()
{
  if (data_) {
    munmap(data_, bytes_);
  }
}

SealedMemory & SealedMemory::operator=(SealedMemory && other) noexcept
{
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(number_, other.number_);
  return *this;
}

bool SealedMemory::map(bool to_write) noexcept
{
  void * const data = mmap(
    nullptr, bytes_, to_write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_POPULATE,
    descriptor_.get(), 0);
  data_ = data == MAP_FAILED ? nullptr : data;
  return data_ != nullptr;
}

Status SealedMemory::make(
  const char * name, std::size_t bytes, Writers writers, SealedMemory * memory)
{
  SealedMemory made;
  made.descriptor_ = Descriptor(make_file(name));
  made.bytes_ = bytes;
  struct stat status{};
  if (!made.descriptor_.is_open()) {
    return failed("making");
  }
  const int descriptor = made.descriptor_.get();
  rlimit largest{};
  if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && bytes > largest.rlim_cur) {
    errno = EFBIG;  // the next call would end the process by a signal
    return failed("making room");
  }
  if (const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes))) {
    errno = error;
    return failed("making room");
  }
  if (fstat(descriptor, &status) != 0 || !made.map(true)) {
    return failed("mapping");
  }
  made.number_ = status.st_ino;
  // An older kernel does not know this seal; then the others only have their read-only mappings.
  if (writers == Writers::kMaker) {
    static_cast<void>(fcntl(descriptor, kAddSeals, kSealFutureWrite));
  }
  if (fcntl(descriptor, kAddSeals, kSealShrink | kSealGrow | kSealSeal) != 0) {
    return failed("sealing");
  }
  *memory = std::move(made);
  return {};
}

SealedMemory::Adopted SealedMemory::adopt(
  int process, int number, std::size_t bytes, bool to_write, SealedMemory * memory)
{
  const std::string path = "fd/" + std::to_string(number);
  // First without opening the thing itself, which might be a device or a pipe.
  const Descriptor found(openat(process, path.c_str(), O_PATH | O_CLOEXEC));
  if (!found.is_open()) {
    return why_not();
  }
  struct stat status{};
  if (
    fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
    status.st_size != static_cast<off_t>(bytes)) {
    return Adopted::kNotOurs;
  }
  const std::string own = "/proc/self/fd/" + std::to_string(found.get());
  SealedMemory opened;
  opened.descriptor_ = Descriptor(
    open(own.c_str(), (to_write ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  opened.bytes_ = bytes;
  opened.number_ = status.st_ino;
  if (!opened.descriptor_.is_open()) {
    return why_not();
  }
  // After the seal is seen, the size cannot change any more: it is asked for again.
  const int seals = fcntl(opened.descriptor_.get(), kGetSeals);
  if (
    seals < 0 || (seals & kSealShrink) == 0 || fstat(opened.descriptor_.get(), &status) != 0 ||
    status.st_size != static_cast<off_t>(bytes) || !opened.map(to_write)) {
    return Adopted::kNotOurs;
  }
  *memory = std::move(opened);
  return Adopted::kYes;
}

}  // namespace rclrt_core::linux_platform
