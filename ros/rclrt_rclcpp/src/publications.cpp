// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "publications.hpp"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <string>

#include "in_effect.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_front_end/requests_on_rcl.hpp"
#include "rclrt_front_end/sent_message.hpp"
#include "rmw/error_handling.h"
#include "rmw/rmw.h"

namespace rclrt_rclcpp
{
namespace
{

template <typename... ArgumentsT>
using Next = NextDefinition<rmw_ret_t(ArgumentsT...)>;

Next<const rmw_publisher_t *, const void *, rmw_publisher_allocation_t *> next_publish(
  "rmw_publish");
Next<const rmw_publisher_t *, const rmw_serialized_message_t *, rmw_publisher_allocation_t *>
  next_publish_serialized("rmw_publish_serialized_message");
Next<const rmw_publisher_t *, void *, rmw_publisher_allocation_t *> next_publish_loaned(
  "rmw_publish_loaned_message");

NextDefinition<rmw_publisher_t *(
  const rmw_node_t *, const rosidl_message_type_support_t *, const char *,
  const rmw_qos_profile_t *, const rmw_publisher_options_t *)>
  next_create_publisher("rmw_create_publisher");
Next<rmw_node_t *, rmw_publisher_t *> next_destroy_publisher("rmw_destroy_publisher");

/// So that nothing is looked up, which may allocate, after start.
[[gnu::constructor]] void look_up_functions_of_rmw()
{
  next_publish.get();
  next_publish_serialized.get();
  next_publish_loaned.get();
}

template <typename... ArgumentsT>
rmw_ret_t send(Next<ArgumentsT...> & next, ArgumentsT... arguments)
{
  const auto real = next.get();
  if (!real) {
    return RMW_RET_UNSUPPORTED;
  }
  const rclrt_core::Publication publication;
  return real(arguments...);
}

/// A message, whose readers may want to know the deadline and the job that it comes from.
template <typename... ArgumentsT>
rmw_ret_t publish(
  Next<const rmw_publisher_t *, ArgumentsT...> & next, const rmw_publisher_t * publisher,
  ArgumentsT... arguments)
{
  rmw_gid_t gid;
  if (
    rclrt_core::current_job() == nullptr ||
    rmw_get_gid_for_publisher(publisher, &gid) != RMW_RET_OK) {
    return send(next, publisher, arguments...);
  }
  rclrt_front_end::SentMessage::PublisherId id{};
  std::copy_n(std::begin(gid.data), id.size(), id.begin());
  const rclrt_front_end::SentMessage message(id);
  const rmw_ret_t result = send(next, publisher, arguments...);
  if (result == RMW_RET_OK) {
    message.is_sent();
  }
  return result;
}

// rclcpp's intra-process manager holds a std::shared_timed_mutex, locked for reading, from before it tells
// the first subscription until it has told the last one. libstdc++ makes that of a pthread_rwlock_t.

NextDefinition<int(pthread_rwlock_t *)> next_read_lock("pthread_rwlock_rdlock");
NextDefinition<int(pthread_rwlock_t *)> next_unlock("pthread_rwlock_unlock");

[[gnu::constructor]] void look_up_locks()
{
  next_read_lock.get();
  next_unlock.get();
}

/// What a thread keeps for itself; no other one touches it. Without constructor and destructor: the functions below may be called
/// before the one and after the other.
struct Here
{
  /// Locked for reading last, if it still is.
  const pthread_rwlock_t * read_locked;
  /// The publication in `publication` lasts until this is unlocked. Null: there is none.
  const pthread_rwlock_t * publishes_under;
  alignas(rclrt_core::Publication) unsigned char publication[sizeof(rclrt_core::Publication)];
};

// Initial-exec: looking at it never allocates, not even in a library that was loaded later.
[[gnu::tls_model("initial-exec")]] thread_local Here here;

}  // namespace

// Only under a lock that is seen to be held does it begin: so it ends, since that lock will be unlocked by
// this thread. If another publication of this thread is under the lock, that ends it earlier.
void begin_intra_process_publication() noexcept
{
  if (here.read_locked && !here.publishes_under) {
    new (here.publication) rclrt_core::Publication;
    here.publishes_under = here.read_locked;
  }
}

}  // namespace rclrt_rclcpp

