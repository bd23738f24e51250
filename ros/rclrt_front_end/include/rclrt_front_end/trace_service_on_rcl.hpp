// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How front ends on rcl offer the service that begins and ends trace files. Inline, as diagnostics_on_rcl.hpp, for the
/// same reasons. Where the front end is built without std_srvs (RCLRT_HAS_STD_SRVS), there is no service, and the
/// executor says so. For one .cpp of a front end.
#pragma once

#include <memory>

#include "rcl/context.h"
#include "rclrt_front_end/recorder.hpp"

#ifdef RCLRT_HAS_STD_SRVS
#include <string>
#include <utility>

#include "rcl/service.h"
#include "rclrt_core/trace_file.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rosidl_runtime_c/string_functions.h"
#include "std_srvs/srv/detail/set_bool__functions.h"
#include "std_srvs/srv/set_bool.h"
#endif

namespace rclrt_front_end
{

#ifdef RCLRT_HAS_STD_SRVS

/// The service /rclrt/trace/<rclrt_core::trace_name()>, with `_` for what a name of ROS may not have. It is made when it
/// is first looked at. For one thread at a time.
class TraceServiceOnRcl
{
public:
  explicit TraceServiceOnRcl(std::shared_ptr<rcl_context_t> context)
  : node_(std::move(context), "trace")
  {
  }
  ~TraceServiceOnRcl()
  {
    if (has_service_) {
      HiddenNode::forget(rcl_service_fini(&service_, node_.handle()));
    }
  }
  TraceServiceOnRcl(const TraceServiceOnRcl &) = delete;
  TraceServiceOnRcl & operator=(const TraceServiceOnRcl &) = delete;

  rclrt_core::Status look(unsigned executor, const SwitchTrace & change)
  {
    if (!node_.has_context()) {
      return {};  // not initialised yet, or shut down
    }
    rcl_ret_t result = has_service_ ? RCL_RET_OK : make(executor);
    while (result == RCL_RET_OK) {
      rmw_request_id_t who{};
      std_srvs__srv__SetBool_Request request{};
      result = rcl_take_request(&service_, &who, &request);
      if (result == RCL_RET_SERVICE_TAKE_FAILED) {
        HiddenNode::forget(result);
        return {};  // nobody has called
      }
      if (result == RCL_RET_OK) {
        result = answer(who, change(request.data));
      }
    }
    return node_.status_of(result);
  }

private:
  rcl_ret_t make(unsigned executor)
  {
    const rcl_ret_t result = node_.make();
    if (result != RCL_RET_OK) {
      return result;
    }
    const rcl_service_options_t options = rcl_service_get_default_options();
    const rcl_ret_t made = rcl_service_init(
      &service_, node_.handle(), ROSIDL_GET_SRV_TYPE_SUPPORT(std_srvs, srv, SetBool),
      name_of(executor).c_str(), &options);
    has_service_ = made == RCL_RET_OK;
    return made;
  }

  static std::string name_of(unsigned executor)
  {
    std::string name;
    for (const char letter : rclrt_core::trace_name(executor)) {
      const bool is_digit = letter >= '0' && letter <= '9';
      if (is_digit && name.empty()) {
        name = "program_";  // no name of ROS begins with a digit
      }
      const char lower = static_cast<char>(letter | 0x20);
      const bool is_plain = is_digit || (lower >= 'a' && lower <= 'z');
      if (is_plain || name.empty() || name.back() != '_') {  // nor has two underscores in a row
        name += is_plain ? letter : '_';
      }
    }
    return "/rclrt/trace/" + name;
  }

  rcl_ret_t answer(rmw_request_id_t & who, const TraceAnswer & answer)
  {
    std_srvs__srv__SetBool_Response response{};
    if (
      !std_srvs__srv__SetBool_Response__init(&response) ||
      !rosidl_runtime_c__String__assignn(
        &response.message, answer.message.data(), answer.message.size())) {
      return RCL_RET_BAD_ALLOC;
    }
    response.success = answer.success;
    const rcl_ret_t result = rcl_send_response(&service_, &who, &response);
    std_srvs__srv__SetBool_Response__fini(&response);
    return result;
  }

  HiddenNode node_;
  rcl_service_t service_ = rcl_get_zero_initialized_service();
  bool has_service_ = false;
};

/// Through the middleware, as a node of `context`.
[[maybe_unused]] static TraceService trace_service(std::shared_ptr<rcl_context_t> context)
{
  return
    [service = std::make_shared<TraceServiceOnRcl>(std::move(context))](
      unsigned executor, const SwitchTrace & change) { return service->look(executor, change); };
}

#else

[[maybe_unused]] static TraceService trace_service(const std::shared_ptr<rcl_context_t> &)
{
  return {};
}

#endif

}  // namespace rclrt_front_end
