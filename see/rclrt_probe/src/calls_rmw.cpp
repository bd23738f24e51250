// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for functions of rmw that rcl calls: they know the publisher and the number of a message, which the
// tracepoints do not say.

#include "carry.hpp"
#include "layouts.hpp"
#include "stand_in.hpp"

using rclrt_probe::kOk;
using rclrt_probe::MessageInfo;
using rclrt_probe::Point;
using rclrt_probe::Probe;
using rclrt_probe::Publisher;
using rclrt_probe::thread;

#define RCLRT_EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

/// More is no delay: a clock was set, or nobody has written the field.
constexpr int64_t kLongestDelay = 60'000'000'000;

/// Whether messages carry the publisher's number, by which they are told apart if there are no time stamps.
bool are_numbered(const void * caller) noexcept
{
  static rclrt_probe::Next<bool(int)> supports("rmw_feature_supported");
  constexpr int kPublicationSequenceNumber = 0;
  // Where nobody can be asked, in Galactic and before, nobody numbers.
  auto * const ask = supports.get(caller);
  static const bool numbered = ask && ask(kPublicationSequenceNumber);
  return numbered;
}

Publisher * ask_for_gid(Probe & probe, const void * publisher, const void * caller) noexcept
{
  static rclrt_probe::Next<int(const void *, rclrt_probe::Gid *)> get_gid(
    "rmw_get_gid_for_publisher");
  rclrt_probe::Gid gid{};
  auto * const ask = get_gid.get(caller);
  const bool is_known = ask && ask(publisher, &gid) == kOk;
  return probe.inventory.add_publisher(publisher, is_known ? gid.data : nullptr);
}

class Publication
{
public:
  Publication(Probe & probe, const void * handle, const void * caller) noexcept
  : probe_(probe), caller_(caller), publisher_(probe.inventory.find_publisher(handle))
  {
    probe.seen.note(Point::kPublish);
    if (!publisher_) {
      publisher_ = ask_for_gid(probe, handle, caller);
    }
    thread().source_timestamp = 0;
    began_ns_ = rclrt_probe::now_ns();
    const uint64_t ended = publisher_->ended.load();
    refused_ = publisher_->refused.load();
    before_ = publisher_->begun.fetch_add(1);
    is_alone_ = before_ == ended;
  }

  void end(bool is_published) noexcept
  {
    is_alone_ = is_alone_ && publisher_->begun.load() == before_ + 1;
    publisher_->refused.fetch_add(is_published ? 0 : 1);
    publisher_->ended.fetch_add(1);
    if (is_published) {
      rclrt_probe::Callback * const callback = thread().callback();
      if (callback && !callback->has_node.load(std::memory_order_relaxed)) {
        probe_.inventory.guess_node(*callback, *publisher_);
      }
      const auto time = static_cast<uint64_t>(thread().source_timestamp);
      const uint64_t number = is_alone_ ? before_ - refused_ + 1 : RCLRT_TRACE_NO_MESSAGE;
      const bool is_stamped = probe_.is_stamped.load(std::memory_order_relaxed);
      thread().published(
        probe_, publisher_->hash,
        is_stamped && time != 0                ? time
        : !is_stamped && are_numbered(caller_) ? number
                                               : RCLRT_TRACE_NO_MESSAGE,
        began_ns_);
    }
  }

private:
  Probe & probe_;
  const void * caller_;
  Publisher * publisher_;
  int64_t began_ns_ = 0;  // A subscription may have the message before we are back.
  uint64_t before_ = 0;
  uint64_t refused_ = 0;
  bool is_alone_ = false;
};

