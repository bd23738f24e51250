// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// rclrt_watch holds records of executors against a model, and says in JSON what it has seen. It follows lines of the
// standard input (./rclrt watch writes them): a verb and words with one space between them, percent-encoded; times in ns,
// "-" for none. First what the model says:
//
//   system NAME MET                       MET: 1 if by the bounds all deadlines are met
//   callback NAME ENTRY WCET PERIOD BOUND DEADLINE POLICY PRIORITY
//                                         ENTRY: its name in a parameters file. POLICY as in records, 0: any
//   cpu NUMBER, by NAME                   where the last callback runs, and what publishes what releases it
//   chain NAME SEMANTICS JOIN DEADLINE BOUND SILENT_AFTER WARN_AFTER ERROR_AFTER
//   link CALLBACK KIND READS INPUTS       the next one of the last chain
//
// Then what ran:
//
//   source NUMBER PROCESS EXECUTOR        what follows is of this executor
//   name ID CALLBACK
//   records COUNT                         and after the line so many records
//   settle TIME                           judge what has ended by then
//   note WHO KIND TEXT CALLBACK           something that is no job
//   thread NUMBER NAME POLICY PRIORITY WORKER   of a process, as it is now; WORKER: 1 if it may run jobs of others
//   at NUMBER                             one of its sources
//   look PROGRAM                          judge these threads
//   lost COUNT                            so many records are missing
//
// These answer with one line:
//
//   say MORE                              everything; MORE: 1 for all instances of chains
//   which CALLBACK                        its name in the model, or null
//   diagnostics                           a status of each chain

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "rclrt_config/chain.hpp"
#include "system_watch.hpp"

namespace
{

using rclrt_config::Chain;
using rclrt_config::ChainSemantics;
using rclrt_core::Duration;
using rclrt_core::SchedulingPolicy;
using rclrt_watch::ChainSource;
using rclrt_watch::Expected;
using rclrt_watch::SystemWatch;
using Words = std::vector<std::string>;

constexpr int kMaxLine = 1 << 16;
constexpr int64_t kMaxRecords = 1 << 16;
constexpr int64_t kMaxSources = 1 << 16;
constexpr std::size_t kMaxThreads = 1 << 16;
/// Times are of some years at most, so that sums of them are times.
constexpr int64_t kMaxTime = int64_t{1} << 59;
/// What is kept of lines, with what each takes besides: the model, and names.
constexpr std::size_t kMaxKept = std::size_t{1} << 26;
constexpr std::size_t kBesides = 256;

/// What is wrong with a line.
struct Wrong : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

int64_t number(const std::string & text, int64_t most = UINT32_MAX, int64_t least = 0)
{
  int64_t value = 0;
  const char * const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value < least || value > most) {
    throw Wrong(
      "'" + text.substr(0, 60) + "' is no number from " + std::to_string(least) + " to " +
      std::to_string(most));
  }
  return value;
}

template <typename To>
To to(const std::string & text)
{
  return static_cast<To>(number(text));
}

template <typename To>
std::optional<To> maybe(const std::string & text, int64_t most = kMaxTime)
{
  return text == "-" ? std::nullopt : std::optional<To>(static_cast<To>(number(text, most)));
}

void answer(const std::string & text)
{
  if (std::puts(text.c_str()) < 0 || std::fflush(stdout) != 0) {
    throw Wrong("nobody takes the answer: " + std::system_category().message(errno));
  }
}

/// The words of a line.
Words words_of(const std::string & line)
{
  Words words(1);
  for (std::size_t at = 0; at < line.size(); ++at) {
    unsigned letter = 0;
    const char * const hex = line.data() + at + 1;
    if (line[at] == ' ') {
      words.emplace_back();
    } else if (line[at] != '%') {
      words.back() += line[at];
    } else if (line.size() - at > 2 && std::from_chars(hex, hex + 2, letter, 16).ptr == hex + 2) {
      words.back() += static_cast<char>(letter);
      at += 2;
    } else {
      throw Wrong("'" + line.substr(at, 3) + "' is no percent-encoded letter");
    }
  }
  return words;
}

