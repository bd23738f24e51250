// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The chains that a configuration declares, while executors run: who reports them, and what is told.

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_watch/live_follower.hpp"

namespace rclrt_front_end
{
namespace
{

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// An executor that spins, with callbacks that are released by hand and may release others.
class Executor
{
public:
  Executor(const std::string & file, const ConfiguredEngineOptions & from = {})
  {
    ConfiguredEngineOptions options = from;
    options.engine.attributes_mode = rclrt_core::AttributesMode::kOff;
    options.configuration_file = file;
    const auto status = ConfiguredEngine::make(platform_, options, &engine_);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~Executor()
  {
    if (spinner_.joinable()) {
      engine_->engine().stop();
      spinner_.join();
    }
  }
  Executor(const Executor &) = delete;
  Executor & operator=(const Executor &) = delete;

  std::shared_ptr<rclrt_core::Callback> add(
    const std::string & name, std::function<void()> run = {})
  {
    std::shared_ptr<rclrt_core::Group> group;
    rclrt_core::GroupOptions of_node;
    of_node.name = name.substr(0, name.find('/', 1)) + "/group/default";
    EXPECT_TRUE(engine_->add_group(of_node, "", &group).ok());
    rclrt_core::CallbackOptions options;
    options.name = name;
    options.depth = 100;
    options.run = [run](const rclrt_core::Job &) {
      if (run) {
        run();
      }
      return true;
    };
    std::shared_ptr<rclrt_core::Callback> callback;
    EXPECT_TRUE(engine_->add_callback(options, group, &callback).ok());
    return callback;
  }
  void spin()
  {
    spinner_ = std::thread([this] { EXPECT_TRUE(engine_->engine().spin().ok()); });
  }
  rclrt_core::Engine & engine() { return engine_->engine(); }
  std::vector<ChainReport> chains() const { return engine_->chains(); }
  std::vector<std::string> findings() const
  {
    std::vector<std::string> texts;
    for (const rclrt_core::Finding & finding : engine_->findings()) {
      texts.push_back(to_string(finding));
    }
    return texts;
  }

private:
  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<ConfiguredEngine> engine_;
  std::thread spinner_;
};

/// Nothing before it is known that the chain is of this executor.
ChainReport first_of(const Executor & executor)
{
  const auto chains = executor.chains();
  return chains.empty() ? ChainReport() : chains[0];
}

class Watchers : public ::testing::Test
{
protected:
  Watchers()
  {
    unsetenv("RCLRT_CONFIGURATION");
    unsetenv("RCLRT_TRACE");
    live_.trace.live = true;
    live_.engine.trace_capacity = 1024;
  }
  ~Watchers() override { std::remove(file_.c_str()); }

  void declare(const std::string & more, const std::string & callbacks = "")
  {
    std::ofstream(file_) << "/**:\n  ros__parameters:\n    rclrt:\n"
                         << callbacks
                         << "      chains:\n"
                            "        grab: {callbacks: ["
                         << look_ << ", " << act_ << "], semantics: latency" << more << "}\n";
  }
  /// Spins with both callbacks of the chain. What is returned releases its first one.
  std::function<void()> grab_with(Executor & executor) const
  {
    const auto act = executor.add(act_);
    const auto look = executor.add(look_, [&executor, act] { executor.engine().notify(*act); });
    executor.spin();
    return [&executor, look] { executor.engine().notify(*look); };
  }
  template <typename Condition>
  static bool eventually(Condition condition)
  {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) {
        return false;
      }
      std::this_thread::sleep_for(milliseconds(10));
    }
    return true;
  }

