// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "beside.hpp"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <future>
#include <memory>
#include <rcl_interfaces/msg/log.hpp>
#include <rcl_interfaces/msg/parameter_event.hpp>
#include <rcl_interfaces/srv/get_parameters.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness.hpp"
#include "on_rcl.hpp"

namespace control
{
namespace
{

using harness::in_own_group;
using harness::work;
using rcl_interfaces::msg::Log;
using rcl_interfaces::msg::ParameterEvent;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using GetParameters = rcl_interfaces::srv::GetParameters;

constexpr milliseconds kAnswer{8};      ///< CPU time of an answer, such as a change of controllers
constexpr milliseconds kBetween{5};     ///< from an answer to the next request
constexpr milliseconds kGivesUp{500};   ///< the caller
constexpr milliseconds kLogEvery{100};  ///< and so many lines then
constexpr int kLines = 50;
constexpr microseconds kFloodEvery{100};
constexpr microseconds kFloodWork{20};
constexpr std::size_t kFloodBytes = 1000;
constexpr milliseconds kSlowEvery{20};
constexpr microseconds kUsual{200};
constexpr int kSometimes = 25;  ///< so many jobs from one that is slow to the next
constexpr int kTimesLonger = 50;
constexpr milliseconds kBurstEvery{100};
constexpr int kBurst = 500;
constexpr int kStorm = 20;  ///< participants that join and leave at a time
constexpr int kNodesOfEach = 5;
constexpr milliseconds kLeakEvery{10};
constexpr std::size_t kLeak = 1 << 20;
constexpr std::size_t kMostLeaked = 512;  ///< of these
constexpr std::size_t kPage = 4096;
constexpr milliseconds kReclaimEvery{50};
constexpr milliseconds kHeartbeat{50};

const char * const kParameterEvents = "/parameter_events";

std::string heartbeat_of(const std::string & name) { return name + "_heartbeat"; }

/// Comes while it lives.
class Heartbeat
{
public:
  Heartbeat(rclrt_rcl::Node & node, const std::string & name)
  : publisher_(node.create_publisher<Log>(heartbeat_of(name), rclrt_rcl::QoS(1)))
  {
  }
  void beat() { publisher_->publish(Log()); }

private:
  const std::shared_ptr<rclrt_rcl::Publisher<Log>> publisher_;
};

/// Has the kernel take every page of this process that it can read again from a file, its code most of all, as it does
/// when memory is short. It leaves pages that other processes have as well, those that are locked, and without swap all
/// others. Returns false if it takes none.
bool give_back_pages()
{
#ifdef MADV_PAGEOUT
  std::ifstream maps("/proc/self/maps");
  bool was_possible = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (
      line.find('/') != std::string::npos &&
      std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2) {
      was_possible |= madvise(reinterpret_cast<void *>(begin), end - begin, MADV_PAGEOUT) == 0;
    }
  }
  return was_possible;
#else
  return false;
#endif
}

void call(
  const std::shared_ptr<rclrt_rcl::Node> & node, const std::string & name,
  const std::atomic<bool> & stop)
{
  const auto client = node->create_client<GetParameters>(name);
  rclrt_rcl::PreemptiveExecutor executor;
  executor.add_node(node);
  harness::Spinning spinning(executor);
  while (!stop.load()) {
    if (client->wait_for_service(milliseconds(100))) {
      const auto answer = client->async_send_request(GetParameters::Request());
      if (answer.future.wait_for(kGivesUp) == std::future_status::timeout) {
        client->remove_requests_older_than(kBetween);  // the service has gone
      }
      std::this_thread::sleep_for(kBetween);
    }
  }
  spinning.end();
}

void flood(rclrt_rcl::Node & node, const std::string & name, const std::atomic<bool> & stop)
{
  const auto publisher = node.create_publisher<Log>(name, rclrt_rcl::QoS(10));
  Log message;
  message.msg.assign(kFloodBytes, '.');
  while (!stop.load()) {
    publisher->publish(message);
    std::this_thread::sleep_for(kFloodEvery);
  }
}

void change_parameters(rclrt_rcl::Node & node, const std::atomic<bool> & stop)
{
  const auto publisher =
    node.create_publisher<ParameterEvent>(kParameterEvents, rclrt_rcl::QoS(1000));
  ParameterEvent event;
  event.node = "/somebody";
  event.changed_parameters.resize(3);
  while (!stop.load()) {
    for (int i = 0; i < kBurst; ++i) {
      publisher->publish(event);
    }
    std::this_thread::sleep_for(kBurstEvery);
  }
}

void join_and_leave(const std::string & name, const std::atomic<bool> & stop)
{
  struct One
  {
    std::shared_ptr<rclrt_rcl::Context> context;
    std::vector<std::shared_ptr<rclrt_rcl::Node>> nodes;
    std::shared_ptr<rclrt_rcl::Publisher<Log>> publisher;
  };
  rclrt_rcl::ContextOptions context_options;
  context_options.configure_logging = false;
  while (!stop.load()) {
    std::vector<One> all;
    for (int i = 0; i < kStorm && !stop.load(); ++i) {
      One one;
      one.context = rclrt_rcl::Context::make(0, nullptr, context_options);
      rclrt_rcl::NodeOptions options;
      options.context = one.context;
      for (int j = 0; j < kNodesOfEach; ++j) {
        const std::string guest = "guest_" + std::to_string(kNodesOfEach * i + j);
        one.nodes.push_back(std::make_shared<rclrt_rcl::Node>(guest, options));
      }
      one.publisher = one.nodes.front()->create_publisher<Log>(name + "_guest", rclrt_rcl::QoS(1));
      all.push_back(std::move(one));
    }
  }
}

}  // namespace

