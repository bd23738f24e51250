// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Tells the user what an engine found out: every finding once, and in the same words whatever the front end.
///
/// The front end says how a line gets into its log. Logging takes long and may block, so the engine's threads
/// only ask for it (request()); while the engine spins, an ordinary thread does it (Watch).
#ifndef RCLRT_FRONT_END__TELLER_HPP_
#define RCLRT_FRONT_END__TELLER_HPP_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_core/finding.hpp"
#include "rclrt_core/platform.hpp"

namespace rclrt_front_end
{

/// The name of the logger that front ends use.
constexpr const char * kLoggerName = "rclrt";

class Teller
{
public:
  /// One line for the log. Called by one thread at a time; must not throw.
  using Write = std::function<void(rclrt_core::Severity, const std::string & line)>;

  /// `platform` must outlive it.
  Teller(rclrt_core::Platform & platform, Write write);

  /// Writes it, unless it has been written before. A remedy is written once, then referred to. Thread-safe;
  /// allocates, and takes as long as the log.
  void tell(const rclrt_core::Finding & finding);

  /// The engine has something new to tell. Thread-safe and real-time safe: an addition and a system call.
  void request() noexcept;
  /// Tells all that `engine` has found out, if somebody has asked for it since the last time.
  void tell_if_requested(const ConfiguredEngine & engine);

  /// While it exists, a thread tells what is requested. What is left in the end is told by the destructor.
  class Watch
  {
  public:
    Watch(Teller & teller, const ConfiguredEngine & engine);
    ~Watch();
    Watch(const Watch &) = delete;
    Watch & operator=(const Watch &) = delete;

  private:
    void run();

    Teller & teller_;
    const ConfiguredEngine & engine_;
    /// Written by the destructor before it raises `requests_`, read by the thread after it saw that.
    std::atomic<bool> ended_{false};
    std::unique_ptr<rclrt_core::Thread> thread_;
  };

private:
  void tell_all(const ConfiguredEngine & engine);

  rclrt_core::Platform & platform_;
  const Write write_;
  /// Raised by whoever adds a finding, after it was added (release). Who tells reads it (acquire) before it
  /// asks for the findings, and sleeps only while it has that value: none is missed.
  std::atomic<uint32_t> requests_{1};
  /// Up to which request tell_if_requested() has told. Written and read by it alone.
  std::atomic<uint32_t> told_requests_{0};
  std::mutex mutex_;
  // Under the mutex:
  std::set<std::string> told_;
  std::set<std::string> told_fixes_;
};

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__TELLER_HPP_