  const std::string file_ = ::testing::TempDir() + "/watcher." + std::to_string(getpid()) + ".yaml";
  /// Names that only this process uses: others are seen as well.
  const std::string look_ = "/look" + std::to_string(getpid()) + "/waitable/l";
  const std::string act_ = "/act" + std::to_string(getpid()) + "/waitable/a";
  ConfiguredEngineOptions live_;
};

TEST_F(Watchers, a_chain_is_counted_and_reported_by_the_executor_that_has_its_last_callback)
{
  declare(", deadline: 10000ms, bound: 9000ms");
  Executor last(file_, live_);
  Executor first(file_, live_);  // ends first: it notifies the other
  const auto act = last.add(act_);
  const auto look = first.add(look_, [&] { last.engine().notify(*act); });
  first.spin();
  last.spin();
  ASSERT_TRUE(eventually([&] {
    first.engine().notify(*look);
    const auto chains = last.chains();
    return !chains.empty() && chains[0].instances > 5;
  }));
  const ChainReport report = last.chains()[0];
  EXPECT_EQ(report.name, "grab");
  EXPECT_EQ(report.state, ChainState::kOk);
  EXPECT_EQ(report.misses, 0u);
  EXPECT_EQ(report.bound, milliseconds(9000));
  EXPECT_GT(report.worst->count(), 0);
  EXPECT_TRUE(report.proved);
  EXPECT_THAT(first.chains(), IsEmpty());
}

TEST_F(Watchers, a_miss_is_told_once_and_the_program_is_called)
{
  declare(", deadline: 0.000001ms, bound: 90000ms, on_miss: {warn_after: 2}");
  std::atomic<int> calls{0};
  std::mutex mutex;
  ChainReport told;
  std::thread::id caller;
  live_.on_chain_miss = [&](const ChainReport & report) {
    const std::lock_guard<std::mutex> lock(mutex);
    told = report;
    caller = std::this_thread::get_id();
    ++calls;
  };
  Executor executor(file_, live_);
  const auto look = grab_with(executor);
  ASSERT_TRUE(eventually([&] {
    look();
    return calls > 3;
  }));
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(told.name, "grab");
  EXPECT_GT(told.misses, 1u);
  EXPECT_EQ(told.state, ChainState::kWarn);
  EXPECT_FALSE(told.proved) << "the bound is above the deadline";
  EXPECT_NE(caller, std::this_thread::get_id());
  const auto findings = executor.findings();
  EXPECT_THAT(findings, SizeIs(1));
  EXPECT_THAT(
    findings,
    Contains(HasSubstr("chain 'grab': missed its deadline of 0.000001 ms 2 times in a row. "
                       "See where the time goes")));
}

TEST_F(Watchers, a_chain_that_brings_out_nothing_is_told)
{
  declare(", silent_after: 20ms");
  Executor executor(file_, live_);
  executor.add(act_);
  executor.spin();
  ASSERT_TRUE(eventually([&] { return !executor.findings().empty(); }));
  EXPECT_THAT(executor.findings(), ElementsAre(HasSubstr("nothing new for more than 20 ms")));
  ASSERT_THAT(executor.chains(), SizeIs(1));
  EXPECT_EQ(executor.chains()[0].state, ChainState::kSilent);
}

TEST_F(Watchers, a_chain_whose_first_callback_is_nowhere_is_said_to_be_unseen)
{
  declare(", deadline: 5ms");
  Executor executor(file_, live_);
  const auto act = executor.add(act_);
  executor.spin();
  ASSERT_TRUE(eventually([&] {
    executor.engine().notify(*act);
    return !executor.findings().empty();
  }));
  EXPECT_THAT(
    executor.findings(),
    ElementsAre(HasSubstr("'" + look_ + "' is in no executor of this user on this machine")));
  ASSERT_THAT(executor.chains(), SizeIs(1));
  EXPECT_EQ(executor.chains()[0].state, ChainState::kUnseen);
}

TEST_F(Watchers, a_broken_assumption_is_told_once_with_the_chains_that_are_no_longer_proved)
{
  declare(
    ", deadline: 10000ms, bound: 9000ms", "      callbacks: {" + act_ + ": {wcet: 0.000001ms}}\n");
  Executor executor(file_, live_);
  const auto look = grab_with(executor);
  ASSERT_TRUE(eventually([&] {
    look();
    return first_of(executor).instances > 5 && !executor.findings().empty();
  }));
  EXPECT_FALSE(executor.chains()[0].proved);
  EXPECT_EQ(executor.chains()[0].misses, 0u);
  EXPECT_THAT(
    executor.findings(),
    ElementsAre(::testing::AllOf(
      HasSubstr("'" + act_ + "': runs for "),
      HasSubstr("the file says 0.000001 ms: deadlines met so far, no longer proved: grab. See"))));
}

TEST_F(Watchers, nothing_of_an_edited_plan_is_proved)
{
  declare(", deadline: 10000ms, bound: 9000ms");
  std::stringstream text;
  text << std::ifstream(file_).rdbuf();
  std::ofstream(file_) << "# plan: 1\n# content: sha256:00\n" << text.str();
  Executor executor(file_, live_);
  const auto look = grab_with(executor);
  ASSERT_TRUE(eventually([&] {
    look();
    return first_of(executor).instances > 5;
  }));
  EXPECT_FALSE(executor.chains()[0].proved);
  EXPECT_THAT(executor.findings(), ElementsAre(HasSubstr("the plan was edited after it was made")));
}

TEST_F(Watchers, statuses_say_what_chains_callbacks_and_the_proof_are)
{
  declare(
    ", deadline: 10000ms, bound: 9000ms", "      callbacks: {" + act_ + ": {wcet: 0.000001ms}}\n");
  std::mutex mutex;
  std::vector<DiagnosticStatus> statuses;
  live_.publish_diagnostics = [&](const std::vector<DiagnosticStatus> & published) {
    const std::lock_guard<std::mutex> lock(mutex);
    statuses = published;
    return rclrt_core::Status::error("no network");
  };
  Executor executor(file_, live_);
  const auto act = executor.add(act_);
  const auto look = executor.add(look_, [&] { executor.engine().notify(*act, 110); });
  executor.spin();
  ASSERT_TRUE(eventually([&] {
    executor.engine().notify(*look);
    const std::lock_guard<std::mutex> lock(mutex);
    return statuses.size() == 4 && statuses[1].message.find("met so far") != std::string::npos;
  }));
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(statuses[0].name, "rclrt: chain grab");
  EXPECT_EQ(statuses[0].level, DiagnosticLevel::kOk);
  EXPECT_THAT(statuses[1].name, ::testing::StartsWith("rclrt: proof of test_front_end"));
  EXPECT_EQ(statuses[1].level, DiagnosticLevel::kWarn);
  // A slow machine may lose records.
  EXPECT_THAT(
    statuses[1].message,
    ::testing::AllOf(
      ::testing::StartsWith("deadlines met so far"), ::testing::EndsWith(", no longer proved")));
  ASSERT_THAT(statuses[1].values, Not(IsEmpty()));
  EXPECT_EQ(statuses[1].values[0].first, act_);
  EXPECT_EQ(statuses[2].name, "rclrt: callback " + act_);
  EXPECT_EQ(statuses[2].hardware_id, "test_front_end");
  EXPECT_EQ(statuses[2].level, DiagnosticLevel::kWarn) << "more jobs at once than its depth";
  EXPECT_EQ(statuses[3].name, "rclrt: callback " + look_);
  EXPECT_EQ(statuses[3].level, DiagnosticLevel::kOk);
  EXPECT_THAT(
    executor.findings(), Contains(HasSubstr("diagnostics: cannot be published: no network")));
}

/// The live traces of this process.
std::vector<std::string> own_files()
{
  std::vector<std::string> found;
  for (const std::string & path : rclrt_watch::live_traces()) {
    if (path.find("-" + std::to_string(getpid()) + "-") != std::string::npos) {
      found.push_back(path);
    }
  }
  return found;
}

TEST_F(Watchers, a_file_that_somebody_has_removed_is_watched_all_the_same)
{
  declare(", deadline: 10000ms, bound: 9000ms");
  Executor executor(file_, live_);
  const auto look = grab_with(executor);
  const auto more = [&] {
    const uint64_t wanted = first_of(executor).instances + 3;
    return eventually([&] {
      look();
      return first_of(executor).instances >= wanted;
    });
  };
  ASSERT_TRUE(more());
  ASSERT_THAT(own_files(), SizeIs(1));
  std::filesystem::remove(own_files()[0]);
  std::this_thread::sleep_for(milliseconds(1100));  // until it has looked for files twice
  EXPECT_TRUE(more());
  EXPECT_TRUE(first_of(executor).proved);
}

TEST_F(Watchers, of_a_file_that_somebody_has_spoilt_nothing_is_proved)
{
  declare(", deadline: 10000ms, bound: 9000ms");
  Executor executor(file_, live_);
  const auto look = grab_with(executor);
  ASSERT_TRUE(eventually([&] {
    look();
    return first_of(executor).proved;
  }));
  ASSERT_THAT(own_files(), SizeIs(1));
  const std::string path = own_files()[0];
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offsetof(rclrt_trace_header, process));
  file.write("\x01\x02\x03", 3).flush();
  EXPECT_TRUE(eventually([&] { return !first_of(executor).proved; }));
  EXPECT_THAT(
    executor.findings(),
    ElementsAre(HasSubstr("'" + path + "': somebody else has written into it")));
}