std::vector<std::string> kinds()
{
  return {"service", "flood", "slow", "parameters", "discovery", "leak", "memory"};
}

Beside::Beside(
  rclrt_rcl::Node & node, const std::string & kind, const std::string & name,
  std::function<void()> begins)
{
  if (kind == "service") {
    add_service(node, name);
    add_logging(node);
  } else if (kind == "flood") {
    add_flood(node, name);
  } else if (kind == "slow") {
    add_slow(node);
  } else if (kind == "parameters") {
    add_parameters(node);
  } else if (kind == "leak") {
    add_leak(node);
  } else if (kind == "memory") {
    add_memory(node, begins);
    return;
  } else if (kind != "discovery") {
    throw std::runtime_error("unknown kind '" + kind + "'");
  }
  entities_.push_back(node.create_subscription<Log>(
    heartbeat_of(name), rclrt_rcl::QoS(1), [begins = std::move(begins)](const Log &) { begins(); },
    in_own_group<rclrt_rcl::SubscriptionOptions>(node)));
}

void Beside::add_service(rclrt_rcl::Node & node, const std::string & name)
{
  entities_.push_back(node.create_service<GetParameters>(
    name,
    [this](const GetParameters::Request &, GetParameters::Response &) {
      work(kAnswer);
      done_.fetch_add(1, std::memory_order_relaxed);
    },
    rclrt_rcl::QoS::services(), in_own_group<rclrt_rcl::ServiceOptions>(node)));
}

void Beside::add_logging(rclrt_rcl::Node & node)
{
  const rclrt_rcl::Logger logger = node.logger();
  entities_.push_back(node.create_wall_timer(
    kLogEvery,
    [logger] {
      for (int i = 0; i < kLines; ++i) {
        logger.info("line " + std::to_string(i));
      }
    },
    in_own_group<rclrt_rcl::TimerOptions>(node)));
}

void Beside::add_flood(rclrt_rcl::Node & node, const std::string & name)
{
  entities_.push_back(node.create_subscription<Log>(
    name, rclrt_rcl::QoS(10),
    [this](const Log &) {
      work(kFloodWork);
      done_.fetch_add(1, std::memory_order_relaxed);
    },
    in_own_group<rclrt_rcl::SubscriptionOptions>(node)));
}

void Beside::add_slow(rclrt_rcl::Node & node)
{
  entities_.push_back(node.create_wall_timer(
    kSlowEvery,
    [this] {
      const bool is_slow = done_.fetch_add(1, std::memory_order_relaxed) % kSometimes == 0;
      work(is_slow ? kTimesLonger * kUsual : kUsual);
    },
    in_own_group<rclrt_rcl::TimerOptions>(node)));
}

void Beside::add_parameters(rclrt_rcl::Node & node)
{
  entities_.push_back(node.create_subscription<ParameterEvent>(
    kParameterEvents, rclrt_rcl::QoS(1000),
    [this](const ParameterEvent &) { done_.fetch_add(1, std::memory_order_relaxed); },
    in_own_group<rclrt_rcl::SubscriptionOptions>(node)));
}

void Beside::add_leak(rclrt_rcl::Node & node)
{
  leaked_.reserve(kMostLeaked);
  entities_.push_back(node.create_wall_timer(
    kLeakEvery,
    [this] {
      if (leaked_.size() == kMostLeaked) {
        leaked_.clear();
      }
      leaked_.emplace_back(new char[kLeak]);
      for (std::size_t i = 0; i < kLeak; i += kPage) {
        leaked_.back()[i] = 1;
      }
      done_.fetch_add(1, std::memory_order_relaxed);
    },
    in_own_group<rclrt_rcl::TimerOptions>(node)));
}

void Beside::add_memory(rclrt_rcl::Node & node, const std::function<void()> & begins)
{
  entities_.push_back(node.create_wall_timer(
    kReclaimEvery,
    [this, begins] {
      begins();
      if (give_back_pages()) {
        done_.fetch_add(1, std::memory_order_relaxed);
      }
    },
    in_own_group<rclrt_rcl::TimerOptions>(node)));
}

void disturb(const std::string & kind, const std::string & name, const std::atomic<bool> & stop)
{
  const auto node = std::make_shared<rclrt_rcl::Node>("disturber");
  Heartbeat heartbeat(*node, name);
  std::thread beating([&] {
    while (!stop.load()) {
      heartbeat.beat();
      std::this_thread::sleep_for(kHeartbeat);
    }
  });
  if (kind == "service") {
    call(node, name, stop);
  } else if (kind == "flood") {
    flood(*node, name, stop);
  } else if (kind == "parameters") {
    change_parameters(*node, stop);
  } else if (kind == "discovery") {
    join_and_leave(name, stop);
  }
  beating.join();  // the others need nobody
}

}  // namespace control
