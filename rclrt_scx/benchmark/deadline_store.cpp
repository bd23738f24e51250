// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What it costs to say a deadline: stores into a mapped BPF array of this kernel, as in the slot table,
// beside the system call that other ways need (sched_setattr(2)). Prints medians; judges the store
// against 100 ns.

#include <linux/bpf.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "bpf_calls.hpp"

namespace
{

constexpr int kRounds = 101;
constexpr int64_t kPerRound = 10000;
constexpr double kTargetNs = 100.0;

double now_ns()
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <typename Work>
double median_ns(int64_t per_round, Work work)
{
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const double began = now_ns();
    for (int64_t i = 1; i <= per_round; ++i) {
      work(i);
    }
    rounds.push_back((now_ns() - began) / static_cast<double>(per_round));
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

/// A mapped array like the slot table; anonymous memory where bpf(2) is not allowed.
rclrt_scx_slot * table(const char *& kind)
{
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof(attributes));
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(uint32_t);
  attributes.value_size = sizeof(rclrt_scx_slot);
  attributes.max_entries = 1024;
  attributes.map_flags = BPF_F_MMAPABLE;
  const int fd = rclrt_scx::bpf_call(BPF_MAP_CREATE, attributes);
  kind = fd < 0 ? "anonymous memory (no bpf here)" : "a mapped BPF array";
  void * memory = mmap(
    nullptr, 1024 * sizeof(rclrt_scx_slot), PROT_READ | PROT_WRITE,
    MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<rclrt_scx_slot *>(memory);
}

}  // namespace

int main()
{
  const char * kind = "";
  rclrt_scx_slot * slots = table(kind);
  if (slots == nullptr) {
    std::perror("mmap");
    return 1;
  }
  const double store = median_ns(kPerRound, [slots](int64_t i) {
    __atomic_store_n(&slots[i & 1023].deadline_ns, i, __ATOMIC_RELEASE);
  });
  rclrt_scx::SchedAttr attributes{};
  attributes.size = sizeof(attributes);
  const double call = median_ns(
    kPerRound / 100, [&attributes](int64_t) { syscall(SYS_sched_setattr, 0, &attributes, 0); });
  std::printf(
    "deadline store in %s: %.1f ns (target %.0f ns: %s); sched_setattr: %.0f ns\n", kind, store,
    kTargetNs, store < kTargetNs ? "met" : "MISSED", call);
  return store < kTargetNs ? 0 : 1;
}
