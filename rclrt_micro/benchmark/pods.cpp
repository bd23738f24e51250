// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Prints the four experiments of PoDS [PoDS §6] beside the paper's model or figures.
//
#include <cstdio>
#include <cstring>

#include "pods.hpp"

namespace
{
using pods::Experiment;
using pods::Who;

constexpr Who kAll[] = {Who::kBatch, Who::kPaper, Who::kOwn, Who::kLevels};
constexpr const char * kNames[] = {"batch", "pods", "ours", "ours+levels"};

// Worst latency of the first and of the last chain, for each of the four, over one parameter.
template <typename Change>
void sweep(
  const char * title, const char * parameter, const std::vector<double> & points,
  const double * batch, const double * paper, Change && change)
{
  std::printf("\n%s\n%-10s", title, parameter);
  for (const char * name : kNames) {
    std::printf(" %13s", name);
  }
  std::printf("   model: batch  pods\n");
  for (size_t i = 0; i < points.size(); ++i) {
    std::printf("%-10g", points[i]);
    for (const Who who : kAll) {
      Experiment experiment{who};
      change(experiment, points[i]);
      const auto latency = pods::run(experiment).latency_ms;
      std::printf(" %6.1f %6.1f", pods::worst(latency.front()), pods::worst(latency.back()));
    }
    std::printf("   %12.1f %5.1f\n", batch[i], paper[i]);
  }
}

void reliable()
{
  // Table 1 of the paper, means.
  const double batch[] = {115.09, 107.44, 102.96, 96.87, 91.15, 85.03};
  const double paper[] = {48.97, 47.04, 45.59, 43.97, 42.48, 41.07};
  std::printf(
    "\npods-reliable: 3 chains, 10 ms, 100 bytes, reliable, 500 samples; first chain, ms\n"
    "%-8s %-12s %7s %7s %7s %7s   paper's mean\n",
    "success", "", "min", "mean", "max", "sd");
  for (unsigned i = 0; i <= 5; ++i) {
    for (size_t who = 0; who < std::size(kAll); ++who) {
      Experiment experiment{kAll[who]};
      experiment.reliable = true;
      experiment.success = 0.2 * i;
      experiment.samples = 500;
      const auto latency = pods::run(experiment).latency_ms[0];
      std::printf(
        "%5.0f %%  %-12s %7.2f %7.2f %7.2f %7.2f", 20.0 * i, kNames[who], pods::best(latency),
        pods::mean(latency), pods::worst(latency), pods::deviation(latency));
      if (who < 2) {
        std::printf("   %.2f", who == 0 ? batch[i] : paper[i]);
      }
      std::printf("\n");
    }
  }
}
}  // namespace

int main()
{
  std::printf("Worst end-to-end latency in ms, of the most and of the least important chain.\n");
  const double chains_batch[] = {33.8, 50.7, 71.0, 91.3, 111.6};
  const double chains_paper[] = {33.9, 33.9, 40.0, 40.0, 40.0};
  sweep(
    "pods-chains (Fig. 10): 10 ms, 100 bytes, best effort", "chains", {1, 2, 3, 4, 5}, chains_batch,
    chains_paper, [](Experiment & e, double value) { e.chains = static_cast<unsigned>(value); });
  const double size_batch[] = {51.0, 77.0, 103.1, 129.1, 155.2};
  const double size_paper[] = {23.9, 32.6, 41.2, 49.9, 58.6};
  sweep(
    "pods-packet-size (Fig. 11): 3 chains, 5 ms, best effort", "bytes", {100, 200, 300, 400, 496},
    size_batch, size_paper, [](Experiment & e, double value) {
      e.bytes = static_cast<uint32_t>(value);
      e.work_ns = 5 * kMs;
    });
  const double time_batch[] = {71, 111, 151, 191, 231};
  const double time_paper[] = {40, 60, 90, 120, 150};
  sweep(
    "pods-execution-time (Fig. 12): 3 chains, 100 bytes, best effort", "ms", {10, 20, 30, 40, 50},
    time_batch, time_paper,
    [](Experiment & e, double value) { e.work_ns = static_cast<uint64_t>(value) * kMs; });
  reliable();
  return 0;
}
