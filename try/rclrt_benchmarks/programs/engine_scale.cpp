// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// How the engine grows with callbacks. The engine alone, under SCHED_OTHER. Writes one row as JSON to standard output.
//
//   engine_scale VARIANT callbacks N SAMPLES   release one of N, wait until it has begun: delays; CPU time a job
//   engine_scale VARIANT until-asleep N SAMPLES  as callbacks; ends when the threads sleep again
//   engine_scale VARIANT until-start N SAMPLES   one job more; ends when that begins
//
// The last two are for a program that counts instructions, and write nothing: their difference is the way to the start.
//
// VARIANT: preemptive, preemptive_spin, preemptive_adaptive, priority_events, isolated; floor: a queue with a mutex and a
// condition variable.

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace
{

using harness::check;
using harness::now_ns;

constexpr int64_t kSecond = 1'000'000'000;

/// CPU time of all threads but the one that releases and measures.
int64_t cpu_of_others_ns() { return harness::process_cpu_ns() - harness::thread_cpu_ns(); }

/// What runs jobs: so many callbacks, all of which call `job`.
class Runner
{
public:
  virtual ~Runner() = default;
  virtual void release(std::size_t callback) = 0;
};

class Floor : public Runner
{
public:
  explicit Floor(std::function<void()> job) : job_(std::move(job)), thread_([this] { run(); }) {}
  ~Floor() override
  {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    condition_.notify_one();
    thread_.join();
  }
  void release(std::size_t callback) override
  {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(callback);
    }
    condition_.notify_one();
  }

private:
  void run()
  {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ends_) {
      if (queue_.empty()) {
        condition_.wait(lock);
        continue;
      }
      queue_.pop_front();
      lock.unlock();
      job_();
      lock.lock();
    }
  }

  std::function<void()> job_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::size_t> queue_;
  bool ends_ = false;
  std::thread thread_;
};

class Ours : public Runner
{
public:
  Ours(const std::string & variant, std::size_t callbacks, const std::function<void()> & job)
  {
    rclrt_core::EngineOptions options;
    options.attributes_mode = rclrt_core::AttributesMode::kOff;
    options.max_threads = 2;
    options.waiting.spin = std::chrono::milliseconds(3);
    if (variant == "priority_events") {
      options.model = rclrt_core::ExecutionModel::kPriorityEvents;
    } else if (variant == "isolated") {
      options.model = rclrt_core::ExecutionModel::kIsolated;
    } else if (variant == "preemptive_spin") {
      options.waiting.kind = rclrt_core::Waiting::kSpin;
    } else if (variant == "preemptive_adaptive") {
      options.waiting.kind = rclrt_core::Waiting::kAdaptive;
    } else if (variant != "preemptive") {
      throw std::runtime_error("unknown variant '" + variant + "'");
    }
    engine_ = std::make_unique<rclrt_core::Engine>(platform_, options);
    callbacks_.resize(callbacks);
    for (std::size_t i = 0; i < callbacks; ++i) {
      rclrt_core::GroupOptions group_options;
      group_options.name = std::to_string(i);
      std::shared_ptr<rclrt_core::Group> group;
      check(engine_->add_group(group_options, &group));
      rclrt_core::CallbackOptions what;
      what.name = std::to_string(i);
      what.depth = 10;
      what.run = [&job](const rclrt_core::Job &) {
        job();
        return true;
      };
      check(engine_->add_callback(std::move(what), group, &callbacks_[i]));
    }
    thread_ = std::thread([this] { check(engine_->spin()); });
  }
  ~Ours() override
  {
    engine_->stop();
    thread_.join();
  }
  void release(std::size_t callback) override { engine_->notify(*callbacks_[callback]); }

private:
  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<rclrt_core::Engine> engine_;
  std::vector<std::shared_ptr<rclrt_core::Callback>> callbacks_;
  std::thread thread_;
};

/// What the jobs have done so far.
struct Seen
{
  std::atomic<int64_t> last_start{0};
  std::atomic<uint64_t> jobs{0};
  std::atomic<bool> ends{false};  ///< the next job ends the program
};

void wait_for(const std::atomic<uint64_t> & jobs, uint64_t wanted)
{
  const int64_t patience = now_ns() + 60 * kSecond;
  while (jobs.load() < wanted) {
    if (now_ns() > patience) {
      throw std::runtime_error("jobs do not come");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

class Experiment
{
public:
  Experiment(const std::string & variant, std::size_t callbacks)
  : job_([this] {
      if (seen_.ends.load()) {
        // Not _Exit(), which is not known to the linker yet: to look a function up takes instructions.
        syscall(SYS_exit_group, 0);
      }
      seen_.last_start.store(now_ns());
      seen_.jobs.fetch_add(1);
    })
  {
    if (variant == "floor") {
      runner_ = std::make_unique<Floor>(job_);
    } else {
      runner_ = std::make_unique<Ours>(variant, callbacks, job_);
    }
    runner_->release(0);  // all threads exist when the first job has run
    wait_for(seen_.jobs, 1);
  }

  nlohmann::json callbacks(std::size_t callbacks, int samples)
  {
    std::vector<int64_t> delays;
    std::srand(1);
    const int64_t cpu = cpu_of_others_ns();
    for (int i = 0; i < samples; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      const int64_t before = now_ns();
      const uint64_t done = seen_.jobs.load();
      runner_->release(static_cast<std::size_t>(std::rand()) % callbacks);
      wait_for(seen_.jobs, done + 1);
      delays.push_back(seen_.last_start.load() - before);
    }
    return {
      {"delays_ns", delays},
      {"cpu_ns_a_job", static_cast<double>(cpu_of_others_ns() - cpu) / samples}};
  }

  [[noreturn]] void until_asleep(std::size_t callbacks_there, int samples, bool starts_another)
  {
    callbacks(callbacks_there, samples);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (starts_another) {
      seen_.ends.store(true);
      runner_->release(0);
      std::this_thread::sleep_for(std::chrono::seconds(60));
      std::_Exit(1);  // it has not begun
    }
    std::_Exit(0);
  }

private:
  Seen seen_;
  std::function<void()> job_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace

int main(int argc, char ** argv)
{
  return harness::print_result("engine_scale", [&] {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 4) {
      throw std::runtime_error(
        "usage: engine_scale VARIANT callbacks|until-asleep|until-start N SAMPLES");
    }
    const auto n = static_cast<std::size_t>(std::stoul(words[2]));
    const int samples = std::stoi(words[3]);
    nlohmann::json row;
    if (words[1] == "callbacks") {
      row = Experiment(words[0], n).callbacks(n, samples);
    } else if (words[1] == "until-asleep" || words[1] == "until-start") {
      Experiment(words[0], n).until_asleep(n, samples, words[1] == "until-start");
    } else {
      throw std::runtime_error("unknown experiment '" + words[1] + "'");
    }
    return row;
  });
}
