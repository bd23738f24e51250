// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// An executor under the scheduler in the kernel, from the file that says `ext` to the order in which
// its callbacks run. For the virtual machine of rclrt_scx's tests: `executor_guest <scenario>...`. One
// line each on the console: `RESULT <scenario> pass|fail|skip <what was seen>`.
//
// What both front ends put under their executors is used as it is, without a middleware.

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "executor_guest.hpp"
#include "rclrt_config/configuration.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/configured_engine.hpp"

namespace
{

using guest::sleep;
using guest::use_cpu;
using rclrt_core::Callback;
using rclrt_core::Finding;
using rclrt_core::SchedulingPolicy;
using rclrt_core::Status;
using rclrt_front_end::ConfiguredEngine;
using std::chrono::milliseconds;

constexpr char kFile[] = "/tmp/executor.yaml";
constexpr char kSettings[] = R"(/**:
  ros__parameters:
    rclrt:
      executor: {attributes: require, deadline_scheduler: )";
constexpr char kCallbacks[] = R"(}
      callbacks:
        /n/**: {scheduling_policy: ext, cpu_affinity: [0]}
        /n/subscription/early: {relative_deadline: 1s}
        /n/subscription/middle: {relative_deadline: 3s}
        /n/subscription/late: {relative_deadline: 9s}
)";  // `heir` has none of its own

/// The dispatcher, on the CPU of all callbacks: while it does not wait none of them moves.
void become_dispatcher()
{
  sched_param parameters{};
  parameters.sched_priority = 50;
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  if (
    sched_setaffinity(0, sizeof(first), &first) != 0 ||
    sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
    std::perror("SCHED_FIFO");
    std::exit(1);
  }
}

/// "early+" started, "early-" ended; of all executors.
class Log
{
public:
  void add(const std::string & what)
  {
    const std::size_t i = next_.fetch_add(1);
    if (i < entries_.size()) {
      entries_[i] = what;
    }
  }
  std::string text() const
  {
    std::string text;
    for (std::size_t i = 0; i < next_.load() && i < entries_.size(); ++i) {
      text += (i == 0 ? "" : " ") + entries_[i];
    }
    return text;
  }

private:
  std::atomic<std::size_t> next_{0};
  std::vector<std::string> entries_ = std::vector<std::string>(64);
};

/// Spins as long as it lives. Three callbacks, as in the file, and an heir; `shared`: early and late exclude
/// each other. The first failure is kept.
class Executor
{
public:
  explicit Executor(
    Log & log, bool shared = false, const std::string & backend = "sched_ext",
    const std::string & more_entries = "")
  : log_(log)
  {
    std::ofstream(kFile) << kSettings << backend << kCallbacks << more_entries;
    rclrt_front_end::ConfiguredEngineOptions options;
    options.configuration_file = kFile;
    if (!good(ConfiguredEngine::make(platform_, options, &engine_))) {
      return;
    }
    add_group("one");
    add_callback("late", "one");
    add_group("two");
    add_callback("middle", "two");
    if (!shared) {
      add_group("three");
    }
    add_callback("early", shared ? "one" : "three");
    add_group("four");
    add_callback("heir", "four");
    if (!why_.empty() || !good(engine_->begin_spin([](const Finding &) {}))) {
      return;
    }
    spinner_ = std::thread([this] { good(engine_->engine().spin()); });
    for (int i = 0; i < 1000 && !engine_->engine().is_spinning(); ++i) {
      sleep(milliseconds(5));
    }
    sleep(milliseconds(100));  // Until its threads wait for work.
    if (!engine_->engine().is_spinning() && why_.empty()) {
      why_ = "does not spin";
    }
  }
  ~Executor()
  {
    if (spinner_.joinable()) {
      engine_->engine().stop();
      spinner_.join();
      engine_->end_spin();
    }
  }
  Executor(const Executor &) = delete;
  Executor & operator=(const Executor &) = delete;

  const std::string & why() const { return why_; }
  ConfiguredEngine & engine() { return *engine_; }
  bool all_were_ext() const { return all_were_ext_.load(); }

  /// The callback does this, too, from its next release on.
  void also(const std::string & name, std::function<void()> what) { also_[name] = std::move(what); }

  /// By the dispatcher, or by a callback.
  void release(const std::string & name, milliseconds work)
  {
    if (why_.empty()) {
      work_.at(name)->store(work.count());
      ++released_;
      engine_->engine().notify(*callbacks_.at(name));
    }
  }
  /// False after a long time.
  bool wait()
  {
    for (int i = 0; i < 4000 && ended_.load() < released_; ++i) {
      sleep(milliseconds(5));
    }
    return why_.empty() && ended_.load() == released_;
  }
  std::string findings()
  {
    std::string text;
    for (const Finding & finding : engine_->findings()) {
      text += to_string(finding) + "; ";
    }
    return text;
  }

private:
  bool good(const Status & status)
  {
    if (!status.ok() && why_.empty()) {
      why_ = status.message();
    }
    return status.ok();
  }
  void add_group(const std::string & name)
  {
    rclrt_core::GroupOptions options;
    options.name = "/n/group/" + name;
    good(engine_->add_group(options, "", &groups_[name]));
  }
  void add_callback(const std::string & name, const std::string & group)
  {
    work_[name] = std::make_unique<std::atomic<int64_t>>(0);
    rclrt_core::CallbackOptions options;
    options.name = "/n/subscription/" + name;
    options.kind = rclrt_core::CallbackKind::kSubscription;
    options.run = [this, name, work = work_[name].get()](const rclrt_core::Job &) {
      log_.add(name + "+");
      use_cpu(milliseconds(work->load()));
      if (const auto also = also_.find(name); also != also_.end()) {
        also->second();
      }
      rclrt_core::Attributes mine;
      if (
        platform_.read_back(platform_.current_thread(), &mine) != 0 ||
        mine.scheduling_policy != SchedulingPolicy::kExt) {
        all_were_ext_.store(false);
      }
      log_.add(name + "-");
      ++ended_;
      return true;
    };
    good(engine_->add_callback(options, groups_.at(group), &callbacks_[name]));
  }

  Log & log_;
  std::string why_;
  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<ConfiguredEngine> engine_;
  std::map<std::string, std::shared_ptr<rclrt_core::Group>> groups_;
  std::map<std::string, std::shared_ptr<Callback>> callbacks_;
  std::map<std::string, std::unique_ptr<std::atomic<int64_t>>> work_;
  std::map<std::string, std::function<void()>> also_;  // not changed while something is released
  std::atomic<bool> all_were_ext_{true};
  std::atomic<int> ended_{0};
  std::atomic<int> released_{0};
  std::thread spinner_;
};

std::string expect(Executor & executor, const Log & log, const std::string & wanted)
{
  if (!executor.wait()) {
    return "hangs: " + log.text() + executor.why();
  }
  if (log.text() != wanted) {
    return "wanted " + wanted + ", was " + log.text();
  }
  return executor.all_were_ext() ? "" : "a callback ran under another policy than ext";
}

std::string an_executor_takes_the_scheduler_in_the_kernel()
{
  Log log;
  Executor given(log);
  if (given.why().empty() && given.engine().deadline_scheduler() == "sched_ext") {
    Executor found(log, false, "auto");
    return found.engine().deadline_scheduler() == "sched_ext" ? "" : "auto took something else";
  }
  return given.why() + given.findings();
}

std::string callbacks_of_an_executor_run_earliest_deadline_first()
{
  Log log;
  Executor executor(log);
  become_dispatcher();
  executor.release("late", milliseconds(20));
  executor.release("early", milliseconds(20));
  executor.release("middle", milliseconds(20));
  return expect(executor, log, "early+ early- middle+ middle- late+ late-");
}

std::string a_callback_with_an_earlier_deadline_preempts()
{
  Log log;
  Executor executor(log);
  become_dispatcher();
  executor.release("late", milliseconds(200));
  sleep(milliseconds(40));
  executor.release("early", milliseconds(20));
  sleep(milliseconds(5));
  executor.release("middle", milliseconds(20));
  return expect(executor, log, "late+ early+ early- middle+ middle- late-");
}

std::string a_callback_inherits_the_deadline_of_one_its_group_keeps_waiting()
{
  Log log;
  Executor executor(log, true);
  become_dispatcher();
  executor.release("late", milliseconds(100));
  sleep(milliseconds(40));
  executor.release("early", milliseconds(20));
  executor.release("middle", milliseconds(20));
  return expect(executor, log, "late+ late- early+ early- middle+ middle-");
}

std::string a_callback_over_its_budget_goes_after_all_deadlines()
{
  constexpr char kBudget[] = "        /n/*/early: {budget: {runtime: 50ms, period: 20s}}\n";
  for (const bool has_budget : {false, true}) {
    Log log;
    Executor executor(log, false, "sched_ext", has_budget ? kBudget : "");
    become_dispatcher();
    executor.release("early", milliseconds(300));
    sleep(milliseconds(100));
    executor.release("late", milliseconds(20));
    const std::string wanted =
      has_budget ? "early+ late+ late- early-" : "early+ early- late+ late-";
    if (!executor.wait() || log.text() != wanted) {
      return "wanted " + wanted + ", was " + log.text() + executor.why();
    }
    const bool is_told =
      executor.findings().find("needs more than its budget") != std::string::npos;
    if (is_told != has_budget) {
      return "told: " + executor.findings();
    }
  }
  return "";
}

