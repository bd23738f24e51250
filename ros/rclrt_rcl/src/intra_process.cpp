// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/detail/intra_process.hpp"

namespace rclrt_rcl
{
namespace detail
{

Inbox::Inbox(std::function<void(std::size_t)> announce)
: mutex_(rclrt_front_end::process_platform().make_mutex()), announce_(std::move(announce))
{
}

Inbox::~Inbox() = default;

void Inbox::close()
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  announce_ = nullptr;
}

bool Inbox::serves(const Gid & publisher) const
{
  const auto in = [&publisher](auto begin, auto end) {
    return std::find(begin, end, publisher) != end;
  };
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  return in(publishers_.begin(), publishers_.end()) ||
         in(gone_.begin(), gone_.begin() + std::min(gone_count_, kRemembered));
}

void Inbox::set_publishers(std::vector<Gid> publishers)
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  publishers_.swap(publishers);
  for (const Gid & before : publishers) {
    if (std::find(publishers_.begin(), publishers_.end(), before) == publishers_.end()) {
      gone_[gone_count_++ % kRemembered] = before;
    }
  }
}

Outbox::Outbox(const Gid & gid)
: gid_(gid), mutex_(rclrt_front_end::process_platform().make_mutex())
{
}

Outbox::Inboxes Outbox::inboxes() const
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  return Inboxes(matched_);
}

void Outbox::set_inboxes(List matched)
{
  auto shared = std::make_shared<const List>(std::move(matched));
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  matched_.swap(shared);
}

void IntraProcess::add(const Endpoint & endpoint, const std::shared_ptr<Inbox> & inbox)
{
  std::lock_guard<std::mutex> lock(mutex_);
  inboxes_.emplace_back(endpoint, inbox);
  match_locked(endpoint.topic);
}

void IntraProcess::add(const Endpoint & endpoint, const std::shared_ptr<Outbox> & outbox)
{
  std::lock_guard<std::mutex> lock(mutex_);
  outboxes_.emplace_back(endpoint, outbox);
  match_locked(endpoint.topic);
}

namespace
{

/// Takes the box out of the list; returns its topic, or "" if it is not there.
template <typename List, typename Box>
std::string take_out(List & list, const Box & box)
{
  const auto found = std::find_if(
    list.begin(), list.end(), [&box](const auto & entry) { return entry.second == box; });
  if (found == list.end()) {
    return {};
  }
  std::string topic = found->first.topic;
  list.erase(found);
  return topic;
}

}  // namespace

void IntraProcess::remove(const std::shared_ptr<Inbox> & inbox)
{
  std::lock_guard<std::mutex> lock(mutex_);
  match_locked(take_out(inboxes_, inbox));
}

void IntraProcess::remove(const std::shared_ptr<Outbox> & outbox)
{
  std::lock_guard<std::mutex> lock(mutex_);
  match_locked(take_out(outboxes_, outbox));
}

void IntraProcess::match_locked(const std::string & topic)
{
  const auto matched = [](const Endpoint & from, const Endpoint & to) {
    return from.topic == to.topic && from.type == to.type && compatible(from.qos, to.qos);
  };
  // Inboxes first: from the moment a publisher uses an inbox, the copies that the middleware
  // delivers must be recognised.
  for (const auto & [endpoint, inbox] : inboxes_) {
    if (endpoint.topic == topic) {
      std::vector<Gid> publishers;
      for (const auto & [from, outbox] : outboxes_) {
        if (matched(from, endpoint)) {
          publishers.push_back(outbox->gid());
        }
      }
      inbox->set_publishers(std::move(publishers));
    }
  }
  for (const auto & [endpoint, outbox] : outboxes_) {
    if (endpoint.topic == topic) {
      Outbox::List list;
      for (const auto & [to, inbox] : inboxes_) {
        if (matched(endpoint, to)) {
          list.push_back(inbox);
        }
      }
      outbox->set_inboxes(std::move(list));
    }
  }
}

}  // namespace detail
}  // namespace rclrt_rcl
