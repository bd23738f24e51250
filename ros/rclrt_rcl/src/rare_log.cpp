// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rare_log.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace rclrt_rcl
{
namespace detail
{
namespace
{

using SteadyTime = std::chrono::steady_clock::time_point;

/// Others make them: they must not use up the memory.
constexpr std::size_t kMostSubjects = 1000;

struct Told
{
  SteadyTime next{};
  uint64_t left_out = 0;
};

}  // namespace

void warn_rarely(const Logger & logger, const std::string & subject, const std::string & what)
{
  static auto & mutex =
    *new std::mutex;  // never destroyed: somebody may log while the program ends
  static auto & all = *new std::map<std::string, Told>;
  uint64_t left_out = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (all.size() >= kMostSubjects) {
      all.clear();
    }
    Told & told = all[logger.name() + '\n' + subject];
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now < told.next) {
      ++told.left_out;
      return;
    }
    told.next = now + std::chrono::seconds(1);
    left_out = std::exchange(told.left_out, 0);
  }
  logger.warn(
    subject + what +
    (left_out == 0 ? "" : " (and " + std::to_string(left_out) + " more since the last such line)"));
}

}  // namespace detail
}  // namespace rclrt_rcl
