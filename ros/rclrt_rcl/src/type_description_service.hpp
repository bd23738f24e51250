// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The service ~/get_type_description: what the types look like that a node uses. rcl keeps them
/// and answers; here is only the callback that asks it.
#ifndef TYPE_DESCRIPTION_SERVICE_HPP_
#define TYPE_DESCRIPTION_SERVICE_HPP_

#include <memory>

#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/service_base.hpp"

namespace rclrt_rcl
{
namespace detail
{

std::shared_ptr<ServiceBase> create_type_description_service(Node & node);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // TYPE_DESCRIPTION_SERVICE_HPP_
