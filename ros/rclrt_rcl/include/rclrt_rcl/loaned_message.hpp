// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A message to be filled in and published without a copy.
///
/// It lies in memory lent by the middleware where that is possible for the type, else on the heap:
/// the program is the same. Not published, it is given back. Move-only, not thread-safe, must not
/// outlive its publisher.
#ifndef RCLRT_RCL__LOANED_MESSAGE_HPP_
#define RCLRT_RCL__LOANED_MESSAGE_HPP_

#include <memory>
#include <utility>

namespace rclrt_rcl
{

template <typename M>
class Publisher;

template <typename M>
class LoanedMessage
{
public:
  LoanedMessage(LoanedMessage && other) noexcept
  : publisher_(other.publisher_),
    lent_(std::exchange(other.lent_, nullptr)),
    own_(std::move(other.own_))
  {
  }
  LoanedMessage & operator=(LoanedMessage &&) = delete;
  ~LoanedMessage()
  {
    if (lent_ != nullptr) {
      publisher_->give_back(lent_);
    }
  }

  M & get() noexcept { return lent_ != nullptr ? *lent_ : *own_; }
  M & operator*() noexcept { return get(); }
  M * operator->() noexcept { return &get(); }
  /// Whether it lies in the middleware's memory.
  bool is_lent() const noexcept { return lent_ != nullptr; }

private:
  friend class Publisher<M>;
  LoanedMessage(Publisher<M> * publisher, M * lent) : publisher_(publisher), lent_(lent)
  {
    if (lent_ == nullptr) {
      own_ = std::make_unique<M>();
    }
  }

  Publisher<M> * publisher_;
  M * lent_;
  std::unique_ptr<M> own_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__LOANED_MESSAGE_HPP_
