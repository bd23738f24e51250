// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The executors of rclcpp, and ours, on a node of rclcpp.

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rclcpp/experimental/executors/events_executor/events_executor.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"
#include "receiver.hpp"

namespace
{

std::unique_ptr<rclcpp::Executor> executor_by_name(const std::string & name)
{
  if (name == "pool_rclcpp") {
    return std::make_unique<rclrt_rclcpp::PreemptiveExecutor>();
  }
  if (name == "events_rclcpp") {
    return std::make_unique<rclrt_rclcpp::PriorityEventsExecutor>();
  }
  if (name == "isolated_rclcpp") {
    return std::make_unique<rclrt_rclcpp::CallbackIsolatedExecutor>();
  }
  if (name == "rclcpp_single") {
    return std::make_unique<rclcpp::executors::SingleThreadedExecutor>();
  }
  if (name == "rclcpp_multi") {
    return std::make_unique<rclcpp::executors::MultiThreadedExecutor>();
  }
  if (name == "rclcpp_events") {
    return std::make_unique<rclcpp::experimental::executors::EventsExecutor>();
  }
  throw std::runtime_error("'" + name + "' is no executor");
}

class OnRclcpp
{
public:
  explicit OnRclcpp(const std::string & executor)
  {
    rclcpp::init(0, nullptr);
    node_ = std::make_shared<rclcpp::Node>(
      "throughput_receiver",
      rclcpp::NodeOptions().enable_rosout(false).start_parameter_services(false));
    executor_ = executor_by_name(executor);
  }
  ~OnRclcpp()
  {
    executor_.reset();
    subscriptions_.clear();
    node_.reset();
    rclcpp::shutdown();
  }
  OnRclcpp(const OnRclcpp &) = delete;
  OnRclcpp & operator=(const OnRclcpp &) = delete;

  template <typename Message>
  void subscribe(const std::string & topic, const std::function<void(const Message &)> & callback)
  {
    rclcpp::SubscriptionOptions options;
    options.callback_group =
      node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    subscriptions_.push_back(node_->create_subscription<Message>(topic, 10, callback, options));
  }
  void spin()
  {
    executor_->add_node(node_);
    executor_->spin();
    executor_->remove_node(node_);
  }
  void cancel() { executor_->cancel(); }

private:
  std::shared_ptr<rclcpp::Node> node_;
  std::unique_ptr<rclcpp::Executor> executor_;
  std::vector<std::shared_ptr<void>> subscriptions_;
};

}  // namespace

int main(int argc, char ** argv) { return throughput::receive_as_told<OnRclcpp>(argc, argv); }
