// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Spins an rclcpp::Executor: how rclcpp's entities become callbacks of the engine.
///
///   group triggers its guard condition --> request_update() --> update(): add what is new, remove
///                                                               what is gone, hook notifications
///   entity's notification --> Engine::notify() --> job --> execute_*() of rclcpp::Executor
///
/// Nothing here keeps an entity, a group or a node alive: a job locks its entity while it runs.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "announce.hpp"
#include "base_class.hpp"
#include "clock_group.hpp"
#include "group_names.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_front_end/teller.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"
#include "ros_clock.hpp"
#include "status_source.hpp"
#include "waitable_events.hpp"
#include "waitable_timers.hpp"

namespace rclrt_rclcpp
{

/// Sets the flag that a thread spins; throws if one does. At the end resets it, and the cancel() that has ended the spin.
class Spinning
{
public:
  Spinning(std::atomic_bool & flag, const char * function, std::atomic_bool * cancelled = nullptr)
  : flag_(flag), cancelled_(cancelled)
  {
    if (flag_.exchange(true)) {
      throw std::runtime_error(std::string(function) + " called while already spinning");
    }
  }
  ~Spinning()
  {
    if (cancelled_) {
      *cancelled_ = false;
    }
    flag_ = false;
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

private:
  std::atomic_bool & flag_;
  std::atomic_bool * const cancelled_;
};

class Spinner
{
public:
  using NodeBase = rclcpp::node_interfaces::NodeBaseInterface;
  using Groups = std::vector<rclcpp::CallbackGroup::WeakPtr>;

  /// The class of the executor. A wait set of one of rclcpp's is kept up to date, too.
  enum class Of
  {
    kOurs,
    kWaitSet,
    kEvents
  };
  /// `executor` outlives it. `prepare` is called when nothing can fail any more, before this listens to the executor.
  Spinner(
    rclcpp::Executor & executor, const EngineExecutorOptions & options,
    rclrt_core::EngineOptions engine_options, Of of = Of::kOurs,
    const std::function<void()> & prepare = [] {});
  /// Waits for entities that are announcing work in other threads right now.
  ~Spinner();
  Spinner(const Spinner &) = delete;
  Spinner & operator=(const Spinner &) = delete;
  /// Destroys it, unless the caller is a job of it.
  static void end(std::unique_ptr<Spinner> spinner);

  BaseClass & base() noexcept { return base_; }

  // What functions of the executor with these names do. Of rclcpp's classes: the caller has a Spinning.
  void spin();
  void spin_some(std::chrono::nanoseconds max_duration);
  void spin_all(std::chrono::nanoseconds max_duration);
  void spin_once(std::chrono::nanoseconds timeout);
  void spin_once_impl(std::chrono::nanoseconds timeout);
  /// For a class that overrides the function; it calls this before the base class's.
  void cancel();

  rclrt_core::Engine & engine() noexcept { return engine_->engine(); }
  rclrt_front_end::ConfiguredEngine & configured() noexcept { return *engine_; }

  /// Groups are named after their nodes. `owner`: what the node is a part of, if that is known.
  void know_node(
    const std::shared_ptr<NodeBase> & node,
    const std::shared_ptr<const rclcpp::Node> & owner = nullptr);
  /// Make the engine's callbacks those of the groups. An entity for which that is impossible is left out:
  /// if it is in a group for which `is_new`, or if attributes are required, this throws in the end what
  /// it has failed with, else that is logged and becomes a finding.
  using Kept = detail::Kept;
  using IsNew = std::function<bool(const rclcpp::CallbackGroup &, Kept &)>;
  void update(const IsNew & is_new = {});
  /// Let go of everything.
  void detach_all() noexcept;

  /// What there is may have changed. From any thread, also from a job and under any lock: takes none.
  void request_update();
  /// There is something to log. As request_update().
  void request_telling();
  /// Log what is new. Of whoever spins, in any of its ways.
  void tell_findings();
  /// If a callback has thrown.
  void rethrow();
  /// Look at the clocks of all timers in ROS time. By whoever spins, in any of its ways. Returns when to do
  /// so again at the latest; never, if there is no such clock.
  rclrt_core::TimePoint look_at_clocks();

