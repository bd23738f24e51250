// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/middleware_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "rclrt_front_end/named_threads.hpp"

namespace rclrt_front_end
{
namespace
{

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

void MiddlewareThreads::require(
  const void * owner, const rclrt_core::Attributes & wanted, const Report & report)
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  const auto known = std::find_if(
    needs_.begin(), needs_.end(), [owner](const Need & need) { return need.owner == owner; });
  if (known != needs_.end()) {
    known->wanted = wanted;
  } else {
    needs_.push_back({owner, wanted, report});
  }
  update_locked();
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

void MiddlewareThreads::update_locked()
{
  std::optional<rclrt_core::Attributes> target;
  for (const Need & need : needs_) {
    if (!target || more_urgent(need.wanted, *target)) {
      target = need.wanted;
    }
  }
  if (target == target_) {
    return;
  }
  target_ = target;
  std::string refused;
  int error_number = 0;
  for (const auto & [id, name] : present_locked()) {
    if (target_) {
      const int error = apply_locked(id);
      if (error != 0 && error != ESRCH) {
        append(&refused, name);
        error_number = error;
      }
    } else if (before_.count(id) > 0) {
      // A thread may always be made less urgent.
      static_cast<void>(platform_.apply(id, before_[id]));
    }
  }
  if (!target_) {
    before_.clear();
  }
  // After the scan, which has taken care of the threads that would wait for it here. Relaxed: see
  // greet().
  generation_.fetch_add(1, std::memory_order_relaxed);
  if (!refused.empty()) {
    report_locked(refused, error_number);
  }
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
