// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/named_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <mutex>
#include <thread>

namespace rclrt_front_end
{
namespace
{

constexpr int kLooks = 50;
constexpr std::chrono::milliseconds kBetweenLooks(1);

void append(std::string * list, const std::string & name)
{
  *list += (list->empty() ? "" : ", ") + name;
}

}  // namespace

thread_local uint32_t MiddlewareThreads::greeted_ = 0;
thread_local bool MiddlewareThreads::may_run_callbacks_ = false;
thread_local rclrt_core::Attributes MiddlewareThreads::in_force_;

MiddlewareThreads & MiddlewareThreads::instance()
{
  static auto & threads = *new MiddlewareThreads;  // never destroyed: the middleware outlives us
  return threads;
}

void MiddlewareThreads::know(const Middleware & middleware)
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  middleware_ = middleware;
  generation_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<std::pair<rclrt_core::ThreadId, std::string>> MiddlewareThreads::present() const
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  return present_locked();
}

std::vector<std::pair<rclrt_core::ThreadId, std::string>> MiddlewareThreads::present_locked() const
{
  auto threads = platform_.threads();
  threads.erase(
    std::remove_if(
      threads.begin(), threads.end(),
      [this](const auto & thread) {
        // What the user has named has what the user says.
        return !middleware_.owns_thread(thread.second) ||
               NamedThreads::instance().has(thread.second);
      }),
    threads.end());
  return threads;
}

int MiddlewareThreads::require(
  const void * owner, const rclrt_core::Attributes & wanted, const Report & report)
{
  std::unique_lock<rclrt_core::Mutex> lock(*mutex_);
  const auto known = std::find_if(
    needs_.begin(), needs_.end(), [owner](const Need & need) { return need.owner == owner; });
  const bool is_first = known == needs_.end();
  if (is_first) {
    needs_.push_back({owner, wanted, report});
  } else {
    known->wanted = wanted;
  }
  int error = update_locked();
  // Until it has run, a thread has the name of the one that made it; and it may need the CPU of this one for that.
  for (int i = 0; is_first && i < kLooks && !is_complete_locked(); ++i) {
    lock.unlock();
    std::this_thread::sleep_for(kBetweenLooks);
    lock.lock();
    const int later = raise_locked(true);
    error = later != 0 ? later : error;
  }
  return error;
}

bool MiddlewareThreads::look()
{
  const std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  if (target_) {
    raise_locked(true);
  }
  return is_complete_locked();
}

bool MiddlewareThreads::is_complete_locked() const
{
  const auto threads = platform_.threads();
  const auto is_there = [&threads](const std::vector<std::string> & names) {
    return std::any_of(threads.begin(), threads.end(), [&names](const auto & thread) {
      return std::any_of(names.begin(), names.end(), [&thread](const std::string & pattern) {
        return is_name_of(pattern, thread.second);
      });
    });
  };
  return std::all_of(middleware_.complete_with.begin(), middleware_.complete_with.end(), is_there);
}

void MiddlewareThreads::release(const void * owner)
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  needs_.erase(
    std::remove_if(
      needs_.begin(), needs_.end(), [owner](const Need & need) { return need.owner == owner; }),
    needs_.end());
  update_locked();
}

int MiddlewareThreads::update_locked()
{
  std::optional<rclrt_core::Attributes> target;
  for (const Need & need : needs_) {
    if (!target || more_urgent(need.wanted, *target)) {
      target = need.wanted;
    }
  }
  if (target == target_) {
    return 0;
  }
  target_ = target;
  const int error = target_ ? raise_locked(false) : 0;
  if (!target_) {
    for (const auto & [id, name] : present_locked()) {
      if (before_.count(id) > 0) {
        // A thread may always be made less urgent.
        static_cast<void>(platform_.apply(id, before_[id]));
      }
    }
    before_.clear();
  }
  // After the scan, which has taken care of the threads that would wait for it here. Relaxed: see
  // greet().
  generation_.fetch_add(1, std::memory_order_relaxed);
  return error;
}

int MiddlewareThreads::raise_locked(bool only_new)
{
  const auto present = present_locked();
  for (auto known = before_.begin(); known != before_.end();) {  // a number may come back
    const bool is_there = std::any_of(present.begin(), present.end(), [known](const auto & thread) {
      return thread.first == known->first;
    });
    known = is_there ? std::next(known) : before_.erase(known);
  }
  std::string refused;
  int error_number = 0;
  for (const auto & [id, name] : present) {
    if (only_new && before_.count(id) > 0) {
      continue;
    }
    const int error = apply_locked(id);
    if (error != 0 && error != ESRCH) {
      append(&refused, name);
      error_number = error;
    }
  }
  if (!refused.empty()) {
    report_locked(refused, error_number);
  }
  return error_number;
}

int MiddlewareThreads::apply_locked(rclrt_core::ThreadId thread)
{
  rclrt_core::Attributes before;
  if (before_.count(thread) == 0 && platform_.read_back(thread, &before) == 0) {
    before_[thread] = before;
  }
  return platform_.apply(thread, target_.value_or(rclrt_core::Attributes()));
}

void MiddlewareThreads::report_locked(const std::string & threads, int error_number)
{
  const rclrt_core::Finding finding = platform_.explain(
    "middleware threads " + threads, target_.value_or(rclrt_core::Attributes()), error_number);
  for (const Need & need : needs_) {
    if (need.report) {
      need.report(finding);
    }
  }
}

void MiddlewareThreads::greet_slowly() noexcept
{
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  // Relaxed: under the mutex.
  greeted_ = generation_.load(std::memory_order_relaxed);
  may_run_callbacks_ = false;
  if (!middleware_.owns_thread(name) || NamedThreads::instance().has(name)) {
    return;
  }
  const rclrt_core::ThreadId self = platform_.current_thread();
  bool is_known = platform_.read_back(self, &in_force_) == 0;
  if (is_known && target_ && more_urgent(*target_, in_force_)) {
    if (const int error = apply_locked(self)) {
      report_locked(name, error);
    }
    is_known = platform_.read_back(self, &in_force_) == 0;
  }
  may_run_callbacks_ = is_known && middleware_.may_run_callbacks;
}

std::vector<std::string> MiddlewareThreads::names() const
{
  std::vector<std::string> names;
  for (const auto & [id, name] : present()) {
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> MiddlewareThreads::outranked_by(
  const rclrt_core::Attributes & worker) const
{
  std::vector<std::string> names;
  for (const auto & [id, name] : present()) {
    rclrt_core::Attributes now;
    if (platform_.read_back(id, &now) == 0 && !more_urgent(now, worker)) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace rclrt_front_end
