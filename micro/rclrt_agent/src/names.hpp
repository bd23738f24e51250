// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Names as DDS-XRCE clients write them, and as ROS writes them.
#ifndef NAMES_HPP_
#define NAMES_HPP_

#include <optional>
#include <string>

namespace rclrt_agent
{

struct NodeName
{
  std::string name_space;  ///< "/" or "/robot"
  std::string name;
};

struct TypeName
{
  std::string package;  ///< "std_msgs"
  std::string folder;   ///< "msg", "srv", "action"
  std::string name;     ///< "Int32"
};

/// "robot/arm" is the node "arm" in "/robot". Nothing if that is no name of ROS.
std::optional<NodeName> node_name(const std::string & participant);
/// "rt/chatter" -> "/chatter"; prefixes "rq/" and "rr/" likewise. A name without a prefix is taken as a
/// name of ROS. Nothing if no name of ROS can be meant.
std::optional<std::string> ros_topic(const std::string & name);
/// "rq/addRequest" or "add" -> "/add".
std::optional<std::string> ros_service(const std::string & name);
/// "std_msgs::msg::dds_::Int32_" or "std_msgs/msg/Int32". A name without a package has only `name`.
std::optional<TypeName> ros_type(const std::string & type);
/// The type of a service, from "pkg::srv::dds_::Add_Request_".
std::optional<TypeName> ros_service_type(const std::string & request_type);

}  // namespace rclrt_agent

#endif  // NAMES_HPP_
