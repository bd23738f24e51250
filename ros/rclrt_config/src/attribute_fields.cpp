// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "attribute_fields.hpp"

#include <algorithm>

namespace rclrt_config
{

using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;

namespace
{

struct PolicyRule
{
  SchedulingPolicy policy;
  std::vector<std::string> fields;
  bool are_required;
};

/// What goes with a policy, besides cpu_affinity.
const PolicyRule & rule_of(SchedulingPolicy policy)
{
  static const std::vector<PolicyRule> rules = {
    {SchedulingPolicy::kOther, {"nice"}, false},
    {SchedulingPolicy::kBatch, {"nice"}, false},
    {SchedulingPolicy::kIdle, {}, false},
    {SchedulingPolicy::kFifo, {"priority"}, true},
    {SchedulingPolicy::kRoundRobin, {"priority"}, true},
    {SchedulingPolicy::kDeadline, {"runtime", "deadline", "period"}, true},
    {SchedulingPolicy::kExt, {}, false},
  };
  return *std::find_if(
    rules.begin(), rules.end(), [policy](const auto & rule) { return rule.policy == policy; });
}

std::optional<SchedulingPolicy> read_policy(const YamlMap & map)
{
  return map.word<SchedulingPolicy>(
    "scheduling_policy", {{"other", SchedulingPolicy::kOther},
                          {"batch", SchedulingPolicy::kBatch},
                          {"idle", SchedulingPolicy::kIdle},
                          {"fifo", SchedulingPolicy::kFifo},
                          {"rr", SchedulingPolicy::kRoundRobin},
                          {"deadline", SchedulingPolicy::kDeadline},
                          {"ext", SchedulingPolicy::kExt}});
}

void check_together(const YamlMap & map, SchedulingPolicy policy)
{
  const PolicyRule & rule = rule_of(policy);
  const std::string name = std::string("scheduling_policy ") + rclrt_core::to_string(policy);
  for (const char * field : {"priority", "nice", "runtime", "deadline", "period"}) {
    const bool belongs =
      std::find(rule.fields.begin(), rule.fields.end(), field) != rule.fields.end();
    if (policy == SchedulingPolicy::kExt && map.has(field) && field == std::string("deadline")) {
      map.fail(field, name + " goes by the field relative_deadline. Rename it");
    }
    if (!belongs && map.has(field)) {
      map.fail(field, std::string(field) + " does not go with " + name + ". Remove one of the two");
    }
    if (belongs && rule.are_required && !map.has(field)) {
      map.fail("scheduling_policy", name + " needs the field " + field + " beside it");
    }
  }
}

}  // namespace

std::vector<std::string> attribute_field_names(const std::vector<std::string> & more)
{
  std::vector<std::string> names = {"scheduling_policy", "priority", "nice",  "cpu_affinity",
                                    "runtime",           "deadline", "period"};
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

AttributeFields read_attribute_fields(const YamlMap & map, int cpu_count)
{
  const auto small = [](const std::optional<int64_t> & number) {
    return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
  };
  AttributeFields fields;
  fields.scheduling_policy = read_policy(map);
  fields.priority =
    small(map.integer("priority", 1, 99, ". Larger is more urgent; the other policies have nice"));
  fields.nice = small(map.integer("nice", -20, 19, ". Smaller is more urgent"));
  fields.cpu_affinity = map.cpus("cpu_affinity", cpu_count);
  fields.runtime = map.duration("runtime");
  fields.deadline = map.duration("deadline");
  fields.period = map.duration("period");
  if (fields.scheduling_policy) {
    check_together(map, *fields.scheduling_policy);
    Attributes attributes;
    put(fields, &attributes);
    const auto valid = rclrt_core::validate(attributes, cpu_count, map.subject());
    if (!valid.ok()) {
      // It names the subject itself.
      map.fail("scheduling_policy", valid.message().substr(map.subject().size() + 2));
    }
  }
  return fields;
}

void put(const AttributeFields & fields, Attributes * attributes)
{
  if (fields.scheduling_policy) {
    Attributes afresh;
    afresh.policy = *fields.scheduling_policy;
    afresh.cpu_affinity = attributes->cpu_affinity;
    *attributes = afresh;
  }
  attributes->priority = fields.priority.value_or(attributes->priority);
  attributes->nice = fields.nice.value_or(attributes->nice);
  attributes->cpu_affinity = fields.cpu_affinity.value_or(attributes->cpu_affinity);
  attributes->runtime = fields.runtime.value_or(attributes->runtime);
  attributes->deadline = fields.deadline.value_or(attributes->deadline);
  attributes->period = fields.period.value_or(attributes->period);
}

}  // namespace rclrt_config
