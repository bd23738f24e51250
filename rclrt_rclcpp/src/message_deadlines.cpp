// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "message_deadlines.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "rcl/error_handling.h"
#include "rcl/subscription.h"
#include "rclcpp/exceptions.hpp"
#include "rclcpp/logging.hpp"
#include "rclcpp/message_info.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/job.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{
namespace
{

rclrt_core::DeadlineRing::PublisherId publisher_of(const rmw_message_info_t & info)
{
  rclrt_core::DeadlineRing::PublisherId id{};
  static_assert(RMW_GID_STORAGE_SIZE >= id.size(), "an id is the beginning of a gid");
  std::copy_n(std::begin(info.publisher_gid.data), id.size(), id.begin());
  return id;
}

/// Returns whether there was a message.
template <typename Take>
bool take(
  const rclcpp::SubscriptionBase & subscription, rclcpp::MessageInfo * info, Take take_message)
{
  rmw_message_info_t & of_message = info->get_rmw_message_info();
  of_message.from_intra_process = false;
  try {
    if (!take_message()) {
      return false;
    }
  } catch (const rclcpp::exceptions::RCLError & error) {
    RCLCPP_ERROR(
      rclcpp::get_logger("rclrt"), "taking a message from '%s': %s", subscription.get_topic_name(),
      error.what());
    return false;
  }
  rclrt_core::inherit_deadline(rclrt_core::DeadlineRing::of_process()->find(
    publisher_of(of_message), of_message.publication_sequence_number));
  return true;
}

void execute_loan(rclcpp::SubscriptionBase & subscription)
{
  const auto handle = subscription.get_subscription_handle();
  const auto give_back = [&](void * loan) {
    if (rcl_return_loaned_message_from_subscription(handle.get(), loan) != RCL_RET_OK) {
      RCLCPP_ERROR(
        rclcpp::get_logger("rclrt"), "returning a loaned message of '%s': %s",
        subscription.get_topic_name(), rcl_get_error_string().str);
      rcl_reset_error();
    }
  };
  rclcpp::MessageInfo info;
  void * loan = nullptr;
  const bool is_taken = take(subscription, &info, [&] {
    const rcl_ret_t ret =
      rcl_take_loaned_message(handle.get(), &loan, &info.get_rmw_message_info(), nullptr);
    if (ret != RCL_RET_OK && ret != RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
      rclcpp::exceptions::throw_from_rcl_error(ret);
    }
    return ret == RCL_RET_OK;
  });
  const std::unique_ptr<void, decltype(give_back)> kept(loan, give_back);  // also if it throws
  if (is_taken) {
    subscription.handle_loaned_message(loan, info);
  }
}

}  // namespace

bool execute_with_deadline(rclcpp::SubscriptionBase & subscription)
{
  if (
    rclrt_core::DeadlineRing::of_process() == nullptr ||
    !detail::is_message_or_bytes(subscription)) {
    return false;
  }
  rclcpp::MessageInfo info;
  if (subscription.is_serialized()) {
    auto bytes = subscription.create_serialized_message();
    if (take(subscription, &info, [&] { return subscription.take_serialized(*bytes, info); })) {
      subscription.handle_serialized_message(bytes, info);
    }
    subscription.return_serialized_message(bytes);
    return true;
  }
  if (subscription.can_loan_messages()) {
    execute_loan(subscription);
    return true;
  }
  auto message = subscription.create_message();
  if (take(
        subscription, &info, [&] { return subscription.take_type_erased(message.get(), info); })) {
    subscription.handle_message(message, info);
  }
  subscription.return_message(message);
  return true;
}

}  // namespace rclrt_rclcpp
