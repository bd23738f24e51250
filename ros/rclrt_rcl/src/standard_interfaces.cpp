// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "standard_interfaces.hpp"

#include <utility>

#include "logger_services.hpp"
#include "parameter_overrides.hpp"
#include "parameter_services.hpp"
#include "type_description_service.hpp"

namespace rclrt_rcl
{
namespace detail
{

std::shared_ptr<Parameters> make_parameters(Node & node)
{
  const NodeOptions & options = node.options();
  ParameterMap overrides = parameter_overrides(*node.context()->handle(), *node.handle());
  for (const auto & parameter : options.parameter_overrides) {
    overrides[parameter.name()] = parameter.value();
  }
  return std::make_shared<Parameters>(
    node.fully_qualified_name(), std::move(overrides), options.allow_undeclared_parameters,
    options.start_parameter_event_publisher ? parameter_event_publisher(node)
                                            : Parameters::Publish());
}

StandardInterfaces::StandardInterfaces(Node & node)
{
  const NodeOptions & options = node.options();
  const auto & parameters = node.parameters();
  time_source_ = std::make_unique<TimeSource>(node, *parameters);

  ParameterDescriptor descriptor;
  descriptor.description = "Offer ~/get_type_description.";
  descriptor.read_only = true;
  const bool describe_types = node.declare_parameter(
    "start_type_description_service", options.start_type_description_service, descriptor);
  if (options.automatically_declare_parameters_from_overrides) {
    ParameterDescriptor dynamic;
    dynamic.dynamic_typing = true;
    for (const auto & [name, value] : parameters->overrides()) {
      if (!parameters->has(name)) {
        parameters->declare(name, value, dynamic);
      }
    }
  }
  if (options.start_parameter_services) {
    services_ = create_parameter_services(node, parameters);
  }
  if (describe_types) {
    services_.push_back(create_type_description_service(node));
  }
  if (options.enable_logger_service) {
    for (auto & service : create_logger_services(node)) {
      services_.push_back(std::move(service));
    }
  }
}

}  // namespace detail
}  // namespace rclrt_rcl
