// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines for nodes of rclcpp: scheduling_policy ext from a file is in force, what a job publishes inherits its
// deadline within the process, and messages bring theirs along from other processes.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

#include "deadlines_fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclcpp/serialization.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/job.hpp"

namespace rclrt_rclcpp
{
namespace
{

using rclrt_core::SchedulingPolicy;

template <typename ExecutorT>
class DeadlinesTest : public SchedulingTest<ExecutorT>
{
};

using Executors = ::testing::Types<PreemptiveExecutor, CallbackIsolatedExecutor>;
TYPED_TEST_SUITE(DeadlinesTest, Executors, ExecutorNames);

TYPED_TEST(DeadlinesTest, of_a_timer_are_in_force_and_inherited_by_what_it_publishes_to)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n"
    "      executor: {deadline_scheduler: fifo_bands}\n"
    "      callbacks:\n"
    "        /planner/timer/5ms: {scheduling_policy: ext, relative_deadline: 700ms}\n"
    "        /planner/subscription/map: {scheduling_policy: ext}\n");
  rclrt_core::LinuxPlatform platform;
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  rclcpp::SubscriptionOptions subscription_options;
  subscription_options.callback_group = group;
  const auto publisher = node->create_publisher<Time>("map", 10);
  std::atomic<int> matched{0};
  std::atomic<int> taken{0};
  rclrt_core::Attributes seen;
  const auto timer = node->create_wall_timer(milliseconds(5), [&] {
    // Which job it was goes along, as the message's time.
    const int64_t deadline_ns = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
    Time message;
    message.sec = static_cast<int32_t>(deadline_ns / 1'000'000'000);
    message.nanosec = static_cast<uint32_t>(deadline_ns % 1'000'000'000);
    publisher->publish(message);
  });
  const auto subscription = node->create_subscription<Time>(
    "map", 10,
    [&](const Time & message) {
      const int64_t deadline_ns = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
      matched += deadline_ns == int64_t{message.sec} * 1'000'000'000 + message.nanosec ? 1 : 0;
      if (++taken == 1) {
        EXPECT_EQ(platform.read_back(platform.current_thread(), &seen), 0);
      }
    },
    subscription_options);
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return taken >= 20; }));
    EXPECT_EQ(executor->deadline_scheduler(), "fifo bands");
  }
  EXPECT_EQ(matched, taken);
  std::string refusal;
  for (const auto & finding : executor->findings()) {
    if (finding.error_number != 0) {
      refusal = to_string(finding);
    }
  }
  if (!refusal.empty()) {
    GTEST_SKIP() << "not permitted here: " << refusal;
  }
  EXPECT_EQ(seen.policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(seen.priority, 49);
}

TYPED_TEST_SUITE(CarriedDeadlines, Configurable, ExecutorNames);

/// However they are published, and however they are taken: each message says what its deadline is.
TYPED_TEST(CarriedDeadlines, come_from_other_processes_of_rclcpp)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        /source/timer/20ms: {relative_deadline: 500ms}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto executor = this->make_edf_executor();
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
  const auto apart = [&] {
    rclcpp::SubscriptionOptions options;
    options.callback_group =
      node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    return options;
  };
  const std::array<rclcpp::SubscriptionOptions, 3> options{apart(), apart(), apart()};
  const auto plain = node->create_subscription<Time>(
    "said", 30, [&](const Time & message) { take(0, message); }, options[0]);
  const auto serialized = node->create_subscription<Time>(
    "said", 30,
    [&](const std::shared_ptr<const rclcpp::SerializedMessage> & bytes) {
      Time message;
      rclcpp::Serialization<Time>().deserialize_message(bytes.get(), &message);
      take(1, message);
    },
    options[1]);
  const auto unique = node->create_subscription<Time>(
    "said", 30, [&](std::unique_ptr<Time> message) { take(2, *message); }, options[2]);
  if (!plain->can_loan_messages()) {
    std::puts("this middleware lends no messages: that way of taking is not tested");
  }
  executor->add_node(node);
  const Process source({DEADLINE_SOURCE, file.path().c_str()});
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
/// Of a kind that nobody knows, as later versions of rclcpp may have.
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

TYPED_TEST(CarriedDeadlines, do_not_stand_in_the_way_of_what_rclcpp_says_of_messages_it_cannot_take)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto publisher = node->create_publisher<Time>("said", 10);
  const auto executor = this->make_edf_executor();
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

  /// The deadline that it said for the message. A reply may come after the next request was sent.
  int64_t deadline_of(uint32_t wanted)
  {
    std::array<char, 100> line{};
    while (said_.count(wanted) == 0 && output_ != nullptr &&
           std::fgets(line.data(), line.size(), output_) != nullptr) {
      uint32_t number = 0;
      int64_t deadline = 0;
      if (std::sscanf(line.data(), "%" SCNu32 " %" SCNd64, &number, &deadline) == 2) {
        said_[number] = deadline;
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

TYPED_TEST(CarriedDeadlines, come_from_processes_of_rclrt_rcl)
{
  using rcl_interfaces::msg::Log;
  const std::shared_ptr<rclcpp::Node> node = this->make_node("sink");
  const auto executor = this->make_edf_executor();
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

TYPED_TEST(CarriedDeadlines, of_requests_come_from_processes_of_rclrt_rcl_and_go_back_with_replies)
{
  using rcl_interfaces::srv::GetParameters;
  const std::shared_ptr<rclcpp::Node> node = this->make_node("server");
  const auto executor = this->make_edf_executor();
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
