// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The backend that is ROS: a node of rclrt_rcl for each participant.
#ifndef ROS_BACKEND_HPP_
#define ROS_BACKEND_HPP_

#include <functional>
#include <memory>
#include <string>

#include "backend.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/node.hpp"

namespace rclrt_agent
{

class RosBackend : public Backend
{
public:
  /// `urgency_of`: of topics, as in SessionOptions; subscriptions get that priority in the executor.
  RosBackend(
    std::shared_ptr<rclrt_rcl::Context> context, rclrt_rcl::Executor & executor,
    std::function<int(const std::string & topic)> urgency_of);

  /// The domain is that of the context; another one is refused.
  std::shared_ptr<BackendNode> make_node(
    const std::string & participant, int16_t domain, const Key & key) override;

private:
  const std::shared_ptr<rclrt_rcl::Context> context_;
  rclrt_rcl::Executor & executor_;
  const std::function<int(const std::string & topic)> urgency_of_;
};

}  // namespace rclrt_agent

#endif  // ROS_BACKEND_HPP_
