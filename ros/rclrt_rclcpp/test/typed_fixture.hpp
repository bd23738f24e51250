// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A node and an executor of the type under test, and a waitable to trigger.
#ifndef TYPED_FIXTURE_HPP_
#define TYPED_FIXTURE_HPP_

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "builtin_interfaces/msg/time.hpp"
#include "fixture.hpp"
#include "rclcpp/detail/add_guard_condition_to_rcl_wait_set.hpp"

namespace rclrt_rclcpp
{

using builtin_interfaces::msg::Time;

class Triggered;

template <typename ExecutorT>
constexpr bool kIsOurs = std::is_base_of_v<EngineExecutor, ExecutorT>;

/// Whether it looks at wait sets, instead of being told.
template <typename ExecutorT>
constexpr bool kWaits = !kIsOurs<ExecutorT> && !std::is_same_v<ExecutorT, RclcppEvents>;

/// What the error of `call` says; empty if there is none.
inline std::string error_of(const std::function<void()> & call)
{
  try {
    call();
  } catch (const std::runtime_error & error) {
    return error.what();
  }
  return "";
}

template <typename ExecutorT>
class TypedFixture : public WithContext
{
protected:
  void SetUp() override
  {
    WithContext::SetUp();
    executor_ = std::make_unique<ExecutorT>(executor_options());
    node_ = make_node("node");
  }
  void TearDown() override
  {
    executor_.reset();
    node_.reset();
    WithContext::TearDown();
  }

  std::shared_ptr<rclcpp::CallbackGroup> make_group(bool automatic = true)
  {
    return node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, automatic);
  }

  std::shared_ptr<Triggered> add_waitable(
    const std::function<void()> & callback,
    const std::shared_ptr<rclcpp::CallbackGroup> & group = nullptr);

  std::unique_ptr<ExecutorT> executor_;
  std::shared_ptr<rclcpp::Node> node_;
};

/// Has one unit of work for every trigger().
class Triggered : public rclcpp::Waitable
{
public:
  Triggered(const std::shared_ptr<rclcpp::Context> & context, std::function<void()> callback)
  : callback_(std::move(callback)), guard_condition_(context)
  {
  }

  void trigger()
  {
    ++waiting_;
    guard_condition_.trigger();
  }
  int executed() const { return executed_; }
  /// How often somebody has looked whether there is work.
  int asked() const { return asked_; }

  std::size_t get_number_of_ready_guard_conditions() override { return 1; }
  void add_to_wait_set(WaitSet wait_set) override
  {
    if (waiting_ > 0) {
      guard_condition_.trigger();
    }
    rclcpp::detail::add_guard_condition_to_rcl_wait_set(read(wait_set), guard_condition_);
  }
  bool is_ready(ReadyWaitSet wait_set) override
  {
    ++asked_;
    for (std::size_t i = 0; i < read(wait_set).size_of_guard_conditions; ++i) {
      if (read(wait_set).guard_conditions[i] == &guard_condition_.get_rcl_guard_condition()) {
        return waiting_ > 0;
      }
    }
    return false;
  }
  std::shared_ptr<void> take_data() override { return nullptr; }
  std::shared_ptr<void> take_data_by_entity_id(std::size_t) override { return nullptr; }
  void execute(Data) override
  {
    --waiting_;
    ++executed_;
    callback_();
  }
  void set_on_ready_callback(std::function<void(std::size_t, int)> callback) override
  {
    guard_condition_.set_on_trigger_callback([callback](std::size_t count) { callback(count, 0); });
  }
  void clear_on_ready_callback() override { guard_condition_.set_on_trigger_callback(nullptr); }

private:
  const std::function<void()> callback_;
  rclcpp::GuardCondition guard_condition_;
  std::atomic<int> waiting_{0};
  std::atomic<int> executed_{0};
  std::atomic<int> asked_{0};
};

template <typename ExecutorT>
std::shared_ptr<Triggered> TypedFixture<ExecutorT>::add_waitable(
  const std::function<void()> & callback, const std::shared_ptr<rclcpp::CallbackGroup> & group)
{
  auto waitable = std::make_shared<Triggered>(context_, callback);
  node_->get_node_waitables_interface()->add_waitable(waitable, group);
  return waitable;
}

}  // namespace rclrt_rclcpp

#endif  // TYPED_FIXTURE_HPP_
