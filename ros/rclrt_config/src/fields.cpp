// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "fields.hpp"

#include <string>
#include <utility>

namespace rclrt_config
{
Changes<Assumption> read_assumption_fields(const YamlMap & map)
{
  return {
    change(&Assumption::wcet, map.duration("wcet")),
    change(&Assumption::min_period, map.duration("min_period")),
    change(&Assumption::bound, map.duration("response_bound"))};
}

using rclrt_core::Budget;
using rclrt_core::Duration;
using rclrt_core::OnOverrun;

std::optional<Budget> read_budget(const YamlMap & of)
{
  const auto value = of.node("budget");
  if (!value) {
    return std::nullopt;
  }
  const YamlMap map(*value, "budget", {"runtime", "period", "on_overrun"});
  Budget budget;
  for (const auto & [field, part] :
       {std::pair("runtime", &budget.runtime), {"period", &budget.period}}) {
    const auto duration = map.duration(field);
    if (!duration) {
      map.fail(std::string(field) + " is missing");
    }
    *part = *duration;
  }
  budget.on_overrun =
    map
      .word<OnOverrun>(
        "on_overrun", {{"demote", OnOverrun::kDemote}, {"notify", OnOverrun::kNotify}})
      .value_or(OnOverrun::kDemote);
  const rclrt_core::Status valid = rclrt_core::validate(budget, of.subject());
  if (!valid.ok()) {
    of.fail("budget", valid.message());
  }
  return budget;
}

using rclrt_core::Attributes;
using rclrt_core::Scheduling;
using rclrt_core::SchedulingPolicy;

namespace
{

std::optional<SchedulingPolicy> read_policy(const YamlMap & map)
{
  std::vector<std::pair<const char *, SchedulingPolicy>> words;
  for (const rclrt_core::PolicyFacts & facts : rclrt_core::kPolicies) {
    if (facts.scheduling_policy != SchedulingPolicy::kUnchanged) {
      words.emplace_back(facts.word, facts.scheduling_policy);
    }
  }
  return map.word<SchedulingPolicy>("scheduling_policy", words);
}

void check_together(const YamlMap & map, SchedulingPolicy scheduling_policy)
{
  const rclrt_core::PolicyFacts & facts = rclrt_core::facts(scheduling_policy);
  const std::string name = std::string("scheduling_policy ") + facts.word;
  if (scheduling_policy == SchedulingPolicy::kExt && map.has("deadline")) {
    map.fail("deadline", name + " goes by the field relative_deadline. Rename it");
  }
  const struct
  {
    const char * field;
    bool belongs;
    bool is_required;
  } rules[] = {
    {"priority", facts.has_priority, true},   {"nice", facts.has_nice, false},
    {"runtime", facts.has_reservation, true}, {"deadline", facts.has_reservation, true},
    {"period", facts.has_reservation, true},
  };
  for (const auto & [field, belongs, is_required] : rules) {
    if (!belongs && map.has(field)) {
      map.fail(field, std::string(field) + " does not go with " + name + ". Remove one of the two");
    }
    if (belongs && is_required && !map.has(field)) {
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

std::function<void(Scheduling *)> start_afresh(SchedulingPolicy kind)
{
  return [kind](Scheduling * to) {
    Attributes afresh;
    afresh.scheduling_policy = kind;
    afresh.cpu_affinity = to->attributes.cpu_affinity;
    to->attributes = afresh;
    to->queue_priority = 0;  // 0: as the attributes say
  };
}

Changes<Scheduling> read_attributes(const YamlMap & map, int cpu_count)
{
  const auto scheduling_policy = read_policy(map);
  const auto priority =
    map.integer("priority", 1, 99, ". Larger is more urgent; the other policies have nice");
  Changes<Scheduling> changes = {
    scheduling_policy ? start_afresh(*scheduling_policy) : nullptr,
    attribute(&Attributes::priority, priority),
    change(&Scheduling::queue_priority, priority ? std::optional(0) : std::nullopt),
    attribute(&Attributes::nice, map.integer("nice", -20, 19, ". Smaller is more urgent")),
    attribute(&Attributes::cpu_affinity, map.cpus("cpu_affinity", cpu_count)),
    attribute(&Attributes::runtime, map.duration("runtime")),
    attribute(&Attributes::deadline, map.duration("deadline")),
    attribute(&Attributes::period, map.duration("period"))};
  if (scheduling_policy) {
    check_together(map, *scheduling_policy);
    check_attributes(changes, map, "scheduling_policy", cpu_count);
  }
  return changes;
}

Attributes attributes_of(const Changes<Scheduling> & changes)
{
  Scheduling alone;
  put(changes, &alone);
  return alone.attributes;
}

void check_attributes(
  const Changes<Scheduling> & changes, const YamlMap & map, const std::string & field,
  int cpu_count)
{
  const auto valid = rclrt_core::validate(attributes_of(changes), cpu_count, map.subject());
  if (!valid.ok()) {
    map.fail(field, valid.message().substr(map.subject().size() + 2));  // both name the subject
  }
}

}  // namespace rclrt_config
