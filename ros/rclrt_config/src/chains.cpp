// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the files say of chains, and of what their proofs rest on.

#include <algorithm>
#include <map>
#include <string>

#include "configuration_impl.hpp"
#include "document.hpp"
#include "fields.hpp"

namespace rclrt_config
{

using rclrt_core::CpuSet;

namespace
{

Assumption assumption_of(const std::vector<Entry> & entries, const std::string & callback)
{
  Assumption all;
  rclrt_core::Scheduling scheduling;
  for (const Entry & entry : entries) {
    if (entry.target == Target::kCallback && entry.pattern.matches(callback)) {
      put(entry.assumed, &all);
      put(entry.changes, &scheduling);
    }
  }
  all.attributes = scheduling.attributes;
  return all;
}

/// No CPUs: any.
bool share_a_cpu(const CpuSet & a, const CpuSet & b)
{
  const std::vector<int> of_a = a.cpus();
  const std::vector<int> of_b = b.cpus();
  return of_a.empty() || of_b.empty() || std::any_of(of_a.begin(), of_a.end(), [&of_b](int cpu) {
           return std::find(of_b.begin(), of_b.end(), cpu) != of_b.end();
         });
}

}  // namespace

const std::vector<Chain> & Configuration::chains() const noexcept { return impl_->chains; }

bool Configuration::diagnostics() const noexcept
{
  return impl_->diagnostics.value_or(!impl_->chains.empty());
}

bool Configuration::is_watched() const noexcept
{
  return !impl_->chains.empty() ||
         std::any_of(impl_->entries.begin(), impl_->entries.end(), [](const Entry & entry) {
           return std::any_of(entry.assumed.begin(), entry.assumed.end(), [](const auto & time) {
             return static_cast<bool>(time);
           });
         });
}

bool Configuration::proof_is_void() const noexcept { return impl_->proof_is_void; }

Assumption Configuration::assumption(const std::string & callback) const
{
  return assumption_of(impl_->entries, callback);
}

std::vector<std::string> Configuration::chains_beside(const std::string & callback) const
{
  const CpuSet cpus = assumption(callback).attributes.cpu_affinity;
  std::vector<std::string> names;
  for (const Chain & chain : impl_->chains) {
    const bool is_beside =
      std::any_of(chain.links.begin(), chain.links.end(), [&](const ChainLink & link) {
        // An entry of a plan is for the same callbacks as the link.
        const CpuSet of_link = assumption_of(impl_->entries, link.pattern).attributes.cpu_affinity;
        return link.matches(callback) || share_a_cpu(cpus, of_link);
      });
    if (is_beside) {
      names.push_back(chain.name);
    }
  }
  return names;
}

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
  chain.budget = read_budget(map);
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
  constexpr const char * words[] = {"reaction", "age", "latency"};
  return words[static_cast<std::size_t>(semantics)];
}

bool ChainLink::matches(const std::string & callback) const
{
  return NamePattern(pattern).matches(callback);
}

bool ChainLink::is_timer() const { return timer.value_or(NamePattern(pattern).has_part("timer")); }

}  // namespace rclrt_config
