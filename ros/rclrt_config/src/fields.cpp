// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "fields.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "name_pattern.hpp"

namespace rclrt_config
{
namespace
{

/// With aliases a small file can have lists without end.
constexpr std::size_t kMaxLinks = 100'000;

constexpr const char * kKinds[] = {"timer", "subscription", "service", "client", "waitable"};

void check_name(const YamlField & field)
{
  const bool is_plain = std::none_of(field.name.begin(), field.name.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (field.name.empty() || field.name.size() > 200 || !is_plain) {
    throw YamlError(
      field.name_mark, "the name of a chain has 1 to 200 characters, all of them printable");
  }
}

void check_link(const YamlMap & map, const std::string & field, const YamlText & text)
{
  const auto fail = [&](const std::string & why) {
    throw YamlError(
      text.mark,
      map.subject() + ": " + field + " names '" + text.text.substr(0, 200) + "': " + why);
  };
  const std::string problem = NamePattern::problem_with(text.text);
  if (!problem.empty()) {
    fail(problem);
  }
  const NamePattern pattern(text.text);
  if (std::none_of(std::begin(kKinds), std::end(kKinds), [&](const char * kind) {
        return pattern.has_part(kind);
      })) {
    fail(
      "this names no callback. Write the node's name, then timer, subscription, service, client or "
      "waitable, then the topic, the service or the period; only these may be wildcards");
  }
}

/// How many inputs callbacks wait for.
void read_joins(const YamlMap & map, const YAML::Node & joins, std::vector<ChainLink> * links)
{
  std::vector<std::string> names;
  for (const ChainLink & link : *links) {
    names.push_back(link.pattern);
  }
  const YamlMap inputs(joins, map.subject() + ": joins", names);
  for (ChainLink & link : *links) {
    const auto count = inputs.integer(link.pattern, 1, 1000, ". Count the topics it waits for");
    if (count.value_or(1) > 1 && link.pattern.find('*') == std::string::npos) {
      inputs.fail(
        link.pattern, "'" + link.pattern.substr(0, 200) +
                        "' is one input. Let a wildcard stand for the topics of all of them");
    }
    link.inputs = static_cast<uint32_t>(count.value_or(0));
  }
}

std::vector<ChainLink> read_links(const YamlMap & map)
{
  std::vector<ChainLink> links;
  const std::vector<YamlText> callbacks = map.texts("callbacks");
  if (callbacks.size() > 1000) {
    map.fail("callbacks", "callbacks has more than 1000 names. Make shorter chains");
  }
  for (const YamlText & text : callbacks) {
    check_link(map, "callbacks", text);
    const bool is_known = std::any_of(links.begin(), links.end(), [&text](const ChainLink & link) {
      return link.pattern == text.text;
    });
    if (is_known) {
      throw YamlError(
        text.mark, map.subject() + ": callbacks names '" + text.text.substr(0, 200) +
                     "' twice. Data pass through a callback once: remove one");
    }
    links.push_back({text.text, false, 0});
  }
  if (links.empty()) {
    map.fail("callbacks", "callbacks is missing or empty. List the callbacks in their order");
  }
  for (const YamlText & text : map.texts("reads")) {
    const auto link = std::find_if(links.begin() + 1, links.end(), [&text](const ChainLink & one) {
      return one.pattern == text.text;
    });
    if (link == links.end()) {
      throw YamlError(
        text.mark, map.subject() + ": reads names '" + text.text.substr(0, 200) +
                     "', which is none of the callbacks after the first. Write it as it is there");
    }
    link->reads = true;
  }
  if (const auto joins = map.node("joins")) {
    read_joins(map, *joins, &links);
  }
  return links;
}

std::optional<uint32_t> read_count(const YamlMap & map, const std::string & field)
{
  const auto count = map.integer(field, 1, 1'000'000, ". Count misses in a row");
  return count ? std::optional<uint32_t>(static_cast<uint32_t>(*count)) : std::nullopt;
}

Chain read_chain(const YamlField & field, const std::string & file)
{
  check_name(field);
  const YamlMap map(
    field.value, "chain '" + field.name + "'",
    {"callbacks", "reads", "joins", "semantics", "join", "deadline", "bound", "silent_after",
     "on_miss", "budget"});
  Chain chain;
  chain.name = field.name;
  chain.place = to_string(Place{file, field.name_mark.line + 1, field.name_mark.column + 1});
  chain.links = read_links(map);
  chain.semantics = map
                      .word<ChainSemantics>(
                        "semantics", {{"reaction", ChainSemantics::kReaction},
                                      {"age", ChainSemantics::kAge},
                                      {"latency", ChainSemantics::kLatency}})
                      .value_or(chain.semantics);
  chain.last_only = map.word<bool>("join", {{"wait", false}, {"last", true}}).value_or(false);
  if (chain.last_only && chain.semantics != ChainSemantics::kLatency) {
    map.fail("join", "join: last is for semantics: latency only. Use one of the two");
  }
  chain.deadline = map.duration("deadline");
  chain.bound = map.duration("bound");
  chain.silent_after = map.duration("silent_after");
  chain.budget = read_budget(map, rclrt_core::BudgetOwner::kChain);
  if (const auto on_miss = map.node("on_miss")) {
    const YamlMap counts(*on_miss, map.subject() + ": on_miss", {"warn_after", "error_after"});
    chain.warn_after = read_count(counts, "warn_after");
    chain.error_after = read_count(counts, "error_after");
    if (chain.warn_after && chain.error_after && *chain.warn_after > *chain.error_after) {
      counts.fail("warn_after", "warn_after is more than error_after. Make it less");
    }
  }
  return chain;
}

}  // namespace

AssumedTimes read_assumption_fields(const YamlMap & map)
{
  return {map.duration("wcet"), map.duration("min_period"), map.duration("response_bound")};
}

std::vector<Chain> read_chains(const YAML::Node & map, const std::string & file)
{
  std::vector<Chain> chains;
  std::map<std::string, int> lines;
  std::size_t links = 0;
  for (const YamlField & field : fields_of(map, "chains")) {
    const auto [earlier, is_new] = lines.emplace(field.name, field.name_mark.line + 1);
    if (!is_new) {
      throw YamlError(
        field.name_mark, "chain '" + field.name.substr(0, 200) + "' is in line " +
                           std::to_string(earlier->second) + " already. Rename one of the two");
    }
    chains.push_back(read_chain(field, file));
    links += chains.back().links.size();
    if (links > kMaxLinks) {
      throw YamlError(
        field.name_mark, "the chains have more than 100000 callbacks up to here. Remove some");
    }
  }
  return chains;
}

const char * to_string(ChainSemantics semantics)
{
  switch (semantics) {
    case ChainSemantics::kReaction:
      return "reaction";
    case ChainSemantics::kAge:
      return "age";
    case ChainSemantics::kLatency:
      break;
  }
  return "latency";
}

bool ChainLink::matches(const std::string & callback) const
{
  return NamePattern(pattern).matches(callback);
}

bool ChainLink::is_timer() const { return NamePattern(pattern).has_part("timer"); }

using rclrt_core::Budget;
using rclrt_core::BudgetOwner;
using rclrt_core::Criticality;
using rclrt_core::Duration;
using rclrt_core::OnOverrun;

std::optional<Budget> read_budget(const YamlMap & of, BudgetOwner owner)
{
  const auto value = of.node("budget");
  if (!value) {
    return std::nullopt;
  }
  const YamlMap map(
    *value, "budget", {"runtime", "period", "on_overrun", "criticality", "max_period"});
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
  budget.criticality =
    map.word<Criticality>("criticality", {{"high", Criticality::kHigh}, {"low", Criticality::kLow}})
      .value_or(Criticality::kHigh);
  budget.max_period = map.duration("max_period").value_or(Duration{0});
  const rclrt_core::Status valid = rclrt_core::validate(budget, of.subject(), owner);
  if (!valid.ok()) {
    of.fail("budget", valid.message());
  }
  return budget;
}

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
