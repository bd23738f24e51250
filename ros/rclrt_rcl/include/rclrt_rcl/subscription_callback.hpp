// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The forms a subscription's callback may have:
///
///   (const M &)                        the message lives until the callback returns; no allocation
///   (std::unique_ptr<M>)               the callback owns it
///   (std::shared_ptr<const M>)         shared with others
///   (const SerializedMessage &)        as bytes
///
/// each also with a second argument `const MessageInfo &`.
#ifndef RCLRT_RCL__SUBSCRIPTION_CALLBACK_HPP_
#define RCLRT_RCL__SUBSCRIPTION_CALLBACK_HPP_

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/message_info.hpp"
#include "rclrt_rcl/serialized_message.hpp"

namespace rclrt_rcl
{

template <typename M>
class SubscriptionCallback
{
public:
  using ByReference = std::function<void(const M &, const MessageInfo &)>;
  using Owned = std::function<void(std::unique_ptr<M>, const MessageInfo &)>;
  using Shared = std::function<void(std::shared_ptr<const M>, const MessageInfo &)>;
  using Bytes = std::function<void(const SerializedMessage &, const MessageInfo &)>;

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
    } else if constexpr (accepts<F, std::unique_ptr<M>>()) {
      set<Owned, std::unique_ptr<M>>(std::forward<F>(function));
    } else {
      static_assert(
        accepts<F, const SerializedMessage &>(),
        "a subscription's callback takes const M &, std::unique_ptr<M>, std::shared_ptr<const M> "
        "or "
        "const SerializedMessage &, and optionally const MessageInfo &");
      set<Bytes, const SerializedMessage &>(std::forward<F>(function));
    }
  }

  bool wants_reference() const noexcept { return std::holds_alternative<ByReference>(form_); }
  bool wants_owned() const noexcept { return std::holds_alternative<Owned>(form_); }
  bool wants_shared() const noexcept { return std::holds_alternative<Shared>(form_); }
  bool wants_bytes() const noexcept { return std::holds_alternative<Bytes>(form_); }

  const detail::Symbol & symbol() const noexcept { return symbol_; }

  template <typename Message>
  void operator()(Message && message, const MessageInfo & info) const
  {
    const detail::Running running(this, info.from_intra_process);
    run(std::forward<Message>(message), info);
  }

private:
  // Any form but bytes takes any of these; a copy is made only for an owner of a shared message.
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
  void run(const SerializedMessage & message, const MessageInfo & info) const
  {
    std::get<Bytes>(form_)(message, info);
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
  std::variant<ByReference, Owned, Shared, Bytes> form_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SUBSCRIPTION_CALLBACK_HPP_
