// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// How long it takes to create a thread, and to give a job to one that exists. Under SCHED_OTHER. Writes JSON to
// standard output: every sample, in the order of measuring.
//
//   thread_creation THREADS

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace
{

using harness::check;
using harness::now_ns;

constexpr int kMost = 1'000'000;
constexpr std::chrono::seconds kPatience(60);

void * start(void * at)
{
  // Read after pthread_join(), which orders it.
  *static_cast<int64_t *>(at) = now_ns();
  return nullptr;
}

struct Samples
{
  std::vector<int64_t> call_ns;
  std::vector<int64_t> start_ns;

  nlohmann::json as_json(int error = 0) const
  {
    return {{"call_ns", call_ns}, {"start_ns", start_ns}, {"errno", error}};
  }
};

/// Create, join, and so on.
nlohmann::json one_after_the_other(int count)
{
  Samples samples;
  for (int i = 0; i < count; ++i) {
    pthread_t thread{};
    int64_t began = 0;
    const int64_t before = now_ns();
    if (const int error = pthread_create(&thread, nullptr, &start, &began)) {
      throw std::system_error(error, std::generic_category(), "pthread_create");
    }
    samples.call_ns.push_back(now_ns() - before);
    pthread_join(thread, nullptr);
    samples.start_ns.push_back(began - before);
  }
  return samples.as_json();
}

/// Create all, and join them at the end; as many as the system allows.
nlohmann::json without_joining(int count)
{
  Samples samples;
  std::vector<pthread_t> threads;
  std::vector<int64_t> before(static_cast<std::size_t>(count));
  std::vector<int64_t> began(static_cast<std::size_t>(count));
  int error = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    pthread_t thread{};
    before[i] = now_ns();
    error = pthread_create(&thread, nullptr, &start, &began[i]);
    if (error != 0) {
      break;
    }
    samples.call_ns.push_back(now_ns() - before[i]);
    threads.push_back(thread);
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    pthread_join(threads[i], nullptr);
    samples.start_ns.push_back(began[i] - before[i]);
  }
  return samples.as_json(error);
}

nlohmann::json to_the_pool(int count)
{
  // The job writes the time, then the count, which releases it; the thread that measures acquires the count.
  std::atomic<int64_t> began{0};
  std::atomic<int> jobs{0};
  rclrt_core::LinuxPlatform platform;
  rclrt_core::EngineOptions options;
  options.attributes_mode = rclrt_core::AttributesMode::kOff;
  options.max_threads = 1;
  rclrt_core::Engine engine(platform, options);
  std::shared_ptr<rclrt_core::Group> group;
  std::shared_ptr<rclrt_core::Callback> callback;
  check(engine.add_group(rclrt_core::GroupOptions{}, &group));
  rclrt_core::CallbackOptions what;
  what.name = "job";
  what.run = [&](const rclrt_core::Job &) {
    began.store(now_ns(), std::memory_order_relaxed);
    jobs.fetch_add(1, std::memory_order_release);
    return true;
  };
  check(engine.add_callback(std::move(what), group, &callback));
  std::thread spinning([&] { check(engine.spin()); });
  Samples samples;
  bool is_late = false;
  for (int i = 0; i < count + 1 && !is_late; ++i) {
    const int64_t before = now_ns();
    engine.notify(*callback);
    const int64_t after = now_ns();
    const int64_t patience = after + std::chrono::nanoseconds(kPatience).count();
    while (jobs.load(std::memory_order_acquire) <= i && !is_late) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      is_late = now_ns() > patience;
    }
    if (i > 0) {  // the first one waits for the thread
      samples.call_ns.push_back(after - before);
      samples.start_ns.push_back(began.load(std::memory_order_relaxed) - before);
    }
  }
  engine.stop();
  spinning.join();
  if (is_late) {
    throw std::runtime_error("the pool does not run its job");
  }
  return samples.as_json();
}

}  // namespace

int main(int argc, char ** argv)
{
  const int count = argc == 2 ? std::atoi(argv[1]) : 0;
  if (count < 1 || count > kMost) {
    std::cerr << "usage: thread_creation THREADS, 1 to " << kMost << '\n';
    return 2;
  }
  return harness::print_result("thread_creation", [&] {
    return nlohmann::json{
      {"joined", one_after_the_other(count)},
      {"not_joined", without_joining(count)},
      {"preemptive", to_the_pool(count)}};
  });
}