  /// Run one job on the calling thread; `goes_on` is asked after every interruption. Returns whether
  /// there was one.
  bool run_one(
    rclrt_core::TimePoint until, uint64_t before_sequence, const std::function<bool()> & goes_on);

  /// While it exists, a thread carries out requested updates and logs findings, and the middleware's
  /// threads outrank the callbacks.
  class Spin
  {
  public:
    explicit Spin(Spinner & spinner);
    ~Spin();
    Spin(const Spin &) = delete;
    Spin & operator=(const Spin &) = delete;
    /// Whether an update has failed, which ends the spin.
    bool has_failed() const noexcept { return has_failed_; }
    /// End the thread; throw what an update has failed with.
    void end();

  private:
    bool update() noexcept;
    void set_spins(bool spins);

    Spinner & spinner_;

    std::exception_ptr failed_;  // written by the thread, read after it has ended
    /// Raised by the thread before it stops the engine, read after the engine has stopped.
    std::atomic<bool> has_failed_{false};
    std::optional<rclrt_front_end::Teller::OwnThread> teller_thread_;
  };

  void set_attributes(const std::string & callback, const rclrt_core::Attributes & attributes);

private:
  struct Member
  {
    std::weak_ptr<const void> entity;
    std::shared_ptr<rclrt_core::Callback> callback;
    std::shared_ptr<WaitableEvents> events;  // of a waitable only
    rclrt_core::Duration period{0};          // of a timer only: what its rank is for
    const rclcpp::CallbackGroup * group = nullptr;
    /// Lets the entity go, if it is still there; returns what it locked for that.
    std::function<std::shared_ptr<const void>()> unhook;
  };
  struct KnownGroup
  {
    std::weak_ptr<rclcpp::CallbackGroup> group;
    std::shared_ptr<rclrt_core::Group> in_engine;
    std::string node;
    std::string cie_id;
    Owner owner;
    std::string clock_topic;            // empty: no clock is heard in it
    std::shared_ptr<ClockGroup> clock;  // null: rclcpp has no thread for it
  };
  struct LeftOut
  {
    std::string what;  // an entity, in words
    std::exception_ptr why;
  };
  /// A node, and what it is a part of, which may be unknown.
  struct KnownNode
  {
    std::weak_ptr<NodeBase> base;
    std::weak_ptr<const rclcpp::Node> owner;
    bool has_owner = false;
  };

  /// Tells if this library's definitions of others' functions are not in effect: for publications, if the order of
  /// callbacks matters.
  void look_at_definitions();
  /// Whether the order of callbacks matters.
  bool has_urgent_callback() const;

