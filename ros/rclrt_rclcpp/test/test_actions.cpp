// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Action servers and clients, whose goals, results and feedback are waitables.

#include <dlfcn.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "rcl/service.h"
#include "rclcpp_action/rclcpp_action.hpp"
#include "test_msgs/action/fibonacci.hpp"
#include "typed_fixture.hpp"

namespace
{

/// How often the function for requests was given to a service, and taken from it.
std::atomic<int> functions_given{0};
std::atomic<int> functions_taken{0};

}  // namespace

// In this program it comes before the one of rcl.
extern "C" rcl_ret_t rcl_service_set_on_new_request_callback(
  const rcl_service_t * service, rcl_event_callback_t callback, const void * user_data)
{
  ++(callback ? functions_given : functions_taken);
  static const auto next = reinterpret_cast<decltype(&rcl_service_set_on_new_request_callback)>(
    dlsym(RTLD_NEXT, "rcl_service_set_on_new_request_callback"));
  return next(service, callback, user_data);
}

namespace rclrt_rclcpp
{
namespace
{

using Fibonacci = test_msgs::action::Fibonacci;
using Handle = rclcpp_action::ClientGoalHandle<Fibonacci>;
using ServerHandle = rclcpp_action::ServerGoalHandle<Fibonacci>;

template <typename ExecutorT>
class Actions : public TypedFixture<ExecutorT>
{
protected:
  void TearDown() override
  {
    executing_.reset();
    server_.reset();
    client_.reset();
    TypedFixture<ExecutorT>::TearDown();
  }

  /// A goal gives its order as feedback until the client has seen that, and then succeeds; one of
  /// order 0 waits until it is cancelled.
  void serve(milliseconds keep_results)
  {
    rcl_action_server_options_t options = rcl_action_server_get_default_options();
    options.result_timeout.nanoseconds = std::chrono::nanoseconds(keep_results).count();
    server_ = rclcpp_action::create_server<Fibonacci>(
      this->node_, "fibonacci",
      [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> & goal) {
        return goal->order < 0 ? rclcpp_action::GoalResponse::REJECT
                               : rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
      },
      [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::ACCEPT; },
      [this](const std::shared_ptr<ServerHandle> & goal) {
        executing_ =
          this->node_->create_wall_timer(milliseconds(5), [this, goal](rclcpp::TimerBase & timer) {
            if (execute(*goal)) {
              timer.cancel();
            }
          });
      },
      options);
    client_ = rclcpp_action::create_client<Fibonacci>(this->node_, "fibonacci");
  }

  /// Returns whether the goal is done.
  bool execute(ServerHandle & goal)
  {
    const int32_t order = goal.get_goal()->order;
    auto result = std::make_shared<Fibonacci::Result>();
    if (goal.is_canceling()) {
      goal.canceled(result);
      return true;
    }
    if (order == 0) {
      return false;
    }
    if (last_feedback_ != order) {
      auto feedback = std::make_shared<Fibonacci::Feedback>();
      feedback->sequence = {order};
      goal.publish_feedback(feedback);
      return false;
    }
    result->sequence = {order, order};
    goal.succeed(result);
    return true;
  }

  template <typename FutureT>
  static auto get(FutureT future)
  {
    EXPECT_EQ(future.wait_for(seconds(30)), std::future_status::ready);
    return future.get();
  }

  typename Handle::SharedPtr send(int32_t order)
  {
    Fibonacci::Goal goal;
    goal.order = order;
    rclcpp_action::Client<Fibonacci>::SendGoalOptions options;
    options.feedback_callback = [this](
                                  const Handle::SharedPtr &,
                                  const std::shared_ptr<const Fibonacci::Feedback> & feedback) {
      last_feedback_ = feedback->sequence.at(0);
    };
    return get(client_->async_send_goal(goal, options));
  }

