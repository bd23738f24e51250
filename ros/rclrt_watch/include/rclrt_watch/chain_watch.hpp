// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How long a chain took, instance by instance, from the records of its jobs. The rules: test/chain_cases.txt.
///
/// A datum is a job of the first callback. A job of another callback uses the datum of the job that released it. If
/// something else released it, it uses the newest datum that the callback before has published when it starts. A
/// callback that waits for several inputs (a join) uses what each of them has brought last. Each input has jobs of its
/// own; those that only keep their message bring out nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rclrt_config/chain.hpp"
#include "rclrt_watch/statuses.hpp"

namespace rclrt_watch
{

/// A job, wherever it ran under this kernel: process, executor, number within the executor.
using JobKey = std::tuple<uint32_t, uint32_t, uint64_t>;
/// Publisher and source time stamp.
using MessageKey = std::pair<uint64_t, uint64_t>;

/// A job of a chain that ran; times in ns.
struct ChainJob
{
  JobKey key;
  int64_t release = 0;
  int64_t start = 0;
  int64_t end = 0;
  std::optional<JobKey> by;     ///< has published what released it, in the same process
  bool by_link_before = false;  ///< that is a job of the callback before, of the same executor
  std::optional<MessageKey> message;  ///< what it took
  /// Of a join, which one: the same number for the same one. 0: each job of the callback had all.
  uint64_t input = 0;
  bool is_whole = true;  ///< nothing ran in its executor before what was seen of that
};

/// The jobs of one join. Each input has jobs of its own. Those that only keep their message for later bring out nothing;
/// the one with which the last input comes works with all that was kept.
///
/// What was kept before the first record is found out from what follows. Until that is known, a job brings out the
/// messages of the round before: by then these have surely come out.
class JoinWatch
{
public:
  /// `is_whole`: nothing was kept before its first job.
  JoinWatch(uint32_t inputs, bool is_whole);

  /// Whether it is known which jobs work.
  bool is_known() const noexcept { return possible_.size() == 1 || publishes_; }
  /// The next job, by their ends. Returns the newest job of each input if all have come since the last time; none: it
  /// has only kept its message. Where some job has published, one that did not has only kept its message, too.
  std::vector<ChainJob> add(const ChainJob & job, bool published);

private:
  void find_out(uint64_t input);

  const uint32_t inputs_;
  std::map<uint64_t, uint32_t> number_;  ///< bits of inputs
  std::vector<ChainJob> kept_;
  std::map<uint64_t, ChainJob> newest_;
  std::vector<ChainJob> before_;
  bool publishes_ = false;
  std::set<uint32_t> possible_{0};  ///< each is what may be kept, as bits; empty: nobody knows
};

class ChainWatch
{
public:
  using Job = ChainJob;
  struct Instance
  {
    int64_t took;
    int64_t end;
  };

  explicit ChainWatch(const rclrt_config::Chain & chain);

  /// A message that a job of the chain has published. To be given before jobs of the same batch.
  void add_publication(const MessageKey & message, const JobKey & by, int64_t time);
  void add_job(std::size_t link, const Job & job);
  /// Jobs of its callbacks that did not run.
  void add_not_run(uint64_t jobs) { seen_.not_run += jobs; }

  /// Count what has ended by then. What comes later must have ended later. Returns how many misses there were.
  uint64_t settle(int64_t until);

