// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Messages bring their deadlines along from other processes: of rclcpp, and of rclrt_rcl.

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "conformance/elsewhere.hpp"
#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclcpp/serialization.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/job.hpp"

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using builtin_interfaces::msg::Time;

constexpr int64_t kNone = -1;

/// Deadline of the calling job, nanoseconds of the steady clock.
int64_t deadline_here()
{
  const rclrt_core::TimePoint deadline = rclrt_core::current_job()->deadline;
  return deadline == rclrt_core::kNever ? kNone : rclrt_core::nanoseconds_of(deadline);
}

/// In another process: publishes on /said, by turns as a message, as bytes and on loan. Each message is the deadline of
/// the job that publishes it. A thread that is no job publishes {-1, 0}. `file`: gives /source/timer/20ms a deadline.
void publish(const std::string & file)
{
  setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1);
  const auto context = make_context();
  const auto node = make_node_in(context, "source");
  const auto publisher = node->create_publisher<Time>("said", 30);
  int turn = 0;
  const auto timer = node->create_wall_timer(20ms, [&] {
    const int64_t deadline = deadline_here();
    Time message;
    message.sec = static_cast<int32_t>(deadline / 1'000'000'000);
    message.nanosec = static_cast<uint32_t>(deadline % 1'000'000'000);
    if (turn == 0) {
      publisher->publish(message);
    } else if (turn == 1) {
      rclcpp::SerializedMessage bytes;
      rclcpp::Serialization<Time>().serialize_message(&message, &bytes);
      publisher->publish(bytes);
    } else {
      auto loan = publisher->borrow_loaned_message();
      loan.get() = message;
      publisher->publish(std::move(loan));
    }
    turn = (turn + 1) % 3;
  });
  Options options;
  options.policy = &rclrt_core::edf_policy();
  options.configuration_file = file;
  const auto executor = make_executor_in(context, Kind::kPreemptive, options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  Time message;
  message.sec = -1;
  while (goes_on()) {
    publisher->publish(message);
    std::this_thread::sleep_for(50ms);
  }
}

class CarriedDeadlines : public Suite
{
protected:
  // Before anything reads it. By default ROS 2 does not lend to subscriptions.
  static void SetUpTestSuite() { setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1); }

  void SetUp() override
  {
    Options options;
    options.policy = &rclrt_core::edf_policy();
    executor = make_executor(options);
  }
};
OVER_OUR_EXECUTORS(CarriedDeadlines);

/// However they are published, and however they are taken: each message says what its deadline is.
TEST_P(CarriedDeadlines, come_from_other_processes_of_rclcpp)
{
  const File file(for_all("      callbacks: {/source/timer/20ms: {relative_deadline: 500ms}}\n"));
  struct Counts
  {
    std::atomic<int> with{0}, without{0}, wrong{0};
  };
  std::array<Counts, 3> taken;
  const auto take = [&](std::size_t how, const Time & message) {
    const int64_t said =
      message.sec == -1 ? kNone : int64_t{message.sec} * 1'000'000'000 + message.nanosec;
    taken[how].wrong += deadline_here() == said ? 0 : 1;
    ++(said == kNone ? taken[how].without : taken[how].with);
  };
  // In one group they would have the earliest of what all have taken.
  const std::array<Group, 3> groups{make_group(*node), make_group(*node), make_group(*node)};
  const auto plain = make_subscription<Time>(
    *node, "said", 30, [&](const Time & message) { take(0, message); }, groups[0]);
  const auto serialized = make_subscription<Time>(
    *node, "said", 30,
    [&](const std::shared_ptr<const rclcpp::SerializedMessage> & bytes) {
      Time message;
      rclcpp::Serialization<Time>().deserialize_message(bytes.get(), &message);
      take(1, message);
    },
    groups[1]);
  const auto unique = make_subscription<Time>(
    *node, "said", 30, [&](std::unique_ptr<Time> message) { take(2, *message); }, groups[2]);
  if (!plain->can_loan_messages()) {
    std::puts("this middleware lends no messages: that way of taking is not tested");
  }
  executor->add_node(node);
  const Elsewhere source({"--publish", file.path()});
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] {
    return std::all_of(
      taken.begin(), taken.end(), [](const Counts & n) { return n.with >= 9 && n.without >= 3; });
  }));
  for (const Counts & counts : taken) {
    EXPECT_EQ(counts.wrong, 0) << "of " << counts.with << " and " << counts.without;
  }
}

#if !RCLRT_RCLCPP_IS_HUMBLE  // which has only messages and their bytes
/// Its kind is one that nobody knows, as later versions of rclcpp may have.
class OfUnknownKind : public rclcpp::SubscriptionBase
{
public:
  OfUnknownKind(rclcpp::Node & node, const std::string & topic, std::function<void()> taken)
  : SubscriptionBase(
      node.get_node_base_interface().get(),
      *rosidl_typesupport_cpp::get_message_type_support_handle<Time>(), topic,
      rcl_subscription_get_default_options(), {}, false, rclcpp::DeliveredMessageKind::INVALID),
    taken_(std::move(taken))
  {
  }
  std::shared_ptr<void> create_message() override { return std::make_shared<Time>(); }
  void handle_message(std::shared_ptr<void> &, const rclcpp::MessageInfo &) override { taken_(); }
  void return_message(std::shared_ptr<void> &) override {}
  std::shared_ptr<rclcpp::SerializedMessage> create_serialized_message() override { return {}; }
  void handle_serialized_message(
    const std::shared_ptr<rclcpp::SerializedMessage> &, const rclcpp::MessageInfo &) override
  {
    taken_();
  }
  void handle_loaned_message(void *, const rclcpp::MessageInfo &) override { taken_(); }
  void return_serialized_message(std::shared_ptr<rclcpp::SerializedMessage> &) override {}
  using Type = rclcpp::dynamic_typesupport::DynamicMessageType;
  using Message = rclcpp::dynamic_typesupport::DynamicMessage;
  using Support = rclcpp::dynamic_typesupport::DynamicSerializationSupport;
  std::shared_ptr<Type> get_shared_dynamic_message_type() override { return {}; }
  std::shared_ptr<Message> get_shared_dynamic_message() override { return {}; }
  std::shared_ptr<Support> get_shared_dynamic_serialization_support() override { return {}; }
  std::shared_ptr<Message> create_dynamic_message() override { return {}; }
  void return_dynamic_message(std::shared_ptr<Message> &) override {}
  void handle_dynamic_message(
    const std::shared_ptr<Message> &, const rclcpp::MessageInfo &) override
  {
  }

private:
  const std::function<void()> taken_;
};

