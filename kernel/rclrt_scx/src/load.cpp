// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "pins.hpp"
#include "refusal.hpp"
#include "scheduler.hpp"

// The object file, as compiled from bpf/.
asm(
  ".section .rodata\n"
  ".balign 16\n"
  ".global rclrt_scx_object_begin\n"
  "rclrt_scx_object_begin:\n"
  ".incbin \"" RCLRT_SCX_OBJECT
  "\"\n"
  ".global rclrt_scx_object_end\n"
  "rclrt_scx_object_end:\n"
  ".byte 0\n"
  ".previous\n");
extern "C" const char rclrt_scx_object_begin[];
extern "C" const char rclrt_scx_object_end[];

namespace rclrt_scx
{
namespace
{

struct CloseObject
{
  void operator()(bpf_object * object) const { bpf_object__close(object); }
};
struct DestroyLink
{
  void operator()(bpf_link * link) const { bpf_link__destroy(link); }
};
struct FreeBtf
{
  void operator()(btf * types) const { btf__free(types); }
};
using Object = std::unique_ptr<bpf_object, CloseObject>;
using Link = std::unique_ptr<bpf_link, DestroyLink>;
using Btf = std::unique_ptr<btf, FreeBtf>;

// What libbpf complained of, kept for the error message.
std::string complaints;

int keep_complaint(libbpf_print_level level, const char * format, va_list arguments)
{
  if (level == LIBBPF_WARN) {
    // The verifier's whole log is one argument, and its last lines say what is wrong.
    char * text = nullptr;
    if (vasprintf(&text, format, arguments) >= 0) {
      complaints += text;
      free(text);
    }
  }
  return 0;
}

std::string failed(const std::string & what, int error)
{
  const std::string text = what + ": " + std::strerror(error);
  return text + verdict_of(complaints);
}

// Every other turn of the reserve goes to the thread that has waited longest. With a timeout of 20
// periods ten threads that overload starves get theirs before the kernel ejects the scheduler.
constexpr uint32_t kTurnsInTimeout = 20;
constexpr uint32_t kMostRecordKib = 65536;

/// Limits that would silently end.
std::string check_cgroups(const LoadOptions & options)
{
  if (options.mode != RCLRT_SCX_FULL || options.ignores_cgroups) {
    return {};
  }
  const std::string text = describe(cgroup_limits());
  return text.empty() ? text
                      : text +
                          ". Take them away, or load with --mode partial, or with "
                          "--ignore-cgroups if they need not hold";
}

/// A value of an enum of the running kernel, or 0 if it knows none of that name.
uint64_t kernel_flag(const btf * types, const char * name, const char * of = "scx_ops_flags")
{
  const int32_t id = btf__find_by_name(types, of);
  const btf_type * type = id < 0 ? nullptr : btf__type_by_id(types, static_cast<uint32_t>(id));
  if (type == nullptr) {
    return 0;
  }
  const uint16_t values = btf_vlen(type);
  for (uint16_t i = 0; i < values; ++i) {
    const bool wide = btf_is_enum64(type);
    const uint32_t offset = wide ? btf_enum64(type)[i].name_off : btf_enum(type)[i].name_off;
    if (std::strcmp(btf__name_by_offset(types, offset), name) == 0) {
      return wide ? btf_enum64_value(&btf_enum64(type)[i])
                  : static_cast<uint32_t>(btf_enum(type)[i].val);
    }
  }
  return 0;
}

/// Whether sleeps of threads end in ksoftirqd: with PREEMPT_RT, until the kernel got ktimers/N for that (6.13, and the
/// real-time patches before).
bool timers_wait_for_ksoftirqd(const btf * types)
{
  utsname system{};
  return uname(&system) == 0 && std::strstr(system.version, "PREEMPT_RT") != nullptr &&
         btf__find_by_name_kind(types, "run_ktimerd", BTF_KIND_FUNC) < 0;
}

/// Variables of the object, found by name in its BTF.
class Variables
{
public:
  explicit Variables(bpf_object * object)
  : types_(bpf_object__btf(object)), map_(bpf_object__find_map_by_name(object, ".rodata"))
  {
    std::size_t bytes = 0;
    memory_ = map_ == nullptr ? nullptr : static_cast<char *>(bpf_map__initial_value(map_, &bytes));
  }

