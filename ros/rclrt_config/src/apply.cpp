// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Putting entries over what the code says.

#include <algorithm>
#include <utility>

#include "configuration_impl.hpp"
#include "fields.hpp"

namespace rclrt_config
{

using rclrt_core::Attributes;
using rclrt_core::CallbackOptions;
using rclrt_core::CpuSet;
using rclrt_core::EngineOptions;
using rclrt_core::ExecutionModel;
using rclrt_core::GroupOptions;
using rclrt_core::PriorityKey;
using rclrt_core::PriorityTask;
using rclrt_core::SchedulingPolicy;
using rclrt_core::Status;

namespace
{

std::vector<Entry *> matching(std::vector<Entry> & entries, Target target, const std::string & name)
{
  std::vector<Entry *> found;
  for (Entry & entry : entries) {
    if (entry.target == target && entry.cie_id.empty() && entry.pattern.matches(name)) {
      entry.matched = true;
      found.push_back(&entry);
    }
  }
  return found;
}

/// The one with the same id, else the only one with the same purpose, else that for all groups of the node.
std::vector<Entry *> matching_cie(std::vector<Entry> & entries, const std::string & id)
{
  const std::string purpose = purpose_of_cie_id(id);
  const std::string whole_node = id.substr(0, id.find('@')) + "/*";
  std::vector<Entry *> alike;
  Entry * of_node = nullptr;
  for (Entry & entry : entries) {
    if (!entry.cie_id.empty() && entry.cie_id == id) {
      entry.matched = true;
      return {&entry};
    }
    if (entry.cie_id == whole_node) {
      of_node = &entry;
    }
    if (!entry.cie_id.empty() && entry.cie_purpose == purpose) {
      alike.push_back(&entry);
    }
  }
  if (alike.size() != 1) {
    alike.assign(of_node != nullptr ? 1 : 0, of_node);
  }
  if (alike.empty()) {
    return {};
  }
  alike.front()->matched = true;
  return alike;
}

/// The last entry's place, and the others whose fields it was put over.
std::string places(const std::vector<Entry *> & entries)
{
  std::string text = to_string(entries.back()->place);
  for (std::size_t i = entries.size() - 1; i-- > 0;) {
    text += (i == entries.size() - 2 ? " (put over " : ", ") + to_string(entries[i]->place) +
            (i == 0 ? ")" : "");
  }
  return text;
}

/// The budget of the chain that the callback belongs to, if one of its chains has one.
Status share_budget(const std::vector<Chain> & chains, CallbackOptions * options)
{
  const Chain * found = nullptr;
  for (const Chain & chain : chains) {
    const bool is_of_it =
      chain.budget && std::any_of(
                        chain.links.begin(), chain.links.end(),
                        [options](const ChainLink & link) { return link.matches(options->name); });
    if (!is_of_it) {
      continue;
    }
    const std::string subject = chain.place + ": chain '" + chain.name + "': ";
    if (found || options->budget.exists()) {
      return Status::error(
        subject + "its budget is that of '" + options->name + "', too, which has one already, " +
        (found ? "that of chain '" + found->name + "'" : "its own") + ". Remove one of the two");
    }
    found = &chain;
  }
  if (found) {
    options->budget = found->budget.value_or(rclrt_core::Budget());
    options->chain = found->name;
  }
  return {};
}

}  // namespace

Status Configuration::apply(CallbackOptions * options)
{
  if (impl_->entries.empty() && impl_->chains.empty()) {
    return {};
  }
  impl_->callbacks.insert(options->name);
  const auto entries = matching(impl_->entries, Target::kCallback, options->name);
  if (entries.empty()) {
    return share_budget(impl_->chains, options);
  }
  CallbackOptions changed = *options;
  for (const Entry * entry : entries) {
    put(entry->changes, &changed);
  }
  changed.place = places(entries);
  const Status shared = share_budget(impl_->chains, &changed);
  if (shared.ok()) {
    *options = std::move(changed);
  }
  return shared;
}

void Configuration::apply(GroupOptions * options, const std::string & cie_id)
{
  if (impl_->entries.empty() && impl_->chains.empty()) {
    return;
  }
  impl_->groups.insert(options->name);
  impl_->nodes.insert(options->name.substr(0, options->name.rfind("/group/")));
  auto entries = matching(impl_->entries, Target::kGroup, options->name);
  if (!cie_id.empty()) {
    impl_->cie_ids.insert(cie_id);
    const auto by_members = matching_cie(impl_->entries, cie_id);
    entries.insert(entries.end(), by_members.begin(), by_members.end());
  }
  if (entries.empty()) {
    return;
  }
  rclrt_core::Scheduling changed;
  changed.attributes = options->attributes;
  changed.budget = options->budget;
  for (const Entry * entry : entries) {
    put(entry->changes, &changed);
  }
  options->attributes = changed.attributes;
  options->budget = changed.budget;
  options->place = places(entries);
}

Status Configuration::apply(EngineOptions * options)
{
  EngineOptions changed = *options;
  const bool has_ext =
    std::any_of(impl_->entries.begin(), impl_->entries.end(), [](const Entry & entry) {
      return attributes_of(entry.changes).scheduling_policy == SchedulingPolicy::kExt;
    });
  if (has_ext && changed.policy == &rclrt_core::fixed_priority_policy()) {
    changed.policy = &rclrt_core::edf_policy();  // unless the file says otherwise
  }
  for (const ExecutorEntry & entry : impl_->executors) {
    if (entry.policy) {
      changed.policy = entry.policy;
    }
    if (entry.has_max_threads && options->model != ExecutionModel::kPreemptive) {
      impl_->notes.push_back(
        {to_string(entry.place),
         std::string("max_threads has no effect: the model is ") +
           rclrt_core::to_string(options->model),
         0, "Remove it, or use an executor with a pool of threads"});
    }
    put(entry.changes, &changed);
  }
  *options = std::move(changed);
  return {};
}

void Configuration::apply(TraceOptions * options) const
{
  for (const TraceEntry & entry : impl_->traces) {
    put(entry.changes, options);
  }
}

const std::optional<Attributes> & Configuration::middleware_thread() const noexcept
{
  return impl_->middleware_thread;
}

std::optional<DeadlineBackend> Configuration::deadline_scheduler() const noexcept
{
  return impl_->deadline_scheduler;
}

std::optional<PriorityKey> Configuration::priority_key() const noexcept
{
  return impl_->priority_key;
}

bool Configuration::is_derived(const CallbackOptions & callback, const Attributes & group) const
{
  Attributes own = callback.attributes;
  own.cpu_affinity = CpuSet();
  own.inherited_by_children = false;
  return impl_->priority_key && callback.queue_priority == 0 && own == Attributes() &&
         group.scheduling_policy == SchedulingPolicy::kUnchanged;
}

Status Configuration::derive_priorities(std::vector<PriorityTask> * timers) const
{
  const std::optional<PriorityKey> key = impl_->priority_key;
  if (!key) {
    return Status::error("derive_priorities(): the configuration has no policy that derives them");
  }
  for (PriorityTask & timer : *timers) {
    if (timer.period == rclrt_core::Duration::zero() && timer.priority == 0) {
      timer.priority = kLowestDerived;  // always due: it must not starve the others
    }
  }
  return rclrt_core::assign_priorities(*key, kLowestDerived, kHighestDerived, timers);
}

Attributes Configuration::derived_attributes(int priority)
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

void Configuration::inherit_from_publishers(CallbackOptions * options)
{
  const auto cpu_affinity = options->attributes.cpu_affinity;
  options->attributes = derived_attributes(kLowestDerived);
  options->attributes.cpu_affinity = cpu_affinity;
  options->inherit_priority = true;
}

}  // namespace rclrt_config
