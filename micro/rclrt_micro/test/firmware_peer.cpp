// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The agent of the tests on a pseudo-terminal, for test_firmware.py. It first prints the name of the
// terminal, then every message that the client writes, `TOPIC HEX`. It reads commands:
//
//   publish TOPIC NUMBER   a std_msgs/Int32 to the client
//   restart                forgets everything, like a new process
//
// Ends with its input.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <sstream>

#include "rig.hpp"

namespace
{
int open_terminal(int & other_end)
{
  const int fd = posix_openpt(O_RDWR | O_NOCTTY);
  char name[128];
  if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0 || ptsname_r(fd, name, sizeof(name)) != 0) {
    return -1;
  }
  // Stays open, so that the line does not hang up while the board is restarted.
  other_end = open(name, O_RDWR | O_NOCTTY);
  termios settings{};
  tcgetattr(other_end, &settings);
  cfmakeraw(&settings);
  tcsetattr(other_end, TCSANOW, &settings);
  std::cout << name << std::endl;
  return fd;
}

void send(int fd, const Agent::Bytes & message)
{
  const auto frame = Deframer::frame(RCLRT_FRAMING_SERIAL, message, 0);
  if (::write(fd, frame.data(), frame.size()) != static_cast<ssize_t>(frame.size())) {
    std::cerr << "the line is full\n";
  }
}

void print(const std::string & topic, const Agent::Bytes & data)
{
  static const char digits[] = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : data) {
    hex += {digits[byte >> 4], digits[byte & 15]};
  }
  std::cout << topic << ' ' << hex << std::endl;
}

// One command. False: there will be no other.
bool obey(Agent & agent)
{
  char bytes[4096];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got <= 0) {
    return false;
  }
  static std::string rest;
  rest.append(bytes, static_cast<size_t>(got));
  for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
    std::istringstream line(rest.substr(0, end));
    rest.erase(0, end + 1);
    std::string verb;
    std::string topic;
    int32_t number = 0;
    line >> verb >> topic >> number;
    if (verb == "restart") {
      agent.restart();
    } else if (verb == "publish") {
      Agent::Bytes data(4);
      std::memcpy(data.data(), &number, 4);
      agent.publish(topic, data);
    }
  }
  return true;
}
}  // namespace

int main()
{
  int other_end = -1;
  const int fd = open_terminal(other_end);
  if (fd < 0) {
    std::cerr << "no pseudo-terminal\n";
    return 1;
  }
  Deframer deframer(RCLRT_FRAMING_SERIAL);
  Agent agent([fd](const Agent::Bytes & message) { send(fd, message); });
  agent.on_data = print;
  for (;;) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    agent.tick(static_cast<uint64_t>(std::chrono::nanoseconds(now).count()));
    pollfd ready[2] = {{fd, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (poll(ready, 2, 20) < 0) {
      return 1;
    }
    if (ready[1].revents != 0 && !obey(agent)) {
      return 0;
    }
    Agent::Bytes bytes(4096);
    const ssize_t got =
      (ready[0].revents & POLLIN) == 0 ? 0 : ::read(fd, bytes.data(), bytes.size());
    if (got > 0) {
      bytes.resize(static_cast<size_t>(got));
      for (const auto & message : deframer.feed(bytes)) {
        agent.receive(message);
      }
    }
  }
}
