// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// rclcpp's timers as timers of the engine.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "group_names.hpp"
#include "rclrt_front_end/callback_name.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "spinner.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{

using rclrt_core::CallbackKind;
using rclrt_core::Job;

namespace
{

constexpr bool kPollsResets = RCLRT_RCLCPP_POLLS_RESETS != 0;
/// How often a cancelled timer without a period is asked whether it was reset.
constexpr std::chrono::milliseconds kPollPeriod(1);

/// Before there was TimerBase::get_clock().
struct ClockOfTimer : rclcpp::TimerBase
{
  static std::shared_ptr<rclcpp::Clock> get(rclcpp::TimerBase & timer)
  {
    return timer.*(&ClockOfTimer::clock_);
  }
};

/// What a timer's job, its resets and the engine know of each other. Weak: the engine owns the job.
struct TimerLink
{
  std::weak_ptr<rclcpp::TimerBase> timer;

  rclrt_front_end::PiMutex mutex;         // of all below; taken after rclcpp's, before the engine's
  rclrt_core::Engine * engine = nullptr;  // null once the timer was let go
  std::weak_ptr<rclrt_core::Callback> callback;
  rclrt_core::Duration period{0};  // as the engine knows it
  bool is_new_period = false;      // and nobody has been told

  /// Calls `use` with the engine and the timer's callback in it, if both are there. An error of the
  /// engine then means that the timer is not its own any more.
  template <typename Use>
  void with_engine(Use use)
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex);
    const auto its_callback = callback.lock();
    if (engine && its_callback) {
      use(*engine, its_callback);
    }
  }

  /// On return the engine is not used any more.
  void let_go()
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex);
    engine = nullptr;
  }

  /// rcl's period may be exchanged, which nobody is told. In rcl it counts from the call on that has just
  /// been made; the engine had the next release planned by then. Returns whether there is a new one since
  /// the last time.
  bool follow_period(rclcpp::TimerBase & its_timer)
  {
    bool is_new = false;
    with_engine([&](rclrt_core::Engine & its_engine, const auto & its_callback) {
      if (take_period(its_timer, its_engine, its_callback)) {
        const rclrt_core::Duration left = its_timer.time_until_trigger();
        if (left != rclrt_core::Duration::max()) {  // not cancelled just now
          static_cast<void>(its_engine.reset_timer(its_callback, left));
        }
      }
      is_new = std::exchange(is_new_period, false);
    });
    return is_new;
  }

  void on_reset()
  {
    with_engine([&](rclrt_core::Engine & its_engine, const auto & its_callback) {
      if (const auto its_timer = timer.lock()) {
        take_period(*its_timer, its_engine, its_callback);
      }
      static_cast<void>(its_engine.reset_timer(its_callback));
    });
  }

  /// Where resets are not told, or the engine's clock follows another one at a distance: whether it is due; if
  /// not, the engine releases it again when it is. While one is cancelled that does not tell of resets, the
  /// engine's timer goes on, which finds a reset a period later at the latest; that is before the timer is
  /// due. A reset of one that is not cancelled only makes it later.
  bool is_due(rclcpp::TimerBase & its_timer)
  {
    const bool is_cancelled = its_timer.is_canceled();
    if (!is_cancelled && its_timer.is_ready()) {
      return true;
    }
    if (is_cancelled && !kPollsResets) {
      rest(its_timer);
      return false;
    }
    with_engine([&](rclrt_core::Engine & its_engine, const auto & its_callback) {
      take_period(its_timer, its_engine, its_callback);
      if (is_cancelled && period > rclrt_core::Duration::zero()) {
        return;
      }
      rclrt_core::Duration left = is_cancelled ? kPollPeriod : its_timer.time_until_trigger();
      if (left == rclrt_core::Duration::max()) {  // cancelled just now
        left = period > rclrt_core::Duration::zero() ? period : kPollPeriod;
      }
      static_cast<void>(
        its_engine.reset_timer(its_callback, std::max(left, rclrt_core::Duration(1))));
    });
    return false;
  }

  /// It was due and did not want to run: let the engine's timer rest, too, until the next reset.
  void rest(rclcpp::TimerBase & its_timer)
  {
    with_engine([&](rclrt_core::Engine & its_engine, const auto & its_callback) {
      if (kPollsResets || !its_timer.is_canceled()) {
        return;
      }
      static_cast<void>(its_engine.cancel_timer(its_callback));
      if (!its_timer.is_canceled()) {  // its reset came in between, and was told already
        static_cast<void>(its_engine.reset_timer(its_callback));
      }
    });
  }

