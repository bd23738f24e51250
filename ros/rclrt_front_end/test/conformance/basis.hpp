// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the conformance suite needs of no front end. The suite is compiled once for each front end, against the
/// front_end.hpp of its test folder, which says the same words of its own API: see there.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace conformance
{

/// Far longer than anything takes; reached only when a test fails.
constexpr std::chrono::seconds kPatience(30);
constexpr std::chrono::hours kForever(10);

/// The executors that tests run over. Rclcpp's own are a control group of rclrt_rclcpp.
enum class Kind
{
  kPreemptive,
  kIsolated,
  kEvents,
  kReleaseAndExecute,
  kRclcppSingle,
  kRclcppMulti,
  kRclcppEvents,
};

inline std::string to_string(Kind kind)
{
  constexpr const char * kNames[] = {
    "preemptive",    "isolated",     "events",       "events_release_and_execute",
    "rclcpp_single", "rclcpp_multi", "rclcpp_events"};
  return kNames[static_cast<std::size_t>(kind)];
}

inline bool is_ours(Kind kind) { return kind <= Kind::kReleaseAndExecute; }
/// Whether it looks at wait sets, instead of being told.
inline bool waits(Kind kind) { return kind == Kind::kRclcppSingle || kind == Kind::kRclcppMulti; }
/// Whether callbacks of different groups run at once.
inline bool has_threads(Kind kind)
{
  return kind == Kind::kPreemptive || kind == Kind::kIsolated || kind == Kind::kRclcppMulti;
}

/// A topic that no test of another process hears.
inline std::string clock_of_test() { return "/clock_" + std::to_string(getpid()); }

/// False when that takes too long.
inline bool wait_for(const std::function<bool()> & condition)
{
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// What the error of `call` says; empty if there is none.
inline std::string error_of(const std::function<void()> & call)
{
  try {
    call();
  } catch (const std::exception & error) {
    return error.what();
  }
  return "";
}

/// spin() in a thread while it exists.
template <typename ExecutorT>
class Spinning
{
public:
  explicit Spinning(ExecutorT & executor)
  : executor_(executor), thread_([&executor] { executor.spin(); })
  {
    wait_for([&executor] { return executor.is_spinning(); });
  }
  /// With this node.
  template <typename Node>
  Spinning(ExecutorT & executor, const Node & node) : Spinning((executor.add_node(node), executor))
  {
  }
  ~Spinning()
  {
    executor_.cancel();
    thread_.join();
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

private:
  ExecutorT & executor_;
  std::thread thread_;
};

inline std::string name_of(const testing::TestParamInfo<Kind> & kind)
{
  return to_string(kind.param);
}

inline std::vector<Kind> our_kinds()
{
  return {Kind::kPreemptive, Kind::kIsolated, Kind::kEvents, Kind::kReleaseAndExecute};
}

// Over all executors that the front end tests, and over those of rclrt only.
#define OVER_ALL_EXECUTORS(suite) OVER_EXECUTORS(suite, ::conformance::all_kinds())
#define OVER_OUR_EXECUTORS(suite) OVER_EXECUTORS(suite, ::conformance::our_kinds())
#define OVER_EXECUTORS(suite, kinds) \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(kinds), ::conformance::name_of)

}  // namespace conformance