extern "C" {

rmw_publisher_t * rmw_create_publisher(
  const rmw_node_t * node, const rosidl_message_type_support_t * type, const char * topic,
  const rmw_qos_profile_t * qos, const rmw_publisher_options_t * options)
{
  const auto real = rclrt_rclcpp::next_create_publisher.get();
  rmw_publisher_t * const publisher = real ? real(node, type, topic, qos, options) : nullptr;
  const auto publishers =
    publisher ? rclrt_front_end::local_publishers_or_null(publisher->topic_name) : nullptr;
  if (!publishers) {
    const auto destroy = rclrt_rclcpp::next_destroy_publisher.get();
    if (publisher && destroy) {
      destroy(const_cast<rmw_node_t *>(node), publisher);
      RMW_SET_ERROR_MSG("no memory to count the publishers of this topic");
    }
    return nullptr;
  }
  publishers->fetch_add(1);
  return publisher;
}

rmw_ret_t rmw_destroy_publisher(rmw_node_t * node, rmw_publisher_t * publisher)
{
  const auto real = rclrt_rclcpp::next_destroy_publisher.get();
  if (!real) {
    return RMW_RET_UNSUPPORTED;
  }
  const auto publishers =
    publisher ? rclrt_front_end::local_publishers_or_null(publisher->topic_name) : nullptr;
  const rmw_ret_t ret = real(node, publisher);
  if (publishers && ret == RMW_RET_OK) {
    publishers->fetch_sub(1);
  }
  return ret;
}

rmw_ret_t rmw_publish(
  const rmw_publisher_t * publisher, const void * message, rmw_publisher_allocation_t * allocation)
{
  return rclrt_rclcpp::publish(rclrt_rclcpp::next_publish, publisher, message, allocation);
}

rmw_ret_t rmw_publish_serialized_message(
  const rmw_publisher_t * publisher, const rmw_serialized_message_t * message,
  rmw_publisher_allocation_t * allocation)
{
  return rclrt_rclcpp::publish(
    rclrt_rclcpp::next_publish_serialized, publisher, message, allocation);
}

rmw_ret_t rmw_publish_loaned_message(
  const rmw_publisher_t * publisher, void * message, rmw_publisher_allocation_t * allocation)
{
  return rclrt_rclcpp::publish(rclrt_rclcpp::next_publish_loaned, publisher, message, allocation);
}

int pthread_rwlock_rdlock(pthread_rwlock_t * lock) noexcept
{
  using rclrt_rclcpp::here;
  const int error = rclrt_rclcpp::next_read_lock.get()(lock);
  if (error == 0) {
    here.read_locked = lock;
  }
  return error;
}

int pthread_rwlock_unlock(pthread_rwlock_t * lock) noexcept
{
  using rclrt_rclcpp::here;
  if (here.read_locked == lock) {
    here.read_locked = nullptr;
  }
  const int error = rclrt_rclcpp::next_unlock.get()(lock);
  if (here.publishes_under == lock) {  // only compared: it may be gone
    here.publishes_under = nullptr;
    std::launder(reinterpret_cast<rclrt_core::Publication *>(here.publication))->~Publication();
  }
  return error;
}
}

namespace rclrt_rclcpp
{

rclrt_front_end::LocalPublishers publishers_of(const std::string & topic)
{
  return is_in_effect("rmw_create_publisher") ? rclrt_front_end::local_publishers(topic) : nullptr;
}

std::optional<rclrt_core::Finding> unseen_publications()
{
  const bool sees_middleware = is_in_effect("rmw_publish");
  const bool sees_intra_process = is_in_effect("pthread_rwlock_unlock");
  if (sees_middleware && sees_intra_process) {
    return std::nullopt;
  }
  rclrt_core::Finding finding;
  finding.subject = "publications";
  finding.what = std::string(sees_middleware ? "pthread_rwlock_unlock()" : "rmw_publish()") +
                 " is not called through rclrt_rclcpp: a callback that publishes can be preempted "
                 "in the middle of it by a callback that it released, and a more urgent one waits "
                 "for both";
  finding.fix = remedy_if_not_in_effect();
  return finding;
}

}  // namespace rclrt_rclcpp
