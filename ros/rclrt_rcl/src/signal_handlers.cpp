// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/context.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "of_the_process.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};

/// All that the handler touches. No descriptor: a handler that is held up while others uninstall it
/// would write into the file that has got the number since.
std::atomic<uint32_t> signals{0};  // those that came, a bit each
std::atomic<uint32_t> news{0};     // a futex: counts what threads are to look at
static_assert(std::atomic<uint32_t>::is_always_lock_free, "a signal handler uses them");

struct Handlers
{
  std::mutex mutex;
  bool installed = false;
  bool handling = false;      // ours are in place, not yet the ones before
  uint64_t installation = 0;  // the number of the present one, or the last
  std::array<struct sigaction, kSignals.size()> before{};
  std::thread thread;
};

Handlers & handlers()
{
  static auto & instance = *new Handlers;  // never destroyed: signals come at any time
  return instance;
}

constexpr uint32_t bit(int number) { return uint32_t{1} << number; }

// All threads: one of an installation before may still be in a shutdown callback, or on its way.
void announce()
{
  news.fetch_add(1);
  ::syscall(SYS_futex, &news, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void on_signal(int number)
{
  const int saved_errno = errno;
  signals.fetch_or(bit(number));
  announce();
  errno = saved_errno;
}

// Under the mutex.
void restore_before(Handlers & h)
{
  for (std::size_t i = 0; h.handling && i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &h.before[i], nullptr);
  }
  h.handling = false;
}

void serve(uint64_t installation)
{
  Handlers & h = handlers();
  for (;;) {
    const uint32_t seen = news.load();
    uint32_t came = 0;
    bool ending = true;
    {
      std::lock_guard<std::mutex> lock(h.mutex);
      if (h.installation == installation) {  // else signals are for the thread of a later one
        ending = !h.installed;
        came = signals.exchange(0);
      }
      if (came != 0) {
        restore_before(h);
      }
    }
    for (const int number : kSignals) {
      if ((came & bit(number)) != 0) {
        detail::shutdown_all_contexts(std::string("signal: ") + ::sigdescr_np(number));
      }
    }
    if (came == 0) {
      if (ending) {
        return;
      }
      rclrt_front_end::process_platform().wait(news, seen, rclrt_core::kNever);
    }
  }
}

}  // namespace

bool install_signal_handlers()
{
  Handlers & h = handlers();
  std::lock_guard<std::mutex> lock(h.mutex);
  if (h.installed) {
    return false;
  }
  signals = 0;  // those for handlers that have gone
  // The thread must not be the one that signals interrupt.
  sigset_t all;
  sigset_t saved;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &saved);
  try {
    h.thread = std::thread(serve, ++h.installation);
  } catch (const std::system_error & error) {
    ::pthread_sigmask(SIG_SETMASK, &saved, nullptr);
    throw Error(std::string("installing signal handlers: starting their thread: ") + error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &saved, nullptr);
  ::pthread_setname_np(h.thread.native_handle(), "rclrt signals");
  struct sigaction action{};
  action.sa_handler = &on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &action, &h.before[i]);
  }
  h.installed = true;
  h.handling = true;
  return true;
}

bool uninstall_signal_handlers()
{
  Handlers & h = handlers();
  std::thread thread;
  {
    std::lock_guard<std::mutex> lock(h.mutex);
    if (!h.installed) {
      return false;
    }
    restore_before(h);
    h.installed = false;
    thread = std::move(h.thread);
    announce();
  }
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();  // called by a shutdown callback: the thread ends after it
  } else {
    thread.join();
  }
  return true;
}

}  // namespace rclrt_rcl
