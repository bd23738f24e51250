// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "parameter_services.hpp"

#include <string>
#include <utility>

#include "rcl_interfaces/srv/describe_parameters.hpp"
#include "rcl_interfaces/srv/get_parameter_types.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rcl_interfaces/srv/set_parameters.hpp"
#include "rcl_interfaces/srv/set_parameters_atomically.hpp"
#include "rclrt_rcl/time_message.hpp"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

namespace srv = rcl_interfaces::srv;

ParameterDescriptor describe(const Parameters & parameters, const std::string & name)
{
  try {
    return parameters.describe({name}).front();
  } catch (const ParameterError &) {
    ParameterDescriptor undeclared;
    undeclared.name = name;
    return undeclared;
  }
}

/// What a callback of the node throws is a reason for the client that asked, not the end of the program.
SetParametersResult set(
  Parameters & parameters, const std::vector<rcl_interfaces::msg::Parameter> & wanted)
{
  try {
    std::vector<Parameter> values;
    values.reserve(wanted.size());
    for (const auto & message : wanted) {
      values.push_back(Parameter::from_message(message));
    }
    return parameters.try_set_atomically(values);
  } catch (const std::exception & error) {
    SetParametersResult result;
    result.successful = false;
    result.reason = error.what();
    return result;
  }
}

}  // namespace

std::vector<std::shared_ptr<ServiceBase>> create_parameter_services(
  Node & node, const std::shared_ptr<Parameters> & parameters)
{
  const QoS qos = QoS::parameters();
  std::vector<std::shared_ptr<ServiceBase>> services;
  services.push_back(node.create_service<srv::GetParameters>(
    "~/get_parameters",
    [parameters](const auto & request, srv::GetParameters::Response & response) {
      for (const auto & name : request.names) {
        response.values.push_back(parameters->find(name).value_or(ParameterValue()).to_message());
      }
    },
    qos));
  services.push_back(node.create_service<srv::GetParameterTypes>(
    "~/get_parameter_types",
    [parameters](const auto & request, srv::GetParameterTypes::Response & response) {
      for (const auto & name : request.names) {
        response.types.push_back(
          static_cast<uint8_t>(parameters->find(name).value_or(ParameterValue()).type()));
      }
    },
    qos));
  services.push_back(node.create_service<srv::DescribeParameters>(
    "~/describe_parameters",
    [parameters](const auto & request, srv::DescribeParameters::Response & response) {
      for (const auto & name : request.names) {
        response.descriptors.push_back(describe(*parameters, name));
      }
    },
    qos));
  services.push_back(node.create_service<srv::ListParameters>(
    "~/list_parameters",
    [parameters](const auto & request, srv::ListParameters::Response & response) {
      response.result = parameters->list(request.prefixes, request.depth);
    },
    qos));
  services.push_back(node.create_service<srv::SetParameters>(
    "~/set_parameters",
    [parameters](const auto & request, srv::SetParameters::Response & response) {
      for (const auto & wanted : request.parameters) {
        response.results.push_back(set(*parameters, {wanted}));
      }
    },
    qos));
  services.push_back(node.create_service<srv::SetParametersAtomically>(
    "~/set_parameters_atomically",
    [parameters](const auto & request, srv::SetParametersAtomically::Response & response) {
      response.result = set(*parameters, request.parameters);
    },
    qos));
  return services;
}

Parameters::Publish parameter_event_publisher(Node & node)
{
  PublisherOptions options;
  options.use_intra_process = false;
  return [publisher = node.create_publisher<rcl_interfaces::msg::ParameterEvent>(
            "/parameter_events", QoS::parameter_events(), options),
          clock = node.clock(), context = node.context(),
          name = node.fully_qualified_name()](rcl_interfaces::msg::ParameterEvent event) {
    if (context->ok()) {  // afterwards nobody hears
      event.stamp = to_message(clock->now());
      event.node = name;
      publisher->publish(event);
    }
  };
}

}  // namespace detail
}  // namespace rclrt_rcl
