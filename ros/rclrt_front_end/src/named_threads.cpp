// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/named_threads.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

namespace rclrt_front_end
{
namespace
{

constexpr char kOurs[] = "rclrt";
// Until the executor's threads have their names. Else the next look is that of every second.
constexpr int kLooksForNames = 100;
constexpr std::chrono::milliseconds kBetweenLooksForNames(1);

bool is_real_time(rclrt_core::SchedulingPolicy kind)
{
  return is_fixed_priority(kind) || facts(kind).has_reservation;
}

bool stands_for_many(const std::string & pattern)
{
  return !pattern.empty() && pattern.back() == '*';
}

}  // namespace

bool is_name_of(const std::string & pattern, const std::string & thread)
{
  return stands_for_many(pattern)
           ? thread.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0
           : thread == pattern;
}

NamedThreads & NamedThreads::instance()
{
  static auto & threads = *new NamedThreads;  // never destroyed: threads may end later
  return threads;
}

std::string NamedThreads::require(
  const void * owner, std::vector<Wish> wishes, Report report,
  std::vector<std::string> busy_waiting)
{
  std::unique_lock<PiMutex> lock(mutex_);
  const auto is_its = [owner](const Need & need) { return need.owner == owner; };
  needs_.erase(std::remove_if(needs_.begin(), needs_.end(), is_its), needs_.end());
  Need need;
  need.owner = owner;
  need.spins = platform_.current_thread();
  need.wishes = std::move(wishes);
  need.met.resize(need.wishes.size());
  need.report = std::move(report);
  need.busy_waiting = std::move(busy_waiting);
  needs_.push_back(std::move(need));
  for (int i = 0; i < kLooksForNames && !look_locked(); ++i) {
    lock.unlock();
    std::this_thread::sleep_for(kBetweenLooksForNames);
    lock.lock();
  }
  const auto known = std::find_if(needs_.begin(), needs_.end(), is_its);
  return known == needs_.end() ? "" : known->refused;
}

void NamedThreads::release(const void * owner)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  const auto known = std::find_if(
    needs_.begin(), needs_.end(), [owner](const Need & need) { return need.owner == owner; });
  if (known == needs_.end()) {
    return;
  }
  for (std::size_t i = 0; i < known->wishes.size(); ++i) {
    if (!known->met[i]) {
      known->report(
        {"thread '" + known->wishes[i].pattern + "'",
         "was not there while the executor spun: no thread of this process had such a name", 0,
         "Compare the names in /proc/<process>/task/*/comm, of at most 15 bytes",
         rclrt_core::Severity::kNote});
    }
  }
  needs_.erase(known);
  if (!needs_.empty()) {
    look_locked();
    return;
  }
  for (const auto & present :
       platform_.threads()) {  // the number of one that has ended may be a stranger's
    const auto changed = changed_.find(present.first);
    if (changed != changed_.end()) {
      // It may end now, or may not be made more urgent again: then it stays as it is.
      static_cast<void>(platform_.apply(present.first, changed->second.before));
    }
  }
  changed_.clear();
}

void NamedThreads::look()
{
  const std::lock_guard<PiMutex> lock(mutex_);
  if (!needs_.empty()) {
    look_locked();
  }
}

bool NamedThreads::has(const std::string & thread) const
{
  const std::lock_guard<PiMutex> lock(mutex_);
  return std::any_of(needs_.begin(), needs_.end(), [&thread](const Need & need) {
    return std::any_of(need.wishes.begin(), need.wishes.end(), [&thread](const Wish & wish) {
      return is_name_of(wish.pattern, thread);
    });
  });
}

// Returns false, and does nothing, while a thread of an executor has not got its name yet: it would be taken for another.
bool NamedThreads::look_locked()
{
  bool all_named = false;
  const auto present = platform_.threads(&all_named);
  if (!all_named) {
    return false;
  }
  for (auto known = changed_.begin(); known != changed_.end();) {
    const bool is_there = std::any_of(present.begin(), present.end(), [&](const auto & thread) {
      return thread.first == known->first;
    });
    known = is_there ? std::next(known) : changed_.erase(known);
  }
  for (const auto & [thread, name] : present) {
    if (is_name_of(std::string(kOurs) + "*", name)) {
      continue;
    }
    const bool spins = std::any_of(
      needs_.begin(), needs_.end(), [id = thread](const Need & need) { return need.spins == id; });
    const Wish * last = nullptr;
    Need * whose = nullptr;
    for (Need & need : needs_) {
      for (std::size_t i = 0; i < need.wishes.size(); ++i) {
        const Wish & wish = need.wishes[i];
        const bool is_meant = !(spins && stands_for_many(wish.pattern));
        if (is_name_of(wish.pattern, name) && is_meant && !is_for_busy(&need, wish, name)) {
          need.met[i] = true;
          last = &wish;
          whose = &need;
        }
      }
    }
    if (last != nullptr) {
      apply_locked(thread, name, *last, whose);
    }
  }
  return true;
}

// Whether a wish for many threads would give one a priority with which it may wait for ever.
bool NamedThreads::is_for_busy(Need * need, const Wish & wish, const std::string & thread)
{
  const auto & busy = need->busy_waiting;
  if (
    !stands_for_many(wish.pattern) || !is_real_time(wish.wanted.scheduling_policy) ||
    std::none_of(busy.begin(), busy.end(), [&thread](const std::string & pattern) {
      return is_name_of(pattern, thread);
    })) {
    return false;
  }
  if (!std::exchange(need->told_of_busy, true)) {
    need->report(
      {"threads '" + wish.pattern + "'",
       "are not '" + thread +
         "', too, which stays as it is: it waits for locks without sleeping, "
         "and with a priority it may wait for ever",
       0, "Nothing; or name that thread itself", rclrt_core::Severity::kNote});
  }
  return true;
}

void NamedThreads::apply_locked(
  rclrt_core::ThreadId thread, const std::string & name, const Wish & wish, Need * need)
{
  auto known = changed_.find(thread);
  if (known != changed_.end() && known->second.wanted == wish.wanted) {
    if (known->second.error != 0) {  // as another one has been told
      need->refused =
        to_string(platform_.explain("thread '" + name + "'", wish.wanted, known->second.error));
    }
    return;
  }
  if (known == changed_.end()) {
    Changed changed;
    if (platform_.read_back(thread, &changed.before) != 0) {
      return;  // it has ended
    }
    known = changed_.emplace(thread, changed).first;
  }
  known->second.wanted = wish.wanted;
  const int error = platform_.apply(thread, wish.wanted);
  known->second.error = error == ESRCH ? 0 : error;
  if (known->second.error != 0) {
    const rclrt_core::Finding finding =
      platform_.explain("thread '" + name + "'", wish.wanted, error);
    need->refused = to_string(finding);
    need->report(finding);
  }
}

}  // namespace rclrt_front_end
