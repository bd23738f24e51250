// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Executors as ways to dispatch.

#include <exception>
#include <thread>
#include <utility>

#include "middleware.hpp"
#include "rclrt_baselines/fifo_events_executor.hpp"
#include "rclrt_baselines/static_executor.hpp"
#include "rclrt_baselines/wait_set_multi_threaded_executor.hpp"
#include "rclrt_baselines/wait_set_single_threaded_executor.hpp"
#include "rclrt_rcl/callback_isolated_executor.hpp"
#include "rclrt_rcl/preemptive_executor.hpp"
#include "rclrt_rcl/priority_events_executor.hpp"
#include "variants.hpp"

namespace dispatch
{
namespace
{

constexpr std::size_t kOneForEachOfTen = 10;

using MakeExecutor = std::function<std::unique_ptr<rclrt_rcl::Executor>()>;

/// One executor that spins on a thread of its own.
class Spinning
{
public:
  Spinning(
    std::unique_ptr<rclrt_rcl::Executor> executor,
    const std::vector<std::shared_ptr<rclrt_rcl::CallbackGroup>> & groups, bool is_baseline)
  : executor_(std::move(executor))
  {
    for (const auto & group : groups) {
      executor_->add_callback_group(group);
    }
    thread_ = std::thread([this, is_baseline] {
      if (is_baseline) {
        become_worker();  // ours do that themselves, as their subscriptions say
      }
      executor_->spin();
    });
  }
  ~Spinning()
  {
    executor_->cancel();
    thread_.join();
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

private:
  std::unique_ptr<rclrt_rcl::Executor> executor_;
  std::thread thread_;
};

enum class Threads : uint8_t
{
  kOne,      ///< an executor for each subscription
  kSeveral,  ///< one for all
};

class Executors : public Dispatching
{
public:
  Executors(Receiver & receiver, const MakeExecutor & make, Threads threads, bool is_baseline)
  : raised_(is_baseline ? std::make_unique<RaisedMiddleware>() : nullptr)
  {
    auto groups = receiver.groups();
    if (threads == Threads::kOne) {
      while (groups.size() > 1) {
        executors_.push_back(
          std::make_unique<Spinning>(make(), std::vector{groups.back()}, is_baseline));
        groups.pop_back();
      }
    }
    if (receiver.idle_group()) {
      groups.push_back(receiver.idle_group());
    }
    executors_.push_back(std::make_unique<Spinning>(make(), groups, is_baseline));
  }

private:
  std::unique_ptr<RaisedMiddleware> raised_;
  std::vector<std::unique_ptr<Spinning>> executors_;
};

template <typename T>
Variant variant(const std::string & name, Threads threads, bool is_baseline, T make)
{
  return {name, [=](Receiver & receiver) {
            return std::make_unique<Executors>(
              receiver, [&]() -> std::unique_ptr<rclrt_rcl::Executor> { return make(); }, threads,
              is_baseline);
          }};
}

}  // namespace

std::vector<Variant> executors()
{
  using rclrt_baselines::FifoEventsExecutor;
  using rclrt_baselines::StaticExecutor;
  using rclrt_baselines::WaitSetMultiThreadedExecutor;
  using rclrt_baselines::WaitSetSingleThreadedExecutor;
  return {
    variant(
      "pool", Threads::kSeveral, false,
      [] { return std::make_unique<rclrt_rcl::PreemptiveExecutor>(); }),
    variant(
      "events", Threads::kOne, false,
      [] { return std::make_unique<rclrt_rcl::PriorityEventsExecutor>(); }),
    variant(
      "isolated", Threads::kSeveral, false,
      [] { return std::make_unique<rclrt_rcl::CallbackIsolatedExecutor>(); }),
    variant(
      "waitset_single", Threads::kOne, true,
      [] { return std::make_unique<WaitSetSingleThreadedExecutor>(); }),
    variant(
      "waitset_multi", Threads::kSeveral, true,
      [] { return std::make_unique<WaitSetMultiThreadedExecutor>(); }),
    variant(
      "waitset_multi_10", Threads::kSeveral, true,
      [] { return std::make_unique<WaitSetMultiThreadedExecutor>(kOneForEachOfTen); }),
    // As rclcpp's users have it: SCHED_OTHER everywhere.
    variant(
      "waitset_multi_default", Threads::kSeveral, false,
      [] { return std::make_unique<WaitSetMultiThreadedExecutor>(); }),
    variant("static", Threads::kOne, true, [] { return std::make_unique<StaticExecutor>(); }),
    variant(
      "events_fifo", Threads::kOne, true, [] { return std::make_unique<FifoEventsExecutor>(); })};
}

}  // namespace dispatch
