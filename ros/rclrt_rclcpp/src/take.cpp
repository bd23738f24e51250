// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "take.hpp"

#include <memory>

#include "rcl/error_handling.h"
#include "rcl/subscription.h"
#include "rclcpp/exceptions.hpp"
#include "rclcpp/logging.hpp"
#include "rclcpp/message_info.hpp"
#include "rclrt_front_end/take_on_rcl.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{
namespace
{

/// Returns whether there was anything.
template <typename Take>
bool take(const char * what, const char * name, Take take_it)
{
  try {
    return take_it();
  } catch (const rclcpp::exceptions::RCLError & error) {
    RCLCPP_ERROR(rclcpp::get_logger("rclrt"), "taking %s '%s': %s", what, name, error.what());
    return false;
  }
}

/// As rclrt_front_end::take_and_handle(). `leading_stamp`: how to read that of what was taken.
template <typename Take, typename LeadingStamp, typename Handle>
bool take_message(
  const rclcpp::SubscriptionBase & subscription, rclcpp::MessageInfo & info, Take take_it,
  LeadingStamp leading_stamp, Handle handle)
{
  info.get_rmw_message_info().from_intra_process = false;
  return rclrt_front_end::take_and_handle(
    info.get_rmw_message_info(),
    [&] { return take("a message from", subscription.get_topic_name(), take_it); },
    [&] {
      return rclrt_front_end::begins_with_stamp(subscription.get_message_type_support_handle())
               ? leading_stamp()
               : rclrt_core::kNoStamp;
    },
    handle);
}

bool take_loan(rclcpp::SubscriptionBase & subscription)
{
  const auto handle = subscription.get_subscription_handle();
  const auto give_back = [handle](void * loan) {
    if (
      loan != nullptr &&
      rcl_return_loaned_message_from_subscription(handle.get(), loan) != RCL_RET_OK) {
      RCLCPP_ERROR(
        rclcpp::get_logger("rclrt"), "returning a loaned message of '%s': %s",
        rcl_subscription_get_topic_name(handle.get()), rcl_get_error_string().str);
      rcl_reset_error();
    }
  };
  rclcpp::MessageInfo info;
  // The callback may keep the message: given back is what nobody has a pointer to any more. So it is not handled as
  // rclcpp handles a loan, whose pointers outlive it.
  std::shared_ptr<void> kept;
  return take_message(
    subscription, info,
    [&] {
      void * loan = nullptr;
      const rcl_ret_t ret =
        rcl_take_loaned_message(handle.get(), &loan, &info.get_rmw_message_info(), nullptr);
      kept.reset(loan, give_back);
      if (ret != RCL_RET_OK && ret != RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
        rclcpp::exceptions::throw_from_rcl_error(ret);
      }
      return ret == RCL_RET_OK;
    },
    [&] { return rclrt_front_end::leading_stamp(kept.get()); },
    [&] { subscription.handle_message(kept, info); });
}

}  // namespace

bool take_and_handle(rclcpp::SubscriptionBase & subscription)
{
  rclcpp::MessageInfo info;
  if (subscription.is_serialized()) {
    auto bytes = subscription.create_serialized_message();
    const bool is_taken = take_message(
      subscription, info, [&] { return subscription.take_serialized(*bytes, info); },
      [&] { return rclrt_front_end::leading_stamp(bytes->get_rcl_serialized_message()); },
      [&] { subscription.handle_serialized_message(bytes, info); });
    subscription.return_serialized_message(bytes);
    return is_taken;
  }
  if (subscription.can_loan_messages()) {
    return take_loan(subscription);
  }
  auto message = subscription.create_message();
  const bool is_taken = take_message(
    subscription, info, [&] { return subscription.take_type_erased(message.get(), info); },
    [&] { return rclrt_front_end::leading_stamp(static_cast<const void *>(message.get())); },
    [&] { subscription.handle_message(message, info); });
  subscription.return_message(message);
  return is_taken;
}

bool take_and_handle(rclcpp::ServiceBase & service)
{
  const auto header = service.create_request_header();
  auto request = service.create_request();
  const bool is_taken = take("a request of service", service.get_service_name(), [&] {
    return service.take_type_erased_request(request.get(), *header);
  });
  if (is_taken) {
    service.handle_request(header, request);
  }
  return is_taken;
}

bool take_and_handle(rclcpp::ClientBase & client)
{
  const auto header = client.create_request_header();
  auto response = client.create_response();
  const bool is_taken = take("a response of service", client.get_service_name(), [&] {
    return client.take_type_erased_response(response.get(), *header);
  });
  if (is_taken) {
    client.handle_response(header, response);
  }
  return is_taken;
}

}  // namespace rclrt_rclcpp
