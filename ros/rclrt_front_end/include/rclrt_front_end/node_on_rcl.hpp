// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A node for what an executor itself says and is asked. Inline, since this package itself is built without ROS.
#ifndef RCLRT_FRONT_END__NODE_ON_RCL_HPP_
#define RCLRT_FRONT_END__NODE_ON_RCL_HPP_

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "rcl/context.h"
#include "rcl/error_handling.h"
#include "rcl/node.h"
#include "rclrt_core/status.hpp"

namespace rclrt_front_end
{

/// Made when it is first needed. Its name begins with an underscore, and no argument of the program renames it or its
/// topics. For one thread at a time.
class HiddenNode
{
public:
  /// `context` keeps what it points to as long as this is here.
  HiddenNode(std::shared_ptr<rcl_context_t> context, const char * what)
  : context_(std::move(context)), what_(what)
  {
  }
  ~HiddenNode()
  {
    if (is_there_) {
      forget(rcl_node_fini(&node_));
    }
  }
  HiddenNode(const HiddenNode &) = delete;
  HiddenNode & operator=(const HiddenNode &) = delete;

  rcl_node_t * handle() noexcept { return &node_; }
  /// Whether the context is initialised and not shut down.
  bool has_context() const { return rcl_context_is_valid(context_.get()); }

  rcl_ret_t make()
  {
    if (is_there_) {
      return RCL_RET_OK;
    }
    static std::atomic<unsigned> made{0};
    const std::string name = std::string("_rclrt_") + what_ + "_" + std::to_string(getpid()) + "_" +
                             std::to_string(made.fetch_add(1, std::memory_order_relaxed));
    rcl_node_options_t options = rcl_node_get_default_options();
    options.use_global_arguments = false;
    options.enable_rosout = false;
    // rcl wants arguments to be parsed if those of the context are not to count.
    rcl_ret_t result =
      rcl_parse_arguments(0, nullptr, rcl_get_default_allocator(), &options.arguments);
    if (result == RCL_RET_OK) {
      result = rcl_node_init(&node_, name.c_str(), "", context_.get(), &options);
    }
    is_there_ = result == RCL_RET_OK;
    forget(rcl_node_options_fini(&options));
    return result;
  }

  /// No error if the context is gone meanwhile.
  rclrt_core::Status status_of(rcl_ret_t result) const
  {
    if (result == RCL_RET_OK || !has_context()) {
      forget(result);
      return {};
    }
    const std::string why = rcl_get_error_string().str;
    rcl_reset_error();
    return rclrt_core::Status::error(why);
  }

  static void forget(rcl_ret_t result)
  {
    if (result != RCL_RET_OK) {
      rcl_reset_error();
    }
  }

private:
  const std::shared_ptr<rcl_context_t> context_;
  const char * const what_;
  rcl_node_t node_ = rcl_get_zero_initialized_node();
  bool is_there_ = false;
};

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__NODE_ON_RCL_HPP_
