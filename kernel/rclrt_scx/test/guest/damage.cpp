// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Memory that others have written: garbage, another version's, a lie. And what `scx` and the tables say.

#include <grp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bpf_calls.hpp"
#include "scenarios.hpp"

namespace guest
{
namespace
{

constexpr uint32_t kZero = 0;

bool write_first(int map, const void * element)
{
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof(attributes));
  attributes.map_fd = static_cast<uint32_t>(map);
  attributes.key = reinterpret_cast<uint64_t>(&kZero);
  attributes.value = reinterpret_cast<uint64_t>(element);
  return rclrt_scx::bpf_call(BPF_MAP_UPDATE_ELEM, attributes) == 0;
}

/// A state as a loader of another version might have left it, pinned beside the true one.
class OtherState
{
public:
  explicit OtherState(const rclrt_scx_state & state)
  {
    mkdir(kDirectory, 0700);
    bpf_attr attributes;
    std::memset(&attributes, 0, sizeof(attributes));
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = sizeof(kZero);
    attributes.value_size = sizeof(state);
    attributes.max_entries = 1;
    attributes.map_flags = BPF_F_MMAPABLE;
    const int map = rclrt_scx::bpf_call(BPF_MAP_CREATE, attributes);
    std::memset(&attributes, 0, sizeof(attributes));
    attributes.pathname = reinterpret_cast<uint64_t>(kState);
    attributes.bpf_fd = static_cast<uint32_t>(map);
    made_ = write_first(map, &state) && rclrt_scx::bpf_call(BPF_OBJ_PIN, attributes) == 0;
    close(map);
  }
  ~OtherState()
  {
    unlink(kState);
    rmdir(kDirectory);
  }
  OtherState(const OtherState &) = delete;
  OtherState & operator=(const OtherState &) = delete;

