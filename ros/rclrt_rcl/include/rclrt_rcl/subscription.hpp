// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A subscription to messages of type M. SubscriptionCallback has the forms of its callback.
///
/// By const reference, messages are taken into an object that is used again: no allocation once its
/// strings and sequences have reached their size.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <variant>
#include <vector>

#include "rcl/node.h"
#include "rcl/subscription.h"
#include "rclrt_core/job.hpp"
#include "rclrt_front_end/take_on_rcl.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/detail/intra_process.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/qos.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"

namespace rclrt_rcl
{

/// The common part of subscriptions of all message types.
class SubscriptionBase : public Entity
{
public:
  ~SubscriptionBase() override;

  /// After remapping.
  std::string topic_name() const;
  QoS actual_qos() const;
  /// Matched publishers in all processes.
  std::size_t publisher_count() const;

  const std::shared_ptr<rcl_subscription_t> & handle() const noexcept { return handle_; }
  std::vector<WaitHandle> wait_handles() override;

protected:
  SubscriptionBase(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const rosidl_message_type_support_t * type, const std::string & topic, const QoS & qos,
    bool has_inbox);

  /// Depth of the middleware's queue, and also of the inbox; depth() counts both.
  uint32_t queue_depth() const noexcept { return queue_depth_; }

  /// Deliver by pointer too, through this inbox. Called once, by the constructor of the subclass.
  void join_intra_process(const std::shared_ptr<detail::Inbox> & inbox, std::type_index type);

  void set_middleware_callback(rcl_event_callback_t callback, const void * user_data) override;
  void on_close() override;

  /// Take one message from the middleware, into what `into()` returns, which runs under take_mutex(), and give
  /// its info to `handle`. False if there is none (any more), or if it has come by pointer already.
  template <typename Into, typename Handle>
  bool take_and_handle(Into into, Handle handle)
  {
    void * message = nullptr;
    return take_and_handle(
      [&](rmw_message_info_t * from) {
        message = into();
        return accept(rcl_take(handle_.get(), message, from, nullptr), message, *from);
      },
      [&] { return rclrt_front_end::leading_stamp(message); }, handle);
  }
  template <typename Handle>
  bool take_and_handle(SerializedMessage & bytes, Handle handle)
  {
    const auto take = [&](rmw_message_info_t * from) {
      rmw_serialized_message_t * const to = &bytes.handle();
      return accept(rcl_take_serialized_message(handle_.get(), to, from, nullptr), to, *from);
    };
    return take_and_handle(
      take, [&] { return rclrt_front_end::leading_stamp(bytes.handle()); }, handle);
  }

  rclrt_core::Mutex & take_mutex() noexcept { return *take_mutex_; }

  /// For a message that came by pointer, and was published by a job with this deadline.
  void inherit_deadline(
    rclrt_core::TimePoint deadline, const MessageInfo & info, const void * message)
  {
    rclrt_core::inherit_deadline(
      deadline, rclrt_front_end::stamp_of(info.source_timestamp.count(), [&] {
        return begins_with_stamp_ ? rclrt_front_end::leading_stamp(message) : rclrt_core::kNoStamp;
      }));
  }

private:
  SubscriptionBase(
    EntitySetup setup, std::shared_ptr<Context> context, std::shared_ptr<rcl_subscription_t> handle,
    bool has_inbox, bool begins_with_stamp);
  template <typename Take, typename LeadingStamp, typename Handle>
  bool take_and_handle(Take take, LeadingStamp leading_stamp, Handle handle)
  {
    rmw_message_info_t from = rmw_get_zero_initialized_message_info();
    return rclrt_front_end::take_and_handle(
      from,
      [&] {
        std::lock_guard<rclrt_core::Mutex> lock(take_mutex());
        return take(&from);
      },
      [&] { return begins_with_stamp_ ? leading_stamp() : rclrt_core::kNoStamp; },
      [&] { handle(to_info(from)); },
      // With an inbox the job may have been released by a message that came by pointer, and have its deadline.
      inbox_ ? std::optional<rclrt_core::TimePoint>(rclrt_core::kNever) : std::nullopt);
  }
  bool accept(rcl_ret_t result, const void * message, const rmw_message_info_t & from)
  {
    if (result != RCL_RET_OK) {
      not_taken(result);
      return false;
    }
    detail::trace_take(message);
    return inbox_ == nullptr || !inbox_->serves(rclrt_front_end::publisher_of(from));
  }
  static MessageInfo to_info(const rmw_message_info_t & from)
  {
    MessageInfo info;
    info.source_timestamp = std::chrono::nanoseconds(from.source_timestamp);
    info.received_timestamp = std::chrono::nanoseconds(from.received_timestamp);
    info.publication_sequence_number = from.publication_sequence_number;
    info.reception_sequence_number = from.reception_sequence_number;
    info.publisher_gid = rclrt_front_end::publisher_of(from);
    info.from_intra_process = from.from_intra_process;
    return info;
  }
  void not_taken(rcl_ret_t result) const;

