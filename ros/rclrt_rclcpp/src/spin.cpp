// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The functions by which an executor spins.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "rclcpp/utilities.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "spinner.hpp"

namespace rclrt_rclcpp
{
namespace
{

/// How often spin_until_future_complete() looks at its future while there is no work: any thread may make it
/// ready, and nobody is told.
constexpr std::chrono::milliseconds kFuturePoll(10);

rclrt_core::TimePoint end_of(std::chrono::nanoseconds duration, rclrt_core::Platform & platform)
{
  const auto none = std::chrono::nanoseconds(0);
  return rclrt_core::add_saturating(platform.now(), std::max(duration, none));
}

}  // namespace

// A spin sets `spinning` and then looks at `cancelled_`, this does it the other way round: so one sees the other.
void Spinner::cancel()
{
  cancelled_ = true;
  if (base_.spinning().exchange(false)) {
    cancelled_ = false;  // that spin ends
  }
}

std::optional<Spinning> Spinner::begin(const char * function)
{
  if (of_ != Of::kOurs) {
    return std::nullopt;  // its caller has done so
  }
  return std::optional<Spinning>(std::in_place, base_.spinning(), function, &cancelled_);
}

bool Spinner::goes_on() const { return base_.spinning() && !cancelled_ && rclcpp::ok(context_); }

void Spinner::spin()
{
  const auto guard = begin("spin()");
  if (!rclcpp::ok(context_)) {
    return;
  }
  update();
  Spin spin(*this);
  update();  // also with what rclcpp's threads have heard of clocks until now
  while (true) {
    engine().clear_stop();
    // Whoever stops the engine does so after the reason for it can be seen here. A stop meant for a
    // spin before this one has none.
    if (!goes_on() || spin.has_failed()) {
      break;
    }
    const rclrt_core::Status status = engine().spin();
    rethrow();
    if (!status.ok()) {
      throw std::runtime_error("spin(): " + status.message());
    }
  }
  spin.end();
}

void Spinner::spin_some(std::chrono::nanoseconds max_duration)
{
  run_on_this_thread(max_duration, false);
}

void Spinner::spin_all(std::chrono::nanoseconds max_duration)
{
  const std::chrono::nanoseconds least(of_ == Of::kEvents ? 1 : 0);
  if (max_duration < least) {
    throw std::invalid_argument("max_duration must be at least " + std::to_string(least.count()));
  }
  run_on_this_thread(max_duration, true);
}

void Spinner::run_on_this_thread(std::chrono::nanoseconds max_duration, bool exhaustive)
{
  const auto guard = begin("spin_some()");
  const rclrt_core::TimePoint until = max_duration == std::chrono::nanoseconds(0)
                                        ? rclrt_core::kNever
                                        : end_of(max_duration, engine().platform());
  update();
  look_at_clocks();  // what is due by now counts
  const uint64_t before_sequence = exhaustive ? UINT64_MAX : engine().next_sequence();
  while (engine().platform().now() < until) {
    const auto at_once = rclrt_core::TimePoint::min();
    if (!run_one(at_once, before_sequence, [this] { return goes_on(); })) {
      break;
    }
  }
  tell_findings();
}

void Spinner::spin_once(std::chrono::nanoseconds timeout)
{
  const auto guard = begin("spin_once()");
  run_once(timeout);
}

// Called in a loop by spin_until_future_complete() only, since spin_once() is our own.
void Spinner::spin_once_impl(std::chrono::nanoseconds timeout)
{
  if (cancelled_.exchange(false)) {
    base_.spinning() = false;  // what ends the loop
    return;
  }
  const bool is_long = timeout < std::chrono::nanoseconds(0) || timeout > kFuturePoll;
  run_once(is_long ? kFuturePoll : timeout);
}

void Spinner::run_once(std::chrono::nanoseconds timeout)
{
  const rclrt_core::TimePoint until = timeout < std::chrono::nanoseconds(0)
                                        ? rclrt_core::kNever
                                        : end_of(timeout, engine().platform());
  run_one(until, UINT64_MAX, [this] { return goes_on(); });
  tell_findings();
}

bool Spinner::run_one(
  rclrt_core::TimePoint until, uint64_t before_sequence, const std::function<bool()> & goes_on)
{
  detail::check(engine_->may_run_inline());
  struct Inline
  {
    explicit Inline(std::atomic<bool> & its_flag) : flag(its_flag) { flag = true; }
    ~Inline() { flag = false; }
    std::atomic<bool> & flag;
  } const here(runs_inline_);
  while (true) {
    if (teller_.take(rclrt_front_end::Teller::kUpdate)) {
      update();
    }
    if (of_ != Of::kOurs && !has_said_order_only_ && has_urgent_callback()) {
      has_said_order_only_ = true;
      engine_->report(
        {"spin_some(), spin_once() and spin_until_future_complete()",
         "run callbacks on the thread that calls them: the file gives their order, and no policy",
         0, "To have them in force, let the program call spin()"});
    }
    const rclrt_core::TimePoint next_look = look_at_clocks();
    // Whoever stops it does so after the reason for it can be seen here.
    engine().clear_stop();
    if (!goes_on()) {
      return false;
    }
    if (teller_.is_requested(rclrt_front_end::Teller::kUpdate)) {
      continue;
    }
    const bool ran = engine().run_one(std::min(until, next_look), before_sequence);
    rethrow();
    if (
      ran || (!engine().is_stopped() &&
              (until <= next_look || rclrt_front_end::process_platform().now() >= until))) {
      return ran;
    }
  }
}

Spinner::Spin::Spin(Spinner & spinner) : spinner_(spinner)
{
  const rclrt_core::Status begun = spinner_.engine_->begin_spin(
    [&spinner](const rclrt_core::Finding & finding) { spinner.teller_.tell(finding); });
  spinner_.tell_findings();  // also of one that could not begin
  detail::check(begun);
  spinner_.look_at_definitions();
  set_spins(true);
  rclrt_front_end::Teller::Work work;
  work.update = [this] { return update(); };
  work.look = [&spinner] { return spinner.look_at_clocks(); };
  teller_thread_.emplace(spinner_.teller_, *spinner_.engine_, std::move(work));
  if (!teller_thread_->status().ok()) {
    set_spins(false);
    spinner_.engine_->end_spin();
    detail::check(teller_thread_->status());
  }
}

void Spinner::Spin::set_spins(bool spins)
{
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(spinner_.update_mutex_);
    spinner_.spins_ = spins;
  }
  if (!spins) {
    spinner_.let_go([](const KnownGroup & group) { return group.clock != nullptr; });
  }
}

Spinner::Spin::~Spin()
{
  teller_thread_->end();
  set_spins(false);
  spinner_.engine_->end_spin();
}

void Spinner::Spin::end()
{
  teller_thread_->end();
  if (failed_) {
    std::rethrow_exception(failed_);
  }
}

/// By the teller's own thread.
bool Spinner::Spin::update() noexcept
{
  try {
    spinner_.update();
    return true;
  } catch (...) {
    failed_ = std::current_exception();
    has_failed_ = true;
    spinner_.engine().stop();
    return false;
  }
}

}  // namespace rclrt_rclcpp
