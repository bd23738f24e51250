// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the tests of the simulated platform share.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <cctype>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/sim_platform.hpp"

namespace rclrt_core
{

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

inline Attributes fifo(int priority, const std::vector<int> & cpus = {})
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  attributes.cpu_affinity = CpuSet(cpus);
  return attributes;
}

inline Attributes other(int nice)
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kOther;
  attributes.nice = nice;
  return attributes;
}

inline TimePoint at_ms(int64_t ms) { return TimePoint(milliseconds(ms)); }

class SimPlatformTest : public ::testing::Test
{
protected:
  void start_on(
    SimPlatform & platform, const std::string & name, const Attributes & attributes,
    std::function<void()> body)
  {
    ThreadOptions options;
    options.name = name;
    options.attributes = attributes;
    std::unique_ptr<Thread> thread;
    const Status status = platform.start_thread(
      options, std::move(body), [this](const Finding & f) { findings.push_back(to_string(f)); },
      &thread);
    ASSERT_TRUE(status.ok()) << status.message();
    threads.push_back(std::move(thread));
  }
  void start(const std::string & name, const Attributes & attributes, std::function<void()> body)
  {
    start_on(sim, name, attributes, std::move(body));
  }

  void expect_run(SimPlatform & platform, std::function<void()> main_body)
  {
    const Status status = platform.run(std::move(main_body));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void expect_run(std::function<void()> main_body) { expect_run(sim, std::move(main_body)); }

  SimPlatform sim{1};
  SimPlatform duo{2};
  std::vector<std::string> findings;
  std::vector<std::string> events;
  std::vector<std::unique_ptr<Thread>> threads;
};

/// What threads do on the simulated platform, who then runs when, and what they say.
///
///   machine  words of: cpus N; locks (as those of Linux); no_inheritance; then costs in ms: lock MS, apply MS, wake MS, wait MS
///   threads  NAME ATTRIBUTES: STEP, STEP ...; NAME ... where ATTRIBUTES are a FIFO priority, idle, plain or nice, and
///            perhaps: on CPU. "main" has none, and begins when the others are there. Steps:
///            at MS, sleep MS, work MS, lock M, unlock M, with M MS (lock, work, unlock) where M is first or second, wait WORD,
///            set WORD, wake WORD, apply NAME PRIORITY, move CPU, read NAME, say TEXT,
///            meter, seen
///   schedule as SimPlatform::schedule() has it, joined by ", "; empty: whatever it is
///   said     "TEXT at MS" of say, "NAME has PRIORITY" of read, "NAME N times preempted" of seen, joined by ", "
struct SimScene
{
  std::string promise;
  std::string machine;
  std::string threads;
  std::string schedule;
  std::string said = "";
  SimPlatform::Counts counts = {};  ///< what of it is not 0 is compared
};

class SimScenes : public SimPlatformTest
{
protected:
  using Word = std::atomic<uint32_t>;

  void expect_scenes(const std::vector<SimScene> & scenes)
  {
    for (const SimScene & scene : scenes) {
      SCOPED_TRACE(scene.promise);
      play(scene);
    }
  }

private:
  static Duration ms_of(std::istream & words)
  {
    double ms = 0;
    words >> ms;
    return std::chrono::microseconds(static_cast<int64_t>(ms * 1000));
  }
  static std::string text_of(std::istream & words)
  {
    std::string text;
    std::getline(words >> std::ws, text);
    return text;
  }

  static std::unique_ptr<SimPlatform> platform_of(const std::string & machine)
  {
    int cpus = 1;
    SimPlatform::Locks locks;
    SimPlatform::Costs costs;
    std::istringstream words(machine);
    for (std::string word; words >> word;) {
      if (word == "cpus") {
        words >> cpus;
      } else if (word == "locks" || word == "no_inheritance") {
        locks = {true, word == "locks"};
      } else {
        (word == "lock"    ? costs.lock_section
         : word == "apply" ? costs.apply
         : word == "wake"  ? costs.wake_one
                           : costs.wait) = ms_of(words);
      }
    }
    auto platform = std::make_unique<SimPlatform>(cpus);
    platform->set_locks(locks);
    platform->set_costs(costs);
    return platform;
  }

  static Attributes attributes_of(std::istream & words)
  {
    std::string word;
    words >> word;
    Attributes attributes = word == "plain" ? Attributes() : other(5);
    if (word == "idle") {
      attributes.scheduling_policy = SchedulingPolicy::kIdle;
      attributes.nice = 0;
    } else if (std::isdigit(word[0]) != 0) {
      attributes = fifo(std::stoi(word));
    }
    if (int cpu = 0; words >> word >> cpu) {
      attributes.cpu_affinity = CpuSet({cpu});
    }
    return attributes;
  }

