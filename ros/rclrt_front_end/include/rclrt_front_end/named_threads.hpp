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
#ifndef RCLRT_FRONT_END__NAMED_THREADS_HPP_
#define RCLRT_FRONT_END__NAMED_THREADS_HPP_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/finding.hpp"
#include "rclrt_core/linux_platform.hpp"
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

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__NAMED_THREADS_HPP_
