// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Plain rclcpp, as a stranger has it: a timer, a chain of two topics, a service and its client, on executors of rclcpp.
//
//   stock_nodes single|multi|events|intra JOBS [other_user]
//
// Stops after so many jobs of the timer; in the middle it becomes another user, if it is told to. Prints how many jobs each callback has run, for the tests to compare.

#include <unistd.h>

#include <atomic>
#include <builtin_interfaces/msg/time.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <rcl_interfaces/srv/list_parameters.hpp>
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#include <rclcpp/rclcpp.hpp>
#include <string>
#include <thread>

namespace
{

using Message = builtin_interfaces::msg::Time;
using Service = rcl_interfaces::srv::ListParameters;

/// On a busy machine no message is to be dropped.
constexpr std::size_t kDepth = 1000;
constexpr uid_t kNobody = 65534;

struct Counts
{
  std::atomic<int> timer{0};
  std::atomic<int> relay{0};
  std::atomic<int> sink{0};
  std::atomic<int> service{0};
  std::atomic<int> client{0};
};

class Source : public rclcpp::Node
{
public:
  bool is_connected() const { return publisher_->get_subscription_count() > 0; }

  Source(const rclcpp::NodeOptions & options, Counts & counts, int jobs, bool changes_user)
  : Node("source", options), counts_(counts), jobs_(jobs), changes_user_(changes_user)
  {
    publisher_ = create_publisher<Message>("first", kDepth);
    client_ = create_client<Service>("ask");
    group_ = create_callback_group(rclcpp::CallbackGroupType::Reentrant);
    timer_ = create_wall_timer(std::chrono::milliseconds(10), [this] { on_timer(); }, group_);
  }

private:
  void on_timer()
  {
    const int job = ++counts_.timer;
    publisher_->publish(std::make_unique<Message>());
    if (job % 5 == 0 && client_->service_is_ready()) {
      client_->async_send_request(
        std::make_shared<Service::Request>(),
        [this](rclcpp::Client<Service>::SharedFuture) { ++counts_.client; });
    }
    if (changes_user_ && job == jobs_ / 2 && seteuid(kNobody) != 0) {
      std::perror("seteuid");
    }
    if (job >= jobs_) {
      timer_->cancel();
    }
  }

  Counts & counts_;
  int jobs_;
  bool changes_user_;
  rclcpp::Publisher<Message>::SharedPtr publisher_;
  rclcpp::Client<Service>::SharedPtr client_;
  rclcpp::CallbackGroup::SharedPtr group_;
  rclcpp::TimerBase::SharedPtr timer_;
};

class Relay : public rclcpp::Node
{
public:
  bool is_connected() const { return publisher_->get_subscription_count() > 0; }

  Relay(const rclcpp::NodeOptions & options, Counts & counts)
  : Node("relay", "/robot", options), counts_(counts)
  {
    publisher_ = create_publisher<Message>("/second", kDepth);
    subscription_ = create_subscription<Message>(
      "/first", kDepth, [this](Message::UniquePtr message) { on(std::move(message)); });
    service_ = create_service<Service>(
      "/ask",
      [this](Service::Request::SharedPtr, Service::Response::SharedPtr) { ++counts_.service; });
  }

private:
  void on(Message::UniquePtr message)
  {
    ++counts_.relay;
    publisher_->publish(std::move(message));
  }

  Counts & counts_;
  rclcpp::Publisher<Message>::SharedPtr publisher_;
  rclcpp::Subscription<Message>::SharedPtr subscription_;
  rclcpp::Service<Service>::SharedPtr service_;
};

class Sink : public rclcpp::Node
{
public:
  Sink(const rclcpp::NodeOptions & options, Counts & counts, int jobs) : Node("sink", options)
  {
    subscription_ =
      create_subscription<Message>("/second", kDepth, [&counts, jobs](Message::ConstSharedPtr) {
        if (++counts.sink >= jobs) {
          rclcpp::shutdown();
        }
      });
  }

private:
  rclcpp::Subscription<Message>::SharedPtr subscription_;
};

std::unique_ptr<rclcpp::Executor> make(const std::string & kind)
{
  if (kind == "multi") {
    return std::make_unique<rclcpp::executors::MultiThreadedExecutor>(rclcpp::ExecutorOptions(), 3);
  }
  if (kind == "events") {
    return std::make_unique<rclcpp::experimental::executors::EventsExecutor>();
  }
  return std::make_unique<rclcpp::executors::SingleThreadedExecutor>();
}

}  // namespace

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  const std::string kind = argc > 1 ? argv[1] : "single";
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 50;
  Counts counts;
  {
    const auto options = rclcpp::NodeOptions().use_intra_process_comms(kind == "intra");
    auto source = std::make_shared<Source>(options, counts, jobs, argc > 3);
    auto relay = std::make_shared<Relay>(options, counts);
    auto sink = std::make_shared<Sink>(options, counts, jobs);
    const auto executor = make(kind);
    for (int i = 0; i < 3000 && !(source->is_connected() && relay->is_connected()); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    executor->add_node(relay);
    executor->add_node(sink);
    executor->add_node(source);
    executor->spin();
  }
  std::printf(
    "timer %d relay %d sink %d service %d client %d\n", counts.timer.load(), counts.relay.load(),
    counts.sink.load(), counts.service.load(), counts.client.load());
  rclcpp::shutdown();
}
