// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "arguments.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "rcl/allocator.h"
#include "rcl/arguments.h"
#include "rcl_yaml_param_parser/parser.h"
#include "rclrt_config/configuration.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

using GetIndices = rcl_ret_t (*)(const rcl_arguments_t *, rcl_allocator_t, int **);

std::vector<std::string> pick(
  const rcl_arguments_t & arguments, const char * const * argv, int count, GetIndices get)
{
  std::vector<std::string> picked;
  if (count <= 0) {
    return picked;
  }
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  int * indices = nullptr;
  throw_unless_ok(get(&arguments, allocator, &indices), "reading arguments");
  for (int i = 0; i < count; ++i) {
    picked.emplace_back(argv[indices[i]]);
  }
  allocator.deallocate(indices, allocator.state);
  return picked;
}

}  // namespace

std::vector<std::string> unparsed_arguments(
  const rcl_arguments_t & arguments, const char * const * argv)
{
  return pick(
    arguments, argv, rcl_arguments_get_count_unparsed(&arguments), &rcl_arguments_get_unparsed);
}

void throw_unless_parsed(
  rcl_ret_t result, const std::string & doing, int argc, const char * const * argv)
{
  if (result == RCL_RET_OK) {
    return;
  }
  std::string text = doing + ": " + take_rcl_error();
  bool is_for_ros = false;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (is_for_ros && argument == "--params-file" && i + 1 < argc) {
      const auto read = rclrt_config::Configuration().load(argv[++i]);
      text += read.ok() ? "" : ". " + read.message();
    } else {
      is_for_ros = argument == "--ros-args" || (is_for_ros && argument != "--");
    }
  }
  throw Error(text, result);
}

void reject_unknown_ros_arguments(const rcl_arguments_t & arguments, const char * const * argv)
{
  std::string names;
  for (const std::string & name : pick(
         arguments, argv, rcl_arguments_get_count_unparsed_ros(&arguments),
         &rcl_arguments_get_unparsed_ros)) {
    names += " '" + name + "'";
  }
  if (!names.empty()) {
    throw Error(
      "unknown ROS arguments" + names + " after --ros-args; end them with -- if they are your own");
  }
}

namespace
{

ParameterValue to_value(const rcl_variant_t & variant)
{
  if (variant.bool_value != nullptr) {
    return *variant.bool_value;
  }
  if (variant.integer_value != nullptr) {
    return *variant.integer_value;
  }
  if (variant.double_value != nullptr) {
    return *variant.double_value;
  }
  if (variant.string_value != nullptr) {
    return std::string(variant.string_value);
  }
  return {};
}

void read(const rcl_arguments_t & arguments, const std::string & node, Parameters::Values * values)
{
  rcl_params_t * given = nullptr;
  throw_unless_ok(
    rcl_arguments_get_param_overrides(&arguments, &given), "reading parameters for '" + node + "'");
  if (given == nullptr) {
    return;
  }
  const std::unique_ptr<rcl_params_t, decltype(&rcl_yaml_node_struct_fini)> guard(
    given, &rcl_yaml_node_struct_fini);
  for (std::size_t i = 0; i < given->num_nodes; ++i) {
    if (!rclrt_config::names_node(given->node_names[i], node)) {
      continue;
    }
    const rcl_node_params_t & parameters = given->params[i];
    for (std::size_t j = 0; j < parameters.num_params; ++j) {
      (*values)[parameters.parameter_names[j]] = to_value(parameters.parameter_values[j]);
    }
  }
}

}  // namespace

Parameters given_parameters(const rcl_context_t & context, const rcl_node_t & node)
{
  const std::string name = rcl_node_get_fully_qualified_name(&node);
  const rcl_node_options_t & options = *rcl_node_get_options(&node);
  Parameters::Values values;
  if (options.use_global_arguments && context.global_arguments.impl != nullptr) {
    read(context.global_arguments, name, &values);
  }
  if (options.arguments.impl != nullptr) {
    read(options.arguments, name, &values);
  }
  return Parameters(std::move(values));
}

}  // namespace detail

const char * Parameters::type_name(const ParameterValue & value) noexcept
{
  constexpr const char * kNames[] = {
    "a list", "true or false", "a whole number", "a number with a fraction", "text"};
  return kNames[value.index()];
}

}  // namespace rclrt_rcl