TEST_F(Watchers, very_many_files_leave_descriptors_to_the_program)
{
  const pid_t child = fork();
  if (child == 0) {  // in a /dev/shm of its own: others look there as well
    const int namespaces = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (
      unshare(namespaces) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", "/dev/shm", "tmpfs", 0, "size=256m") != 0) {
      _exit(77);
    }
    {
      declare(", deadline: 10000ms, bound: 9000ms");
      {
        const Executor before(file_, live_);
        const std::filesystem::path file = rclrt_watch::live_traces().at(0);
        for (int i = 0; i < 400; ++i) {
          std::filesystem::copy_file(
            file, file.parent_path() / ("0" + std::to_string(i) + ".trace"));
        }
      }
      Executor executor(file_, live_);
      const auto act = executor.add(act_);
      const auto look = executor.add(look_, [&] { executor.engine().notify(*act); });
      executor.spin();
      EXPECT_TRUE(eventually([&] {
        executor.engine().notify(*look);
        return first_of(executor).instances > 5 && !executor.findings().empty();
      }));
      EXPECT_THAT(
        executor.findings(), ElementsAre(HasSubstr("more than 256 live traces: not all are")));
      const std::filesystem::directory_iterator descriptors("/proc/self/fd");
      EXPECT_LT(std::distance(begin(descriptors), end(descriptors)), 300);
    }
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "this machine gives no /dev/shm of our own";
  }
  EXPECT_EQ(status, 0);
}

TEST_F(Watchers, without_chains_there_is_no_thread_for_them)
{
  std::ofstream(file_)
    << "/**:\n  ros__parameters:\n    rclrt:\n      executor: {lock_memory: false}\n";
  const auto threads = [] {
    std::vector<std::string> names;
    for (const auto & entry : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(entry.path() / "comm");
      std::getline(file, names.emplace_back());
    }
    return names;
  };
  {
    const Executor without(file_, live_);
    EXPECT_THAT(without.chains(), IsEmpty());
    EXPECT_THAT(threads(), Not(Contains("rclrt watch")));
  }
  declare("");
  const Executor with(file_, live_);
  EXPECT_TRUE(eventually([&] { return ::testing::Value(threads(), Contains("rclrt watch")); }));
}

TEST_F(Watchers, without_a_live_trace_it_is_told_that_chains_are_not_watched)
{
  declare("");
  live_.trace.live = false;
  const Executor executor(file_, live_);
  EXPECT_THAT(executor.findings(), Contains(HasSubstr("chains: are not watched")));
  EXPECT_THAT(executor.chains(), IsEmpty());
}

}  // namespace
}  // namespace rclrt_front_end