  std::atomic<int32_t> last_feedback_{0};
  rclcpp::TimerBase::SharedPtr executing_;
  rclcpp_action::Server<Fibonacci>::SharedPtr server_;
  rclcpp_action::Client<Fibonacci>::SharedPtr client_;
};

TYPED_TEST_SUITE(Actions, AllExecutors, ExecutorNames);

TYPED_TEST(Actions, goals_are_accepted_rejected_cancelled_and_give_feedback_and_results)
{
  this->serve(seconds(60));
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(this->client_->wait_for_action_server(seconds(30)));
  for (int32_t order = 1; order <= 5; ++order) {
    const auto handle = this->send(order);
    ASSERT_TRUE(handle);
    const auto result = this->get(this->client_->async_get_result(handle));
    EXPECT_EQ(result.code, rclcpp_action::ResultCode::SUCCEEDED);
    EXPECT_EQ(result.result->sequence, (std::vector<int32_t>{order, order}));
  }
  EXPECT_FALSE(this->send(-1));
  const auto handle = this->send(0);
  ASSERT_TRUE(handle);
  auto result = this->client_->async_get_result(handle);
  this->get(this->client_->async_cancel_goal(handle));
  EXPECT_EQ(this->get(result).code, rclcpp_action::ResultCode::CANCELED);
}

TYPED_TEST(Actions, a_client_whose_callbacks_may_overlap_gets_everything_of_many_goals)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "what rclcpp's own do is of no interest here";
  }
  constexpr int kGoals = 30;
  const auto server = rclcpp_action::create_server<Fibonacci>(
    this->node_, "fibonacci",
    [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::ACCEPT; },
    [](const std::shared_ptr<ServerHandle> & goal) {
      goal->publish_feedback(std::make_shared<Fibonacci::Feedback>());
      goal->succeed(std::make_shared<Fibonacci::Result>());
    });
  const auto group = this->node_->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  const auto client = rclcpp_action::create_client<Fibonacci>(this->node_, "fibonacci", group);
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(client->wait_for_action_server(seconds(30)));
  rclcpp_action::Client<Fibonacci>::SendGoalOptions options;
  std::atomic<int> results{0};
  options.feedback_callback = [](const Handle::SharedPtr & handle, const auto &) {
    handle->get_status();
  };
  options.result_callback = [&](const Handle::WrappedResult & result) {
    results += result.code == rclcpp_action::ResultCode::SUCCEEDED ? 1 : 0;
  };
  for (int i = 0; i < kGoals; ++i) {
    client->async_send_goal(Fibonacci::Goal(), options);
    // A server forgets requests beyond the depth of its queue.
    EXPECT_TRUE(wait_for([&] { return results > i - 5; }));
  }
  EXPECT_TRUE(wait_for([&] { return results == kGoals; })) << results;
}