TEST_P(CarriedDeadlines, do_not_stand_in_the_way_of_what_rclcpp_says_of_messages_it_cannot_take)
{
  const auto publisher = node->create_publisher<Time>("said", 10);
  const auto subscription = std::make_shared<OfUnknownKind>(*node, "said", [&] {
    ADD_FAILURE() << "it was taken all the same";
    executor->cancel();
  });
  node->get_node_topics_interface()->add_subscription(subscription, nullptr);
  executor->add_node(node);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  publisher->publish(Time());
  try {
    executor->spin();
    FAIL() << "no error";
  } catch (const std::runtime_error & error) {
    EXPECT_STREQ(error.what(), "Delivered message kind is not supported");
  }
  EXPECT_NE(rclrt_core::DeadlineRing::of_process(), nullptr) << "deadlines are shared here";
}

#endif

#ifdef DEADLINE_PEER

/// A process of rclrt_rcl that publishes on /ping, or asks /echo; its output.
class Source
{
public:
  explicit Source(const char * role)
  {
    int ends[2];
    if (pipe(ends) != 0) {
      return;
    }
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execl(DEADLINE_PEER, DEADLINE_PEER, role, "500", nullptr);
      _exit(127);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
  }
  ~Source()
  {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (output_ != nullptr) {
      std::fclose(output_);
    }
  }
  Source(const Source &) = delete;
  Source & operator=(const Source &) = delete;

  /// The deadline that it said for the message. A reply may come after the next request was sent, but not after a
  /// hundred other replies.
  int64_t deadline_of(uint32_t wanted)
  {
    std::array<char, 100> line{};
    const auto is_lost = [&] {
      return wanted > 1'000'000 && !said_.empty() && said_.rbegin()->first > wanted + 100;
    };
    while (said_.count(wanted) == 0 && !is_lost() && output_ != nullptr &&
           std::fgets(line.data(), line.size(), output_) != nullptr) {
      uint32_t number = 0;
      int64_t deadline = 0;
      const int read = std::sscanf(line.data(), "%" SCNu32 " %" SCNd64, &number, &deadline);
      if (read > 0) {
        said_[number] = read == 2 ? deadline : kNone;
      }
    }
    const auto known = said_.find(wanted);
    return known == said_.end() ? kNone : known->second;
  }

private:
  pid_t pid_ = -1;
  std::FILE * output_ = nullptr;
  std::map<uint32_t, int64_t> said_;
};

TEST_P(CarriedDeadlines, come_from_processes_of_rclrt_rcl)
{
  using rcl_interfaces::msg::Log;
  std::mutex mutex;
  std::map<uint32_t, int64_t> deadlines;
  const auto subscription = node->create_subscription<Log>("ping", 10, [&](const Log & message) {
    const std::lock_guard<std::mutex> lock(mutex);
    deadlines[message.line] = deadline_here();
  });
  executor->add_node(node);
  Source source("source");
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] {
      const std::lock_guard<std::mutex> lock(mutex);
      return deadlines.size() >= 10;
    }));
  }
  for (const auto & [number, deadline] : deadlines) {
    EXPECT_EQ(deadline, source.deadline_of(number)) << number;
    EXPECT_NE(deadline, kNone) << number;
  }
}

TEST_P(CarriedDeadlines, of_requests_come_from_processes_of_rclrt_rcl_and_go_back_with_replies)
{
  using rcl_interfaces::srv::GetParameters;
  std::mutex mutex;
  std::map<uint32_t, int64_t> deadlines;
  const auto service = node->create_service<GetParameters>(
    "echo", [&](
              const std::shared_ptr<GetParameters::Request> & request,
              const std::shared_ptr<GetParameters::Response> &) {
      const std::lock_guard<std::mutex> lock(mutex);
      deadlines[static_cast<uint32_t>(std::stoul(request->names.at(0)))] = deadline_here();
    });
  executor->add_node(node);
  Source asker("asker");
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return deadlines.size() >= 10;
  }));
  std::unique_lock<std::mutex> lock(mutex);
  const auto heard = deadlines;
  lock.unlock();
  for (const auto & [number, deadline] : heard) {
    EXPECT_NE(deadline, kNone) << number;
    EXPECT_EQ(deadline, asker.deadline_of(number)) << number;
    if (number < heard.rbegin()->first) {  // the last reply may be on its way
      EXPECT_EQ(deadline, asker.deadline_of(number + 1'000'000)) << number;
    }
  }
}

#endif

}  // namespace
}  // namespace rclrt_rclcpp

int main(int argc, char ** argv)
{
  return conformance::run(argc, argv, "--publish", rclrt_rclcpp::publish);
}