class Follower
{
public:
  void follow(const std::string & line)
  {
    line_ = line.size();
    Words words = words_of(line);
    const auto verb = verbs_.find(words.front());
    if (verb == verbs_.end()) {
      throw Wrong("there is no '" + words.front().substr(0, 60) + "'");
    }
    words.erase(words.begin());
    if (words.size() != verb->second.first) {
      throw Wrong("'" + verb->first + "' has " + std::to_string(verb->second.first) + " words");
    }
    verb->second.second(words);
    if (threads_.all.size() + threads_.sources.size() > kMaxThreads) {
      throw Wrong("a process has more than 65536 threads and sources");
    }
  }

private:
  struct Source : ChainSource
  {
    std::map<uint32_t, std::string> names;
  };
  using Verb = std::pair<std::size_t, std::function<void(const Words &)>>;

  /// What the line says stays.
  void keep()
  {
    kept_ += line_ + kBesides;
    if (kept_ > kMaxKept) {
      throw Wrong("names and the model take more than 64 MiB");
    }
  }

  SystemWatch & watch()
  {
    if (!watch_) {
      for (const Chain & chain : chains_) {
        if (chain.links.empty()) {
          throw Wrong("chain '" + chain.name + "' has no link");
        }
      }
      for (auto & [callback, entry] : callbacks_) {
        model_.add(std::move(callback), entry);
      }
      watch_.emplace(model_, name_, is_met_, chains_);
    }
    return *watch_;
  }

  /// The last of what is described.
  template <typename Item>
  Item & last(std::vector<Item> & items)
  {
    if (items.empty() || watch_) {
      throw Wrong(watch_ ? "the model is complete" : "there is nothing that it belongs to");
    }
    keep();
    return items.back();
  }

  void add_callback(const Words & w)
  {
    rclrt_core::Attributes wanted;
    wanted.scheduling_policy = SchedulingPolicy(number(w[6], RCLRT_POLICY_EXT));
    wanted.priority = static_cast<int>(number(w[7], INT32_MAX, INT32_MIN));
    const rclrt_config::Assumption assumed = {
      maybe<Duration>(w[2]), maybe<Duration>(w[3]), maybe<Duration>(w[4]), wanted};
    callbacks_.push_back({{w[0], true, assumed, maybe<Duration>(w[5]), Words()}, w[1]});
    last(callbacks_);
  }

  void add_chain(const Words & w)
  {
    const auto semantics = ChainSemantics(number(w[1], 2));
    chains_.push_back(
      {w[0],
       "",
       {},
       semantics,
       w[2] == "last",
       maybe<Duration>(w[3]),
       maybe<Duration>(w[4]),
       maybe<Duration>(w[5]),
       maybe<uint32_t>(w[6], UINT32_MAX),
       maybe<uint32_t>(w[7], UINT32_MAX),
       std::nullopt});
    last(chains_);
  }

  void add_cpu(const Words & words)
  {
    rclrt_core::CpuSet & cpus = last(callbacks_).first.assumed.attributes.cpu_affinity;
    std::vector<int> all = cpus.cpus();
    all.push_back(to<int>(words[0]));
    cpus = rclrt_core::CpuSet(all);
  }

  void begin_source(const Words & words)
  {
    source_ = static_cast<std::size_t>(number(words[0], kMaxSources));
    sources_[source_].process = to<uint32_t>(words[1]);
    sources_[source_].executor = to<uint32_t>(words[2]);
  }

  void read_records(const Words & words)
  {
    const auto count = static_cast<std::size_t>(number(words[0], kMaxRecords));
    std::vector<rclrt_job_record> records(count);
    if (std::fread(records.data(), sizeof(rclrt_job_record), count, stdin) != count) {
      throw Wrong("there are fewer records");
    }
    Source & source = sources_[source_];
    watch().add(source_, source, source.names, std::move(records));
  }

