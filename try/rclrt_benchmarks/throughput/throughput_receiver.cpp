// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Our executors, and those of rclcpp as they are rebuilt on rclrt_rcl.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_baselines/by_name.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"
#include "receiver.hpp"

namespace
{

class OnRcl
{
public:
  explicit OnRcl(const std::string & executor)
  : node_((rclrt_rcl::init(0, nullptr), std::make_shared<rclrt_rcl::Node>("throughput_receiver"))),
    executor_(rclrt_baselines::executor_by_name(executor))
  {
  }
  ~OnRcl()
  {
    executor_.reset();
    subscriptions_.clear();
    node_.reset();
    rclrt_rcl::shutdown();
  }
  OnRcl(const OnRcl &) = delete;
  OnRcl & operator=(const OnRcl &) = delete;

  template <typename Message>
  void subscribe(const std::string & topic, const std::function<void(const Message &)> & callback)
  {
    rclrt_rcl::SubscriptionOptions options;
    options.group = node_->create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive);
    subscriptions_.push_back(node_->create_subscription<Message>(topic, 10, callback, options));
  }
  void spin()
  {
    executor_->add_node(node_);
    executor_->spin();
  }
  void cancel() { executor_->cancel(); }

private:
  std::shared_ptr<rclrt_rcl::Node> node_;
  std::unique_ptr<rclrt_rcl::Executor> executor_;
  std::vector<std::shared_ptr<void>> subscriptions_;
};

}  // namespace

int main(int argc, char ** argv) { return throughput::receive_as_told<OnRcl>(argc, argv); }
