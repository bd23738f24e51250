// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rmw_in_use.hpp"

#include "rmw/features.h"
#include "rmw/rmw.h"

namespace rclrt_rcl
{
namespace detail
{

rclrt_config::Middleware rmw_in_use()
{
  return rclrt_config::Middleware::of(
    rmw_get_implementation_identifier(),
    rmw_feature_supported(RMW_FEATURE_MESSAGE_INFO_PUBLICATION_SEQUENCE_NUMBER));
}

}  // namespace detail
}  // namespace rclrt_rcl
