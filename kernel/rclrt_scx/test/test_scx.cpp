// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What needs no scheduler: a client where there is none, the checker of recorded orders, and what is said of a kernel that
// does not load the scheduler.

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "order_checker.hpp"
#include "rclrt_scx/client.hpp"
#include "refusal.hpp"

namespace rclrt_scx
{
namespace
{

using testing::HasSubstr;
using testing::Not;

// ---- A client; what it does with a scheduler is tested in the virtual machine

TEST(Client, says_how_to_load_a_scheduler_where_there_is_none)
{
  std::string why;
  EXPECT_EQ(Client::open(&why, "/nowhere/rclrt_scx"), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("no EDF scheduler is loaded"));
  EXPECT_THAT(why, testing::HasSubstr("rclrt scx load"));
  EXPECT_EQ(Client::open(nullptr, "/nowhere/rclrt_scx"), nullptr);
}

TEST(Client, refuses_a_directory_that_holds_something_else)
{
  std::string why;
  EXPECT_EQ(Client::open(&why, "/dev"), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("/dev/state"));
}

/// In a process of its own: as in a container whose filter refuses bpf(2) with `error`. Ends with 0 if what is there
/// is told as refused by the filter, and what is not there as not there.
[[noreturn]] void open_under_a_filter(uint16_t error)
{
  sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{4, code};
  if (
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::_Exit(2);
  }
  char folder[] = "/tmp/rclrt_scx.XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    std::_Exit(3);
  }
  const std::string state = std::string(folder) + "/state";
  std::ofstream(state).put('x');
  std::string there;
  std::string nowhere;
  Client::open(&nowhere, "/nowhere");
  Client::open(&there, folder);
  unlink(state.c_str());
  rmdir(folder);
  std::cerr << there << nowhere;
  const bool is_told = there.find("seccomp") != std::string::npos &&
                       there.find("--group") == std::string::npos &&
                       nowhere.find("no EDF scheduler is loaded") != std::string::npos;
  std::_Exit(is_told ? 0 : 1);
}

TEST(Client, tells_a_filter_of_system_calls_from_modes_of_files)
{
  EXPECT_EXIT(open_under_a_filter(EPERM), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(open_under_a_filter(ENOSYS), testing::ExitedWithCode(0), "");
}

TEST(Slot, an_empty_one_takes_no_deadline_and_does_nothing)
{
  Slot slot;
  EXPECT_FALSE(slot);
  EXPECT_FALSE(slot.set_deadline(1));
  EXPECT_EQ(slot.deadline(), RCLRT_SCX_NO_DEADLINE);
  slot.clear_deadline();
  slot.settle();
  slot.release();
  EXPECT_EQ(slot.lend(1), 0);
  EXPECT_NE(slot.reconsider(), 0);
  Slot other(std::move(slot));
  EXPECT_FALSE(other);
}

// ---- The checker

using Events = std::vector<rclrt_scx_event>;

constexpr uint64_t kBoundNs = 100;
constexpr uint64_t kBackground = RCLRT_SCX_RUNS_BACKGROUND;

rclrt_scx_event event(
  uint64_t time_ns, rclrt_scx_event_type type, uint32_t tid, uint64_t key, uint16_t cpu = 0,
  uint64_t allowed = 3)
{
  return {time_ns, key, allowed, tid, cpu, static_cast<uint16_t>(type)};
}

/// Thread 1 (deadline 1000) runs from 10 to 1000; thread 2 (deadline 2000) waits from 20 and follows.
Events good()
{
  return {event(0, RCLRT_SCX_QUEUED, 1, 1000),   event(10, RCLRT_SCX_RUNS, 1, 1000),
          event(20, RCLRT_SCX_QUEUED, 2, 2000),  event(1000, RCLRT_SCX_STOPS, 1, 1000),
          event(1000, RCLRT_SCX_LEFT, 1, 1000),  event(1010, RCLRT_SCX_RUNS, 2, 2000),
          event(1500, RCLRT_SCX_STOPS, 2, 2000), event(1500, RCLRT_SCX_LEFT, 2, 2000)};
}

TEST(OrderChecker, accepts_order_and_counts_what_it_saw)
{
  const auto result = check_order(good(), kBoundNs);
  EXPECT_TRUE(result.violations.empty());
  EXPECT_EQ(result.waits, 2U);
  EXPECT_EQ(result.switches, 2U);
}

TEST(OrderChecker, finds_an_earlier_thread_that_waits_while_a_later_one_runs)
{
  Events events = good();
  events[2].key = 500;  // Earlier than the one that runs.
  const auto result = check_order(events, kBoundNs);
  ASSERT_EQ(result.violations.size(), 1U);
  EXPECT_EQ(result.violations[0].waiting, 2U);
  EXPECT_EQ(result.violations[0].running, 1U);
  EXPECT_EQ(result.violations[0].from_ns, 20U);
  EXPECT_EQ(result.violations[0].until_ns, 1000U);
}

TEST(OrderChecker, forgives_an_inversion_as_long_as_the_bound_and_tells_the_longest)
{
  Events events = good();
  events[2].key = 500;
  EXPECT_TRUE(check_order(events, 980).violations.empty());
  EXPECT_EQ(check_order(events, 980).longest_ns, 980U);
  EXPECT_EQ(check_order(events, 979).violations.size(), 1U);
}

TEST(OrderChecker, finds_background_that_runs_while_a_deadline_waits)
{
  const Events events = {
    event(0, RCLRT_SCX_RUNS, 9, kBackground), event(10, RCLRT_SCX_QUEUED, 1, 1000),
    event(500, RCLRT_SCX_STOPS, 9, kBackground)};
  EXPECT_EQ(check_order(events, kBoundNs).violations.size(), 1U);
}

TEST(OrderChecker, allows_a_turn_of_the_reserve)
{
  const Events events = {
    event(0, RCLRT_SCX_RESERVE, 9, kBackground), event(10, RCLRT_SCX_QUEUED, 1, 1000),
    event(500, RCLRT_SCX_STOPS, 9, kBackground), event(510, RCLRT_SCX_RUNS, 1, 1000)};
  EXPECT_TRUE(check_order(events, kBoundNs).violations.empty());
}

TEST(OrderChecker, looks_at_every_cpu_but_only_at_those_where_the_thread_may_run)
{
  const auto on_two_cpus = [](uint64_t allowed) {
    return Events{
      event(0, RCLRT_SCX_RUNS, 1, 1000, 0), event(0, RCLRT_SCX_RUNS, 2, 5000, 1),
      event(10, RCLRT_SCX_QUEUED, 3, 3000, 0, allowed), event(900, RCLRT_SCX_STOPS, 2, 5000, 1)};
  };
  EXPECT_EQ(check_order(on_two_cpus(3), kBoundNs).violations.size(), 1U);
  EXPECT_EQ(check_order(on_two_cpus(2), kBoundNs).violations.size(), 1U);
  EXPECT_TRUE(check_order(on_two_cpus(1), kBoundNs).violations.empty());
}

TEST(OrderChecker, follows_a_deadline_that_changes_while_the_thread_waits)
{
  Events events = good();
  // Promoted above the running one at 300, and still not run.
  events.insert(events.begin() + 3, event(300, RCLRT_SCX_QUEUED, 2, 500));
  const auto result = check_order(events, kBoundNs);
  ASSERT_EQ(result.violations.size(), 1U);
  EXPECT_EQ(result.violations[0].from_ns, 300U);
}

TEST(OrderChecker, lets_go_of_one_that_waits_without_a_deadline_now)
{
  const Events events = {
    event(0, RCLRT_SCX_RUNS, 1, 1000), event(10, RCLRT_SCX_QUEUED, 2, 500),
    event(50, RCLRT_SCX_QUEUED, 2, kBackground), event(5000, RCLRT_SCX_STOPS, 1, 1000)};
  const auto result = check_order(events, kBoundNs);
  EXPECT_TRUE(result.violations.empty());
  EXPECT_EQ(result.waits, 1U);
  EXPECT_EQ(result.longest_ns, 40U);
}

TEST(OrderChecker, sees_an_inversion_that_never_ends)
{
  const Events events = {
    event(0, RCLRT_SCX_RUNS, 1, 1000), event(10, RCLRT_SCX_QUEUED, 2, 500),
    event(5000, RCLRT_SCX_QUEUED, 3, 9000)};
  EXPECT_EQ(check_order(events, kBoundNs).violations.size(), 1U);
}

TEST(OrderChecker, sorts_events_that_cpus_delivered_out_of_order)
{
  Events events = good();
  std::swap(events[0], events[5]);
  std::swap(events[1], events[3]);
  EXPECT_TRUE(check_order(events, kBoundNs).violations.empty());
}

TEST(OrderChecker, reads_what_it_wrote)
{
  std::stringstream file;
  rclrt_scx::write_events(file, good(), 0);
  Events events;
  EXPECT_EQ(rclrt_scx::read_events(file, events), "");
  ASSERT_EQ(events.size(), good().size());
  EXPECT_EQ(events[5].time_ns, 1010U);
  EXPECT_EQ(events[5].allowed, 3U);
  EXPECT_EQ(events[5].type, RCLRT_SCX_RUNS);
}

TEST(OrderChecker, refuses_records_with_losses_other_files_and_bad_lines)
{
  Events events;
  std::stringstream lossy;
  rclrt_scx::write_events(lossy, good(), 3);
  EXPECT_THAT(rclrt_scx::read_events(lossy, events), testing::HasSubstr("events were lost"));
  std::stringstream other("hello\n");
  EXPECT_THAT(rclrt_scx::read_events(other, events), testing::HasSubstr("line 1"));
  std::stringstream bad("rclrt_scx events 1 lost 0\n1 2 3 4 5 2\n1 2 3 4 5 9\n");
  EXPECT_THAT(rclrt_scx::read_events(bad, events), testing::HasSubstr("line 3"));
}

// ---- Refusals; the first text is what libbpf says on a kernel of 7.1

Facts of_kernel(const char * release)
{
  Facts facts;
  facts.release = release;
  return facts;
}

TEST(Refusal, of_a_kernel_without_marks_names_kernels_that_are_good)
{
  const std::string said = explain_refusal(
    "libbpf: extern (func ksym) 'scx_bpf_create_dsq': func_proto [169] incompatible with vmlinux "
    "[48029]\n",
    of_kernel("7.1.13"));
  EXPECT_THAT(said, HasSubstr("this kernel, 7.1.13, cannot run the scheduler: "));
  EXPECT_THAT(said, HasSubstr("scx_bpf_create_dsq()"));
  EXPECT_THAT(said, HasSubstr("bpf_kfunc"));
  EXPECT_THAT(said, HasSubstr("Take 7.2.13 or newer"));
}

TEST(Refusal, of_a_kernel_that_lacks_a_function_names_it)
{
  const std::string said = explain_refusal(
    "libbpf: extern (func ksym) 'scx_bpf_kick_cpu': not found in kernel or module BTFs\n",
    of_kernel("6.11"));
  EXPECT_THAT(said, HasSubstr("it lacks the function scx_bpf_kick_cpu()"));
  EXPECT_THAT(said, Not(HasSubstr("marks")));
}

TEST(Refusal, that_is_not_known_is_left_to_what_the_kernel_says)
{
  for (const char * said :
       {"", "libbpf: prog 'edf_enqueue': BPF program load failed", "extern (func ksym) '",
        "extern (func ksym) 'a': ambiguous",
        "extern (func ksym) 'a\n': incompatible with vmlinux"}) {
    EXPECT_EQ(explain_refusal(said, of_kernel("7.3.4")), "") << said;
  }
}

TEST(Refusal, of_a_kernel_that_is_known_as_bad_needs_no_log_of_the_verifier)
{
  for (const char * bad : {"7.1", "7.1.3-amd64", "7.2", "7.2.6+deb14-cloud-amd64", "7.2.12"}) {
    const std::string said =
      explain_refusal("libbpf: prog 'edf_init': failed to load: -EINVAL\n", of_kernel(bad));
    EXPECT_THAT(said, HasSubstr(std::string("this kernel, ") + bad + ", cannot run")) << bad;
    EXPECT_THAT(said, HasSubstr("Take 7.2.13 or newer"));
  }
  for (const char * good : {"7.2.13", "7.3.4", "7.0.13", "6.1", "8.1", ""}) {
    EXPECT_EQ(explain_refusal("libbpf: failed", of_kernel(good)), "") << good;
  }
}

TEST(Refusal, of_a_machine_that_is_locked_down_names_lockdown)
{
  Facts facts = of_kernel("7.3.4");
  facts.lockdown = "confidentiality";
  const char * const said =
    "231: (85) call bpf_probe_read#4\nprogram of this type cannot use helper bpf_probe_read#4\n";
  EXPECT_THAT(explain_refusal(said, facts), HasSubstr("lockdown says confidentiality"));
  facts.lockdown = "integrity";
  EXPECT_THAT(explain_refusal("something else", facts), HasSubstr("lockdown says integrity"));
  facts.release = "7.1";
  EXPECT_THAT(explain_refusal("something else", facts), Not(HasSubstr("lockdown")))
    << "that kernel is refused in any mode";
}

TEST(Refusal, that_is_not_known_is_told_by_the_lines_that_say_it)
{
  EXPECT_EQ(
    verdict_of("1: (85) call a#4\nR3 is bad\nprocessed 231 insns (limit 1)\n-- END PROG LOAD LOG "
               "--\nlibbpf: "
               "failed\n"),
    "\n1: (85) call a#4\nR3 is bad");
  EXPECT_EQ(
    verdict_of("1: x\n\nReason:\n  The helper is not allowed.\n\nAt:\n a @ b.h\n"),
    "\n  The helper is not allowed.");
  EXPECT_EQ(verdict_of("Reason:"), "\nReason:");
  EXPECT_EQ(verdict_of(""), "");
}

TEST(Refusal, says_what_this_process_may_not_or_cannot_see)
{
  const auto with = [](auto change) {
    Facts facts;
    change(facts);
    return why_not_here(facts);
  };
  EXPECT_EQ(why_not_here(Facts()), "");
  EXPECT_THAT(with([](Facts & f) { f.state = ""; }), HasSubstr("CONFIG_SCHED_CLASS_EXT"));
  EXPECT_THAT(
    with([](Facts & f) { f.has_sys = false, f.state = ""; }), HasSubstr("/sys is not mounted"));
  EXPECT_THAT(with([](Facts & f) { f.has_types = false; }), HasSubstr("CONFIG_DEBUG_INFO_BTF"));
  EXPECT_THAT(with([](Facts & f) { f.is_root = false; }), HasSubstr("needs root"));
  EXPECT_THAT(with([](Facts & f) { f.is_nested = true; }), HasSubstr("user namespace"));
  const std::string lacks = with([](Facts & f) { f.capabilities = 0xa80425fb; });
  EXPECT_THAT(lacks, HasSubstr("has not: CAP_SYS_ADMIN, CAP_BPF, CAP_PERFMON. Load it on the"));
  EXPECT_THAT(
    with([](Facts & f) { f.bpf_is_refused = f.is_filtered = true; }), HasSubstr("seccomp"));
  EXPECT_THAT(with([](Facts & f) { f.bpf_is_refused = true; }), HasSubstr("security module"));
  EXPECT_THAT(
    with([](Facts & f) { f.state = "enabled", f.scheduler = "scx_rusty"; }),
    HasSubstr("already in force: scx_rusty; unload that one"));
}

}  // namespace
}  // namespace rclrt_scx
