// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Threads of this process that are neither an executor's nor asked for by it: drivers, loggers, and those of the
/// middleware that a user wants apart. They get what the configuration says of their names.
///
/// One for the process, as threads belong to it. Each executor that spins says what it wants; of two wishes for one name
/// the later one counts. Threads that appear later are seen at the next look(). When the last executor has ended, the
/// threads get back what they had. A name is at most 15 bytes (see pthread_setname_np(3)), and as the thread has it at
/// the time of the look. Threads whose names begin with "rclrt" are the executors' and are left alone. So is a thread that
/// spins, unless a wish has just its name: the executor's threads inherit from it. And so are threads that wait for locks
/// without sleeping, as some middlewares have, if the wish is a real-time policy for more than its name: above the thread
/// that holds the lock, on its CPU, such a thread waits for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_front_end/middleware.hpp"
#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_front_end
{

/// "recv" is one name, "dds.*" stands for all that begin with "dds.".
bool is_name_of(const std::string & pattern, const std::string & thread);

class NamedThreads
{
public:
  struct Wish
  {
    std::string pattern;
    rclrt_core::Attributes wanted;
  };
  using Report = std::function<void(const rclrt_core::Finding &)>;

  static NamedThreads & instance();

  /// By the thread that spins. `owner` wants this from now on. Refusals go to `report`, now, at a later look or in
  /// release(), by whichever thread does that. Returns the last one of now, or nothing.
  std::string require(
    const void * owner, std::vector<Wish> wishes, Report report,
    std::vector<std::string> busy_waiting = {});
  /// `owner` wants nothing any more; its report is not called after this. Wishes that no thread's name has met
  /// are told before.
  void release(const void * owner);
  /// At the threads that there are now. Reads /proc: not real-time safe.
  void look();
  /// Whether there is a wish for a thread of this name. One lock that inherits priorities.
  bool has(const std::string & thread) const;

private:
  struct Need
  {
    const void * owner = nullptr;
    rclrt_core::ThreadId spins = 0;
    std::vector<Wish> wishes;
    std::vector<bool> met;
    std::string refused;  ///< the last refusal
    Report report;
    std::vector<std::string> busy_waiting;
    bool told_of_busy = false;
  };
  struct Changed
  {
    rclrt_core::Attributes before;
    rclrt_core::Attributes wanted;
    int error = 0;  ///< it was refused
  };

  bool look_locked();
  static bool is_for_busy(Need * need, const Wish & wish, const std::string & thread);
  void apply_locked(
    rclrt_core::ThreadId thread, const std::string & name, const Wish & wish, Need * need);

  mutable rclrt_core::LinuxPlatform platform_;  // has no state
  mutable PiMutex mutex_;
  // Under the mutex:
  std::vector<Need> needs_;
  std::map<rclrt_core::ThreadId, Changed> changed_;
};

/// The middleware's own threads, which hand messages to executors and must outrank their workers.
///
/// One for the process: contexts and executors share these threads. Each executor that spins says
/// what it needs; the most urgent need is in force on every thread of the middleware, those that
/// appear later too (they are noticed when they first notify an executor). When nobody needs
/// anything any more the threads get back what they had.
///
/// The threads are known by their names, which differ from middleware to middleware (see Middleware). Of a
/// middleware whose names are not known none is found, and nothing is done for them.
class MiddlewareThreads
{
public:
  using Report = std::function<void(const rclrt_core::Finding &)>;

  static MiddlewareThreads & instance();

  /// Whose threads to look for. A process has one middleware: the last one said counts.
  void know(const Middleware & middleware);
  /// `owner` needs `wanted` from now on, instead of what it needed before. Refusals go to `report`,
  /// now or when a thread appears. Returns the errno of a refusal now, or 0. May wait for some milliseconds until threads
  /// that have just begun have their names.
  int require(const void * owner, const rclrt_core::Attributes & wanted, const Report & report);
  /// At threads that have come, or got their names, since the last time. Returns whether all is there that such a
  /// middleware is known to have. Reads /proc: not real-time safe.
  bool look();
  /// `owner` needs nothing any more; its report is not called after this.
  void release(const void * owner);
  /// By a thread that notifies an executor. Costs one comparison unless this is the thread's first call or something
  /// has changed since its last one; then a lock, up to four system calls and, the first time, an allocation.
  void greet() noexcept
  {
    // Relaxed: a thread that sees a change late is taken care of by require() itself, which looks at
    // all threads that exist.
    if (generation_.load(std::memory_order_relaxed) != greeted_) {
      greet_slowly();
    }
  }

  /// After greet(), of the calling thread: what it has in force, if it is one of the middleware's and may run
  /// callbacks. Else null.
  static const rclrt_core::Attributes * here() noexcept
  {
    return may_run_callbacks_ ? &in_force_ : nullptr;
  }

  /// Names of those that there are now.
  std::vector<std::string> names() const;
  /// Names of the threads that `worker` outranks or equals.
  std::vector<std::string> outranked_by(const rclrt_core::Attributes & worker) const;

private:
  struct Need
  {
    const void * owner;
    rclrt_core::Attributes wanted;
    Report report;
  };

  void greet_slowly() noexcept;
  /// Both return the errno of a refusal, or 0.
  int update_locked();
  int raise_locked(bool only_new);
  bool is_complete_locked() const;
  /// Returns errno.
  int apply_locked(rclrt_core::ThreadId thread);
  void report_locked(const std::string & threads, int error_number);

  std::vector<std::pair<rclrt_core::ThreadId, std::string>> present() const;
  std::vector<std::pair<rclrt_core::ThreadId, std::string>> present_locked() const;

  static thread_local uint32_t greeted_;
  static thread_local bool may_run_callbacks_;
  static thread_local rclrt_core::Attributes in_force_;

  mutable rclrt_core::LinuxPlatform platform_;  // has no state
  /// Inherits priorities: a thread of the middleware may wait for it, once in its life.
  const std::unique_ptr<rclrt_core::Mutex> mutex_ = platform_.make_mutex();
  Middleware middleware_;
  std::vector<Need> needs_;
  std::optional<rclrt_core::Attributes> target_;
  std::map<rclrt_core::ThreadId, rclrt_core::Attributes> before_;
  /// Raised under the mutex when the target changes, read by notifying threads.
  std::atomic<uint32_t> generation_{1};
};

}  // namespace rclrt_front_end