  /// All but `proved` and `lost_records`.
  ChainReport report() const;
  /// The most misses in a row since the last time, with those that last.
  uint64_t take_peak();
  ChainState state_after(uint64_t misses_in_a_row) const;
  bool is_silent() const noexcept { return silent_; }
  std::optional<int64_t> worst() const noexcept { return seen_.worst; }
  int64_t worst_end() const noexcept { return seen_.worst_end; }
  /// The jobs of the worst instance, that of the first callback first.
  const std::vector<JobKey> & worst_path() const noexcept { return seen_.worst_path; }
  /// Instances that took longer than the bound.
  uint64_t above_bound() const noexcept { return seen_.above_bound; }
  /// The newest.
  const std::deque<Instance> & instances() const noexcept { return seen_.instances; }
  /// The smallest value that so many of 100 do not exceed; unset with too few instances.
  std::optional<rclrt_core::Duration> percentile(unsigned percent) const;
  /// Jobs that are remembered.
  std::size_t remembered() const;
  const rclrt_config::Chain & chain() const noexcept { return chain_; }

private:
  struct End
  {
    int64_t time;
    JobKey key;
    bool operator<(const End & other) const
    {
      return std::tie(time, key) < std::tie(other.time, other.key);
    }
  };
  struct Link
  {
    bool samples = false;
    std::map<JobKey, Job> jobs;
    std::deque<End> ends;  ///< in order of time: when others can read what a job has found
    std::vector<End> unsorted;
    uint32_t inputs = 0;                      ///< of a join, else 0
    std::multimap<int64_t, Job> to_join;      ///< by their ends
    std::optional<JoinWatch> join;            ///< once a job has come
    std::map<JobKey, std::vector<Job>> used;  ///< by the job that worked with them
  };
  struct Sent
  {
    JobKey by;
    int64_t time;
  };
  struct Seen
  {
    uint64_t count = 0;
    std::optional<int64_t> last;
    std::optional<int64_t> worst;
    int64_t worst_end = 0;
    std::vector<JobKey> worst_path;
    uint64_t above_bound = 0;
    uint64_t misses = 0;
    uint64_t in_a_row = 0;
    uint64_t most_in_a_row = 0;
    uint64_t peak = 0;
    uint64_t silences = 0;
    uint64_t left_out = 0;
    uint64_t overtaken = 0;
    uint64_t not_run = 0;
    std::deque<Instance> instances;  ///< the newest
  };
  /// The jobs whose data were used, that of the first callback first; none: it is not known. `is_late`: it may become
  /// known.
  struct Datum
  {
    std::vector<JobKey> path;
    bool is_late = false;
    bool is_last = false;  ///< these data were the last to come at every join
  };
  /// What one job has used.
  struct Source
  {
    const Job * job = nullptr;
    bool is_late = false;
    bool is_last = true;
  };

  /// A job of this link has brought something out.
  void take(std::size_t link, const Job & job);
  /// Find out which jobs of a join had all of their inputs.
  void join(std::size_t link, int64_t until);
  Datum datum_of(const Job & output) const;
  Source source_of(std::size_t link, const Job & job) const;
  const Job * releaser(std::size_t link_before, const Job & job) const;
  const Job * find(std::size_t link, const JobKey & key) const;
  const Job * newest(std::size_t link, int64_t before) const;
  void output(const Datum & datum, int64_t end);
  void count(int64_t value, int64_t end, std::vector<JobKey> path);
  void judge(bool missed);
  void listen(int64_t now);
  void forget(int64_t before);

  const rclrt_config::Chain chain_;
  const bool by_timer_;
  const bool last_only_;
  std::vector<Link> links_;
  std::map<MessageKey, Sent> sent_;
  std::deque<std::pair<int64_t, MessageKey>> sent_in_order_;
  std::map<JobKey, int64_t> sent_at_;
  std::multimap<int64_t, Job> outputs_;  ///< by their end
  std::optional<JobKey> answered_;
  std::optional<int64_t> newest_output_;
  std::optional<int64_t> begin_;
  bool silent_ = false;
  Seen seen_;
};

/// A chain, and what is seen of it besides its instances.
struct WatchedChain
{
  explicit WatchedChain(const rclrt_config::Chain & chain) : watch(chain) {}
  ChainWatch watch;
  bool is_ours = false;      ///< one of our sources has its last callback
  bool has_first = false;    ///< some source has its first callback
  int64_t first_output = 0;  ///< when the last callback ended its first job
};

/// An executor, and which of its callbacks are in chains.
struct ChainSource
{
  struct Place
  {
    std::size_t chain;
    std::size_t link;
    bool is_input;  ///< of a callback that may wait for others of the same link
  };
  using Places = std::vector<Place>;

  uint32_t process = 0;
  uint32_t executor = 0;
  bool is_ours = false;
  std::optional<bool>
    is_whole;  ///< nothing ran in it before its first record; unset: there is none
  std::map<uint32_t, Places> places;  ///< by callback; empty for those of no chain

  bool has_chains() const;
  /// Null if there is none.
  const Places * places_of(uint32_t callback) const;
};

class ChainSet
{
public:
  /// Whether a callback with that name is a link.
  using Matches = std::function<bool(const rclrt_config::ChainLink &, const std::string &)>;
  explicit ChainSet(
    const std::vector<rclrt_config::Chain> & chains,
    Matches matches = &rclrt_config::ChainLink::matches);

  /// Where callbacks belong that are new in a source; `names` of all of them.
  void find_places(ChainSource & source, const std::map<uint32_t, std::string> & names);
  /// Records of a source, in any order.
  void feed(ChainSource & source, const std::vector<rclrt_job_record> & records);

  std::vector<WatchedChain> & chains() noexcept { return chains_; }
  const std::vector<WatchedChain> & chains() const noexcept { return chains_; }

private:
  void add_job(
    const ChainSource & source, const rclrt_job_record & record,
    const ChainSource::Places & places);

  const Matches matches_;
  std::vector<WatchedChain> chains_;
};

}  // namespace rclrt_watch
