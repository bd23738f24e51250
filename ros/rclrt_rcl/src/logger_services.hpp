// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The services ~/get_logger_levels and ~/set_logger_levels. Logger levels belong to the process.
#ifndef LOGGER_SERVICES_HPP_
#define LOGGER_SERVICES_HPP_

#include <memory>
#include <vector>

#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/service_base.hpp"

namespace rclrt_rcl
{
namespace detail
{

std::vector<std::shared_ptr<ServiceBase>> create_logger_services(Node & node);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // LOGGER_SERVICES_HPP_