/// The threads of this process that have this name get what the background has, on the CPU of the callbacks.
int put_into_background(const std::string & name)
{
  int found = 0;
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string is;
    std::getline(std::ifstream(entry.path() / "comm"), is);
    const int tid = std::atoi(entry.path().filename().c_str());
    sched_param parameters{};
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    found += is == name && sched_setscheduler(tid, SCHED_OTHER, &parameters) == 0 &&
                 sched_setaffinity(tid, sizeof(first), &first) == 0
               ? 1
               : 0;
  }
  return found;
}

/// All is over before the reserve gives the thread that watches a turn.
std::string the_kernel_keeps_a_budget_whose_watch_gets_no_cpu()
{
  Log log;
  Executor executor(
    log, false, "sched_ext", "        /n/*/early: {budget: {runtime: 20ms, period: 4s}}\n");
  become_dispatcher();
  if (const int found = put_into_background("rclrt budgets"); found != 1) {
    return std::to_string(found) + " threads watch budgets";
  }
  executor.release("early", milliseconds(60));
  sleep(milliseconds(35));
  executor.release("middle", milliseconds(10));
  return expect(executor, log, "early+ middle+ middle- early-");
}

std::string executors_share_one_order()
{
  Log log;
  Executor one(log);
  Executor other(log);
  become_dispatcher();
  one.release("late", milliseconds(150));
  sleep(milliseconds(40));
  other.release("middle", milliseconds(60));
  sleep(milliseconds(20));
  one.release("early", milliseconds(20));
  const std::string seen = other.wait() ? "" : "the other hangs; ";
  return seen + expect(one, log, "late+ middle+ early+ early- middle- late-");
}

