// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "program.hpp"

#include <sstream>
#include <stdexcept>

namespace rclrt_agent
{
namespace
{

int number(const std::string & option, const std::string & text, int least, int most)
{
  try {
    std::size_t used = 0;
    const int value = std::stoi(text, &used);
    if (used == text.size() && value >= least && value <= most) {
      return value;
    }
  } catch (const std::logic_error &) {
    // said below
  }
  throw std::runtime_error(
    option + " " + text + ": a number from " + std::to_string(least) + " to " +
    std::to_string(most) + " is needed");
}

}  // namespace

const char * usage()
{
  return "Usage: rclrt_agent serial      --dev DEVICE [-b BAUD]\n"
         "       rclrt_agent multiserial --devs \"DEVICE DEVICE...\" [-b BAUD]\n"
         "       rclrt_agent udp4        [-p PORT] [--address ADDRESS]\n"
         "       rclrt_agent tcp4        [-p PORT] [--address ADDRESS]\n"
         "Several of these may follow each other. Also:\n"
         "  -r, --refs FILE   profiles for entities that clients create by reference\n"
         "  -v N, -m NAME     accepted and ignored\n"
         "  --ros-args ...    parameters, remapping and log levels of ROS\n"
         "BAUD: 115200 unless given; 0 leaves the device as it is. PORT: 8888. ADDRESS: 127.0.0.1; "
         "0.0.0.0 is\n"
         "every interface, and lets every machine of the network in.\n";
}

Arguments parse_arguments(const std::vector<std::string> & arguments)
{
  Arguments parsed;
  std::vector<std::string> devices;
  NetOptions net;
  int baud = 115200;
  std::string transport;

  const auto finish = [&] {
    if (transport == "serial" || transport == "multiserial") {
      if (devices.empty()) {
        throw std::runtime_error(transport + ": give --dev DEVICE");
      }
      for (const auto & device : devices) {
        parsed.serial.push_back({device, baud});
      }
    } else if (transport == "udp4") {
      parsed.udp.push_back(net);
    } else if (transport == "tcp4") {
      parsed.tcp.push_back(net);
    }
    devices.clear();
    net = NetOptions{};
    baud = 115200;
  };

  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string & word = arguments[i];
    if (word == "serial" || word == "multiserial" || word == "udp4" || word == "tcp4") {
      finish();
      transport = word;
      continue;
    }
    if (word == "-h" || word == "--help") {
      parsed.help = true;
      return parsed;
    }
    if (word == "udp6" || word == "tcp6" || word == "canfd" || word == "pseudoterminal") {
      throw std::runtime_error(word + ": this agent has serial, multiserial, udp4 and tcp4");
    }
    if (word == "-d" || word == "--discovery") {
      throw std::runtime_error(
        word + ": this agent cannot be discovered; give clients its address");
    }
    if (i + 1 == arguments.size()) {
      throw std::runtime_error(word + ": unknown, or its value is missing");
    }
    const std::string & value = arguments[++i];
    if (word == "-D" || word == "--dev") {
      devices.push_back(value);
    } else if (word == "--devs") {
      std::istringstream all(value);
      for (std::string device; all >> device;) {
        devices.push_back(device);
      }
    } else if (word == "-b" || word == "--baudrate") {
      baud = number(word, value, 0, 4'000'000);
    } else if (word == "-p" || word == "--port") {
      net.port = static_cast<uint16_t>(number(word, value, 0, 65535));
    } else if (word == "--address") {
      net.address = value;
    } else if (word == "-r" || word == "--refs") {
      parsed.references = value;
    } else if (word != "-v" && word != "--verbose" && word != "-m" && word != "--middleware") {
      throw std::runtime_error(word + ": unknown");
    }
  }
  finish();
  if (parsed.serial.empty() && parsed.udp.empty() && parsed.tcp.empty()) {
    throw std::runtime_error("which line? serial, multiserial, udp4 or tcp4");
  }
  return parsed;
}

}  // namespace rclrt_agent
