// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Jobs that run on the thread which brings their work: docs/decisions/engine.md#13-inline.

#include <algorithm>
#include <atomic>

#include "engine_impl.hpp"
#include "messages/publication.hpp"

namespace rclrt_core
{
namespace
{

/// A courier of any engine of the process has a job: it may hold a lock of the middleware that another one would wait
/// for. Set, with acquire, by the thread that binds a job; reset by the courier with release, after it has let go of its
/// engine. So the thread that binds the next job finds the word of the courier as it was left.
std::atomic<bool> any_is_out{false};

// A job over the bound counts for so many that are not; beyond the limit the callback is queued.
constexpr uint32_t kExcess = 64;
constexpr uint32_t kMostExcess = 4 * kExcess;

/// A job that took longer than its callback's bound, and is to be told.
struct OverBound
{
  Duration took;
  bool queues;  // from now on
};

// The courier has run a job: whether that is to be told. Under the engine's lock.
std::optional<OverBound> check_bound(const Worker & courier) noexcept
{
  CallbackNode & callback = *courier.callback;
  InlineNode & node = *callback.inlining;
  const CpuUse & use = courier.job_use;
  // A job that waits holds up the middleware as well. A job that was preempted is not to blame.
  const bool was_preempted = !use.has_kept && use.preemptions > 0;
  const Duration took = !was_preempted    ? courier.job_end - courier.job_start
                        : use.cpu_ns >= 0 ? Duration(use.cpu_ns)
                                          : Duration::zero();
  ++callback.statistics.inlined;
  if (took <= node.bound) {
    node.excess -= std::min<uint32_t>(node.excess, 1);
    return std::nullopt;
  }
  ++callback.statistics.over_bound;
  node.excess += kExcess;
  node.queues = node.excess > kMostExcess;
  if (std::exchange(node.told, true) && !node.queues) {
    return std::nullopt;
  }
  return OverBound{took, node.queues};
}

Finding finding_of(const Callback & callback, Duration bound, Duration took, bool queues)
{
  Finding finding;
  finding.subject = callback.name();
  finding.what = "took " + std::to_string(took / std::chrono::microseconds(1)) +
                 " us on the middleware's thread, more than its bound of " +
                 std::to_string(bound / std::chrono::microseconds(1)) + " us" +
                 (queues ? "; that was too often: from now on it is queued" : "");
  finding.fix = "Raise inline_bound, or remove it";
  return finding;
}

}  // namespace

// At the same level the OS prefers nobody: then the order of the lane decides alone.
bool Lanes::may_be_inline(
  const CallbackNode & callback, uint32_t level,
  const std::vector<std::shared_ptr<Worker>> & workers) const noexcept
{
  const GroupQueue & queue = *callback.queue;
  const Lane & lane = *queue.lane;
  const Demand wanted = callback.demand();
  // Under SCHED_DEADLINE no thread of the middleware is urgent enough.
  const bool can =
    level >= wanted.level() && !wanted.attributes->is_ext() && !wanted.cpus->asks_for_cpus;
  const bool is_first =
    queue.in_lane.is_linked() && &*lane.ready.begin() == &queue && &queue.first() == &callback;
  if (!can || !is_first || lane.running >= lane.places()) {
    return false;
  }
  const auto is_preferred = [&wanted](const Demand & other) { return outranks(other, wanted); };
  return std::none_of(
           all_.begin(), all_.end(),
           [&](const Lane & other) {
             return !other.ready.empty() && is_preferred(other.ready.begin()->first().demand());
           }) &&
         std::none_of(workers.begin(), workers.end(), [&](const auto & worker) {
           return worker->callback && is_preferred(worker->job_demand);
         });
}

bool Engine::Impl::bind_inline(CallbackNode & callback, const Attributes & thread) noexcept
{
  const bool may = !running_here && !publishes_here() && !callback.inlining->queues &&
                   life.runs() && !life.is_stopped();
  if (!may) {
    return false;
  }
  const bool any_order = options.attributes_mode == AttributesMode::kOff;
  const uint32_t level = any_order ? UINT32_MAX : urgency_level(thread);
  if (
    !lanes.may_be_inline(callback, level, life.workers()) ||
    any_is_out.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  courier->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
  bind(*courier, callback);
  callback.queue->lane->taken_by(*courier);
  courier->word.store(Worker::kAwakeAndHeld, std::memory_order_relaxed);
  return true;
}

void Engine::run_inline() noexcept
{
  Worker & worker = *impl_->courier;
  impl_->run(worker);
  std::optional<OverBound> over;
  std::shared_ptr<const CallbackNode> callback;
  {
    Section section(*impl_->mutex);
    over = check_bound(worker);
    callback = over ? worker.callback : nullptr;
    impl_->end(worker, section);
  }
  if (over) {
    impl_->findings.add(finding_of(*callback, callback->inlining->bound, over->took, over->queues));
    callback.reset();  // perhaps the last owner: before the engine is let go
  }
  // From the store on the engine may be gone.
  Platform & platform = impl_->platform;
  const std::atomic<uint32_t> & word = worker.word;
  worker.word.store(Worker::kAsleep, std::memory_order_release);
  platform.wake_one(word);
  any_is_out.store(false, std::memory_order_release);
}

}  // namespace rclrt_core
