// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads test/data/captures.txt.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using Bytes = std::vector<uint8_t>;

extern "C" const char rclrt_test_folder[];  // of the package

inline Bytes from_hex(const std::string & text)
{
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

struct CapturedMessage
{
  std::string capture;
  std::string section;
  bool from_client;
  Bytes message;
  Bytes wire;  // empty: the line carried just the message

  [[nodiscard]] std::string where() const
  {
    return capture + ", " + section + (from_client ? ", client" : ", agent");
  }
};

inline std::vector<CapturedMessage> read_captures()
{
  const std::string path =
    std::string(rclrt_test_folder) + "/../../rclrt_micro/test/data/captures.txt";
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot be read: " + path);
  }
  std::vector<CapturedMessage> messages;
  std::string line;
  std::string section;
  while (std::getline(file, line)) {
    if (line.rfind("== ", 0) == 0) {
      section = line.substr(3);
    } else if (!line.empty() && line[0] != '#') {
      std::istringstream words(line);
      std::string capture;
      std::string direction;
      std::string message;
      std::string wire;
      words >> capture >> direction >> message >> wire;
      messages.push_back({capture, section, direction == "C", from_hex(message), from_hex(wire)});
    }
  }
  return messages;
}
