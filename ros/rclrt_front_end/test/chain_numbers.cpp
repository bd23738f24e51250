// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// chain_numbers PARAMETERS BATCH_NS TRACE...: what the chains of a parameters file were in trace files, a line each:
// name, state, instances, misses, most misses in a row, silences, last, worst and p99 in ns (-1: none). The records come
// in batches of that length; 0: all at once. What is to say of the file goes to the error output.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <vector>

#include "chain_set.hpp"
#include "rclrt_config/configuration.hpp"

namespace
{

using rclrt_front_end::ChainReport;
using rclrt_front_end::ChainSet;
using rclrt_front_end::ChainSource;

long long ns(const std::optional<rclrt_core::Duration> & duration)
{
  return duration ? static_cast<long long>(duration->count()) : -1;
}

void print(ChainSet & chains)
{
  for (const auto & chain : chains.chains()) {
    const ChainReport report = chain.watch.report();
    std::printf(
      "%s %s %llu %llu %llu %llu %lld %lld %lld\n", report.name.c_str(), to_string(report.state),
      static_cast<unsigned long long>(report.instances),
      static_cast<unsigned long long>(report.misses),
      static_cast<unsigned long long>(report.most_misses_in_a_row),
      static_cast<unsigned long long>(report.silences), ns(report.last), ns(report.worst),
      ns(report.p99));
  }
}

}  // namespace

int main(int argc, char ** argv)
{
  rclrt_config::Configuration configuration;
  const auto status = configuration.load(argc > 3 ? argv[1] : "");
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  for (const rclrt_core::Finding & note : configuration.notes()) {
    std::fprintf(stderr, "%s\n", to_string(note).c_str());
  }
  const int64_t batch = std::strtoll(argv[2], nullptr, 10);
  ChainSet chains(configuration.chains());
  std::vector<ChainSource> sources(static_cast<std::size_t>(argc - 3));
  std::vector<std::vector<rclrt_job_record>> records(sources.size());
  int64_t begin = INT64_MAX;
  int64_t end = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].file.open(argv[3 + i], false) || !sources[i].file.read(&records[i])) {
      std::fprintf(stderr, "%s: no trace\n", argv[3 + i]);
      return 2;
    }
    chains.find_places(sources[i]);
    for (const rclrt_job_record & record : records[i]) {
      begin = std::min(begin, record.start_ns);
      end = std::max(end, record.end_ns);
    }
  }
  if (batch == 0) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      chains.feed(sources[i], records[i]);
    }
    for (auto & chain : chains.chains()) {
      chain.watch.settle(begin);
    }
  }
  for (int64_t from = 0; batch > 0 && from <= end; from += batch) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      std::vector<rclrt_job_record> some;
      std::copy_if(
        records[i].begin(), records[i].end(), std::back_inserter(some),
        [&](const auto & record) { return record.end_ns >= from && record.end_ns < from + batch; });
      chains.feed(sources[i], some);
    }
    for (auto & chain : chains.chains()) {
      chain.watch.settle(from + batch - 1 - 20'000);
    }
  }
  for (auto & chain : chains.chains()) {
    chain.watch.settle(end);
  }
  print(chains);
  return 0;
}