void taken(
  Probe & probe, const void * subscription, const MessageInfo & info, const void * caller) noexcept
{
  rclrt_probe::Release release;
  release.callback = probe.inventory.find_middleware(subscription);
  if (!release.callback) {
    // Nobody has announced it: rcl was built without tracepoints.
    const char * const topic =
      static_cast<const rclrt_probe::Subscription *>(subscription)->topic_name;
    release.callback = probe.inventory.add(
      rclrt_core::CallbackKind::kSubscription, subscription, subscription, nullptr,
      topic ? topic : "");
    if (!release.callback) {
      return;
    }
  }
  release.cause = RCLRT_CAUSE_MESSAGE;
  release.publisher = rclrt_probe::hash_of(info.gid);
  const bool by_number = !probe.is_stamped.load(std::memory_order_relaxed) && are_numbered(caller);
  release.message =
    by_number ? info.publication_sequence_number : static_cast<uint64_t>(info.source_timestamp);
  const int64_t arrived =
    info.received_timestamp - probe.wall_offset.load(std::memory_order_relaxed);
  const int64_t delay = rclrt_probe::now_ns() - arrived;
  release.at_ns = delay >= 0 && delay < kLongestDelay ? arrived : 0;
  thread().released(probe, release);
}

template <typename FunctionT, typename MessageT>
int take(
  rclrt_probe::Next<FunctionT> * next, const void * caller, const void * subscription,
  MessageT message, bool * is_taken, MessageInfo * info, void * allocation)
{
  FunctionT * const call = next->get(caller);
  if (!call) {
    return 1;  // RMW_RET_ERROR: the program could not have been linked
  }
  Probe * const here = rclrt_probe::probe();
  if (here) {
    here->seen.note(Point::kTake);
    thread().goes_on(*here);
  }
  const int result = call(subscription, message, is_taken, info, allocation);
  if (result == kOk && is_taken && *is_taken && info) {
    rclrt_probe::carry_from(*info);
    if (here) {
      taken(*here, subscription, *info, caller);
    }
  }
  return result;
}

template <typename FunctionT, typename MessageT>
int publish(
  rclrt_probe::Next<FunctionT> * next, const void * caller, const void * publisher,
  MessageT message, void * allocation)
{
  FunctionT * const call = next->get(caller);
  if (!call) {
    return 1;
  }
  Probe * const here = rclrt_probe::probe();
  if (!here) {
    return call(publisher, message, allocation);
  }
  Publication publication(*here, publisher, caller);
  const int result = call(publisher, message, allocation);
  publication.end(result == kOk);
  return result;
}

using Publish = int(const void *, const void *, void *);
using PublishLoaned = int(const void *, void *, void *);
using Take = int(const void *, void *, bool *, MessageInfo *, void *);

rclrt_probe::Next<Publish> next_publish("rmw_publish");
rclrt_probe::Next<Publish> next_publish_serialized("rmw_publish_serialized_message");
rclrt_probe::Next<PublishLoaned> next_publish_loaned("rmw_publish_loaned_message");
rclrt_probe::Next<Take> next_take("rmw_take_with_info");
rclrt_probe::Next<Take> next_take_serialized("rmw_take_serialized_message_with_info");
rclrt_probe::Next<Take> next_take_loaned("rmw_take_loaned_message_with_info");

}  // namespace

RCLRT_EXPORT int rmw_publish(const void * publisher, const void * message, void * allocation)
{
  return publish(&next_publish, __builtin_return_address(0), publisher, message, allocation);
}

RCLRT_EXPORT int rmw_publish_serialized_message(
  const void * publisher, const void * message, void * allocation)
{
  return publish(
    &next_publish_serialized, __builtin_return_address(0), publisher, message, allocation);
}

RCLRT_EXPORT int rmw_publish_loaned_message(
  const void * publisher, void * message, void * allocation)
{
  return publish(&next_publish_loaned, __builtin_return_address(0), publisher, message, allocation);
}

RCLRT_EXPORT int rmw_take_with_info(
  const void * subscription, void * message, bool * is_taken, MessageInfo * info, void * allocation)
{
  return take(
    &next_take, __builtin_return_address(0), subscription, message, is_taken, info, allocation);
}

RCLRT_EXPORT int rmw_take_serialized_message_with_info(
  const void * subscription, void * message, bool * is_taken, MessageInfo * info, void * allocation)
{
  return take(
    &next_take_serialized, __builtin_return_address(0), subscription, message, is_taken, info,
    allocation);
}

RCLRT_EXPORT int rmw_take_loaned_message_with_info(
  const void * subscription, void * message, bool * is_taken, MessageInfo * info, void * allocation)
{
  return take(
    &next_take_loaned, __builtin_return_address(0), subscription, message, is_taken, info,
    allocation);
}