private:
  /// Returns whether it is another one.
  bool take_period(
    rclcpp::TimerBase & its_timer, rclrt_core::Engine & its_engine,
    const std::shared_ptr<rclrt_core::Callback> & its_callback)
  {
    const rclrt_core::Duration now = detail::period_of(its_timer);
    if (now == period || !its_engine.set_timer_period(its_callback, now).ok()) {
      return false;
    }
    period = now;
    is_new_period = true;
    return true;
  }
};

}  // namespace

void Spinner::add_timer(const std::shared_ptr<rclcpp::TimerBase> & timer, const KnownGroup & group)
{
  auto link = std::make_shared<TimerLink>();
  link->timer = timer;
  link->engine = &engine();
  link->period = detail::period_of(*timer);
  auto options = options_for(
    timer.get(), group, CallbackKind::kTimer, rclrt_front_end::period_label(link->period), 1);
  const auto of_timer = timer->is_steady() ? nullptr : ClockOfTimer::get(*timer);
  const bool is_in_ros_time = of_timer && of_timer->get_clock_type() == RCL_ROS_TIME;
  options.run = [this, link, asks = kPollsResets || is_in_ros_time](const Job &) {
    const auto present = link->timer.lock();
    if (!present) {
      request_update();
      return false;
    }
    if (asks && !link->is_due(*present)) {
      return false;
    }
    const auto called = present->call();
    if (!called) {
      link->rest(*present);
      return false;
    }
    if (link->follow_period(*present)) {
      request_update();  // of its rank: not in a job
    }
    TRACETOOLS_TRACEPOINT(
      rclcpp_executor_execute, static_cast<const void *>(present->get_timer_handle().get()));
#if RCLRT_RCLCPP_IS_HUMBLE
    BaseClass::execute_timer(present);
#else
    BaseClass::execute_timer(present, called);
#endif
    if (!kPollsResets && present->is_canceled()) {
      link->rest(*present);  // else its thread would wake once more for nothing
    }
    return true;
  };

  rclrt_core::TimerOptions timer_options;
  timer_options.period = link->period;
  std::unique_lock<rclrt_front_end::PiMutex> clocks_lock(clocks_mutex_, std::defer_lock);
  RosClock * clock = nullptr;
  if (is_in_ros_time) {
    clocks_lock.lock();  // until the clock knows the timer
    clock = &ros_clock(of_timer);
    clock->look();  // what is left until it is due counts from now
    timer_options.clock = clock->id();
  } else if (of_timer) {
    timer_options.clock = rclrt_core::kSystemClock;
  }

  Member member;
  member.entity = timer;
  member.period = link->period;
  member.group = group.group.lock().get();
  member.unhook = [link]() -> std::shared_ptr<const void> {
    link->let_go();
    const auto present = link->timer.lock();
    if (present) {
      detail::clear_on_reset_callback(*present);
    }
    return present;
  };
  // Resets from now on wait for the mutex, and find the callback then.
  detail::set_on_reset_callback(*timer, [link](std::size_t) { link->on_reset(); });
  rclrt_core::Status added;
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(link->mutex);
    const bool is_cancelled = timer->is_canceled();
    timer_options.autostart = kPollsResets || !is_cancelled;
    const rclrt_core::Duration left = timer->time_until_trigger();
    if (!is_cancelled && left != rclrt_core::Duration::max()) {  // it may be cancelled just now
      timer_options.first = left;
    }
    added =
      engine_->add_timer(std::move(options), timer_options, group.in_engine, &member.callback);
    link->callback = member.callback;
  }
  if (!added.ok()) {
    member.unhook();
    detail::check(added);
  }
  if (clock != nullptr) {
    clock->add(member.callback);
  }
  keep(timer.get(), std::move(member));
}

void Spinner::follow_period(rclcpp::TimerBase & timer)
{
  Member & member = members_.at(&timer);
  const rclrt_core::Duration now = detail::period_of(timer);
  // An error is none of the timer's: there are too many of them to rank. It is tried again.
  if (now != member.period && engine_->set_timer_period(member.callback, now).ok()) {
    member.period = now;
  }
}

RosClock & Spinner::ros_clock(const std::shared_ptr<rclcpp::Clock> & clock)
{
  const auto found = std::find_if(
    clocks_.begin(), clocks_.end(), [&](const auto & known) { return known->clock() == clock; });
  if (found != clocks_.end()) {
    return **found;
  }
  clocks_.push_back(std::make_unique<RosClock>(clock, engine()));
  return *clocks_.back();
}

}  // namespace rclrt_rclcpp