TYPED_TEST(Actions, a_callback_that_waits_for_a_client_of_its_own_group_is_told_with_it)
{
  if constexpr (kIsOurs<TypeParam>) {
    const auto far = this->make_node("far");
    const auto server = rclcpp_action::create_server<Fibonacci>(
      far, "fibonacci",
      [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
        return rclcpp_action::GoalResponse::REJECT;
      },
      [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
      [](const std::shared_ptr<ServerHandle> &) {});
    rclcpp::executors::SingleThreadedExecutor others(this->executor_options());
    others.add_node(far);
    const Spinning others_spin(others);
    this->client_ = rclcpp_action::create_client<Fibonacci>(this->node_, "fibonacci");
    std::atomic<bool> is_told{false};
    std::atomic<bool> has_ended{false};
    const auto timer = this->node_->create_wall_timer(milliseconds(5), [&] {
      if (this->client_->action_server_is_ready() && !has_ended) {
        this->client_->async_send_goal(Fibonacci::Goal());
        has_ended = wait_for([&] { return is_told.load(); });
      }
    });
    this->executor_->add_node(this->node_);
    const Spinning spinning(*this->executor_);
    EXPECT_TRUE(wait_for([&] {
      for (const auto & finding : this->executor_->findings()) {
        is_told = is_told || (finding.subject == "'/node/client/action'" &&
                              finding.what.find("'/node/timer/5ms'") != std::string::npos);
      }
      return is_told.load();
    }));
    EXPECT_TRUE(wait_for([&] { return has_ended.load(); }));
  } else {
    GTEST_SKIP() << "rclcpp's own have no findings";
  }
}

TYPED_TEST(Actions, servers_and_clients_without_goals_have_no_jobs)
{
  if constexpr (kIsOurs<TypeParam>) {
    std::vector<std::shared_ptr<void>> idle;
    for (int i = 0; i < 5; ++i) {
      const std::string name = "idle_" + std::to_string(i);
      idle.push_back(rclcpp_action::create_server<Fibonacci>(
        this->node_, name,
        [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
          return rclcpp_action::GoalResponse::REJECT;
        },
        [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
        [](const std::shared_ptr<ServerHandle> &) {}));
      idle.push_back(rclcpp_action::create_client<Fibonacci>(this->node_, name));
    }
    this->executor_->add_node(this->node_);
    const Spinning spinning(*this->executor_);
    std::this_thread::sleep_for(milliseconds(100));
    for (const auto & [name, statistics] : this->executor_->statistics()) {
      const auto has = [text = name](const char * part) { return text.find(part) != text.npos; };
      if (has("/waitable/") || has("/client/action")) {
        EXPECT_LT(statistics.released, 5U) << name;
      }
    }
  } else {
    GTEST_SKIP() << "rclcpp's own count no jobs";
  }
}

/// Repeats a call in a thread of its own, as long as it exists, without filling the memory.
class Again
{
public:
  explicit Again(const std::function<void()> & call)
  : thread_([this, call] {
      while (!ended_) {
        call();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    })
  {
  }
  ~Again()
  {
    ended_ = true;
    thread_.join();
  }
  Again(const Again &) = delete;
  Again & operator=(const Again &) = delete;

private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

/// rmw_fastrtps would call the null pointer for a request that is on its way.
TYPED_TEST(Actions, services_that_stay_never_lose_the_function_that_is_called_for_requests)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "rclcpp's events executor takes it from them";
  }
  this->serve(milliseconds(20));
  functions_given = functions_taken = 0;
  this->executor_->add_node(this->node_);
  this->executor_->remove_node(this->node_);
  EXPECT_GT(functions_given, 3) << "three of the action server, and the node's own";
  this->executor_->add_node(this->node_);
  this->executor_.reset();
  EXPECT_EQ(functions_taken, 0);
}

TYPED_TEST(Actions, servers_may_be_dropped_while_goals_arrive)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "with the events executor, the middleware calls what a server has destroyed";
  }
  const std::shared_ptr<rclcpp::Node> of_client = this->make_node("client");
  const auto client = rclcpp_action::create_client<Fibonacci>(of_client, "fibonacci");
  this->executor_->add_node(this->node_);
  std::atomic<int> goals{0};  // one may be in progress when its server has gone
  const Spinning spinning(*this->executor_);
  const Again sending([&] { client->async_send_goal(Fibonacci::Goal()); });
  for (int i = 0; i < 10; ++i) {
    const int before = goals;
    const auto server = rclcpp_action::create_server<Fibonacci>(
      this->node_, "fibonacci",
      [&](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
        ++goals;
        return rclcpp_action::GoalResponse::REJECT;
      },
      [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
      [](const std::shared_ptr<ServerHandle> &) {});
    EXPECT_TRUE(wait_for([&] { return goals > before + 10; }));
  }
}

TYPED_TEST(Actions, clients_may_be_dropped_while_feedback_arrives)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "with the events executor, the middleware calls what a client has destroyed";
  }
  std::shared_ptr<ServerHandle> goal;
  std::atomic<bool> is_accepted{false};
  const auto server = rclcpp_action::create_server<Fibonacci>(
    this->node_, "fibonacci",
    [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
    [&](const std::shared_ptr<ServerHandle> & accepted) {
      goal = accepted;
      is_accepted = true;
    });
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  const auto first = rclcpp_action::create_client<Fibonacci>(this->node_, "fibonacci");
  ASSERT_TRUE(first->wait_for_action_server(seconds(30)));
  ASSERT_TRUE(this->get(first->async_send_goal(Fibonacci::Goal())));
  ASSERT_TRUE(wait_for([&] { return is_accepted.load(); }));
  {
    const auto feedback = std::make_shared<Fibonacci::Feedback>();
    const Again publishing([&] { goal->publish_feedback(feedback); });
    for (int i = 0; i < 10; ++i) {
      const auto client = rclcpp_action::create_client<Fibonacci>(this->node_, "fibonacci");
      EXPECT_TRUE(client->wait_for_action_server(seconds(30)));
    }
  }
  goal->abort(std::make_shared<Fibonacci::Result>());
  goal.reset();
}

TYPED_TEST(Actions, results_are_forgotten_when_they_have_been_kept_long_enough)
{
  if (std::is_same_v<TypeParam, RclcppEvents>) {
    GTEST_SKIP() << "it never forgets them";
  }
  this->serve(milliseconds(10));
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(this->client_->wait_for_action_server(seconds(30)));
  milliseconds patience(100);
  EXPECT_TRUE(wait_for([&] {
    const auto handle = this->send(3);
    wait_for([&] { return this->executing_->is_canceled(); });
    std::this_thread::sleep_for(patience);
    patience *= 2;
    return this->get(this->client_->async_get_result(handle)).code ==
           rclcpp_action::ResultCode::UNKNOWN;
  }));
}

}  // namespace
}  // namespace rclrt_rclcpp
