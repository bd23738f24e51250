// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What disturbs a control loop: callbacks beside it in its process, and another process that makes them run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_rcl/rclrt_rcl.hpp"

namespace control
{

/// The names of what there is.
std::vector<std::string> kinds();

/// The callbacks of one kind, each in a group of its own, without priorities.
class Beside
{
public:
  /// `begins` is called, perhaps more than once, when the other process has been heard; "memory" needs none. Errors: an
  /// unknown kind.
  Beside(
    rclrt_rcl::Node & node, const std::string & kind, const std::string & name,
    std::function<void()> begins);

  /// Answers, messages or jobs until now.
  int64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }

private:
  void add_service(rclrt_rcl::Node & node, const std::string & name);
  void add_logging(rclrt_rcl::Node & node);
  void add_flood(rclrt_rcl::Node & node, const std::string & name);
  void add_slow(rclrt_rcl::Node & node);
  void add_parameters(rclrt_rcl::Node & node);
  void add_leak(rclrt_rcl::Node & node);
  void add_memory(rclrt_rcl::Node & node, const std::function<void()> & begins);

  std::atomic<int64_t> done_{0};  // a number by itself: relaxed
  std::vector<std::shared_ptr<void>> entities_;
  std::vector<std::unique_ptr<char[]>> leaked_;  // of the callback that leaks
};

/// The other process, until `stop`.
void disturb(const std::string & kind, const std::string & name, const std::atomic<bool> & stop);

}  // namespace control