  const uint32_t queue_depth_;
  std::shared_ptr<Context> context_;
  std::shared_ptr<rcl_subscription_t> handle_;
  std::unique_ptr<rclrt_core::Mutex> take_mutex_;
  std::shared_ptr<detail::Inbox> inbox_;
};

struct SubscriptionOptions
{
  /// Null: the node's default group.
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
  /// Take messages of publishers in the same context by pointer. Unset: as the node says.
  /// The middleware delivers such a message too, but the callback gets it once. Exception: it waits
  /// in the middleware while more than 64 publishers of the topic go.
  std::optional<bool> use_intra_process;
};

/// The forms a subscription's callback may have:
///
///   (const M &)                        the message lives until the callback returns; no allocation
///   (std::unique_ptr<M>)               the callback owns it
///   (std::shared_ptr<const M>)         shared with others
///
/// each also with a second argument `const MessageInfo &`.
template <typename M>
class SubscriptionCallback
{
public:
  using ByReference = std::function<void(const M &, const MessageInfo &)>;
  using Owned = std::function<void(std::unique_ptr<M>, const MessageInfo &)>;
  using Shared = std::function<void(std::shared_ptr<const M>, const MessageInfo &)>;

  template <
    typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, SubscriptionCallback>>>
  SubscriptionCallback(F && function)  // NOLINT(runtime/explicit)
  : symbol_(detail::symbol_of(function))
  {
    // An owner would also take what a sharer takes, so sharers come first.
    if constexpr (accepts<F, const M &>()) {
      set<ByReference, const M &>(std::forward<F>(function));
    } else if constexpr (accepts<F, std::shared_ptr<const M>>()) {
      set<Shared, std::shared_ptr<const M>>(std::forward<F>(function));
    } else {
      static_assert(
        accepts<F, std::unique_ptr<M>>(),
        "a subscription's callback takes const M &, std::unique_ptr<M> or "
        "std::shared_ptr<const M>, and optionally const MessageInfo &");
      set<Owned, std::unique_ptr<M>>(std::forward<F>(function));
    }
  }

  bool wants_reference() const noexcept { return std::holds_alternative<ByReference>(form_); }

  const detail::Symbol & symbol() const noexcept { return symbol_; }

  template <typename Message>
  void operator()(Message && message, const MessageInfo & info) const
  {
    const detail::Running running(this, info.from_intra_process);
    run(std::forward<Message>(message), info);
  }

private:
  // Any form takes any of these; a copy is made only for an owner of a shared message.
  void run(const M & message, const MessageInfo & info) const
  {
    if (const auto * by_reference = std::get_if<ByReference>(&form_)) {
      (*by_reference)(message, info);
    } else {
      run(std::make_unique<M>(message), info);
    }
  }
  void run(std::unique_ptr<M> message, const MessageInfo & info) const
  {
    if (const auto * owned = std::get_if<Owned>(&form_)) {
      (*owned)(std::move(message), info);
    } else if (const auto * shared = std::get_if<Shared>(&form_)) {
      (*shared)(std::move(message), info);
    } else {
      std::get<ByReference>(form_)(*message, info);
    }
  }
  void run(std::shared_ptr<const M> message, const MessageInfo & info) const
  {
    if (const auto * shared = std::get_if<Shared>(&form_)) {
      (*shared)(std::move(message), info);
    } else {
      run(*message, info);
    }
  }

  template <typename F, typename Argument>
  static constexpr bool accepts()
  {
    return std::is_invocable_v<F &, Argument, const MessageInfo &> ||
           std::is_invocable_v<F &, Argument>;
  }

  template <typename Form, typename Argument, typename F>
  void set(F && function)
  {
    if constexpr (std::is_invocable_v<F &, Argument, const MessageInfo &>) {
      form_ = Form(std::forward<F>(function));
    } else {
      form_ =
        Form([function = std::forward<F>(function)](Argument message, const MessageInfo &) mutable {
          function(std::forward<Argument>(message));
        });
    }
  }

  detail::Symbol symbol_;
  std::variant<ByReference, Owned, Shared> form_;
};

template <typename M>
class Subscription : public SubscriptionBase
{
public:
  Subscription(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const std::string & topic, const QoS & qos, SubscriptionCallback<M> callback,
    bool intra_process)
  : SubscriptionBase(
      std::move(setup), std::move(context), node,
      rosidl_typesupport_cpp::get_message_type_support_handle<M>(), topic, qos, intra_process),
    callback_(std::move(callback))
  {
    const auto * const subscription = static_cast<const SubscriptionBase *>(this);
    detail::trace_subscription(handle().get(), subscription, &callback_, callback_.symbol());
    if (intra_process) {
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
    if (item.owned) {
      callback_(std::move(item.owned), item.info);
    } else {
      callback_(std::move(item.shared), item.info);
    }
    return true;
  }

  bool run_from_middleware()
  {
    if (callback_.wants_reference()) {
      return run_with_spare();
    }
    auto message = std::make_unique<M>();
    return take_and_handle(
      [&] { return message.get(); },
      [&](const MessageInfo & info) { callback_(std::move(message), info); });
  }

  /// As many spares exist as callbacks have run at once.
  bool run_with_spare()
  {
    const auto put_back = [&](M * used) {
      std::lock_guard<rclrt_core::Mutex> lock(take_mutex());
      spare_messages_.emplace_back(used);
    };
    std::unique_ptr<M, decltype(put_back)> spare(nullptr, put_back);
    return take_and_handle(
      [&] {
        if (spare_messages_.empty()) {
          spare.reset(new M);
        } else {
          spare.reset(spare_messages_.back().release());
          spare_messages_.pop_back();
        }
        return spare.get();
      },
      [&](const MessageInfo & info) { callback_(std::as_const(*spare), info); });
  }

  /// Its memory is there from the beginning. If it is full, the oldest is dropped.
  static constexpr std::size_t kMaxInbox = 5000;

  const SubscriptionCallback<M> callback_;
  std::shared_ptr<detail::TypedInbox<M>> inbox_;
  std::vector<std::unique_ptr<M>> spare_messages_;
};

}  // namespace rclrt_rcl
