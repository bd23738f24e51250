// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What it costs to say a deadline: Slot::set_deadline() into a mapped BPF array of this kernel, as the slot
// table is one, beside the system call that other ways need (sched_setattr(2)). Prints medians of rounds as
// JSON, ns; `./rclrt bench cost` judges them.
//
//   rclrt_scx_deadline_store [ROUNDS]

#include <linux/bpf.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bpf_calls.hpp"
#include "rclrt_scx/client.hpp"

namespace rclrt_scx
{

/// Slots of a table that no scheduler reads.
struct SlotOfBenchmark
{
  static Slot over(rclrt_scx_slot & word)
  {
    Slot slot;
    slot.word_ = &word;
    return slot;
  }
};

}  // namespace rclrt_scx

namespace
{

constexpr int64_t kPerRound = 10000;
constexpr std::size_t kSlots = 1024;

double now_ns()
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <typename Work>
double median_ns(int rounds, int64_t per_round, Work work)
{
  std::vector<double> seen;
  for (int round = 0; round < rounds; ++round) {
    const double began = now_ns();
    for (int64_t i = 1; i <= per_round; ++i) {
      work(i);
    }
    seen.push_back((now_ns() - began) / static_cast<double>(per_round));
  }
  std::sort(seen.begin(), seen.end());
  return seen[seen.size() / 2];
}

/// A mapped array like the slot table; anonymous memory where bpf(2) is not allowed.
rclrt_scx_slot * table(const char *& kind)
{
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof(attributes));
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(uint32_t);
  attributes.value_size = sizeof(rclrt_scx_slot);
  attributes.max_entries = kSlots;
  attributes.map_flags = BPF_F_MMAPABLE;
  const int fd = rclrt_scx::bpf_call(BPF_MAP_CREATE, attributes);
  kind = fd < 0 ? "anonymous memory (no bpf here)" : "a mapped BPF array";
  void * memory = mmap(
    nullptr, kSlots * sizeof(rclrt_scx_slot), PROT_READ | PROT_WRITE,
    MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<rclrt_scx_slot *>(memory);
}

}  // namespace

int main(int argc, char ** argv)
{
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 101;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
    return 2;
  }
  const char * kind = "";
  rclrt_scx_slot * words = table(kind);
  if (words == nullptr) {
    std::perror("mmap");
    return 1;
  }
  std::vector<rclrt_scx::Slot> slots;
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots.push_back(rclrt_scx::SlotOfBenchmark::over(words[i]));
  }
  bool stored = true;
  const double store = median_ns(rounds, kPerRound, [&slots, &stored](int64_t i) {
    stored = slots[static_cast<std::size_t>(i) % kSlots].set_deadline(i) && stored;
  });
  if (!stored || words[kPerRound % kSlots].deadline_ns != kPerRound) {
    std::fprintf(stderr, "a deadline did not arrive in the table\n");
    return 1;
  }
  rclrt_scx::SchedAttr attributes{};
  attributes.size = sizeof(attributes);
  const double call = median_ns(rounds, kPerRound / 100, [&attributes](int64_t) {
    syscall(SYS_sched_setattr, 0, &attributes, 0);
  });
  std::printf(
    "{\"table\": \"%s\", \"rounds\": %d, \"store_ns\": %.2f, \"sched_setattr_ns\": %.0f}\n", kind,
    rounds, store, call);
  return 0;
}
