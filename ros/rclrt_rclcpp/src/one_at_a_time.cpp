// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "one_at_a_time.hpp"

#include <mutex>
#include <string>

#include "in_effect.hpp"
#include "rcl/error_handling.h"
#include "rcl/logging.h"
#include "rcl/node.h"
#include "rcl/time.h"
#include "rclrt_core/job.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "versions.hpp"

#if !RCLRT_RCLCPP_IS_HUMBLE  // whose nodes keep no types
#include "rcl/node_type_cache.h"
#endif

namespace rclrt_rclcpp
{
namespace
{

/// For all clocks and nodes: it is held for microseconds, when something is made or destroyed. Under it rcl takes the
/// allocator's lock, and the log's if it refuses. It calls nothing that comes back here.
rclrt_front_end::PiMutex & one_at_a_time()
{
  static auto & mutex = *new rclrt_front_end::PiMutex;  // never destroyed: clocks may be static
  return mutex;
}

template <typename ReturnT, typename... Taken>
constexpr NextDefinition<ReturnT(Taken...)> next_of(
  ReturnT (*)(Taken...), const char * name) noexcept
{
  return NextDefinition<ReturnT(Taken...)>(name);
}

#define RCLRT_NEXT(function) auto next_##function = next_of(&function, #function)

RCLRT_NEXT(rcl_clock_add_jump_callback);
RCLRT_NEXT(rcl_clock_remove_jump_callback);
RCLRT_NEXT(rcl_logging_fini);
#if !RCLRT_RCLCPP_IS_HUMBLE
RCLRT_NEXT(rcl_node_type_cache_register_type);
RCLRT_NEXT(rcl_node_type_cache_unregister_type);
RCLRT_NEXT(rcl_node_type_description_service_handle_request);
#endif

/// So that nothing is looked up, which takes the loader's lock, after start and under a mutex.
[[gnu::constructor]] void look_up_functions_of_rcl()
{
  next_rcl_clock_add_jump_callback.get();
  next_rcl_clock_remove_jump_callback.get();
  next_rcl_logging_fini.get();
#if !RCLRT_RCLCPP_IS_HUMBLE
  next_rcl_node_type_cache_register_type.get();
  next_rcl_node_type_cache_unregister_type.get();
  next_rcl_node_type_description_service_handle_request.get();
#endif
}

template <typename ReturnT, typename... Taken, typename... Given>
ReturnT call(NextDefinition<ReturnT(Taken...)> & definition, Given... given)
{
  auto * const next = definition.get();
  if (!next) {
    RCL_SET_ERROR_MSG_WITH_FORMAT_STRING(
      "rclrt_rclcpp: no %s() is linked after it", definition.name());
    return static_cast<ReturnT>(RCL_RET_ERROR);
  }
  return next(given...);
}

template <typename DefinitionT, typename... Given>
auto call_alone(DefinitionT & definition, Given... given)
{
  definition.get();  // not under the mutex
  const std::lock_guard<rclrt_front_end::PiMutex> lock(one_at_a_time());
  return call(definition, given...);
}

}  // namespace
}  // namespace rclrt_rclcpp

extern "C" {

rcl_ret_t rcl_clock_add_jump_callback(
  rcl_clock_t * clock, rcl_jump_threshold_t threshold, rcl_jump_callback_t callback,
  void * user_data)
{
  return rclrt_rclcpp::call_alone(
    rclrt_rclcpp::next_rcl_clock_add_jump_callback, clock, threshold, callback, user_data);
}

rcl_ret_t rcl_clock_remove_jump_callback(
  rcl_clock_t * clock, rcl_jump_callback_t callback, void * user_data)
{
  return rclrt_rclcpp::call_alone(
    rclrt_rclcpp::next_rcl_clock_remove_jump_callback, clock, callback, user_data);
}

rcl_ret_t rcl_logging_fini()
{
  return rclrt_core::runs_inline() ? RCL_RET_OK
                                   : rclrt_rclcpp::call(rclrt_rclcpp::next_rcl_logging_fini);
}

#if !RCLRT_RCLCPP_IS_HUMBLE

rcl_ret_t rcl_node_type_cache_register_type(
  const rcl_node_t * node, const rosidl_type_hash_t * type_hash,
  const rosidl_runtime_c__type_description__TypeDescription * type_description,
  const rosidl_runtime_c__type_description__TypeSource__Sequence * type_description_sources)
{
  return rclrt_rclcpp::call_alone(
    rclrt_rclcpp::next_rcl_node_type_cache_register_type, node, type_hash, type_description,
    type_description_sources);
}

rcl_ret_t rcl_node_type_cache_unregister_type(
  const rcl_node_t * node, const rosidl_type_hash_t * type_hash)
{
  return rclrt_rclcpp::call_alone(
    rclrt_rclcpp::next_rcl_node_type_cache_unregister_type, node, type_hash);
}

/// It uses what rcl_node_type_cache_get_type_info() found until it returns.
void rcl_node_type_description_service_handle_request(
  rcl_node_t * node, const rmw_request_id_t * request_header,
  const type_description_interfaces__srv__GetTypeDescription_Request * request,
  type_description_interfaces__srv__GetTypeDescription_Response * response)
{
  rclrt_rclcpp::call_alone(
    rclrt_rclcpp::next_rcl_node_type_description_service_handle_request, node, request_header,
    request, response);
}

#endif
}

namespace rclrt_rclcpp
{

std::optional<rclrt_core::Finding> several_at_a_time()
{
  if (is_in_effect("rcl_clock_add_jump_callback")) {
    return std::nullopt;
  }
  rclrt_core::Finding finding;
  finding.subject = "entities";
  finding.what =
    "rcl_clock_add_jump_callback() is not called through rclrt_rclcpp: entities of one node that "
    "come or go in two threads at once corrupt the heap, and a thread of the executor may be the "
    "last owner of what the program drops";
  finding.fix = remedy_if_not_in_effect();
  return finding;
}

}  // namespace rclrt_rclcpp