  void play(const SimScene & scene)
  {
    const std::unique_ptr<SimPlatform> platform = platform_of(scene.machine);
    std::map<std::string, std::unique_ptr<Mutex>> mutexes;
    mutexes["first"] = platform->make_mutex();
    mutexes["second"] = platform->make_mutex();
    std::map<std::string, Word> words_of;
    std::map<std::string, ThreadId> ids;
    std::string said;
    const auto tell = [&](const std::string & text) { said += (said.empty() ? "" : ", ") + text; };
    const auto run_thread = [&](const std::string & name, const std::string & steps) {
      CpuMeter meter;
      const std::map<std::string, std::function<void(std::istream &)>> known = {
        {"at", [&](auto & words) { platform->sleep_until(TimePoint(ms_of(words))); }},
        {"sleep", [&](auto & words) { platform->sleep_for(ms_of(words)); }},
        {"work", [&](auto & words) { platform->work(ms_of(words)); }},
        {"lock", [&](auto & words) { mutexes.at(text_of(words))->lock(); }},
        {"unlock", [&](auto & words) { mutexes.at(text_of(words))->unlock(); }},
        {"with",
         [&](auto & words) {
           std::string which;
           words >> which;
           mutexes.at(which)->lock();
           platform->work(ms_of(words));
           mutexes.at(which)->unlock();
         }},
        {"wait",
         [&](auto & words) {
           Word & word = words_of[text_of(words)];
           while (word.load() == 0) {
             platform->wait(word, 0, kNever);
           }
           word.store(0);
         }},
        {"set", [&](auto & words) { words_of[text_of(words)].store(1); }},
        {"wake", [&](auto & words) { platform->wake_one(words_of[text_of(words)]); }},
        {"apply",
         [&](auto & words) {
           std::string whose;
           words >> whose;
           EXPECT_EQ(platform->apply(ids.at(whose), attributes_of(words)), 0);
         }},
        {"move",
         [&](auto & words) {
           Attributes attributes;
           attributes.cpu_affinity = CpuSet({std::stoi(text_of(words))});
           EXPECT_EQ(platform->apply(platform->current_thread(), attributes), 0);
         }},
        {"read",
         [&](auto & words) {
           const std::string whose = text_of(words);
           Attributes in_force;
           EXPECT_EQ(platform->read_back(ids.at(whose), &in_force), 0);
           tell(whose + " has " + std::to_string(in_force.priority));
         }},
        {"say",
         [&](auto & words) {
           std::ostringstream text;
           text << text_of(words) << " at "
                << std::chrono::duration<double, std::milli>(platform->now().time_since_epoch())
                     .count();
           tell(text.str());
         }},
        {"meter", [&](auto &) { meter = platform->start_meter(true); }},
        {"seen", [&](auto &) {
           const CpuUse use = platform->read_meter(meter);
           EXPECT_EQ(use.has_kept, use.preemptions == 0);
           tell(name + " " + std::to_string(use.preemptions) + " times preempted");
         }}};
      ids[name] = platform->current_thread();
      std::istringstream all(steps);
      for (std::string step; std::getline(all, step, ',');) {
        std::istringstream words(step);
        std::string verb;
        words >> verb;
        known.at(verb)(words);
      }
    };
    expect_run(*platform, [&] {
      std::istringstream all(scene.threads);
      std::string of_main;
      for (std::string thread; std::getline(all >> std::ws, thread, ';');) {
        const std::string steps = thread.substr(thread.find(':') + 1);
        std::istringstream head(thread.substr(0, thread.find(':')));
        std::string name;
        head >> name;
        if (name == "main") {
          of_main = steps;
        } else {
          start_on(*platform, name, attributes_of(head), [=] { run_thread(name, steps); });
        }
      }
      run_thread("main", of_main);
    });
    if (!scene.schedule.empty()) {
      std::string schedule;
      for (const std::string & line : platform->schedule()) {
        schedule += (schedule.empty() ? "" : ", ") + line;
      }
      EXPECT_EQ(schedule, scene.schedule);
    }
    EXPECT_EQ(said, scene.said);
    for (auto count :
         {&SimPlatform::Counts::lock, &SimPlatform::Counts::wake, &SimPlatform::Counts::apply}) {
      EXPECT_TRUE(scene.counts.*count == 0 || platform->counts().*count == scene.counts.*count);
    }
    threads.clear();
  }
};

}  // namespace rclrt_core