  template <typename T>
  bool set(const char * name, T value)
  {
    const int32_t id = btf__find_by_name_kind(types_, ".rodata", BTF_KIND_DATASEC);
    const btf_type * section =
      id < 0 ? nullptr : btf__type_by_id(types_, static_cast<uint32_t>(id));
    if (memory_ == nullptr || section == nullptr) {
      return false;
    }
    const uint16_t variables = btf_vlen(section);
    const btf_var_secinfo * info = btf_var_secinfos(section);
    for (uint16_t i = 0; i < variables; ++i) {
      const btf_type * variable = btf__type_by_id(types_, info[i].type);
      if (
        std::strcmp(btf__name_by_offset(types_, variable->name_off), name) == 0 &&
        info[i].size == sizeof(T)) {
        std::memcpy(memory_ + info[i].offset, &value, sizeof(T));
        return true;
      }
    }
    return false;
  }

private:
  const btf * types_;
  bpf_map * map_;
  char * memory_ = nullptr;
};

/// The head of struct sched_ext_ops as our object has it ends with these.
struct OpsTail
{
  uint64_t flags;
  uint32_t timeout_ms;
  char name[128];
};

std::string configure(bpf_object * object, const LoadOptions & options, uint32_t cpus)
{
  constexpr uint64_t kNsPerMs = 1000000;
  const uint64_t period_ns = options.period_ms * kNsPerMs;
  const uint64_t fair_ns = period_ns * options.reserve_percent / 100;
  const auto jiffies = static_cast<uint64_t>(options.timeout_ms / 10) * kernel_ticks_per_second() /
                       1000;  // A tenth of what the watchdog bears.
  const Btf types(btf__load_vmlinux_btf());
  if (!types) {
    return failed("cannot read the types of the kernel", errno);
  }
  Variables variables(object);
  if (
    !variables.set("cpu_count", cpus) || !variables.set("slot_count", options.slots) ||
    !variables.set("partial", options.mode == RCLRT_SCX_PARTIAL) ||
    !variables.set("ksoftirqd_first", timers_wait_for_ksoftirqd(types.get())) ||
    !variables.set("record", options.record_kib > 0) ||
    !variables.set("immediate", kernel_flag(types.get(), "SCX_ENQ_IMMED", "scx_enq_flags")) ||
    !variables.set("edf_slice_ns", period_ns - fair_ns) ||
    !variables.set("fair_slice_ns", fair_ns) || !variables.set("starved_jiffies", jiffies)) {
    return "the BPF object lacks a variable that the loader sets: build both from one source";
  }
  const auto resize = [object](const char * name, uint32_t elements) {
    return bpf_map__set_max_entries(bpf_object__find_map_by_name(object, name), elements) == 0;
  };
  uint32_t ring = 4096;
  while (ring < options.record_kib * 1024) {
    ring *= 2;
  }
  if (
    !resize("slots", options.slots + 1) || !resize("owners", options.slots + 1) ||
    !resize("cpus", cpus) || !resize("events", ring)) {
    return failed("cannot size the tables", errno);
  }
  std::size_t bytes = 0;
  bpf_map * ops = bpf_object__find_map_by_name(object, "edf_ops");
  auto * value =
    ops == nullptr ? nullptr : static_cast<char *>(bpf_map__initial_value(ops, &bytes));
  if (value == nullptr || bytes < sizeof(OpsTail)) {
    return failed("cannot prepare the scheduler", errno);
  }
  auto * tail = reinterpret_cast<OpsTail *>(value + (bytes - sizeof(OpsTail)));
  // Threads that end, and those that may not migrate just now, would otherwise go past our queues
  // straight to a CPU that may be busy with deadlines.
  tail->flags = kernel_flag(types.get(), "SCX_OPS_ENQ_EXITING") |
                kernel_flag(types.get(), "SCX_OPS_ENQ_MIGRATION_DISABLED");
  if (options.mode == RCLRT_SCX_PARTIAL) {
    tail->flags |= kernel_flag(types.get(), "SCX_OPS_SWITCH_PARTIAL");
  }
  tail->timeout_ms = options.timeout_ms;
  return {};
}

std::string write_state(
  bpf_object * object, const LoadOptions & options, uint32_t cpus, bool made_directory)
{
  rclrt_scx_state state{};
  state.magic = RCLRT_SCX_MAGIC;
  state.version = RCLRT_SCX_VERSION;
  state.slots = options.slots;
  state.cpus = cpus;
  state.mode = options.mode;
  state.reserve_percent = options.reserve_percent;
  state.period_ms = options.period_ms;
  state.made_directory = made_directory ? 1 : 0;
  if (options.mode == RCLRT_SCX_PARTIAL) {
    read_ext_server(state.server_runtime_ns, state.server_period_ns);
  }
  const uint32_t zero = 0;
  const int map = bpf_object__find_map_fd_by_name(object, "state");
  // From here on the kernel alone writes it, so that clients may map it.
  const bool done =
    bpf_map_update_elem(map, &zero, &state, BPF_ANY) == 0 && bpf_map_freeze(map) == 0;
  return done ? "" : failed("cannot write the state", errno);
}

/// Say that it is in force.
std::string make_ready(bpf_object * object)
{
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  const int program = bpf_program__fd(bpf_object__find_program_by_name(object, "edf_ready"));
  return bpf_prog_test_run_opts(program, &options) == 0 && options.retval == 0
           ? ""
           : failed("cannot say that the scheduler is in force", errno);
}

std::string pin_all(bpf_object * object, const LoadOptions & options, gid_t group)
{
  const auto give = [&](const std::string & path, mode_t mode) {
    return chown(path.c_str(), 0, group) == 0 && chmod(path.c_str(), mode) == 0;
  };
  if (!give(options.directory, 0750)) {
    return failed("cannot give " + options.directory + " to the group", errno);
  }
  const auto pin_map = [&](const char * name, mode_t mode) {
    const std::string path = options.directory + "/" + name;
    bpf_map * map = bpf_object__find_map_by_name(object, name);
    return bpf_map__pin(map, path.c_str()) == 0 && give(path, mode);
  };
  const std::string bind = options.directory + "/bind";
  const std::string own = own_folder(options.directory) + "/state";
  if (
    bpf_obj_pin(bpf_object__find_map_fd_by_name(object, "state"), own.c_str()) != 0 ||
    !pin_map("state", 0660) || !pin_map("slots", 0660) || !pin_map("owners", 0640) ||
    !pin_map("cpus", 0640) || (options.record_kib > 0 && !pin_map("events", 0600)) ||
    bpf_program__pin(bpf_object__find_program_by_name(object, "edf_bind"), bind.c_str()) != 0 ||
    !give(bind, 0660)) {
    return failed("cannot pin the tables in " + options.directory, errno);
  }
  return {};
}

std::string put_into_force(const LoadOptions & options, gid_t group, bool made_directory)
{
  libbpf_set_print(keep_complaint);
  complaints.clear();
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof(open_options);
  open_options.object_name = "rclrt_edf";
  const Object object(bpf_object__open_mem(
    rclrt_scx_object_begin, static_cast<std::size_t>(rclrt_scx_object_end - rclrt_scx_object_begin),
    &open_options));
  if (!object) {
    return failed("cannot read the BPF object", errno);
  }
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) {
    return failed("cannot count the CPUs", -cpus);
  }
  std::string problem = configure(object.get(), options, static_cast<uint32_t>(cpus));
  if (!problem.empty()) {
    return problem;
  }
  const int error = bpf_object__load(object.get());
  if (error != 0) {
    const std::string why = explain_refusal(complaints, facts_of_this_machine());
    return why.empty() ? failed("the kernel refuses the scheduler", -error) : why;
  }
  problem = write_state(object.get(), options, static_cast<uint32_t>(cpus), made_directory);
  if (!problem.empty()) {
    return problem;
  }
  // From here on it decides. Killed before the last pin, the link goes with this process. Nothing of the
  // scheduler can be found before it is in force.
  const Link link(
    bpf_map__attach_struct_ops(bpf_object__find_map_by_name(object.get(), "edf_ops")));
  if (!link) {
    return errno == EBUSY ? "another scheduler was put into force meanwhile: unload that one first"
                          : failed("the kernel does not put the scheduler into force", errno);
  }
  problem = make_ready(object.get());
  if (problem.empty()) {
    problem = pin_all(object.get(), options, group);
  }
  if (!problem.empty()) {
    return problem;
  }
  // Before the link is pinned, after the state is: killed in between, no scheduler stays without its
  // server, and the next load or unload gives back what the state says the server had.
  problem = options.mode == RCLRT_SCX_PARTIAL ? tune_ext_server() : std::string();
  if (
    problem.empty() &&
    bpf_link__pin(link.get(), (own_folder(options.directory) + "/link").c_str()) != 0) {
    problem = failed("cannot pin the scheduler", errno);
  }
  return problem;
}

}  // namespace

