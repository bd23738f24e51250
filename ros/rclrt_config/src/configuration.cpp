// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Reading files, and what is left to tell about them.

#include "rclrt_config/configuration.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "configuration_impl.hpp"
#include "yaml_map.hpp"

namespace rclrt_config
{

using rclrt_core::Finding;
using rclrt_core::Status;

namespace
{

constexpr std::size_t kMaxFileSize = std::size_t{16} << 20;

Status read_text(const std::string & path, std::string * text)
{
  std::ifstream file(path, std::ios::binary);
  char block[65'536];
  while (file.read(block, sizeof(block)) || file.gcount() > 0) {
    text->append(block, static_cast<std::size_t>(file.gcount()));
    if (text->size() > kMaxFileSize) {
      return Status::error(path + ": longer than 16 MiB. This is no parameters file");
    }
  }
  if (!file.eof()) {  // also if it could not be opened, or is a folder
    return Status::error(
      "parameters file '" + path + "' cannot be read. Check its name and its permissions");
  }
  return {};
}

/// Insertions, deletions and replacements of letters that make one of the other.
std::size_t distance(const std::string & a, const std::string & b)
{
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string nearest(const std::string & name, const std::set<std::string> & names)
{
  const auto found = std::min_element(names.begin(), names.end(), [&](auto & a, auto & b) {
    return distance(name, a) < distance(name, b);
  });
  return found == names.end() ? "" : *found;
}

/// A remedy.
std::string like_it(
  const std::string & name, const std::set<std::string> & names, const std::string & otherwise)
{
  const std::string like = nearest(name, names);
  return like.empty() ? "Add the node to the executor first, or " + otherwise
                      : "The name most like it is '" + like + "'";
}

rclrt_core::Severity severity_of(const Unmatched & unmatched)
{
  return unmatched.node_is_here ? rclrt_core::Severity::kWarning : rclrt_core::Severity::kNote;
}

/// Callbacks of a chain that nobody has here. Most of them may be elsewhere: then they are told only if all are.
void add_unmatched(
  const Chain & chain, const std::set<std::string> & callbacks, const std::set<std::string> & nodes,
  std::vector<Unmatched> * to)
{
  std::vector<Unmatched> elsewhere;
  for (const ChainLink & link : chain.links) {
    const NamePattern pattern(link.pattern);
    const bool is_here = std::any_of(
      callbacks.begin(), callbacks.end(), [&](const auto & name) { return pattern.matches(name); });
    if (is_here) {
      continue;
    }
    Unmatched unmatched;
    unmatched.finding.subject = chain.place;
    unmatched.finding.what =
      "chain '" + chain.name + "': '" + link.pattern + "' matches no callback of this executor";
    unmatched.finding.fix = like_it(link.pattern, callbacks, "take it out of the chain");
    unmatched.node_is_here = std::any_of(
      nodes.begin(), nodes.end(), [&](const auto & node) { return pattern.names_node(node); });
    unmatched.finding.severity = severity_of(unmatched);
    (unmatched.node_is_here ? *to : elsewhere).push_back(std::move(unmatched));
  }
  if (elsewhere.size() == chain.links.size()) {
    to->push_back(std::move(elsewhere.back()));
  }
}

}  // namespace

Configuration::Configuration() : impl_(std::make_unique<Impl>()) {}
Configuration::~Configuration() = default;
Configuration::Configuration(Configuration &&) noexcept = default;
Configuration & Configuration::operator=(Configuration &&) noexcept = default;

bool Configuration::empty() const noexcept
{
  return impl_->entries.empty() && impl_->executors.empty() && impl_->traces.empty() &&
         impl_->chains.empty() && !impl_->diagnostics && impl_->notes.empty() &&
         impl_->cie_threads.empty();
}

bool Configuration::names_groups_by_members() const noexcept
{
  return std::any_of(impl_->entries.begin(), impl_->entries.end(), [](const Entry & entry) {
    return !entry.cie_id.empty();
  });
}

Status Configuration::load(const std::string & path, const Machine & machine)
{
  std::string text;
  const Status status = read_text(path, &text);
  return status.ok() ? parse(text, path, machine) : status;
}

Status Configuration::parse(
  const std::string & text, const std::string & name, const Machine & machine)
{
  const auto error_at = [&name](const YAML::Mark & mark, const std::string & message) {
    return Status::error(to_string(Place{name, mark.line + 1, mark.column + 1}) + ": " + message);
  };
  Document document;
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      return error_at(
        documents[1].Mark(), "a second document begins here. Put all into one, without '---'");
    }
    if (!documents.empty()) {
      document = is_cie_file(documents[0])
                   ? read_cie_file(documents[0], name, machine)
                   : read_parameters_file(documents[0], name, machine.cpu_count);
    }
  } catch (const YamlError & error) {
    const int cpus = cpus_of_plan(text).value_or(0);
    const std::string elsewhere =
      cpus > machine.cpu_count
        ? ". It is a plan for a machine with " + std::to_string(cpus) + " CPUs: plan for this one"
        : "";
    return error_at(error.mark, error.what() + elsewhere);
  } catch (const YAML::Exception & error) {
    return error_at(error.mark, "this is not YAML: " + error.msg);
  }
  const auto append = [](auto & from, auto * to) {
    to->insert(
      to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (const Chain & chain : document.chains) {
    for (const Chain & earlier : impl_->chains) {
      if (chain.name == earlier.name) {
        return Status::error(
          chain.place + ": chain '" + chain.name + "' is in " + earlier.place +
          " already. Rename one of the two");
      }
    }
  }
  append(document.entries, &impl_->entries);
  append(document.nodes, &impl_->order);
  // As rcl merges files: what a later file says of a node takes the place of what an earlier one does, and stays
  // behind what that says of others.
  std::map<std::string, std::size_t> ranks;
  for (const std::string & node : impl_->order) {
    ranks.emplace(node, ranks.size());
  }
  const auto rank = [&ranks](const Entry & entry) {
    return entry.node.empty() ? ranks.size() : ranks.at(entry.node);
  };
  std::stable_sort(
    impl_->entries.begin(), impl_->entries.end(),
    [&rank](const Entry & a, const Entry & b) { return rank(a) < rank(b); });
  append(document.executors, &impl_->executors);
  append(document.traces, &impl_->traces);
  append(document.chains, &impl_->chains);
  append(document.notes, &impl_->notes);
  append(document.threads, &impl_->cie_threads);
  if (auto problem = problem_with_plan(text, name)) {
    impl_->notes.push_back(std::move(*problem));
    impl_->proof_is_void = true;
  }
  impl_->diagnostics = document.diagnostics ? document.diagnostics : impl_->diagnostics;
  for (const ExecutorEntry & executor : impl_->executors) {
    if (executor.deadline_scheduler) {
      impl_->deadline_scheduler = executor.deadline_scheduler;
    }
    if (executor.middleware_thread) {
      impl_->middleware_thread = executor.middleware_thread;
    }
    if (executor.policy) {
      impl_->priority_key = executor.priority_key;
    }
  }
  return {};
}

Status Configuration::find(
  const std::string & given, const std::vector<std::string> & parameter_files,
  const Machine & machine)
{
  if (!given.empty()) {
    Configuration loaded;
    const Status status = loaded.load(given, machine);
    if (status.ok() && loaded.empty()) {
      return Status::error(
        given + ": nothing in it is for an executor. Add 'rclrt:' under '/**: ros__parameters:'");
    }
    return status.ok() ? load(given, machine) : status;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody has a reason to set it meanwhile
  if (const char * from_environment = std::getenv("RCLRT_CONFIGURATION")) {
    const Status status =
      *from_environment != '\0' ? find(from_environment, {}, machine) : Status();
    return status.ok() ? status : Status::error("RCLRT_CONFIGURATION: " + status.message());
  }
  for (const std::string & file : parameter_files) {
    const Status status = load(file, machine);
    if (!status.ok()) {
      return status;
    }
  }
  return {};
}

std::vector<Unmatched> Configuration::unmatched() const
{
  std::vector<Unmatched> all;
  for (const Entry & entry : impl_->entries) {
    if (entry.matched) {
      continue;
    }
    const bool is_group = entry.target == Target::kGroup;
    const std::set<std::string> & seen = !entry.cie_id.empty() ? impl_->cie_ids
                                         : is_group            ? impl_->groups
                                                               : impl_->callbacks;
    Unmatched unmatched;
    unmatched.finding.subject = to_string(entry.place);
    unmatched.finding.what =
      "'" + entry.name + "' matches no " + (is_group ? "group" : "callback") + " of this executor";
    unmatched.finding.fix = like_it(entry.name, seen, "remove the entry");
    unmatched.node_is_here =
      std::any_of(impl_->nodes.begin(), impl_->nodes.end(), [&entry](const std::string & node) {
        return entry.cie_id.empty() ? entry.pattern.names_node(node)
                                    : entry.cie_id.substr(0, entry.cie_id.find('@')) == node ||
                                        entry.cie_id == node + "/*";
      });
    unmatched.finding.severity = severity_of(unmatched);
    all.push_back(std::move(unmatched));
  }
  for (const Chain & chain : impl_->chains) {
    add_unmatched(chain, impl_->callbacks, impl_->nodes, &all);
  }
  return all;
}

std::vector<NamedThread> Configuration::threads() const
{
  std::vector<NamedThread> all = impl_->cie_threads;
  for (const ExecutorEntry & entry : impl_->executors) {
    all.insert(all.end(), entry.threads.begin(), entry.threads.end());
  }
  return all;
}

bool names_node(const std::string & pattern, const std::string & node)
{
  return NamePattern((pattern.rfind('/', 0) == 0 ? "" : "/") + pattern).matches(node);
}

std::vector<Finding> Configuration::notes() const { return impl_->notes; }

}  // namespace rclrt_config
