// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Delivery by pointer inside one context.
///
///   Publisher -> Outbox --(matched by topic, type, QoS)--> Inbox -> Subscription
///
/// An inbox is a ring of the subscription's depth; when it is full the oldest message goes, as with
/// keep-last in the middleware. The publisher's thread announces the message to the executor
/// directly. The middleware still matches the two, but the publisher uses it only if there are
/// other subscriptions. Then the subscription recognises the copy by the publisher's id, and drops
/// it. Copies may still wait in the middleware when their publisher has gone: an inbox remembers
/// the last 64 publishers that have gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "rclrt_core/job.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/qos.hpp"

namespace rclrt_rcl::detail
{

using Gid = std::array<uint8_t, 16>;

/// The receiving end, for any message type.
class Inbox
{
public:
  explicit Inbox(std::function<void(std::size_t)> announce);
  virtual ~Inbox();

  /// On return nothing is announced any more, and nothing is accepted.
  void close();
  /// How many publishers that have gone are remembered. After as many others have gone, copies of
  /// the first that still wait in the middleware would be delivered again.
  static constexpr std::size_t kRemembered = 64;

  /// Whether messages of this publisher come through the inbox, or came while it was there.
  bool serves(const Gid & publisher) const;
  /// The publishers or subscriptions that are there now. No allocation under the lock.
  void set_publishers(std::vector<Gid> publishers);

protected:
  rclrt_core::Mutex & mutex() const noexcept { return *mutex_; }
  bool closed() const noexcept { return !announce_; }
  void announce() { announce_(1); }

private:
  std::unique_ptr<rclrt_core::Mutex> mutex_;
  std::function<void(std::size_t)> announce_;
  std::vector<Gid> publishers_;
  std::array<Gid, kRemembered> gone_{};  // a ring
  std::size_t gone_count_ = 0;           // of all times
};

/// A bounded ring of messages. No allocation after construction.
template <typename M>
class TypedInbox : public Inbox
{
public:
  struct Item
  {
    std::unique_ptr<M> owned;
    std::shared_ptr<const M> shared;
    MessageInfo info;
    /// Deadline of the job that has published the message.
    rclrt_core::TimePoint deadline = rclrt_core::kNever;
  };

  TypedInbox(std::size_t depth, std::function<void(std::size_t)> announce)
  : Inbox(std::move(announce)), ring_(depth)
  {
    trace_inbox(this, depth);
  }

  /// By the thread that publishes, within its job if it has one.
  void offer(Item && item)
  {
    item.deadline = rclrt_core::deadline_to_publish();
    Item oldest;  // destroyed without the lock
    std::lock_guard<rclrt_core::Mutex> lock(mutex());
    if (closed()) {
      return;
    }
    const bool is_full = size_ == ring_.size();
    if (is_full) {
      oldest = std::move(ring_[first_]);
      first_ = (first_ + 1) % ring_.size();
      --size_;
    }
    const std::size_t place = (first_ + size_) % ring_.size();
    ring_[place] = std::move(item);
    ++size_;
    trace_put(this, place, size_, is_full);
    announce();
  }

  bool take(Item * item)
  {
    std::lock_guard<rclrt_core::Mutex> lock(mutex());
    if (size_ == 0) {
      return false;
    }
    *item = std::move(ring_[first_]);
    trace_got(this, first_, size_ - 1);
    first_ = (first_ + 1) % ring_.size();
    --size_;
    return true;
  }

private:
  std::vector<Item> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

/// The sending end.
class Outbox
{
public:
  using List = std::vector<std::shared_ptr<Inbox>>;

  /// Immutable and shared: looking at it while publishing costs one reference count.
  class Inboxes
  {
  public:
    Inboxes() = default;
    explicit Inboxes(std::shared_ptr<const List> matched) : matched_(std::move(matched)) {}
    bool empty() const noexcept { return size() == 0; }
    std::size_t size() const noexcept { return matched_ ? matched_->size() : 0; }
    List::const_iterator begin() const { return matched_->begin(); }
    List::const_iterator end() const { return matched_->end(); }

  private:
    std::shared_ptr<const List> matched_;
  };

  explicit Outbox(const Gid & gid);
  Inboxes inboxes() const;
  void set_inboxes(List matched);
  const Gid & gid() const noexcept { return gid_; }

private:
  const Gid gid_;
  std::unique_ptr<rclrt_core::Mutex> mutex_;
  std::shared_ptr<const List> matched_;
};

template <typename M>
void offer(
  const std::shared_ptr<Inbox> & inbox, std::unique_ptr<M> message, const MessageInfo & info)
{
  static_cast<TypedInbox<M> &>(*inbox).offer({std::move(message), nullptr, info});
}

template <typename M>
void offer(
  const std::shared_ptr<Inbox> & inbox, const std::shared_ptr<const M> & message,
  const MessageInfo & info)
{
  static_cast<TypedInbox<M> &>(*inbox).offer({nullptr, message, info});
}

/// Matches the publishers and subscriptions of a context. Thread-safe; nothing of it is used while
/// publishing.
class IntraProcess
{
public:
  struct Endpoint
  {
    std::string topic;
    std::type_index type;
    QoS qos;
  };

  void add(const Endpoint & endpoint, const std::shared_ptr<Inbox> & inbox);
  void add(const Endpoint & endpoint, const std::shared_ptr<Outbox> & outbox);
  void remove(const std::shared_ptr<Inbox> & inbox);
  void remove(const std::shared_ptr<Outbox> & outbox);

private:
  void match_locked(const std::string & topic);

  std::mutex mutex_;
  std::vector<std::pair<Endpoint, std::shared_ptr<Inbox>>> inboxes_;
  std::vector<std::pair<Endpoint, std::shared_ptr<Outbox>>> outboxes_;
};

}  // namespace rclrt_rcl::detail
