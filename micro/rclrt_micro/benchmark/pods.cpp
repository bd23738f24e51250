// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The four experiments of PoDS [PoDS §6] as JSON, for ./rclrt bench pods: of every chain at every
// point, latencies in ms; `alone` is the first chain without the others, the floor for all. The last
// one once more as "pods-together": the messages of a sample are all lost the first time, or none.
//
//   rclrt_micro_pods SAMPLES SEED
#include "pods.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace
{
using pods::Experiment;
using pods::Who;

constexpr Who kAll[] = {Who::kBatch, Who::kPaper, Who::kOwn, Who::kLevels};
constexpr const char * kNames[] = {"batch", "paper", "own", "levels"};

bool first_row = true;

void print(
  const char * name, double point, const char * who, size_t chain, const std::vector<double> & ms)
{
  std::printf(
    "%s\n{\"experiment\": \"%s\", \"point\": %g, \"who\": \"%s\", \"chain\": %zu, \"n\": %zu, "
    "\"min_ms\": %.4f, \"mean_ms\": %.4f, \"max_ms\": %.4f, \"sd_ms\": %.4f}",
    first_row ? "" : ",", name, point, who, chain, ms.size(), pods::best(ms), pods::mean(ms),
    pods::worst(ms), pods::deviation(ms));
  first_row = false;
}

template <typename Change>
void sweep(
  const char * name, const Experiment & base, const std::vector<double> & points, Change && change)
{
  for (const double point : points) {
    for (size_t who = 0; who < std::size(kAll); ++who) {
      Experiment experiment = base;
      experiment.who = kAll[who];
      change(experiment, point);
      const auto latency = pods::run(experiment).latency_ms;
      for (size_t chain = 0; chain < latency.size(); ++chain) {
        print(name, point, kNames[who], chain, latency[chain]);
      }
    }
    Experiment alone = base;
    change(alone, point);
    alone.chains = 1;
    print(name, point, "alone", 0, pods::run(alone).latency_ms[0]);
  }
}
}  // namespace

int main(int argc, char ** argv)
{
  const int samples = argc == 3 ? std::atoi(argv[1]) : 0;
  if (samples < 1) {
    (void)std::fprintf(stderr, "usage: %s SAMPLES SEED\n", argv[0]);
    return 2;
  }
  Experiment base;
  base.seed = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  base.samples = static_cast<unsigned>(std::min(samples, 20));  // all the same without loss
  try {
    std::printf("[");
    sweep("pods-chains", base, {1, 2, 3, 4, 5}, [](Experiment & e, double point) {
      e.chains = static_cast<unsigned>(point);
    });
    sweep("pods-packet-size", base, {100, 200, 300, 400, 500}, [](Experiment & e, double point) {
      e.bytes = static_cast<uint32_t>(point);
      e.work_ns = 5 * kMs;
    });
    sweep("pods-execution-time", base, {10, 20, 30, 40, 50}, [](Experiment & e, double point) {
      e.work_ns = static_cast<uint64_t>(point) * kMs;
    });
    base.samples = static_cast<unsigned>(samples);
    base.reliable = true;
    sweep("pods-reliable", base, {0, 20, 40, 60, 80, 100}, [](Experiment & e, double point) {
      e.success = point / 100;
    });
    base.together = true;
    sweep("pods-together", base, {20, 40, 60, 80}, [](Experiment & e, double point) {
      e.success = point / 100;
    });
    std::printf("\n]\n");
  } catch (const std::exception & error) {
    (void)std::fprintf(stderr, "rclrt_micro_pods: %s\n", error.what());
    return 1;
  }
  return 0;
}