/// While `late` publishes, a callback of another executor is released that is less urgent than what the
/// publication has released. That goes first, before the rest of `late`.
std::string a_publication_in_a_callback_is_as_urgent_as_what_it_releases()
{
  Log log;
  Executor executor(log);
  Executor other(log);
  executor.also("late", [&] {
    {
      const rclrt_core::Publication publication;
      const rclrt_core::Publication inside;  // what publish() of a front end does inside another
      executor.release("early", milliseconds(20));
      use_cpu(milliseconds(80));
      log.add("told");
    }
    log.add("published");
  });
  become_dispatcher();
  executor.release("late", milliseconds(0));
  sleep(milliseconds(40));
  other.release("middle", milliseconds(20));
  const std::string seen =
    expect(executor, log, "late+ told early+ early- middle+ middle- published late-");
  return (other.wait() ? "" : "the other hangs; ") + seen;
}

std::string what_a_callback_publishes_to_runs_with_its_deadline()
{
  Log log;
  Executor executor(log);
  executor.also("early", [&] {
    const rclrt_core::Publication publication;
    executor.release("heir", milliseconds(20));
  });
  become_dispatcher();
  executor.release("middle", milliseconds(20));
  executor.release("early", milliseconds(20));
  return expect(executor, log, "early+ early- heir+ heir- middle+ middle-");
}

