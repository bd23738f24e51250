// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/signal_handlers.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "contexts.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
constexpr unsigned char kQuit = 0;  // not the number of a signal

/// Write end of the pipe; all that the handler touches.
std::atomic<int> pipe_in{-1};

struct Handlers
{
  std::mutex mutex;
  bool installed = false;
  bool handling = false;  // ours are in place, not yet the ones before
  std::array<struct sigaction, kSignals.size()> before{};
  std::thread thread;
};

Handlers & handlers()
{
  static auto & instance = *new Handlers;  // never destroyed: signals come at any time
  return instance;
}

void on_signal(int number)
{
  const int saved_errno = errno;
  const auto byte = static_cast<unsigned char>(number);
  // If the pipe is full there are signals enough in it.
  const ssize_t ignored = ::write(pipe_in.load(), &byte, 1);
  static_cast<void>(ignored);
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

void watch(int pipe_out)
{
  unsigned char byte = 0;
  for (;;) {
    const ssize_t got = ::read(pipe_out, &byte, 1);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got != 1 || byte == kQuit) {
      ::close(pipe_out);
      return;
    }
    {
      std::lock_guard<std::mutex> lock(handlers().mutex);
      restore_before(handlers());
    }
    detail::shutdown_all_contexts(std::string("signal: ") + ::sigdescr_np(byte));
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
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error("installing signal handlers: pipe2: " + std::system_category().message(errno));
  }
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_in = ends[1];
  // The thread must not be the one that signals interrupt.
  sigset_t all;
  sigset_t saved;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &saved);
  h.thread = std::thread(watch, ends[0]);
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
    const int in = pipe_in.exchange(-1);
    const ssize_t written = ::write(in, &kQuit, 1);
    static_cast<void>(written);
    ::close(in);
  }
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();  // called by a shutdown callback: the thread ends after it
  } else {
    thread.join();
  }
  return true;
}

}  // namespace rclrt_rcl
