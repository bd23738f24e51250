// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Everything a node and its main() need.
#ifndef RCLRT_RCL__RCLRT_RCL_HPP_
#define RCLRT_RCL__RCLRT_RCL_HPP_

#include "rclrt_rcl/callback_isolated_executor.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/init.hpp"
#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/preemptive_executor.hpp"
#include "rclrt_rcl/priority_events_executor.hpp"
#include "rclrt_rcl/signal_handlers.hpp"
#include "rclrt_rcl/time_message.hpp"

#endif  // RCLRT_RCL__RCLRT_RCL_HPP_
