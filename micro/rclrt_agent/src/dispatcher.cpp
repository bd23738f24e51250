// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "dispatcher.hpp"

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace rclrt_agent
{

namespace
{
std::size_t band_of(int urgency)
{
  return static_cast<std::size_t>(urgency) * Dispatcher::kBands / (kHighestUrgency + 1);
}
}  // namespace

std::shared_ptr<rclrt_rcl::Waitable> Dispatcher::find(const Session * session, std::size_t band)
{
  const std::lock_guard lock(mutex_);
  const auto found = lanes_.find(session);
  return found == lanes_.end() || found->second.session.expired() ? nullptr
                                                                  : found->second.bands[band];
}

// What is left may be less urgent: others come before it. A band that is not there yet is the line's to make; until
// then in the one that it has.
void Dispatcher::go_on(const std::shared_ptr<Session> & session, rclrt_rcl::Waitable & otherwise)
{
  const auto waitable = find(session.get(), band_of(session->next_urgency()));
  (waitable == nullptr ? otherwise : *waitable).trigger();
}

void Dispatcher::operator()(const std::shared_ptr<Session> & session, int urgency)
{
  const std::size_t band = band_of(urgency);
  std::shared_ptr<rclrt_rcl::Waitable> waitable = find(session.get(), band);
  if (waitable == nullptr) {
    waitable = make(session, band);
  }
  waitable->trigger();
}

// By the line's thread alone, so two of the same session cannot be made at once.
std::shared_ptr<rclrt_rcl::Waitable> Dispatcher::make(
  const std::shared_ptr<Session> & session, std::size_t band)
{
  Lane old;  // of a session that had the same place in memory; destroyed without the lock
  std::shared_ptr<rclrt_rcl::CallbackGroup> group;
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    Lane & lane = lanes_[session.get()];
    if (lane.session.expired()) {
      std::swap(old, lane);
      lane.session = session;
    }
    group = lane.group;
    number = ++made_;
  }
  const Key & key = session->key();
  char name[64];
  std::snprintf(
    name, sizeof(name), "client_%02x%02x%02x%02x_%llu", key[0], key[1], key[2], key[3],
    static_cast<unsigned long long>(number));
  if (group == nullptr) {
    rclrt_rcl::CallbackGroupOptions options;
    options.name = name;
    group = node_.create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive, options);
  }
  rclrt_rcl::Scheduling scheduling;
  scheduling.name = std::string(name) + "_band" + std::to_string(band);
  scheduling.queue_priority = static_cast<int>(1 + band * (kHighestUrgency + 1) / kBands);
  // The waitable is what it triggers again, and must not keep itself.
  const auto self = std::make_shared<std::weak_ptr<rclrt_rcl::Waitable>>();
  auto waitable = node_.create_waitable(
    scheduling,
    [this, self, weak = std::weak_ptr<Session>(session)] {
      const auto of = weak.lock();
      if (of != nullptr && work_(of)) {
        if (const auto again = self->lock()) {
          go_on(of, *again);
        }
      }
    },
    group);
  *self = waitable;
  const std::lock_guard lock(mutex_);
  Lane & lane = lanes_[session.get()];
  lane.group = group;
  lane.bands[band] = waitable;
  return waitable;
}

void Dispatcher::sweep()
{
  std::vector<Lane> gone;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  for (auto lane = lanes_.begin(); lane != lanes_.end();) {
    if (lane->second.session.expired()) {
      gone.push_back(std::move(lane->second));
      lane = lanes_.erase(lane);
    } else {
      ++lane;
    }
  }
}

}  // namespace rclrt_agent
