// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/guarded_memory.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace rclrt_core::linux_platform
{
namespace
{

/// Written under `changing`, read by the handler in any thread, at any time. `version` is odd while the others change:
/// the handler takes what it read between two equal, even ones. So it never combines the bounds of two ranges. The range
/// that a fault is of does not change meanwhile, because somebody uses it. Release and acquire order the bounds with it.
struct Range
{
  std::atomic<uint32_t> version{0};
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
};

constexpr std::size_t kMost = 4096;
Range ranges[kMost];
/// One more than the last range that was ever used. Written under `changing`.
std::atomic<std::size_t> used{0};
std::mutex changing;
/// Both are written once, before the handler is installed.
struct sigaction before;
uintptr_t page = 0;

bool is_guarded(uintptr_t address) noexcept
{
  const std::size_t count = used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const Range & range = ranges[i];
    const uint32_t version = range.version.load(std::memory_order_acquire);
    const uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const uintptr_t end = range.end.load(std::memory_order_acquire);
    if (
      version % 2 == 0 && version == range.version.load(std::memory_order_relaxed) &&
      address >= begin && address < end) {
      return true;
    }
  }
  return false;
}

/// Called on the thread that has touched a page. mmap() is a system call that takes no lock of the C library.
void on_bus_error(int number, siginfo_t * info, void * context)
{
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (info->si_code == BUS_ADRERR && is_guarded(address)) {
    void * const gone = static_cast<char *>(info->si_addr) - address % page;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(gone, page, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED) {
      errno = error;
      return;
    }
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    // It ends the process when this returns: the access is tried again, or the signal that somebody has sent comes.
    struct sigaction as_ever{};
    as_ever.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &as_ever, nullptr);
    if (info->si_code <= 0) {
      raise(number);
    }
  }
  errno = error;
}

bool is_handled() noexcept
{
  static const bool handled = [] {
    page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    struct sigaction ours{};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    return sigaction(SIGBUS, nullptr, &before) == 0 && sigaction(SIGBUS, &ours, nullptr) == 0;
  }();
  return handled;
}

void set(Range & range, uintptr_t begin, uintptr_t end) noexcept
{
  range.version.fetch_add(1, std::memory_order_acq_rel);
  range.begin.store(begin, std::memory_order_release);
  range.end.store(end, std::memory_order_release);
  range.version.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace

bool guard(void * begin, std::size_t bytes) noexcept
{
  const std::lock_guard<std::mutex> lock(changing);
  if (!is_handled()) {
    return false;
  }
  for (std::size_t i = 0; i < kMost; ++i) {
    if (ranges[i].begin.load(std::memory_order_relaxed) == 0) {
      const auto address = reinterpret_cast<uintptr_t>(begin);
      set(ranges[i], address, address + bytes);
      if (i >= used.load(std::memory_order_relaxed)) {
        used.store(i + 1, std::memory_order_release);
      }
      return true;
    }
  }
  return false;
}

void unguard(void * begin) noexcept
{
  const std::lock_guard<std::mutex> lock(changing);
  for (Range & range : ranges) {
    if (range.begin.load(std::memory_order_relaxed) == reinterpret_cast<uintptr_t>(begin)) {
      set(range, 0, 0);
      return;
    }
  }
}

}  // namespace rclrt_core::linux_platform
