// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A part of a graph, as one host has it. Writes JSON: what ran when. See hosts.py.
//
//   host_nodes --stages 0,1 --way header --clock-error-us 2000 --ahead-us 0 --seconds 3 --out FILE
//
// The graph: four streams. Each is a timer and three subscriptions after each other, the stages 0 to 3. The streams 0 and
// 2 begin at stage 0 and go up; 1 and 3 begin at stage 3 and go down, so that each host has data of its own and of others.
// A job takes time on the only thread of its host: it sleeps, because hosts must not compete for this machine's CPUs.

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "host_clock.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using harness::now_ns;

using rcl_interfaces::msg::Log;
using rclrt_core::DeadlineFrom;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Stream
{
  milliseconds period;
  microseconds work;      ///< of each stage
  milliseconds deadline;  ///< from the timer's job to the end of the last stage
};

constexpr int kStages = 4;
constexpr std::array<Stream, 4> kStreams{{
  {milliseconds(10), microseconds(1000), milliseconds(30)},
  {milliseconds(20), microseconds(2000), milliseconds(50)},
  {milliseconds(40), microseconds(4000), milliseconds(90)},
  {milliseconds(80), microseconds(7000), milliseconds(200)},
}};
constexpr std::chrono::seconds kPatience(20);
/// After the last data: they are still on their way.
constexpr milliseconds kAfterwards(300);

void sleep_for(microseconds length)
{
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += std::chrono::nanoseconds(length).count();
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

struct Options
{
  std::vector<int> stages;
  std::string way = "header";
  microseconds clock_error{0};
  double seconds = 1;
};

/// All in one thread, that of the executor, but for what is atomic.
class Host
{
public:
  explicit Host(const Options & options)
  : options_(options), node_(std::make_shared<rclrt_rcl::Node>("host"))
  {
    for (std::size_t stream = 0; stream < kStreams.size(); ++stream) {
      for (const int stage : options_.stages) {
        add(stream, stage);
      }
    }
  }

  nlohmann::json run()
  {
    rclrt_rcl::PreemptiveExecutorOptions executor_options;
    executor_options.max_threads = 1;
    executor_options.policy =
      options_.way == "none" ? &rclrt_core::first_come_policy() : &rclrt_core::edf_policy();
    rclrt_rcl::PreemptiveExecutor executor(executor_options);
    executor.add_node(node_);
    std::thread spinning([&] { executor.spin(); });
    const int64_t begin_ns = wait_for_others();
    sends_.store(true);
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.seconds));
    sends_.store(false);
    const int64_t end_ns = now_ns();
    std::this_thread::sleep_for(kAfterwards);
    executor.cancel();
    spinning.join();
    nlohmann::json findings = nlohmann::json::array();
    for (const auto & finding : executor.findings()) {
      findings.push_back(to_string(finding));
    }
    uint64_t refused = 0;
    for (const auto & [name, statistics] : executor.statistics()) {
      refused += statistics.stamps_refused;
    }
    return {
      {"begin_ns", begin_ns},
      {"end_ns", end_ns},
      {"jobs", std::move(jobs_)},
      {"refused", refused},
      {"findings", findings}};
  }

