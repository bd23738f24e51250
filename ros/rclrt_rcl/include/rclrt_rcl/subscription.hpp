// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A subscription to messages of type M. See subscription_callback.hpp for the callback's forms.
///
/// By const reference, messages are taken into an object that is used again: no allocation once its
/// strings and sequences have reached their size.
#ifndef RCLRT_RCL__SUBSCRIPTION_HPP_
#define RCLRT_RCL__SUBSCRIPTION_HPP_

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/subscription_base.hpp"
#include "rclrt_rcl/subscription_callback.hpp"

namespace rclrt_rcl
{

template <typename M>
class Subscription : public SubscriptionBase
{
public:
  Subscription(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const std::string & topic, const QoS & qos, SubscriptionCallback<M> callback,
    bool intra_process, bool ignore_local_publications)
  : SubscriptionBase(
      std::move(setup), std::move(context), node,
      rosidl_typesupport_cpp::get_message_type_support_handle<M>(), topic, qos,
      ignore_local_publications, intra_process && !callback.wants_bytes()),
    callback_(std::move(callback))
  {
    const auto * const subscription = static_cast<const SubscriptionBase *>(this);
    detail::trace_subscription(handle().get(), subscription, &callback_, callback_.symbol());
    if (intra_process && !callback_.wants_bytes()) {
      inbox_ = std::make_shared<detail::TypedInbox<M>>(
        std::min<std::size_t>(queue_depth(), kMaxInbox),
        [this](std::size_t count) { announce(count); });
      join_intra_process(inbox_, typeid(M));
      detail::trace_inbox_of(inbox_.get(), subscription);
    }
  }

private:
  bool do_take_and_run(const rclrt_core::Job &) override
  {
    detail::trace_execute(handle().get());
    return run_from_inbox() || run_from_middleware();
  }

  bool run_from_inbox()
  {
    typename detail::TypedInbox<M>::Item item;
    if (inbox_ == nullptr || !inbox_->take(&item)) {
      return false;
    }
    // The job may have been released by another message: one that came by the middleware, or one that
    // another thread has taken.
    const rclrt_core::Job * const job = rclrt_core::current_job();
    if (job != nullptr && job->deadline != item.deadline) {
      const M * const message = item.owned ? item.owned.get() : item.shared.get();
      inherit_deadline(item.deadline, item.info, message);
    }
    if (rclrt_core::gives_up_job()) {
      return true;
    }
    if (item.owned) {
      callback_(std::move(item.owned), item.info);
    } else {
      callback_(std::move(item.shared), item.info);
    }
    return true;
  }

  bool run_from_middleware()
  {
    if (callback_.wants_bytes()) {
      return run_with_spare(&spare_bytes_, [this](auto * m, auto * i) { return take_bytes(m, i); });
    }
    if (callback_.wants_reference()) {
      return can_loan_messages() ? run_with_loan()
                                 : run_with_spare(&spare_messages_, [this](M * m, auto * i) {
                                     return take_message(m, i);
                                   });
    }
    MessageInfo info;
    auto message = std::make_unique<M>();
    {
      std::lock_guard<rclrt_core::Mutex> lock(take_mutex());
      if (!take_message(message.get(), &info)) {
        return false;
      }
    }
    inherit_deadline(info, message.get());
    if (!rclrt_core::gives_up_job()) {
      callback_(std::move(message), info);
    }
    return true;
  }

  bool run_with_loan()
  {
    MessageInfo info;
    void * lent = nullptr;
    {
      std::lock_guard<rclrt_core::Mutex> lock(take_mutex());
      if (!take_loan(&lent, &info)) {
        return false;
      }
    }
    const std::unique_ptr<void, std::function<void(void *)>> giver(
      lent, [this](void * loan) { return_loan(loan); });
    inherit_deadline(info, lent);
    if (!rclrt_core::gives_up_job()) {
      callback_(*static_cast<const M *>(lent), info);
    }
    return true;
  }

  /// As many spares exist as callbacks have run at once.
  template <typename T, typename Take>
  bool run_with_spare(std::vector<std::unique_ptr<T>> * spares, Take take)
  {
    MessageInfo info;
    std::unique_ptr<T> message;
    bool taken = false;
    const auto put_back = [&](T * used) {
      std::lock_guard<rclrt_core::Mutex> lock(take_mutex());
      spares->emplace_back(used);
    };
    {
      std::lock_guard<rclrt_core::Mutex> lock(take_mutex());
      if (spares->empty()) {
        message = std::make_unique<T>();
      } else {
        message = std::move(spares->back());
        spares->pop_back();
      }
      taken = take(message.get(), &info);
    }
    const std::unique_ptr<T, decltype(put_back)> loan(message.release(), put_back);
    if (taken) {
      if constexpr (std::is_same_v<T, SerializedMessage>) {
        inherit_deadline(info, *loan);
      } else {
        inherit_deadline(info, static_cast<const void *>(loan.get()));
      }
      if (!rclrt_core::gives_up_job()) {
        callback_(std::as_const(*loan), info);
      }
    }
    return taken;
  }

  /// Its memory is there from the beginning. If it is full, the oldest is dropped.
  static constexpr std::size_t kMaxInbox = 5000;

  const SubscriptionCallback<M> callback_;
  std::shared_ptr<detail::TypedInbox<M>> inbox_;
  std::vector<std::unique_ptr<M>> spare_messages_;
  std::vector<std::unique_ptr<SerializedMessage>> spare_bytes_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SUBSCRIPTION_HPP_
