// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the program consists of: nodes, callbacks, publishers, wait sets, as far as they were seen.
///
/// What is asked for on the way of a callback or a message takes no lock (find_...). All else takes one mutex, and
/// happens when the program makes an entity.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "layouts.hpp"
#include "pointer_table.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_probe
{

/// The `publisher` of trace records. A response is known by its client and the number of the request: that it is not
/// taken for the request, it has another hash.
uint64_t hash_of(const uint8_t * gid, bool is_response = false) noexcept;

struct Group
{
  uint32_t id = 0;
  uint32_t parallelism = 0;  ///< 0: unknown
  const void * pointer = nullptr;
  std::string label;  ///< after the node: "default", "1"
};

/// An executor as far as it can be seen: a wait set that threads wait on.
struct Executor
{
  uint16_t number = 0;  ///< from 1
  /// When a thread has last come back from waiting, ns. Stored and loaded by its threads, relaxed: a number by itself.
  std::atomic<int64_t> woken{0};
};

struct Callback
{
  uint32_t id = 0;
  rclrt_core::CallbackKind kind = rclrt_core::CallbackKind::kWaitable;

  /// Hints, each a number by itself, so all accesses are relaxed. Stored by whichever thread runs the callback.
  std::atomic<uint16_t> executor{0};      ///< that ran it or had it ready first; 0: none yet
  std::atomic<uint8_t> measured_jobs{0};  ///< jobs to be measured by system calls
  std::atomic<bool> has_run{false};
  std::atomic<bool> has_points{false};  ///< the program tells of its begin and end
  /// For a timer: nominal release of the job that is to begin, in whatever thread; 0: none.
  std::atomic<int64_t> called{0};
  /// An executor uses this timer of rcl to release one that is none (wait sets under rclrt_rcl).
  /// It may still decide not to run that one, as at the end. This timer has no jobs of its own.
  std::atomic<bool> stands_in{false};
  std::atomic<bool> has_node{true};  ///< false: a timer of which nobody has said it

  // Under the inventory's mutex.
  const void * node = nullptr;
  std::string label;
  std::string symbol;
  Group group;
  const Callback * queue_of =
    nullptr;  ///< the subscription whose intra-process queue this is, and whose group it has
  int64_t period_ns = RCLRT_TRACE_UNKNOWN;
  unsigned born = 0;     ///< round of the writer; or when it was last changed
  std::string name;      ///< empty until it is told for the first time
  uint32_t told_to = 0;  ///< number of an executor, plus 1
};

struct Publisher
{
  uint64_t hash = 0;            ///< of its GID, as in the trace; 0: unknown
  uint64_t answers = 0;         ///< of a client: what its responses are known by
  const void * node = nullptr;  ///< under the inventory's mutex
  /// Publications begun, ended, and refused by the middleware, which does not number those. Written by the threads that
  /// publish, in the order of all (seq_cst): a thread that finds none begun and not ended before its own, and none begun
  /// but its own afterwards, was alone, and what was counted before is the number of its message.
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> ended{0};
  std::atomic<uint64_t> refused{0};
};

/// A queue of rclcpp between a publisher and a subscription of one process.
struct Buffer
{
  static constexpr std::size_t kTimes = 64;
  uint64_t hash = 0;
  /// Messages put in. rclcpp calls under the lock of the buffer, so relaxed is enough.
  std::atomic<uint64_t> count{0};
  std::array<std::atomic<int64_t>, kTimes> times{};  ///< when, by number; under the same lock
};

class Inventory
{
public:
  void add_node(const void * node, const char * name, const char * name_space);
  /// `middleware`: the handle of rmw, or null. The same handle again is another entity.
  Callback * add(
    rclrt_core::CallbackKind kind, const void * handle, const void * middleware, const void * node,
    std::string label, int64_t period_ns = RCLRT_TRACE_UNKNOWN);
  void set_node(const void * handle, const void * node);
  /// rclcpp's object of a subscription, of which there are two with intra-process communication.
  void add_subscription_object(const void * object, const void * handle);
  /// A second object is said to be one before its callback is known. rclrt_rcl has one object for both ways, and says it
  /// right after the callback: that makes no second one.
  void set_intra_process(const void * object);
  /// `owner`: a handle, or an object of a subscription.
  void add_callback(const void * owner, const void * callback);
  void set_symbol(const void * callback, const char * symbol);
  void set_group(const void * handle, const void * group, bool exclusive);
  Publisher * add_publisher(const void * middleware, const uint8_t * gid);
  void set_node_of_publisher(const void * middleware, const void * node);
  void set_period(const void * handle, int64_t period_ns);
  /// If nobody says the node of a timer, it is that of the publisher it has used.
  void guess_node(Callback & callback, const Publisher & publisher);
  void add_client_gid(const void * middleware, const uint8_t * gid);
  void add_buffer(const void * buffer);
  /// The executor of a thread that begins to wait on a set. `now`: the one it had, or null.
  Executor * executor_of(const void * wait_set, Executor * now);
  void forget_wait_set(const void * wait_set);

  Callback * find_callback(const void * callback) const noexcept
  {
    return callbacks_.find(callback);
  }
  Callback * find_handle(const void * handle) const noexcept { return handles_.find(handle); }
  Callback * find_middleware(const void * handle) const noexcept
  {
    return middleware_.find(handle);
  }
  Publisher * find_publisher(const void * handle) const noexcept
  {
    return publishers_.find(handle);
  }
  /// With the hash of its client's GID.
  Publisher * find_client(const void * handle) const noexcept { return clients_.find(handle); }
  Buffer * find_buffer(const void * buffer) const noexcept { return buffers_.find(buffer); }
  Executor * find_wait_set(const void * set) const noexcept { return wait_sets_.find(set); }

  /// For the writer: what was not told yet of an executor's callbacks. Young ones may not have their node and group yet,
  /// and those that have not run not their executor; `all` takes these, too.
  std::vector<rclrt_core::TracedCallback> callbacks_of(uint16_t executor, unsigned round, bool all);
  /// The symbol of a callback, empty if unknown.
  std::string symbol_of(uint32_t callback);
  /// In a new process: its files know nothing.
  void tell_again();
  std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// The first that found no room.
  bool is_full() const noexcept { return is_full_.load(std::memory_order_relaxed); }
  void set_round(unsigned round) noexcept { round_.store(round, std::memory_order_relaxed); }

  std::mutex & mutex() noexcept { return mutex_; }  ///< for fork()

private:
  struct Node
  {
    std::string name;
    std::vector<const void *> groups;
  };
  /// What rclcpp says of one, in whatever order; it is linked when all is known.
  struct SubscriptionObject
  {
    const void * handle = nullptr;
    const void * callback = nullptr;
    bool is_intra_process = false;
  };

  void label_group(Callback * callback);
  void link(const void * object);
  void link(Callback * callback, const void * pointer);
  Callback * make(rclrt_core::CallbackKind kind, const void * node, std::string label);
  const Node * node_of(const Callback & callback) const;
  std::string name_of(const Callback & callback);
  void keep(bool done) noexcept;

  mutable std::mutex mutex_;
  PointerTable<Callback, 16> callbacks_;
  PointerTable<Callback, 16> handles_;
  PointerTable<Callback, 16> middleware_;
  PointerTable<Publisher, 14> publishers_;
  PointerTable<Publisher, 12> clients_;
  PointerTable<Buffer, 12> buffers_;
  PointerTable<Executor, 14> wait_sets_;
  std::deque<Callback> all_;
  std::deque<Publisher> all_publishers_;
  std::deque<Buffer> all_buffers_;
  std::deque<Executor> all_executors_;
  std::unordered_map<const void *, Node> nodes_;
  std::unordered_map<const void *, SubscriptionObject> objects_;
  const void * linked_last_ = nullptr;                     ///< of these
  std::unordered_map<const void *, std::string> symbols_;  ///< of callbacks that are not linked yet
  std::unordered_map<std::string, unsigned> names_;
  std::unordered_map<const void *, uint32_t> group_ids_;
  uint32_t groups_ = 0;
  /// Others read these instead of what grows meanwhile. Relaxed: numbers by themselves.
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> is_full_{false};
  std::atomic<unsigned> round_{0};
};

}  // namespace rclrt_probe
