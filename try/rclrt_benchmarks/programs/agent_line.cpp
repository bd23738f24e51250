// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A serial line between two pseudo-terminals that takes time, as a UART does:
//
//   agent_line BAUD
//
// Prints the names of its two ends. Bytes go from one to the other at the rate, eight at a time, until it is ended.
// What waits before the line waits in the terminal, as in a driver's buffer.
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace
{
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

struct Direction
{
  int from = -1;
  int to = -1;
  std::array<char, 8> bytes{};
  ssize_t size = 0;             // of what is on the line now
  Clock::time_point arrives{};  // when

  // Whether something was taken.
  bool take(Clock::time_point begin, nanoseconds byte_time)
  {
    int waiting = 0;
    if (::ioctl(from, FIONREAD, &waiting) != 0 || waiting == 0) {
      return false;
    }
    size = std::max<ssize_t>(::read(from, bytes.data(), bytes.size()), 0);
    arrives = begin + size * byte_time;
    return size > 0;
  }
  // Hands on what has arrived; what waits follows without a pause.
  void work(Clock::time_point now, nanoseconds byte_time)
  {
    if (size == 0) {
      (void)take(now, byte_time);
    }
    while (size > 0 && arrives <= now) {
      [[maybe_unused]] const auto written = ::write(to, bytes.data(), static_cast<size_t>(size));
      size = 0;
      (void)take(arrives, byte_time);
    }
  }
};

int open_end(int * slave)
{
  int master = -1;
  termios raw{};
  ::cfmakeraw(&raw);
  raw.c_cflag |= CS8 | CREAD | CLOCAL;
  char name[128];
  if (::openpty(&master, slave, name, &raw, nullptr) != 0) {
    std::perror("openpty()");
    std::exit(1);
  }
  std::puts(name);
  return master;
}

}  // namespace

int main(int argc, char ** argv)
{
  const long baud = argc == 2 ? std::atol(argv[1]) : 0;
  if (baud <= 0) {
    std::fputs("agent_line BAUD\n", stderr);
    return 2;
  }
  const nanoseconds byte_time(10'000'000'000 / baud);
  int slaves[2];  // open, or reading from the masters fails while nobody else has them
  const int masters[2] = {open_end(&slaves[0]), open_end(&slaves[1])};
  std::fflush(stdout);
  Direction directions[2];
  directions[0].from = directions[1].to = masters[0];
  directions[0].to = directions[1].from = masters[1];
  for (;;) {
    pollfd polled[2];
    Clock::time_point next = Clock::time_point::max();
    for (int i = 0; i < 2; ++i) {
      const bool busy = directions[i].size > 0;
      polled[i] = {busy ? -1 : directions[i].from, POLLIN, 0};
      next = busy ? std::min(next, directions[i].arrives) : next;
    }
    timespec wait{};
    const auto left = std::max(next - Clock::now(), Clock::duration(0));
    wait.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
    wait.tv_nsec = (left % std::chrono::seconds(1)).count();
    (void)::ppoll(polled, 2, next == Clock::time_point::max() ? nullptr : &wait, nullptr);
    const auto now = Clock::now();
    for (auto & direction : directions) {
      direction.work(now, byte_time);
    }
  }
}
