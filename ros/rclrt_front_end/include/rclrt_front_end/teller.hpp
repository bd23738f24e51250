// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Tells the user what an engine found out: every finding once in a process, and in the same words whatever the front
/// end.
///
/// The front end says how a line gets into its log. Logging takes long and may block, so the engine's threads
/// only ask for it (request()). While the engine spins, an ordinary thread does it (OwnThread). The same thread does
/// what else the front end wants done beside the callbacks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_front_end
{

/// The name of the logger that front ends use.
constexpr const char * kLoggerName = "rclrt";

/// What a process has told. Thread-safe.
class Told
{
public:
  static Told & of_process();
  /// What is to be shown of the finding: nothing, if it was told before. A remedy is told once, then referred to.
  std::optional<rclrt_core::Finding> next(const rclrt_core::Finding & finding);
  /// All is new again.
  void forget();

private:
  PiMutex mutex_;
  std::set<std::string> all_;  // keys of findings, remedies and causes
};

/// Callbacks that wait and wait: what a program without findings would do in silence.
class Stalls
{
public:
  /// How often to look: what is stuck is told at the second look, within a second.
  static constexpr std::chrono::milliseconds kPeriod{400};

  /// What is to be told of the callbacks that wait now.
  std::vector<rclrt_core::Finding> look(std::vector<rclrt_core::WaitingReport> waiting);

private:
  struct Seen
  {
    rclrt_core::WaitingReport last;
    int looks =
      0;  ///< one after another at which it waited, and had begun no job since the first of them
    bool is_kept = true;  ///< by the same jobs all the time
  };

  std::set<std::string> told_;        ///< subjects: each once, whatever keeps them
  std::map<std::string, Seen> seen_;  ///< by name, of those that waited at the last look
};

class Teller
{
public:
  /// One line for the log. Called by one thread at a time; must not throw.
  using Write = std::function<void(rclrt_core::Severity, const std::string & line)>;

  /// `platform` and `told` must outlive it.
  Teller(rclrt_core::Platform & platform, Write write, Told & told = Told::of_process());

  /// Writes it, unless it was told. Thread-safe; allocates, and takes as long as the log.
  void tell(const rclrt_core::Finding & finding);

  /// What can be requested of the thread that looks after the executor: bits.
  enum Request : uint32_t
  {
    kTell = 1,    ///< the engine has something new to tell
    kUpdate = 2,  ///< Work::update
  };
  /// Thread-safe and real-time safe: an addition, and a system call if it was not requested yet.
  void request(uint32_t what = kTell) noexcept;
  /// Whether it is requested and nobody has taken that yet.
  bool is_requested(uint32_t what) const noexcept { return (requests_ & what) != 0; }
  /// Returns whether it was requested; from then on it is not. To be called before it is done: what comes up
  /// meanwhile is requested anew.
  bool take(uint32_t what) noexcept { return (requests_.fetch_and(~what) & what) != 0; }
  /// Tells all that `engine` has found out, if somebody has asked for it since the last time.
  void tell_if_requested(const ConfiguredEngine & engine);

  /// What the teller's own thread does besides. Empty functions are not called.
  struct Work
  {
    /// On kUpdate. Returns whether the thread goes on. Must not throw.
    std::function<bool()> update;
    /// Before every sleep. Returns when to be called again at the latest.
    std::function<rclrt_core::TimePoint()> look;
    /// What that thread has. Policy unchanged: as the thread that makes it.
    rclrt_core::Attributes attributes;
  };

  /// While it exists, a thread does what is requested. The destructor tells what is left in the end.
  class OwnThread
  {
  public:
    OwnThread(Teller & teller, ConfiguredEngine & engine, Work work);
    ~OwnThread();
    OwnThread(const OwnThread &) = delete;
    OwnThread & operator=(const OwnThread &) = delete;

    /// Error: the operating system gives no thread. Without one, what is found is told in the end.
    const rclrt_core::Status & status() const noexcept { return status_; }
    /// Ends the thread, and waits for it.
    void end() noexcept;

  private:
    void run();

    Teller & teller_;
    ConfiguredEngine & engine_;
    const Work work_;
    rclrt_core::Status status_;
    std::unique_ptr<rclrt_core::Thread> thread_;
  };

private:
  void tell_all(const ConfiguredEngine & engine);

  static constexpr uint32_t kEnd = 4;

  rclrt_core::Platform & platform_;
  const Write write_;
  /// Bits of Request, and kEnd. Set by anybody after there is a reason, cleared by take() before that is seen
  /// to: so no reason is missed. The teller's own thread sleeps only while it is 0. Sequentially consistent,
  /// because front ends set another flag before they read this one, and read that flag after they set this one:
  /// one of the two sides sees the other.
  std::atomic<uint32_t> requests_{kTell};
  Told & told_;
  PiMutex mutex_;  // held while it writes
};

}  // namespace rclrt_front_end
