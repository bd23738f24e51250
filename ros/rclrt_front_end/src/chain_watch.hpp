// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How long a chain took, instance by instance, from the records of its jobs. The same rules
/// as rclrt_tools/watch/chains.py: test/chain_cases.txt.
///
/// A datum is a job of the first callback. A job of another callback uses the datum of the job that released it. If
/// something else released it, it uses the newest datum that the callback before has published when it starts. A
/// callback that waits for several inputs (a join) uses what each of them has brought last. Each input has jobs of its
/// own; those that only keep their message bring out nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "rclrt_config/chain.hpp"
#include "rclrt_front_end/executor_report.hpp"

namespace rclrt_front_end
{

/// A job, wherever it ran under this kernel: process, executor, number within the executor.
using JobKey = std::tuple<uint32_t, uint32_t, uint64_t>;
/// Publisher and source time stamp.
using MessageKey = std::pair<uint64_t, uint64_t>;

class ChainWatch
{
public:
  /// A job of the chain that ran; times in ns.
  struct Job
  {
    JobKey key;
    int64_t release = 0;
    int64_t start = 0;
    int64_t end = 0;
    std::optional<JobKey> by;     ///< has published what released it, in the same process
    bool by_link_before = false;  ///< that is a job of the callback before, of the same executor
    std::optional<MessageKey> message;  ///< what it took
    uint64_t input = 0;                 ///< of a join, which one: the same number for the same one
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
    std::vector<Job> kept;                    ///< the newest job of each input since all had come
    std::map<JobKey, std::vector<Job>> used;  ///< by the job that worked with them
    bool publishes = false;                   ///< it was seen to
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
    uint64_t misses = 0;
    uint64_t in_a_row = 0;
    uint64_t most_in_a_row = 0;
    uint64_t peak = 0;
    uint64_t silences = 0;
    uint64_t left_out = 0;
    uint64_t overtaken = 0;
    uint64_t not_run = 0;
    std::deque<int64_t> values;  ///< the newest
  };
  /// The first job whose data were used, if it is known; `is_late`: it may still become known.
  struct Datum
  {
    std::optional<JobKey> key;
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
  void count(int64_t value);
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

}  // namespace rclrt_front_end