std::string check_options(const LoadOptions & options)
{
  if (options.slots < 1 || options.slots > RCLRT_SCX_MAX_SLOTS) {
    return "--slots: from 1 to " + std::to_string(RCLRT_SCX_MAX_SLOTS);
  }
  if (options.reserve_percent < 1 || options.reserve_percent > 50) {
    return "--reserve: from 1 to 50 percent; without a reserve overload would eject the scheduler";
  }
  if (options.period_ms < 20 || options.period_ms > 1000) {
    return "--period: from 20 to 1000 ms";
  }
  if (options.timeout_ms < 1000 || options.timeout_ms > 30000) {
    return "--timeout: from 1000 to 30000 ms, the kernel's limit";
  }
  if (options.timeout_ms < kTurnsInTimeout * options.period_ms) {
    return "--timeout: at least " + std::to_string(kTurnsInTimeout) + " times --period (" +
           std::to_string(kTurnsInTimeout * options.period_ms) +
           " ms), or overload would eject the scheduler";
  }
  if (options.record_kib > kMostRecordKib) {
    return "--record: from 0 (none) to " + std::to_string(kMostRecordKib) + " KiB";
  }
  if (!options.group.empty() && getgrnam(options.group.c_str()) == nullptr) {
    return "--group: there is no group '" + options.group + "' on this machine";
  }
  return {};
}

std::string load(const LoadOptions & options)
{
  std::string problem = check_options(options);
  if (problem.empty()) {
    problem = why_not_here(facts_of_this_machine());
  }
  if (problem.empty()) {
    problem = check_cgroups(options);
  }
  if (!problem.empty()) {
    return problem;
  }
  const struct group * entry = options.group.empty() ? nullptr : getgrnam(options.group.c_str());
  const gid_t group = entry == nullptr ? 0 : entry->gr_gid;
  const Lock lock;
  if (!lock.problem().empty()) {
    return lock.problem();
  }
  problem =
    why_not_here(facts_of_this_machine());  // Again: the other one may have loaded meanwhile.
  bool made = false;
  if (problem.empty()) {
    problem = prepare_directory(options.directory, made);
  }
  if (!problem.empty()) {
    return problem;
  }
  problem = put_into_force(options, group, made);
  if (!problem.empty()) {
    static_cast<void>(remove_pins(options.directory));
    remove_directory(options.directory, made);
  }
  return problem;
}

}  // namespace rclrt_scx
