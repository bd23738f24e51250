// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What front ends on rcl ask rcl and the RMW for. Inline, since this package itself is built without ROS.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rcl/arguments.h"
#include "rcl/context.h"
#include "rcl/domain_id.h"
#include "rcl/error_handling.h"
#include "rcl/event_callback.h"
#include "rcl/init_options.h"
#include "rcl/node.h"
#include "rclrt_core/status.hpp"
#include "rclrt_front_end/common_options.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_front_end/executor_report.hpp"
#include "rclrt_front_end/middleware.hpp"
#include "rclrt_front_end/sent_message.hpp"
#include "rmw/rmw.h"
#if __has_include("tracetools/tracetools.h")
#include "tracetools/tracetools.h"
#endif

namespace rclrt_front_end
{
namespace detail
{

/// Before Jazzy the tracepoint has no time stamp.
#if __has_include("tracetools/tracetools.h") && !defined(TRACETOOLS_DISABLED)
constexpr bool kStampIsAnArgument =
  std::is_invocable_v<decltype(ros_trace_rmw_publish), const void *, const void *, int64_t>;
#else
constexpr bool kStampIsAnArgument = true;
#endif

}  // namespace detail

/// Has the middleware call `callback` when work arrives; the null pointer ends that. `set`: what rcl has for such
/// handles. Twice, because rmw_fastrtps (9.3) first counts what waits and then begins to listen: of what arrives in
/// between it tells only together with what comes next. At the second time it listens already, and that is among what
/// waits. rclcpp's own functions register twice, too.
template <typename HandleT>
rcl_ret_t tell_of_work(
  rcl_ret_t (*set)(const HandleT *, rcl_event_callback_t, const void *), const HandleT * handle,
  rcl_event_callback_t callback, const void * user_data)
{
  const rcl_ret_t result = set(handle, callback, user_data);
  return callback == nullptr || result != RCL_RET_OK ? result : set(handle, callback, user_data);
}

/// The files given with --params-file to the program. Errors: rcl's.
inline rclrt_core::Status parameter_files(
  const rcl_context_t & context, std::vector<std::string> * files)
{
  const int count = rcl_arguments_get_param_files_count(&context.global_arguments);
  if (count <= 0) {
    return {};
  }
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  char ** names = nullptr;
  if (rcl_arguments_get_param_files(&context.global_arguments, allocator, &names) != RCL_RET_OK) {
    const std::string why = rcl_get_error_string().str;
    rcl_reset_error();
    return rclrt_core::Status::error("reading the parameters files: " + why);
  }
  for (int i = 0; i < count; ++i) {
    files->emplace_back(names[i]);
    allocator.deallocate(names[i], allocator.state);
  }
  allocator.deallocate(static_cast<void *>(names), allocator.state);
  return {};
}

/// The middleware that this process has loaded.
inline Middleware middleware_in_use()
{
  const char * const name = rmw_get_implementation_identifier();  // loads it
  static const bool tells_stamps =
    detail::kStampIsAnArgument && is_called_by_a_library("ros_trace_rmw_publish");
  return Middleware::of(name, tells_stamps);
}

/// Makes an engine for an executor of `context`, which has parameters files only while it is initialised.
/// `publish`: see publish_diagnostics(). `platform` must outlive it. Errors: of
/// parameter_files() and ConfiguredEngine::make().
inline rclrt_core::Status make_engine(
  rclrt_core::Platform & platform, const rcl_context_t & context, const CommonOptions & options,
  rclrt_core::EngineOptions engine_options, PublishDiagnostics publish,
  std::unique_ptr<ConfiguredEngine> * engine)
{
  std::vector<std::string> files;
  std::size_t domain_id = 0;
  if (rcl_context_is_valid(&context)) {
    const rclrt_core::Status status = parameter_files(context, &files);
    if (!status.ok()) {
      return status;
    }
    const rcl_init_options_t * const made_with = rcl_context_get_init_options(&context);
    if (rcl_init_options_get_domain_id(made_with, &domain_id) != RCL_RET_OK) {
      rcl_reset_error();
    }
    domain_id = domain_id == RCL_DEFAULT_DOMAIN_ID ? 0 : domain_id;  // Nobody has said one.
  }
  ConfiguredEngineOptions configured = configured_engine_options(
    options, std::move(engine_options), std::move(files), middleware_in_use());
  configured.domain_id = static_cast<int64_t>(domain_id);
  configured.publish_diagnostics = std::move(publish);
  return ConfiguredEngine::make(platform, std::move(configured), engine);
}

/// A node for what an executor itself says. Inline, since this package itself is built without ROS.

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