  void add_thread(const Words & w)
  {
    rclrt_core::ThreadReport thread;
    thread.id = to<rclrt_core::ThreadId>(w[0]);
    thread.name = w[1];
    thread.in_force.scheduling_policy = SchedulingPolicy(number(w[2], RCLRT_POLICY_EXT));
    thread.in_force.priority = static_cast<int>(number(w[3], INT32_MAX, INT32_MIN));
    if (w[4] == "1") {
      threads_.workers.insert(thread.id);
    }
    threads_.all.push_back(std::move(thread));
  }

  void answer_which(const Words & words)
  {
    keep();
    watch();
    const Expected * const found = model_.find(words[0]);
    answer(found ? rclrt_watch::quoted(found->name) : "null");
  }

  const std::map<std::string, Verb> verbs_ = {
    {"system", {2, [this](const Words & w) { name_ = w[0], is_met_ = w[1] == "1"; }}},
    {"callback", {8, [this](const Words & w) { add_callback(w); }}},
    {"cpu", {1, [this](const Words & w) { add_cpu(w); }}},
    {"by", {1, [this](const Words & w) { last(callbacks_).first.released_by->push_back(w[0]); }}},
    {"chain", {8, [this](const Words & w) { add_chain(w); }}},
    {"link",
     {4,
      [this](const Words & w) {
        last(chains_).links.push_back({w[0], w[2] == "1", to<uint32_t>(w[3]), w[1] == "timer"});
      }}},
    {"source", {3, [this](const Words & w) { begin_source(w); }}},
    {"name",
     {2, [this](const Words & w) { keep(), sources_[source_].names[to<uint32_t>(w[0])] = w[1]; }}},
    {"records", {1, [this](const Words & w) { read_records(w); }}},
    {"settle", {1, [this](const Words & w) { watch().settle(number(w[0], kMaxTime, -kMaxTime)); }}},
    {"note", {4, [this](const Words & w) { watch().note(w[0], w[1], w[2], w[3]); }}},
    {"thread", {5, [this](const Words & w) { add_thread(w); }}},
    {"at",
     {1,
      [this](const Words & w) {
        threads_.sources.push_back(static_cast<std::size_t>(number(w[0], kMaxSources)));
      }}},
    {"look",
     {1,
      [this](const Words & w) {
        threads_.who = w[0];
        watch().look_at_threads(threads_);
        threads_ = {};
      }}},
    {"lost", {1, [this](const Words & w) { watch().set_lost(to<uint64_t>(w[0])); }}},
    {"say", {1, [this](const Words & w) { answer(watch().to_json(w[0] == "1")); }}},
    {"which", {1, [this](const Words & w) { answer_which(w); }}},
    {"diagnostics", {0, [this](const Words &) { answer(watch().diagnostics()); }}}};

  std::string name_;
  bool is_met_ = false;
  std::vector<std::pair<Expected, std::string>> callbacks_;
  std::vector<Chain> chains_;
  rclrt_watch::Model model_;
  std::optional<SystemWatch> watch_;
  std::map<std::size_t, Source> sources_;
  std::size_t source_ = 0;
  rclrt_watch::Assumptions::Threads threads_;
  std::size_t line_ = 0;  ///< bytes of the last one
  std::size_t kept_ = 0;
};

}  // namespace

int main()
{
  std::signal(SIGPIPE, SIG_IGN);  // answer() says it
  Follower follower;
  std::vector<char> line(kMaxLine);
  for (unsigned long long lines = 1; std::fgets(line.data(), kMaxLine, stdin); ++lines) {
    try {
      const std::string text(line.data());
      if (text.empty() || text.back() != '\n') {
        throw Wrong("it is too long, or has no end");
      }
      follower.follow(text.substr(0, text.size() - 1));
    } catch (const Wrong & wrong) {
      std::fprintf(stderr, "rclrt_watch: line %llu: %s\n", lines, wrong.what());
      return 2;
    }
  }
  return 0;
}