  bool made() const { return made_; }
  static constexpr char kDirectory[] = RCLRT_SCX_DIRECTORY "/other";

private:
  static constexpr char kState[] = RCLRT_SCX_DIRECTORY "/other/state";
  bool made_ = false;
};

rclrt_scx_state true_state()
{
  rclrt_scx_state state{};
  rclrt_scx::Table(RCLRT_SCX_DIRECTORY, "state").read(0, state);
  return state;
}

SCENARIO(alone, 1, another_version_is_a_clear_error)
{
  rclrt_scx_state state = true_state();
  state.version += 1;
  std::string why;
  {
    const OtherState other(state);
    if (!other.made() || rclrt_scx::Client::open(&why, OtherState::kDirectory) != nullptr) {
      return "not refused";
    }
  }
  const std::string wrong =
    expect_in(why, "speaks version " + std::to_string(RCLRT_SCX_VERSION + 1));
  state.version -= 1;
  state.magic ^= 1;
  const OtherState corrupt(state);
  if (rclrt_scx::Client::open(&why, OtherState::kDirectory) != nullptr) {
    return "a state without the magic is not refused";
  }
  return wrong + expect_in(why, "not of an rclrt scheduler");
}

SCENARIO(alone, 1, tools_of_another_version_say_so)
{
  rclrt_scx_state state = true_state();
  state.version += 1;
  const OtherState other(state);
  const std::string command = std::string("scx status --directory ") + OtherState::kDirectory;
  return other.made() ? expect_in(output_of(command), "is not of this version") : "no other state";
}

/// The pinned slots as whoever has access may map them.
uint8_t * map_slots(std::size_t bytes)
{
  const int fd = rclrt_scx::open_pin(RCLRT_SCX_DIRECTORY "/slots", 0);
  void * memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t *>(memory);
}

SCENARIO(alone, 1, garbage_in_the_slots_stops_nobody)
{
  Stage stage(2, 0);
  const std::size_t bytes = 17 * sizeof(rclrt_scx_slot);
  uint8_t * memory = map_slots(bytes);
  if (memory == nullptr) {
    return "cannot map the slots";
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    memory[i] = static_cast<uint8_t>(i * 37 + 11);
  }
  munmap(memory, bytes);
  stage[0].slot().settle();
  stage[1].slot().settle();
  stage[0].go(2000, 20);
  stage[1].go(1000, 20);
  return expect(stage, "B+ B- A+ A-");
}

/// After `scx load --group rt`: what a member can do to make others believe that it is over.
SCENARIO(alone, 1, a_member_of_the_group_cannot_forge_whether_it_is_in_force)
{
  return as_user([]() -> std::string {
    std::string why;
    const auto client = rclrt_scx::Client::open(&why);
    if (client == nullptr) {
      return why;
    }
    std::memset(map_slots(sizeof(rclrt_scx_slot)), 0, sizeof(rclrt_scx_slot));
    const int fd = rclrt_scx::open_pin(RCLRT_SCX_DIRECTORY "/state", 0);
    const rclrt_scx_state nothing{};
    if (write_first(fd, &nothing)) {
      return "the state can be written";
    }
    if (mmap(nullptr, sizeof(nothing), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED) {
      return "the state can be mapped for writing";
    }
    void * memory = mmap(nullptr, sizeof(nothing), PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED || mprotect(memory, sizeof(nothing), PROT_READ | PROT_WRITE) == 0) {
      return "the state's mapping can be made writable";
    }
    close(fd);
    return client->in_force() ? "" : "a client believes it";
  });
}

// ---- What `scx` and the tables say: counts, and what is missing where it cannot load

rclrt_scx_cpu first_cpu()
{
  rclrt_scx_cpu cpu{};
  rclrt_scx::Table(RCLRT_SCX_DIRECTORY, "cpus").read(0, cpu);
  return cpu;
}

SCENARIO(alone, 1, jobs_misses_preemptions_and_what_runs_are_told)
{
  Stage stage(2, 0);
  const uint64_t preemptions = first_cpu().preemptions;
  uint64_t runs = 0;
  stage[0].go(60, 0, [&runs] {
    runs = first_cpu().running_ns;
    spin_ms(150);
  });
  const auto deadline = static_cast<uint64_t>(stage[0].slot().deadline());
  sleep_ms(20);
  stage[1].go(20, 10);
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  const rclrt_scx_owner late = owner_of(stage[0].slot());
  const rclrt_scx_owner good = owner_of(stage[1].slot());
  if (late.jobs != 1 || late.misses != 1 || good.jobs != 1 || good.misses != 0) {
    return "jobs and misses: " + std::to_string(late.jobs) + " " + std::to_string(late.misses) +
           ", " + std::to_string(good.jobs) + " " + std::to_string(good.misses);
  }
  if (std::strcmp(late.comm, "A") != 0 || late.tgid != static_cast<uint32_t>(getpid())) {
    return "the thread that has the slot is called " + std::string(late.comm);
  }
  if (runs != deadline) {
    return "CPU 0 ran " + std::to_string(deadline) + " and said " + std::to_string(runs);
  }
  if (first_cpu().preemptions <= preemptions) {
    return "no preemption was counted";
  }
  const std::string text = output_of("scx status");
  for (const char * wanted : {"runs until, ms", "misses", "preemptions", "2 of 16 slots", " A "}) {
    const std::string missing = expect_in(text, wanted);
    if (!missing.empty()) {
      return missing;
    }
  }
  return {};
}

SCENARIO(alone, 1, a_thread_that_just_ends_keeps_no_slot)
{
  Stage stage(0);
  rclrt_scx::Slot outlives;
  std::thread([&] { outlives = stage.client->bind_this_thread(&stage.why); }).join();
  if (!outlives) {
    return stage.why;
  }
  uint32_t tid = 1;
  for (int i = 0; i < 1000 && tid != 0; ++i) {
    sleep_ms(5);
    tid = owner_of(outlives).tid;
  }
  return tid == 0 ? "" : "its slot is still taken";
}

/// With nothing loaded.
SCENARIO(alone, 1, loading_without_privilege_is_a_clear_error)
{
  return as_user([] { return expect_in(output_of("scx load"), "needs root"); });
}

/// As if the kernel had not what lies below the folder.
std::string load_without(const char * folder, const std::string & wanted)
{
  if (mount("nothing", folder, "tmpfs", 0, nullptr) != 0) {
    return std::string("cannot hide ") + folder;
  }
  const std::string text = output_of("scx load");
  umount(folder);
  return expect_in(text, wanted);
}

SCENARIO(alone, 1, a_kernel_without_sched_ext_is_a_clear_error)
{
  return load_without("/sys/kernel/sched_ext", "CONFIG_SCHED_CLASS_EXT");
}

SCENARIO(alone, 1, a_kernel_without_btf_is_a_clear_error)
{
  return load_without("/sys/kernel/btf", "CONFIG_DEBUG_INFO_BTF");
}

}  // namespace
}  // namespace guest
