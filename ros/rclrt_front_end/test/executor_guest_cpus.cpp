// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A CPU is taken offline while an executor spins whose callbacks may run nowhere else.

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "executor_guest.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/configured_engine.hpp"

namespace guest
{
namespace
{

using rclrt_core::Attributes;
using rclrt_core::Finding;
using rclrt_core::SchedulingPolicy;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool set_online(bool online)
{
  std::ofstream file("/sys/devices/system/cpu/cpu1/online");
  file << (online ? '1' : '0') << std::flush;
  return file.good();
}

/// One thread for two callbacks, so that it is given what each of them asks for again and again: `pinned` may
/// run on CPU 1 only, `free` everywhere.
class Engine
{
public:
  Engine(const Attributes & pinned, const Attributes & free)
  {
    rclrt_core::EngineOptions options;
    options.max_threads = 1;
    if (pinned.scheduling_policy == SchedulingPolicy::kExt) {
      options.policy = &rclrt_core::edf_policy();
      options.deadlines = rclrt_front_end::make_deadline_scheduler(
        rclrt_config::DeadlineBackend::kSchedExt, platform_, [](const Finding &) {});
    }
    engine_ = std::make_unique<rclrt_core::Engine>(platform_, options);
    pinned_ = add("pinned", pinned);
    free_ = add("free", free);
    spinner_ = std::thread([this] { (void)engine_->spin(); });
    for (int i = 0; i < 1000 && !engine_->is_spinning(); ++i) {
      sleep(milliseconds(5));
    }
  }
  ~Engine()
  {
    engine_->stop();
    spinner_.join();
  }
  Engine(const Engine &) = delete;
  Engine & operator=(const Engine &) = delete;

  void start_pinned(milliseconds work)
  {
    work_ = work;
    engine_->notify(*pinned_);
  }
  /// What its next job to end was run with, or "hangs".
  std::string run_pinned() { return run(*pinned_); }
  std::string run_free() { return run(*free_); }
  std::string ended()
  {
    for (int i = 0; i < 4000 && ended_ == 0; ++i) {
      sleep(milliseconds(5));
    }
    return ended_.exchange(0) == 1 ? had_ : "hangs";
  }
  /// "<subject>: <what>" of all.
  std::string findings() const
  {
    std::string text;
    for (const Finding & finding : engine_->findings()) {
      if (finding.error_number != 0) {
        text += finding.subject + ": " + finding.what + "; " + finding.fix + "\n";
      }
    }
    return text;
  }

private:
  std::string run(rclrt_core::Callback & callback)
  {
    engine_->notify(callback);
    return ended();
  }
  std::shared_ptr<rclrt_core::Callback> add(const std::string & name, const Attributes & attributes)
  {
    rclrt_core::GroupOptions group_options;
    group_options.name = name;
    std::shared_ptr<rclrt_core::Group> group;
    (void)engine_->add_group(group_options, &group);
    rclrt_core::CallbackOptions options;
    options.name = name;
    options.attributes = attributes;
    options.relative_deadline = seconds(1);
    options.run = [this](const rclrt_core::Job &) {
      use_cpu(work_.exchange(milliseconds(0)));
      Attributes mine;
      platform_.read_back(platform_.current_thread(), &mine);
      had_ = to_string(mine);
      ++ended_;
      return true;
    };
    std::shared_ptr<rclrt_core::Callback> callback;
    (void)engine_->add_callback(options, group, &callback);
    return callback;
  }

  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<rclrt_core::Engine> engine_;
  std::shared_ptr<rclrt_core::Callback> pinned_, free_;
  std::atomic<milliseconds> work_{milliseconds(0)};
  std::string had_;  // of the last job, until it is asked for
  std::atomic<int> ended_{0};
  std::thread spinner_;
};

/// `pinned` and `free` are all but the CPUs.
std::string cpu_goes_away(Attributes pinned, const Attributes & free)
{
  if (!std::ifstream("/sys/devices/system/cpu/cpu1/online").good()) {
    return "skip: needs two CPUs";
  }
  const std::string policy = to_string(pinned);
  pinned.cpu_affinity = rclrt_core::CpuSet({1});
  std::string seen;
  const auto expect = [&](const char * when, const std::string & was, const std::string & wanted) {
    if (was.rfind(wanted, 0) != 0) {
      seen += std::string(when) + ": wanted " + wanted + ", was " + was + "; ";
    }
  };
  Engine engine(pinned, free);
  expect("before", engine.run_pinned(), to_string(pinned));
  expect("before", engine.run_free(), to_string(free));
  // Less than the scheduler in the kernel gives to deadlines without a turn for others.
  engine.start_pinned(milliseconds(60));
  sleep(milliseconds(20));
  if (!set_online(false)) {
    return "skip: CPU 1 cannot be taken offline";
  }
  expect("while it goes", engine.ended(), policy);
  expect("away, once more", engine.run_pinned(), policy);
  expect("away", engine.run_free(), to_string(free));
  expect("away, asked for again", engine.run_pinned(), policy);
  const std::string told = engine.findings();
  set_online(true);
  expect("back", engine.run_free(), to_string(free));
  expect("back", engine.run_pinned(), to_string(pinned));
  expect("told", told, "pinned: asked for " + to_string(pinned));
  if (told.find("free") != std::string::npos) {
    seen += "told: " + told;
  }
  return seen;
}

Attributes with(SchedulingPolicy policy, int priority = 0)
{
  Attributes attributes;
  attributes.scheduling_policy = policy;
  attributes.priority = priority;
  return attributes;
}

std::string a_cpu_that_goes_away_leaves_its_callback_the_priority()
{
  return cpu_goes_away(with(SchedulingPolicy::kFifo, 30), with(SchedulingPolicy::kFifo, 20));
}

std::string a_cpu_that_goes_away_leaves_its_callback_the_deadline()
{
  return cpu_goes_away(with(SchedulingPolicy::kExt), with(SchedulingPolicy::kExt));
}

}  // namespace

Scenarios cpu_scenarios()
{
  return {
#define SCENARIO(name) {#name, name}
    SCENARIO(a_cpu_that_goes_away_leaves_its_callback_the_priority),
    SCENARIO(a_cpu_that_goes_away_leaves_its_callback_the_deadline),
#undef SCENARIO
  };
}

}  // namespace guest
