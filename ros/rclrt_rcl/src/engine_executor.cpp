// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/executor.hpp"

#include <utility>

#include "engine_executor_impl.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{

EngineExecutor::EngineExecutor(
  const ExecutorOptions & options, rclrt_core::EngineOptions engine_options)
: Executor(options.context),
  impl_(std::make_shared<Impl>(context(), options, std::move(engine_options)))
{
}

EngineExecutor::~EngineExecutor()
{
  const bool waits = !impl_->engine().runs_here();
  if (!waits) {
    // By exit() in a callback. This thread cannot wait for its own job, and the other threads go on until the process
    // has ended: what they use stays.
    rclrt_front_end::keep_for_ever(new std::shared_ptr<Impl>(impl_));
  }
  detach_all(waits);
}

void EngineExecutor::on_group_added(const std::shared_ptr<CallbackGroup> & group)
{
  impl_->add_group(*group);
}
void EngineExecutor::on_group_removed(const CallbackGroup * group) { impl_->remove_group(group); }
void EngineExecutor::on_entity_added(const std::shared_ptr<Entity> & entity)
{
  impl_->add_entity(entity);
}
void EngineExecutor::on_entity_removed(const std::shared_ptr<Entity> & entity)
{
  impl_->remove_entity(entity);
}

void EngineExecutor::do_spin()
{
  const Impl::Spin spin(*impl_);
  const rclrt_core::Status status = impl_->engine().spin();
  impl_->rethrow();
  if (!status.ok()) {
    throw Error("spin(): " + status.message());
  }
}

void EngineExecutor::do_spin_some(rclrt_core::TimePoint until, bool exhaustive)
{
  impl_->check_may_run_inline();
  rclrt_core::Engine & engine = impl_->engine();
  const uint64_t before_sequence = exhaustive ? UINT64_MAX : engine.next_sequence();
  while (!stop_requested() && engine.platform().now() < until) {
    const bool ran = engine.run_one(rclrt_core::TimePoint::min(), before_sequence);
    impl_->rethrow();
    if (!ran) {
      break;
    }
  }
  impl_->tell_findings();
}

bool EngineExecutor::do_spin_once(rclrt_core::TimePoint until)
{
  impl_->check_may_run_inline();
  const bool ran = impl_->engine().run_one(until);
  impl_->rethrow();
  impl_->tell_findings();
  return ran;
}

void EngineExecutor::interrupt() noexcept { impl_->engine().stop(); }
void EngineExecutor::clear_interrupt() noexcept { impl_->engine().clear_stop(); }

rclrt_front_end::ConfiguredEngine & EngineExecutor::configured() const
{
  return impl_->configured();
}

void EngineExecutor::set_attributes(
  const Entity & entity, const rclrt_core::Attributes & attributes)
{
  impl_->set_attributes(entity, attributes);
}

}  // namespace rclrt_rcl
