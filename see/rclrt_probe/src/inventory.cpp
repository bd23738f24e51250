// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "inventory.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "rclrt_core/job.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_probe
{
namespace
{

using rclrt_core::CallbackKind;

/// A callback is told to the files after so many rounds of the writer: then its node and group are known, if ever.
constexpr unsigned kRipe = 2;
constexpr unsigned kRipeWithoutNode = 40;
/// More would be a program that makes entities without end.
constexpr std::size_t kMostCallbacks = 1 << 16;
/// Jobs at once in a group that may run in parallel without a bound.
constexpr uint32_t kUnbounded = 1 << 16;

std::string of_period(int64_t ns)
{
  constexpr std::pair<int64_t, const char *> kUnits[] = {
    {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
  for (const auto & [size, unit] : kUnits) {
    if (ns != 0 && ns % size == 0) {
      return std::to_string(ns / size) + unit;
    }
  }
  return std::to_string(ns) + "ns";
}

}  // namespace

uint64_t hash_of(const uint8_t * gid, bool is_response) noexcept
{
  std::array<uint8_t, kGidSize> bytes{};
  if (gid) {
    std::copy_n(gid, bytes.size(), bytes.begin());
  }
  return is_response ? rclrt_core::replier_in_trace(bytes) : rclrt_core::publisher_in_trace(bytes);
}

void Inventory::keep(bool done) noexcept
{
  if (!done) {
    is_full_.store(true, std::memory_order_relaxed);
  }
}

void Inventory::add_node(const void * node, const char * name, const char * name_space)
{
  const std::lock_guard lock(mutex_);
  const std::string space = name_space ? name_space : "";
  const bool is_root = !space.empty() && space.back() == '/';
  nodes_[node] = {space + (is_root ? "" : "/") + (name ? name : "?"), {}};
}

Callback * Inventory::make(CallbackKind kind, const void * node, std::string label)
{
  if (all_.size() == kMostCallbacks) {
    keep(false);
    return nullptr;
  }
  Callback & made = all_.emplace_back();
  made.id = static_cast<uint32_t>(all_.size());
  made.kind = kind;
  made.node = node;
  made.label = std::move(label);
  made.group.id = 0x80000000u + made.id;  // its own, until its group is known
  made.born = round_.load(std::memory_order_relaxed);
  count_.store(all_.size(), std::memory_order_relaxed);
  return &made;
}

Callback * Inventory::add(
  CallbackKind kind, const void * handle, const void * middleware, const void * node,
  std::string label, int64_t period_ns)
{
  const std::lock_guard lock(mutex_);
  Callback * const before = handles_.find(handle);
  if (
    before && before->kind == kind && before->node == node && before->label == label &&
    before->period_ns == period_ns) {
    keep(middleware == nullptr || middleware_.set(middleware, before));
    return before;  // Made again in the same place, as a one-shot timer is.
  }
  Callback * const made = make(kind, node, std::move(label));
  if (made) {
    made->period_ns = period_ns;
    made->has_node.store(node != nullptr, std::memory_order_relaxed);
    keep(handles_.set(handle, made));
    keep(middleware == nullptr || middleware_.set(middleware, made));
  }
  return made;
}

void Inventory::set_node(const void * handle, const void * node)
{
  const std::lock_guard lock(mutex_);
  if (Callback * const callback = handles_.find(handle)) {
    callback->node = node;
    callback->has_node.store(true, std::memory_order_relaxed);
    label_group(callback);
  }
}

void Inventory::set_period(const void * handle, int64_t period_ns)
{
  const std::lock_guard lock(mutex_);
  if (Callback * const callback = handles_.find(handle)) {
    callback->period_ns = period_ns;
    callback->born = round_.load(std::memory_order_relaxed);
  }
}

void Inventory::guess_node(Callback & callback, const Publisher & publisher)
{
  const std::lock_guard lock(mutex_);
  callback.node = publisher.node;
  callback.has_node.store(true, std::memory_order_relaxed);
}

void Inventory::add_subscription_object(const void * object, const void * handle)
{
  const std::lock_guard lock(mutex_);
  objects_[object].handle = handle;
  link(object);
}

void Inventory::set_intra_process(const void * object)
{
  const std::lock_guard lock(mutex_);
  if (object == linked_last_) {
    linked_last_ = nullptr;
  } else {
    objects_[object].is_intra_process = true;
  }
}

void Inventory::add_callback(const void * owner, const void * callback)
{
  const std::lock_guard lock(mutex_);
  if (Callback * const found = handles_.find(owner)) {
    link(found, callback);
  } else {
    objects_[owner].callback = callback;
    link(owner);
  }
}

void Inventory::link(const void * object)
{
  const auto found = objects_.find(object);
  const SubscriptionObject known = found->second;
  if (!known.handle || !known.callback) {
    return;
  }
  objects_.erase(found);  // The next object at this address is another one.
  linked_last_ = object;
  Callback * callback = handles_.find(known.handle);
  if (callback && known.is_intra_process) {
    Callback * const queue =
      make(callback->kind, callback->node, callback->label + "/intra_process");
    if (queue) {
      queue->queue_of = callback;
    }
    callback = queue;
  }
  if (callback) {
    link(callback, known.callback);
  }
}

void Inventory::link(Callback * callback, const void * pointer)
{
  callback->has_points.store(true, std::memory_order_relaxed);
  keep(callbacks_.set(pointer, callback));
  const auto symbol = symbols_.find(pointer);
  if (symbol != symbols_.end()) {
    callback->symbol = symbol->second;
    symbols_.erase(symbol);
  }
}

void Inventory::set_symbol(const void * callback, const char * symbol)
{
  const std::lock_guard lock(mutex_);
  if (!symbol) {
    return;
  }
  Callback * const found = callbacks_.find(callback);
  if (found && found->symbol.empty()) {
    found->symbol = symbol;
  } else if (symbols_.size() < kMostCallbacks) {
    symbols_[callback] = symbol;
  }
}

void Inventory::set_group(const void * handle, const void * group, bool exclusive)
{
  const std::lock_guard lock(mutex_);
  Callback * const callback = handles_.find(handle);
  if (!callback) {
    return;
  }
  uint32_t & id = group_ids_[group];
  id = id != 0 ? id : ++groups_;
  callback->group.id = id;
  callback->group.parallelism = exclusive ? 1 : kUnbounded;
  callback->group.pointer = group;
  label_group(callback);
}

/// A timer comes into its group before anybody says its node.
void Inventory::label_group(Callback * callback)
{
  const auto node = nodes_.find(callback->node);
  if (node == nodes_.end() || !callback->group.pointer) {
    return;
  }
  auto & groups = node->second.groups;
  auto place = std::find(groups.begin(), groups.end(), callback->group.pointer);
  if (place == groups.end()) {
    place = groups.insert(place, callback->group.pointer);
  }
  // A node puts its own services into its default group before anybody can make another one.
  const auto number = place - groups.begin();
  callback->group.label = number == 0 ? "default" : std::to_string(number);
}

Publisher * Inventory::add_publisher(const void * middleware, const uint8_t * gid)
{
  const std::lock_guard lock(mutex_);
  Publisher & made = all_publishers_.emplace_back();
  made.hash = gid ? hash_of(gid) : 0;
  keep(publishers_.set(middleware, &made));
  return &made;
}

void Inventory::set_node_of_publisher(const void * middleware, const void * node)
{
  const std::lock_guard lock(mutex_);
  if (Publisher * const publisher = publishers_.find(middleware)) {
    publisher->node = node;
  }
}

void Inventory::add_client_gid(const void * middleware, const uint8_t * gid)
{
  const std::lock_guard lock(mutex_);
  Publisher & made = all_publishers_.emplace_back();
  made.hash = gid ? hash_of(gid) : 0;
  made.answers = gid ? hash_of(gid, true) : 0;
  keep(clients_.set(middleware, &made));
}

void Inventory::add_buffer(const void * buffer)
{
  const std::lock_guard lock(mutex_);
  Buffer & made = all_buffers_.emplace_back();
  // As good as a GID: nobody but this process speaks of this buffer. Its number is not enough: processes of other
  // containers, of whose traces one page is made, may have the same.
  const uint64_t name[] = {
    std::stoull(rclrt_core::random_digits(), nullptr, 16), all_buffers_.size()};
  static_assert(sizeof(name) == kGidSize);
  made.hash = hash_of(reinterpret_cast<const uint8_t *>(name));
  keep(buffers_.set(buffer, &made));
}

Executor * Inventory::executor_of(const void * wait_set, Executor * now)
{
  const std::lock_guard lock(mutex_);
  Executor * found = wait_sets_.find(wait_set);
  if (!found) {
    // A second set of a thread is one that its executor has made anew, or that a callback waits on.
    if (!now) {
      now = &all_executors_.emplace_back();
      now->number = static_cast<uint16_t>(std::min<std::size_t>(all_executors_.size(), UINT16_MAX));
    }
    found = now;
    keep(wait_sets_.set(wait_set, found));
  }
  return found;
}

void Inventory::forget_wait_set(const void * wait_set)
{
  const std::lock_guard lock(mutex_);
  if (wait_sets_.find(wait_set)) {
    wait_sets_.set(wait_set, nullptr);
  }
}

const Inventory::Node * Inventory::node_of(const Callback & callback) const
{
  const auto found = nodes_.find(callback.node);
  if (found != nodes_.end()) {
    return &found->second;
  }
  return nodes_.size() == 1 ? &nodes_.begin()->second : nullptr;
}

/// As our front ends call it, so that a parameters file fits.
std::string Inventory::name_of(const Callback & callback)
{
  const Node * const node = node_of(callback);
  std::string name = (node ? node->name : "?") + "/" + to_string(callback.kind);
  const std::string label =
    callback.kind == CallbackKind::kTimer ? of_period(callback.period_ns) : callback.label;
  name += (label.empty() || label.front() == '/' ? "" : "/") + label;
  const unsigned times = ++names_[name];
  return times == 1 ? name : name + "#" + std::to_string(times);
}

std::vector<rclrt_core::TracedCallback> Inventory::callbacks_of(
  uint16_t executor, unsigned round, bool all)
{
  const std::lock_guard lock(mutex_);
  std::vector<rclrt_core::TracedCallback> found;
  for (Callback & callback : all_) {
    const bool has_node = callback.has_node.load(std::memory_order_relaxed) || nodes_.size() == 1;
    const bool has_run = callback.has_run.load(std::memory_order_relaxed);
    const bool is_old = callback.born + (has_node ? kRipe : kRipeWithoutNode) <= round;
    const bool is_ripe = all || (has_run && has_node) || (is_old && (has_run || executor != 0));
    const uint32_t told_to = uint32_t{executor} + 1;
    if (
      !is_ripe || callback.told_to == told_to ||
      callback.executor.load(std::memory_order_relaxed) != executor) {
      continue;
    }
    callback.told_to = told_to;
    if (callback.name.empty()) {
      callback.name = name_of(callback);
    }
    rclrt_core::TracedCallback told;
    told.id = callback.id;
    told.name = callback.name;
    told.kind = callback.kind;
    const Group & group = callback.queue_of ? callback.queue_of->group : callback.group;
    told.group = group.id;
    told.parallelism = group.parallelism;
    const Node * const node = node_of(callback);
    if (!group.label.empty() && node) {
      told.group_name = node->name + "/group/" + group.label;
    }
    told.period = rclrt_core::Duration(callback.period_ns);
    found.push_back(std::move(told));
  }
  return found;
}

void Inventory::tell_again()
{
  const std::lock_guard lock(mutex_);
  for (Callback & callback : all_) {
    callback.told_to = 0;
  }
}

std::string Inventory::symbol_of(uint32_t callback)
{
  const std::lock_guard lock(mutex_);
  return callback >= 1 && callback <= all_.size() ? all_[callback - 1].symbol : std::string();
}

}  // namespace rclrt_probe