  /// Takes the mutex.
  void let_go(const std::function<bool(const KnownGroup &)> & is_it) noexcept;
  // All under update_mutex_:
  std::vector<std::shared_ptr<rclcpp::CallbackGroup>> present_in_order(Kept & kept);
  bool is_another(const rclcpp::CallbackGroup & group, const KnownGroup & known, Kept & kept);
  rclrt_core::GroupOptions options_for_group(
    const rclcpp::CallbackGroup & group, const std::string & name) const;
  void add_group(const std::shared_ptr<rclcpp::CallbackGroup> & group, Kept & kept);
  void remove_group(const rclcpp::CallbackGroup * group, Kept & kept);
  /// Returns those that could not be added.
  std::vector<LeftOut> add_members(
    const std::shared_ptr<rclcpp::CallbackGroup> & group, KnownGroup & known, Kept & kept);
  void remove_members(const std::function<bool(const Member &)> & gone, Kept & kept);
  void forget(const void * entity, Kept & kept) noexcept;
  bool is_known(const void * entity) const { return members_.count(entity) > 0; }
  std::string unique_name(
    const KnownGroup & group, rclrt_core::CallbackKind kind, const std::string & label) const;
  rclrt_core::CallbackOptions options_for(
    const void * entity, const KnownGroup & group, rclrt_core::CallbackKind kind,
    const std::string & label, uint32_t depth) const;
  void keep(const void * entity, Member member);
  template <typename EntityT>
  class LetGo;
  /// The next update lets go of it. From a job; takes no lock that an update holds meanwhile.
  void leave(std::shared_ptr<const void> entity);
  template <typename EntityT, typename Execute, typename Hook>
  void add(
    const std::shared_ptr<EntityT> & entity, const KnownGroup & group,
    rclrt_core::CallbackOptions options, Execute execute, Hook hook, Announce announce = {});
  void add_timer(const std::shared_ptr<rclcpp::TimerBase> & timer, const KnownGroup & group);
  /// Its rank may be another one.
  void follow_period(rclcpp::TimerBase & timer);
  void add_waitable(const std::shared_ptr<rclcpp::Waitable> & waitable, const KnownGroup & group);
  void add_status_event(
    const std::shared_ptr<detail::EventHandlerBase> & event,
    const std::shared_ptr<StatusSource> & status, const KnownGroup & group);
  /// `look` returns whether there is something to announce.
  Undo look_for(std::function<bool()> look, const KnownGroup & group, const Announce & announced);
  void add_waitable_timers(
    const std::shared_ptr<rclcpp::Waitable> & waitable,
    const std::shared_ptr<WaitableTimers> & timers, const KnownGroup & group);
  // Under clocks_mutex_:
  RosClock & ros_clock(const std::shared_ptr<rclcpp::Clock> & clock);
  rclrt_core::Duration look_at_all_clocks();
  /// A job of what tells a clock. Takes the mutex, but not while it takes the message. On return what the message makes
  /// due is released.
  bool hear_clock(const std::function<bool()> & take);

  std::optional<Spinning> begin(const char * function);
  bool goes_on() const;
  void run_on_this_thread(std::chrono::nanoseconds max_duration, bool exhaustive);
  void run_once(std::chrono::nanoseconds timeout);

  BaseClass base_;
  const std::shared_ptr<rclcpp::Context> context_;
  const EngineExecutorOptions options_;
  const Of of_;
  bool has_said_order_only_ = false;  // of the thread that spins
  /// A cancel() that has ended no spin yet. Written by cancel() and by the thread that spins; both in sequential
  /// order with the base class's `spinning`.
  std::atomic_bool cancelled_{false};
  rclrt_front_end::Teller teller_;  // the engine asks it, so it goes last
  /// A thread is in run_one() and has to be woken for an update. Sequentially consistent, as are requests:
  /// request_update() requests and then looks at this one, run_one() sets this one and then looks at the
  /// requests, so that one of them sees the other.
  std::atomic<bool> runs_inline_{false};

  /// Hooks use it until they are taken back, which waits for those that are using it.
  std::unique_ptr<rclrt_front_end::ConfiguredEngine> engine_;

  rclrt_front_end::PiMutex update_mutex_;  // of all below
  std::vector<KnownNode> nodes_;
  std::unordered_map<const rclcpp::CallbackGroup *, KnownGroup> groups_;
  std::unordered_map<const void *, Member> members_;
  std::set<std::string> names_;

  rclrt_front_end::PiMutex left_mutex_;    // of left_
  detail::Kept left_;                      // entities that an update lets go
  rclrt_front_end::PiMutex clocks_mutex_;  // of the clocks below; taken after the one above
  /// Jobs in hear_clock(). Until they have looked themselves the thread that looks now and then does not: what a message
  /// makes due stands in line where that message has arrived.
  int hearing_ = 0;
  std::vector<std::unique_ptr<RosClock>> clocks_;
  std::vector<std::shared_ptr<ClockGroup>> clock_groups_;
  /// Whether there are any. Written under the mutex; a thread that reads it too early looks the next time.
  std::atomic<bool> has_clocks_{false};
  bool spins_ = false;  ///< a Spin exists: what groups are in the engine stays, and /clock is heard
};

}  // namespace rclrt_rclcpp
