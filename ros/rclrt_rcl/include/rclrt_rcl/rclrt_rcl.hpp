// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Everything a node and its main() need.
#pragma once

#include "rclrt_rcl/clock.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/node.hpp"
