// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "system_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "rclrt_watch/live_follower.hpp"
#include "rclrt_watch/statuses.hpp"

namespace rclrt_watch
{

using rclrt_config::Chain;
using rclrt_config::ChainLink;
using rclrt_core::Duration;

namespace
{

/// A piece of JSON.
struct Json
{
  std::string text;
};

Json json(const Json & piece) { return piece; }
Json json(bool value) { return {value ? "true" : "false"}; }
Json json(uint64_t value) { return {std::to_string(value)}; }
Json json(int64_t value) { return {std::to_string(value)}; }
Json json(const std::string & text) { return {quoted(text)}; }
Json json(const std::optional<Duration> & time) { return {time ? milliseconds_of(*time) : "null"}; }

template <typename Items, typename Piece>
Json list(Items && items, Piece piece)
{
  std::string all;
  for (auto && item : items) {
    all += (all.empty() ? "" : ", ") + piece(item).text;
  }
  return {"[" + all + "]"};
}

Json list(const std::vector<std::string> & texts)
{
  return list(texts, [](const std::string & text) { return json(text); });
}

std::string members() { return ""; }
template <typename Value, typename... Rest>
std::string members(const char * key, const Value & value, const Rest &... rest)
{
  const std::string more = members(rest...);
  return quoted(key) + ": " + json(value).text + (more.empty() ? "" : ", ") + more;
}

/// Keys and values.
template <typename... Members>
Json object(const Members &... all)
{
  return {"{" + members(all...) + "}"};
}

Json json_of(const Broken & broken)
{
  return object(
    "callback", broken.who, "what", broken.kind.substr(0, broken.kind.find(' ')), "text",
    broken.text, "times", broken.times, "chains", list(broken.chains));
}

bool is_met(const ChainReport & report)
{
  return report.bound && report.deadline && *report.bound <= *report.deadline;
}

Json json_of(const ChainWatch & watch, bool is_proved, bool with_instances)
{
  const ChainReport report = watch.report();
  const Json row = object(
    "name", report.name, "semantics", std::string(to_string(watch.chain().semantics)), "state",
    std::string(to_string(watch.state_after(report.misses_in_a_row))), "proved",
    is_proved && is_met(report), "deadline_ms", report.deadline, "bound_ms", report.bound, "count",
    report.instances, "last_ms", report.last, "p50_ms", watch.percentile(50), "p99_ms", report.p99,
    "worst_ms", report.worst, "misses", report.misses, "in_a_row", report.misses_in_a_row,
    "most_in_a_row", report.most_misses_in_a_row, "left_out", report.left_out, "silences",
    report.silences, "silent", watch.is_silent());
  if (!with_instances) {
    return row;
  }
  const Json path = list(watch.worst_path(), [](const JobKey & key) {
    const auto & [process, executor, sequence] = key;
    return list(std::vector<uint64_t>{process, executor, sequence}, [](auto n) { return json(n); });
  });
  const Json instances = list(watch.instances(), [](const ChainWatch::Instance & one) {
    return list(std::vector<int64_t>{one.took, one.end}, [](auto n) { return json(n); });
  });
  return object(
    "row", row, "worst_end_ns", watch.worst_end(), "worst_path", path, "instances_ns", instances);
}

Json json_of(const Expected & expected, const Assumptions::Callback & seen)
{
  return object(
    "name", expected.name, "jobs", seen.jobs, "worst_ms", seen.worst, "bound_ms",
    expected.assumed.bound, "deadline_ms", expected.deadline, "misses", seen.misses,
    "longest_execution_ms", seen.longest, "not_run", seen.not_run);
}

bool came(const ChainWatch & watch)
{
  const ChainReport report = watch.report();
  return report.instances + report.left_out > 0;
}

}  // namespace

std::string quoted(const std::string & text)
{
  std::string all = "\"";
  for (const char letter : text) {
    char escaped[8];
    if (letter == '"' || letter == '\\') {
      all += '\\';
    }
    const unsigned byte = static_cast<unsigned char>(letter);  // char: no sign on some machines
    if (byte < 0x20 || byte == 0x7f) {
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      all += escaped;
    } else {
      all += letter;
    }
  }
  return all + '"';
}

void Model::add(Expected callback, const std::string & entry)
{
  known_[callback.name] = callbacks_.size();
  if (entry != callback.name) {
    nodes_.emplace_back(ChainLink{entry}, callbacks_.size());
  }
  callback.is_known = true;
  callbacks_.push_back(std::move(callback));
}

const Expected * Model::find(const std::string & callback)
{
  const auto [place, is_new] = known_.emplace(callback, callbacks_.size());
  if (is_new) {
    const auto node = std::find_if(
      nodes_.begin(), nodes_.end(), [&](const auto & one) { return one.first.matches(callback); });
    place->second = node != nodes_.end() ? node->second : callbacks_.size();
  }
  return place->second < callbacks_.size() ? &callbacks_[place->second] : nullptr;
}

Terms Model::terms(const std::vector<Chain> & chains)
{
  Terms terms;
  terms.where = "model";
  terms.has_proof = terms.has_all = true;
  terms.of = [this](const std::string & callback) {
    const Expected * const found = find(callback);
    Expected unknown;
    unknown.name = callback;
    return found ? *found : unknown;
  };
  terms.chains_beside = [this, chains](const std::string & callback) {
    const auto cpus_of = [this](const std::string & of) {
      const Expected * const found = find(of);
      return found ? found->assumed.attributes.cpu_affinity.cpus() : std::vector<int>();
    };
    const std::vector<int> cpus = cpus_of(callback);
    std::vector<std::string> names;
    for (const Chain & chain : chains) {
      const auto is_beside = [&](const ChainLink & link) {
        const std::vector<int> others = cpus_of(link.pattern);
        return std::find_first_of(others.begin(), others.end(), cpus.begin(), cpus.end()) !=
               others.end();
      };
      if (cpus.empty() || std::any_of(chain.links.begin(), chain.links.end(), is_beside)) {
        names.push_back(chain.name);
      }
    }
    return names;
  };
  return terms;
}

SystemWatch::SystemWatch(
  Model & model, std::string name, bool is_met, const std::vector<Chain> & chains)
: model_(model),
  name_(std::move(name)),
  is_met_(is_met),
  terms_(model.terms(chains)),
  chains_(
    chains,
    [&model](const ChainLink & link, const std::string & callback) {
      const Expected * const found = model.find(callback);
      return found && found->name == link.pattern;
    }),
  assumptions_(terms_, {})
{
}

void SystemWatch::add(
  std::size_t source, ChainSource & executor, const std::map<uint32_t, std::string> & names,
  std::vector<rclrt_job_record> records)
{
  const auto sane = std::remove_if(
    records.begin(), records.end(), [](const auto & record) { return !is_sane(record); });
  insane_ += static_cast<uint64_t>(records.end() - sane);
  records.erase(sane, records.end());
  chains_.find_places(executor, names);
  chains_.feed(executor, records);
  assumptions_.add(names, records, source, executor.executor);
}

void SystemWatch::settle(int64_t until)
{
  assumptions_.settle(until);
  for (WatchedChain & chain : chains_.chains()) {
    chain.watch.settle(until);
  }
}

void SystemWatch::note(
  const std::string & who, const std::string & kind, const std::string & text,
  const std::string & beside)
{
  assumptions_.note(who, kind, text, terms_.chains_beside(beside));
}

std::vector<Broken> SystemWatch::broken() const
{
  std::vector<Broken> all = assumptions_.broken();
  for (const WatchedChain & chain : chains_.chains()) {
    const ChainReport report = chain.watch.report();
    if (chain.watch.above_bound() > 0 && report.bound) {
      const Duration worst = report.worst.value_or(*report.bound);
      const std::string text = "took " + in_ms(worst) + "; its bound is " + in_ms(*report.bound);
      all.push_back({report.name, "chain", text, {report.name}, chain.watch.above_bound()});
    }
  }
  return all;
}

/// All bounds exist, all was seen, and nothing that the bounds rest on was seen to be wrong.
bool SystemWatch::is_proved() const
{
  const auto & chains = chains_.chains();
  const auto & callbacks = assumptions_.callbacks();
  return is_met_ && broken().empty() && lost_ + insane_ == 0 &&
         std::all_of(
           chains.begin(), chains.end(), [](const auto & chain) { return came(chain.watch); }) &&
         std::any_of(callbacks.begin(), callbacks.end(), [](const auto & one) {
           return one.second.expected.is_known && one.second.jobs > 0;
         });
}

std::string SystemWatch::to_json(bool with_instances) const
{
  const auto & seen = assumptions_.callbacks();
  std::vector<Json> callbacks;
  std::vector<std::string> strangers;
  bool has_missed = std::any_of(
    chains_.chains().begin(), chains_.chains().end(),
    [](const WatchedChain & chain) { return chain.watch.report().misses > 0; });
  for (const Expected & expected : model_.callbacks()) {
    const auto found = seen.find(expected.name);
    const Assumptions::Callback none{expected};
    callbacks.push_back(json_of(expected, found != seen.end() ? found->second : none));
  }
  for (const auto & [name, callback] : seen) {
    has_missed = has_missed || callback.misses > 0;
    if (!callback.expected.is_known && callback.jobs + callback.not_run > 0) {
      strangers.push_back(name);
    }
  }
  const bool proved = is_proved();
  const Json chains = list(chains_.chains(), [&](const WatchedChain & chain) {
    return json_of(chain.watch, proved, with_instances);
  });
  return object(
           "schema", uint64_t{1}, "system", name_, "proved", proved, "missed", has_missed,
           "lost_records", lost_ + insane_, "chains", chains, "callbacks",
           list(callbacks, [](const Json & one) { return one; }), "broken_assumptions",
           list(broken(), [](const Broken & one) { return json_of(one); }), "not_in_the_model",
           list(strangers))
    .text;
}

std::string SystemWatch::diagnostics()
{
  const bool proved = is_proved();
  const Json all = list(chains_.chains(), [&](WatchedChain & chain) {
    const uint64_t peak = chain.watch.take_peak();
    ChainReport report = chain.watch.report();
    report.lost_records = lost_ + insane_;
    report.proved = proved && is_met(report);
    const DiagnosticStatus status = status_of(chain.watch, report, peak);
    const Json values =
      list(status.values, [](const auto & one) { return list({one.first, one.second}); });
    return object(
      "name", status.name, "level", static_cast<uint64_t>(status.level), "message", status.message,
      "values", values);
  });
  return all.text;
}

}  // namespace rclrt_watch
