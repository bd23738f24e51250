// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The default context of the process, and the functions most programs need of it.
///
///   rclrt_rcl::init(argc, argv);  ...  rclrt_rcl::shutdown();
#ifndef RCLRT_RCL__INIT_HPP_
#define RCLRT_RCL__INIT_HPP_

#include <memory>
#include <string>

#include "rclrt_rcl/context.hpp"

namespace rclrt_rcl
{

/// Make the default context and install_signal_handlers(). Errors: it exists and is ok().
void init(int argc = 0, const char * const * argv = nullptr, const ContextOptions & options = {});

/// Whether the default context exists and has not been shut down.
bool ok() noexcept;

/// Shut down the default context, if there is one, and forget it.
bool shutdown(const std::string & reason = "shutdown() was called");

/// Error unless init() was called.
std::shared_ptr<Context> default_context();

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__INIT_HPP_
