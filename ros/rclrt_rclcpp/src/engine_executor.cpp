// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rclcpp/engine_executor.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine_executor_impl.hpp"
#include "group_names.hpp"
#include "rclcpp/utilities.hpp"
#include "rclrt_front_end/keep_for_ever.hpp"

namespace rclrt_rclcpp
{
namespace
{

/// Sets the flag that a thread spins. At the end resets it, and the cancel() that has ended the spin.
class Spinning
{
public:
  Spinning(std::atomic_bool & flag, std::atomic_bool & cancelled, const char * function)
  : flag_(flag), cancelled_(cancelled)
  {
    if (flag_.exchange(true)) {
      throw std::runtime_error(std::string(function) + " called while already spinning");
    }
  }
  ~Spinning()
  {
    cancelled_ = false;
    flag_ = false;
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

private:
  std::atomic_bool & flag_;
  std::atomic_bool & cancelled_;
};

/// How often spin_until_future_complete() looks at its future while there is no work: any thread may make it
/// ready, and nobody is told.
constexpr std::chrono::milliseconds kFuturePoll(10);

rclrt_core::TimePoint end_of(std::chrono::nanoseconds duration, rclrt_core::Platform & platform)
{
  const auto none = std::chrono::nanoseconds(0);
  return rclrt_core::add_saturating(platform.now(), std::max(duration, none));
}

}  // namespace

EngineExecutor::EngineExecutor(
  const rclcpp::ExecutorOptions & options, const EngineExecutorOptions & engine_executor_options,
  rclrt_core::EngineOptions engine_options)
: rclcpp::Executor(options),
  impl_(std::make_unique<Impl>(
    context_, engine_executor_options, std::move(engine_options), [this] { return groups(); }))
{
  watch([this] {
    if (!spinning || cancelled_) {
      impl_->engine().stop();
    }
    impl_->request_update();
  });
}

EngineExecutor::~EngineExecutor()
{
  if (impl_->engine().runs_here()) {
    // By exit() in a callback. This thread cannot wait for its own job, and the other threads go on until the process
    // has ended: what they use stays.
    unwatch();
    rclrt_front_end::keep_for_ever(impl_.release());
    return;
  }
  spinning = false;
  impl_->engine().stop();
  unwatch();
  impl_->detach_all();
}

void EngineExecutor::add_node(detail::Parameters::Node node, bool)
{
  impl_->know_node(node);  // before its groups can be found
  enter(node);
  try {
    impl_->update([&node](const rclcpp::CallbackGroup & group, auto & kept) {
      return !detail::label_of_group(*node, group, kept).empty();
    });
  } catch (...) {
    remove_node(node, false);
    throw;
  }
}

void EngineExecutor::add_node(detail::OwnerOf<detail::Parameters::Node> node, bool notify)
{
  impl_->know_node(node->get_node_base_interface(), node);
  add_node(node->get_node_base_interface(), notify);
}

void EngineExecutor::remove_node(detail::Parameters::Node node, bool)
{
  leave(node);
  impl_->update();
}

void EngineExecutor::add_callback_group(
  detail::Parameters::Group group, detail::Parameters::Node node, bool)
{
  impl_->know_node(node);  // before the group can be found
  enter(group, node);
  try {
    impl_->update(
      [&group](const rclcpp::CallbackGroup & other, auto &) { return &other == group.get(); });
  } catch (...) {
    remove_callback_group(group, false);
    throw;
  }
}

void EngineExecutor::remove_callback_group(detail::Parameters::Group group, bool)
{
  leave(group);
  impl_->update();
}

#if RCLCPP_VERSION_MAJOR >= 28  // else nothing overrides cancel(): watch() sees what it triggers
// A spin sets `spinning` and then looks at `cancelled_`, this does it the other way round: so one sees the other.
void EngineExecutor::cancel()
{
  cancelled_ = true;
  if (spinning.exchange(false)) {
    cancelled_ = false;  // that spin ends
  }
  rclcpp::Executor::cancel();
}
#endif

bool EngineExecutor::goes_on() const { return spinning && !cancelled_ && rclcpp::ok(context_); }

void EngineExecutor::spin()
{
  const Spinning guard(spinning, cancelled_, "spin()");
  if (!rclcpp::ok(context_)) {
    return;
  }
  impl_->update();
  Impl::Spin spin(*impl_);
  impl_->update();  // also with what rclcpp's threads have heard of clocks until now
  while (true) {
    impl_->engine().clear_stop();
    // Whoever stops the engine does so after the reason for it can be seen here. A stop meant for a
    // spin before this one has none.
    if (!goes_on() || spin.has_failed()) {
      break;
    }
    const rclrt_core::Status status = impl_->engine().spin();
    impl_->rethrow();
    if (!status.ok()) {
      throw std::runtime_error("spin(): " + status.message());
    }
  }
  spin.end();
}

void EngineExecutor::spin_some(std::chrono::nanoseconds max_duration)
{
  run_on_this_thread(max_duration, false);
}

void EngineExecutor::spin_all(std::chrono::nanoseconds max_duration)
{
  if (max_duration < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("max_duration must be greater than or equal to 0");
  }
  run_on_this_thread(max_duration, true);
}

void EngineExecutor::run_on_this_thread(std::chrono::nanoseconds max_duration, bool exhaustive)
{
  const Spinning guard(spinning, cancelled_, "spin_some()");
  rclrt_core::Engine & engine = impl_->engine();
  const rclrt_core::TimePoint until = max_duration == std::chrono::nanoseconds(0)
                                        ? rclrt_core::kNever
                                        : end_of(max_duration, engine.platform());
  impl_->update();
  impl_->look_at_clocks();  // what is due by now counts
  const uint64_t before_sequence = exhaustive ? UINT64_MAX : engine.next_sequence();
  while (engine.platform().now() < until) {
    const auto at_once = rclrt_core::TimePoint::min();
    if (!impl_->run_one(at_once, before_sequence, [this] { return goes_on(); })) {
      break;
    }
  }
  impl_->tell_findings();
}

void EngineExecutor::spin_once(std::chrono::nanoseconds timeout)
{
  const Spinning guard(spinning, cancelled_, "spin_once()");
  run_once(timeout);
}

// Called in a loop by spin_until_future_complete() only, since spin_once() is our own.
void EngineExecutor::spin_once_impl(std::chrono::nanoseconds timeout)
{
  if (cancelled_.exchange(false)) {
    spinning = false;  // what ends the loop
    return;
  }
  const bool is_long = timeout < std::chrono::nanoseconds(0) || timeout > kFuturePoll;
  run_once(is_long ? kFuturePoll : timeout);
}

void EngineExecutor::run_once(std::chrono::nanoseconds timeout)
{
  const rclrt_core::TimePoint until = timeout < std::chrono::nanoseconds(0)
                                        ? rclrt_core::kNever
                                        : end_of(timeout, impl_->engine().platform());
  impl_->run_one(until, UINT64_MAX, [this] { return goes_on(); });
  impl_->tell_findings();
}

rclrt_front_end::ConfiguredEngine & EngineExecutor::configured() const
{
  return impl_->configured();
}

void EngineExecutor::set_attributes(
  const std::string & callback, const rclrt_core::Attributes & attributes)
{
  impl_->set_attributes(callback, attributes);
}

}  // namespace rclrt_rclcpp