private:
  static bool goes_up(std::size_t stream) { return stream % 2 == 0; }
  /// How many stages are before this one.
  static int place(std::size_t stream, int stage)
  {
    return goes_up(stream) ? stage : kStages - 1 - stage;
  }
  static std::string topic(std::size_t stream, int place)
  {
    return "stream_" + std::to_string(stream) + "_" + std::to_string(place);
  }

  void add(std::size_t stream, int stage)
  {
    const int at = place(stream, stage);
    const auto publisher =
      at + 1 < kStages ? node_->create_publisher<Log>(topic(stream, at), 50) : nullptr;
    const auto group =
      node_->create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive);
    if (publisher) {
      publishers_.push_back(publisher);
    }
    if (at == 0) {
      rclrt_rcl::TimerOptions options;
      options.group = group;
      if (options_.way != "none") {
        options.scheduling.relative_deadline = kStreams[stream].deadline;
      }
      entities_.push_back(node_->create_wall_timer(
        kStreams[stream].period, [this, stream, publisher] { begin(stream, *publisher); },
        options));
      return;
    }
    rclrt_rcl::SubscriptionOptions options;
    options.group = group;
    options.scheduling = scheduling(stream, at);
    entities_.push_back(node_->create_subscription<Log>(
      topic(stream, at - 1), 50,
      [this, stream, at, publisher](const Log & message) {
        run_job(stream, at, message, publisher.get());
      },
      options));
  }

  rclrt_rcl::Scheduling scheduling(std::size_t stream, int at) const
  {
    rclrt_rcl::Scheduling scheduling;
    const auto whole = kStreams[stream].deadline;
    // What is left when every stage so far has used its share.
    const auto rest = whole * (kStages - at) / kStages;
    if (options_.way == "header") {
      scheduling.relative_deadline = whole;
      scheduling.deadline_from = DeadlineFrom::kHeaderStamp;
      scheduling.clock_error = options_.clock_error;
    } else if (options_.way == "source") {
      scheduling.relative_deadline = rest;
      scheduling.deadline_from = DeadlineFrom::kSourceStamp;
      scheduling.clock_error = options_.clock_error;
    } else if (options_.way == "arrival") {
      scheduling.relative_deadline = rest;
    }  // else inherited, or none
    return scheduling;
  }

  void begin(std::size_t stream, rclrt_rcl::Publisher<Log> & publisher)
  {
    if (!sends_.load()) {
      return;
    }
    Log message;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    message.stamp.sec = static_cast<int32_t>(now / std::chrono::seconds(1));
    message.stamp.nanosec =
      static_cast<uint32_t>(std::chrono::nanoseconds(now % std::chrono::seconds(1)).count());
    message.line = ++numbers_[stream];
    message.name = std::to_string(now_ns());  // the truth
    run_job(stream, 0, message, &publisher);
  }

  void run_job(
    std::size_t stream, int at, const Log & message, rclrt_rcl::Publisher<Log> * publisher)
  {
    const int64_t start_ns = now_ns();
    const rclrt_core::Job & job = *rclrt_core::current_job();
    const int64_t origin_ns = std::stoll(message.name);
    sleep_for(kStreams[stream].work);
    jobs_.push_back(
      {stream, at, message.line, origin_ns, rclrt_core::nanoseconds_of(job.ready), start_ns,
       now_ns(), origin_ns + std::chrono::nanoseconds(kStreams[stream].deadline).count()});
    if (publisher != nullptr) {
      publisher->publish(message);
    }
  }

  int64_t wait_for_others() const
  {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (const auto & publisher : publishers_) {
      while (publisher->subscription_count() == 0) {
        if (std::chrono::steady_clock::now() > until) {
          throw std::runtime_error("nobody reads " + publisher->topic_name());
        }
        std::this_thread::sleep_for(milliseconds(5));
      }
    }
    return now_ns();
  }

  const Options options_;
  const std::shared_ptr<rclrt_rcl::Node> node_;
  std::vector<std::shared_ptr<rclrt_rcl::Publisher<Log>>> publishers_;
  std::vector<std::shared_ptr<rclrt_rcl::Entity>> entities_;
  std::array<uint32_t, kStreams.size()> numbers_{};
  std::vector<nlohmann::json> jobs_;
  std::atomic<bool> sends_{false};
};

}  // namespace

int main(int argc, char ** argv)
{
  Options options;
  int64_t clock_error_us = 0;
  int64_t ahead_us = 0;
  std::string out;
  CLI::App app("A part of a graph, as one host has it");
  app.add_option("--stages", options.stages)->delimiter(',')->required();
  app.add_option("--way", options.way)
    ->check(CLI::IsMember({"header", "source", "arrival", "inherit", "none"}));
  app.add_option("--clock-error-us", clock_error_us)->check(CLI::Range(0, 10'000'000));
  app.add_option("--ahead-us", ahead_us, "of this host's clock");
  app.add_option("--seconds", options.seconds)->check(CLI::Range(0.1, 3600.0));
  app.add_option("--out", out)->required();
  CLI11_PARSE(app, argc, argv);
  options.clock_error = microseconds(clock_error_us);
  try {
    hosts::set_clock_ahead(microseconds(ahead_us));
    rclrt_rcl::init(0, nullptr);
    {
      Host host(options);
      std::ofstream(out) << host.run() << '\n';
      harness::end_soon();
    }
    rclrt_rcl::shutdown();
    return 0;
  } catch (const std::exception & error) {
    std::cerr << "host_nodes: " << error.what() << '\n';
    return 1;
  }
}