/// As an engine uses it: a thread has just ended its job, and loses its CPU before it sleeps.
std::string a_thread_on_its_way_to_sleep_is_made_urgent()
{
  Log log;
  rclrt_core::LinuxPlatform platform;
  const auto scheduler = rclrt_front_end::make_deadline_scheduler(
    rclrt_config::DeadlineBackend::kSchedExt, platform, [](const Finding &) {});
  if (!scheduler) {
    return "not loaded";
  }
  std::string why;
  std::atomic<bool> go{false};
  const auto in = [&](milliseconds time) { return platform.now() + time; };
  rclrt_core::DeadlineScheduler::Slot slot = 0;
  std::atomic<bool> stopped{false};
  become_dispatcher();
  const auto become_ours = [&](rclrt_core::DeadlineScheduler::Slot * mine) {
    sched_param parameters{};
    sched_setscheduler(0, SCHED_OTHER, &parameters);
    const Status entered = scheduler->enter(mine);
    if (!entered.ok()) {
      why = entered.message();
    }
  };
  std::thread ends([&] {
    become_ours(&slot);
    scheduler->start(slot, in(milliseconds(9000)));
    scheduler->stop(slot);
    stopped.store(true);
    use_cpu(milliseconds(40));
    log.add("up");
    scheduler->leave(slot);
  });
  std::thread busy([&] {
    rclrt_core::DeadlineScheduler::Slot mine = 0;
    become_ours(&mine);
    while (!go.load()) {
      sleep(milliseconds(1));
    }
    scheduler->start(mine, in(milliseconds(5000)));
    use_cpu(milliseconds(80));
    log.add("later");
    scheduler->leave(mine);
  });
  for (int i = 0; i < 1000 && !stopped.load(); ++i) {
    sleep(milliseconds(1));
  }
  go.store(true);
  sleep(milliseconds(10));
  scheduler->start(slot, in(milliseconds(1000)));
  ends.join();
  busy.join();
  return why + (log.text() == "up later" ? "" : "was " + log.text());
}

/// Ends the scheduler.
std::string an_executor_is_told_of_an_ejection_and_goes_on()
{
  Log log;
  Executor executor(log);
  if (executor.findings().find("not in force") != std::string::npos) {
    return "told too early: " + executor.findings();
  }
  executor.release("late", milliseconds(300));
  sleep(milliseconds(20));
  std::ofstream("/proc/sysrq-trigger") << 'S' << std::flush;  // As an administrator does.
  bool told = false;
  for (int i = 0; i < 1000 && !told; ++i) {
    sleep(milliseconds(5));
    told = executor.findings().find("not in force any more") != std::string::npos;
  }
  if (!told) {
    return "not told: " + executor.findings();
  }
  std::printf("told: %s\n", executor.findings().c_str());
  executor.release("early", milliseconds(20));
  if (!executor.wait()) {
    return "callbacks stopped: " + log.text();
  }
  Executor next(log, false, "auto");
  next.release("early", milliseconds(20));
  sleep(milliseconds(100));
  const std::string now = next.engine().deadline_scheduler();
  return now == "fifo bands" ? "" : "the next executor takes '" + now + "' " + next.why();
}

}  // namespace

int main(int argc, char ** argv)
{
  guest::Scenarios scenarios = {
#define SCENARIO(name) {#name, name}
    SCENARIO(an_executor_takes_the_scheduler_in_the_kernel),
    SCENARIO(callbacks_of_an_executor_run_earliest_deadline_first),
    SCENARIO(a_callback_with_an_earlier_deadline_preempts),
    SCENARIO(a_callback_inherits_the_deadline_of_one_its_group_keeps_waiting),
    SCENARIO(a_callback_over_its_budget_goes_after_all_deadlines),
    SCENARIO(the_kernel_keeps_a_budget_whose_watch_gets_no_cpu),
    SCENARIO(executors_share_one_order),
    SCENARIO(a_publication_in_a_callback_is_as_urgent_as_what_it_releases),
    SCENARIO(what_a_callback_publishes_to_runs_with_its_deadline),
    SCENARIO(a_thread_on_its_way_to_sleep_is_made_urgent),
    SCENARIO(an_executor_is_told_of_an_ejection_and_goes_on),
#undef SCENARIO
  };
  scenarios.merge(guest::cpu_scenarios());
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const auto found = scenarios.find(argv[i]);
    std::string seen = "no such scenario";
    if (found != scenarios.end()) {
      std::thread([&] { seen = found->second(); }).join();  // Its scheduling dies with it.
    }
    const bool skipped = seen.rfind("skip: ", 0) == 0;
    good = good && (seen.empty() || skipped);
    const char * const verdict = seen.empty() ? "pass" : skipped ? "skip" : "fail";
    std::printf("RESULT %s %s %s\n", argv[i], verdict, seen.c_str());
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
