// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the body of a CREATE says: by XML, in binary, or by the name of a profile.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "wire.hpp"

namespace rclrt_agent
{

struct EndpointQos
{
  bool reliable = true;
  bool transient_local = false;
  uint16_t depth = 10;  ///< 0 keeps all
};

/// What is not said is empty.
struct Description
{
  std::string name;  ///< of the participant, the topic or the service
  std::string type;  ///< of the topic, or of the request
  std::string reply_type;
  std::string request_topic;
  std::string reply_topic;
  uint16_t topic = 0;  ///< object that says name and type: writers and readers in binary
  EndpointQos qos;
};

/// Profiles by name: the XML that stands for each.
using References = std::map<std::string, std::string>;

/// Nothing if the body is not of that kind. Linear in the body.
std::optional<Description> describe(const rclrt_create & create, const References & references);

/// Profiles of an XML file: every element with a `profile_name` under <profiles>, of all kinds. Throws
/// std::runtime_error if the file cannot be read.
References read_references(const std::string & file);
References parse_references(const std::string & xml);

// Names as DDS-XRCE clients write them, and as ROS writes them.
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
