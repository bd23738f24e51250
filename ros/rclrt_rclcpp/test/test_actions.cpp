// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Action servers and clients, whose goals, results and feedback are waitables.

#include <dlfcn.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "conformance/elsewhere.hpp"
#include "conformance/publications.hpp"
#include "rcl/service.h"
#include "rclcpp_action/rclcpp_action.hpp"
#include "rclrt_core/job.hpp"
#include "test_msgs/action/fibonacci.hpp"

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

using namespace conformance;
using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

using Fibonacci = test_msgs::action::Fibonacci;
using Handle = rclcpp_action::ClientGoalHandle<Fibonacci>;
using ServerHandle = rclcpp_action::ServerGoalHandle<Fibonacci>;

class Actions : public Suite
{
protected:
  void TearDown() override
  {
    executing_.reset();
    server_.reset();
    client_.reset();
    Suite::TearDown();
  }

  /// A goal gives its order as feedback until the client has seen that, and then succeeds; one of
  /// order 0 waits until it is cancelled.
  void serve(milliseconds keep_results)
  {
    rcl_action_server_options_t options = rcl_action_server_get_default_options();
    options.result_timeout.nanoseconds = std::chrono::nanoseconds(keep_results).count();
    server_ = rclcpp_action::create_server<Fibonacci>(
      node, "fibonacci",
      [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> & goal) {
        return goal->order < 0 ? rclcpp_action::GoalResponse::REJECT
                               : rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
      },
      [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::ACCEPT; },
      [this](const std::shared_ptr<ServerHandle> & goal) {
        executing_ = node->create_wall_timer(5ms, [this, goal](rclcpp::TimerBase & timer) {
          if (execute(*goal)) {
            timer.cancel();
          }
        });
      },
      options);
    client_ = rclcpp_action::create_client<Fibonacci>(node, "fibonacci");
  }

  /// Returns whether the goal is done.
  bool execute(ServerHandle & goal)
  {
    if (!goal.is_active()) {  // rclcpp's events executor may run a cancelled timer once more
      return true;
    }
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
    EXPECT_EQ(future.wait_for(kPatience), std::future_status::ready);
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

OVER_ALL_EXECUTORS(Actions);

TEST_P(Actions, goals_are_accepted_rejected_cancelled_and_give_feedback_and_results)
{
  serve(60s);
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(client_->wait_for_action_server(kPatience));
  for (int32_t order = 1; order <= 5; ++order) {
    const auto handle = send(order);
    ASSERT_TRUE(handle);
    const auto result = get(client_->async_get_result(handle));
    EXPECT_EQ(result.code, rclcpp_action::ResultCode::SUCCEEDED);
    EXPECT_EQ(result.result->sequence, (std::vector<int32_t>{order, order}));
  }
  EXPECT_FALSE(send(-1));
  const auto handle = send(0);
  ASSERT_TRUE(handle);
  auto result = client_->async_get_result(handle);
  get(client_->async_cancel_goal(handle));
  EXPECT_EQ(get(result).code, rclcpp_action::ResultCode::CANCELED);
}

TEST_P(Actions, a_client_whose_callbacks_may_overlap_gets_everything_of_many_goals)
{
  if (!is_ours(GetParam())) {
    GTEST_SKIP() << "what rclcpp's own do is of no interest here";
  }
  constexpr int kGoals = 30;
  const auto server = rclcpp_action::create_server<Fibonacci>(
    node, "fibonacci",
    [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::ACCEPT; },
    [](const std::shared_ptr<ServerHandle> & goal) {
      goal->publish_feedback(std::make_shared<Fibonacci::Feedback>());
      goal->succeed(std::make_shared<Fibonacci::Result>());
    });
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  const auto client = rclcpp_action::create_client<Fibonacci>(node, "fibonacci", group);
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(client->wait_for_action_server(kPatience));
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

TEST_P(Actions, a_callback_that_waits_for_a_client_of_its_own_group_is_told_with_it)
{
  if (is_ours(GetParam())) {
    const auto far = make_node("far");
    const auto server = rclcpp_action::create_server<Fibonacci>(
      far, "fibonacci",
      [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
        return rclcpp_action::GoalResponse::REJECT;
      },
      [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
      [](const std::shared_ptr<ServerHandle> &) {});
    const auto others = make_executor_in(context, Kind::kRclcppSingle);
    others->add_node(far);
    const Spinning others_spin(*others);
    client_ = rclcpp_action::create_client<Fibonacci>(node, "fibonacci");
    std::atomic<bool> is_told{false};
    std::atomic<bool> has_ended{false};
    const auto timer = node->create_wall_timer(5ms, [&] {
      if (client_->action_server_is_ready() && !has_ended) {
        client_->async_send_goal(Fibonacci::Goal());
        has_ended = wait_for([&] { return is_told.load(); });
      }
    });
    executor->add_node(node);
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] {
      for (const auto & finding : ours(*executor).findings()) {
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

TEST_P(Actions, servers_and_clients_without_goals_have_no_jobs)
{
  if (is_ours(GetParam())) {
    std::vector<std::shared_ptr<void>> idle;
    for (int i = 0; i < 5; ++i) {
      const std::string name = "idle_" + std::to_string(i);
      idle.push_back(rclcpp_action::create_server<Fibonacci>(
        node, name,
        [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
          return rclcpp_action::GoalResponse::REJECT;
        },
        [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
        [](const std::shared_ptr<ServerHandle> &) {}));
      idle.push_back(rclcpp_action::create_client<Fibonacci>(node, name));
    }
    executor->add_node(node);
    const Spinning spinning(*executor);
    std::this_thread::sleep_for(100ms);
    for (const auto & [name, statistics] : ours(*executor).statistics()) {
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
TEST_P(Actions, services_that_stay_never_lose_the_function_that_is_called_for_requests)
{
  if (!is_ours(GetParam())) {
    GTEST_SKIP() << "rclcpp's events executor takes it from them";
  }
  serve(20ms);
  functions_given = functions_taken = 0;
  executor->add_node(node);
  executor->remove_node(node);
  EXPECT_GT(functions_given, 3) << "three of the action server, and the node's own";
  executor->add_node(node);
  executor.reset();
  EXPECT_EQ(functions_taken, 0);
}

TEST_P(Actions, servers_may_be_dropped_while_goals_arrive)
{
  if (!is_ours(GetParam())) {
    GTEST_SKIP() << "with the events executor, the middleware calls what a server has destroyed";
  }
  const auto of_client = make_node("client");
  const auto client = rclcpp_action::create_client<Fibonacci>(of_client, "fibonacci");
  executor->add_node(node);
  std::atomic<int> goals{0};  // one may be in progress when its server has gone
  const Spinning spinning(*executor);
  const Again sending([&] { client->async_send_goal(Fibonacci::Goal()); });
  for (int i = 0; i < 10; ++i) {
    const int before = goals;
    const auto server = rclcpp_action::create_server<Fibonacci>(
      node, "fibonacci",
      [&](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
        ++goals;
        return rclcpp_action::GoalResponse::REJECT;
      },
      [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
      [](const std::shared_ptr<ServerHandle> &) {});
    EXPECT_TRUE(wait_for([&] { return goals > before + 10; }));
  }
}

TEST_P(Actions, clients_may_be_dropped_while_feedback_arrives)
{
  if (!is_ours(GetParam())) {
    GTEST_SKIP() << "with the events executor, the middleware calls what a client has destroyed";
  }
  std::shared_ptr<ServerHandle> goal;
  std::atomic<bool> is_accepted{false};
  const auto server = rclcpp_action::create_server<Fibonacci>(
    node, "fibonacci",
    [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::REJECT; },
    [&](const std::shared_ptr<ServerHandle> & accepted) {
      goal = accepted;
      is_accepted = true;
    });
  executor->add_node(node);
  const Spinning spinning(*executor);
  const auto first = rclcpp_action::create_client<Fibonacci>(node, "fibonacci");
  ASSERT_TRUE(first->wait_for_action_server(kPatience));
  ASSERT_TRUE(get(first->async_send_goal(Fibonacci::Goal())));
  ASSERT_TRUE(wait_for([&] { return is_accepted.load(); }));
  {
    const auto feedback = std::make_shared<Fibonacci::Feedback>();
    const Again publishing([&] { goal->publish_feedback(feedback); });
    for (int i = 0; i < 10; ++i) {
      const auto client = rclcpp_action::create_client<Fibonacci>(node, "fibonacci");
      EXPECT_TRUE(client->wait_for_action_server(kPatience));
    }
  }
  goal->abort(std::make_shared<Fibonacci::Result>());
  goal.reset();
}

TEST_P(Actions, results_are_forgotten_when_they_have_been_kept_long_enough)
{
  if (GetParam() == Kind::kRclcppEvents) {
    GTEST_SKIP() << "it never forgets them";
  }
  serve(10ms);
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(client_->wait_for_action_server(kPatience));
  milliseconds patience(100);
  EXPECT_TRUE(wait_for([&] {
    const auto handle = send(3);
    wait_for([&] { return executing_->is_canceled(); });
    std::this_thread::sleep_for(patience);
    patience *= 2;
    return get(client_->async_get_result(handle)).code == rclcpp_action::ResultCode::UNKNOWN;
  }));
}

class ActionsOfOurs : public Suite
{
};
OVER_OUR_EXECUTORS(ActionsOfOurs);

/// In another process: sends a goal every 20 ms. Its order is the lower 31 bits of the deadline of the job that sends it,
/// ns. `file`: gives /source/timer/20ms a deadline.
void send_goals(const std::string & file)
{
  const auto context = make_context();
  const auto node = make_node_in(context, "source");
  const auto client = rclcpp_action::create_client<Fibonacci>(node, "fibonacci");
  const auto timer = node->create_wall_timer(20ms, [&] {
    const int64_t deadline = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
    Fibonacci::Goal goal;
    goal.order = static_cast<int32_t>(deadline & 0x7fffffff);
    if (client->action_server_is_ready()) {
      client->async_send_goal(goal);
    }
  });
  Options options;
  options.policy = &rclrt_core::edf_policy();
  options.configuration_file = file;
  const auto executor = make_executor_in(context, Kind::kPreemptive, options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  while (goes_on()) {
    std::this_thread::sleep_for(10ms);
  }
}

TEST_P(ActionsOfOurs, ask_whether_to_accept_a_goal_by_the_deadline_of_the_job_that_has_sent_it)
{
  const File file(for_all("      callbacks: {/source/timer/20ms: {relative_deadline: 500ms}}\n"));
  Options options;
  options.policy = &rclrt_core::edf_policy();
  executor = make_executor(options);
  std::atomic<int> right{0};
  std::atomic<int> wrong{0};
  const auto server = rclcpp_action::create_server<Fibonacci>(
    node, "fibonacci",
    [&](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> & goal) {
      const int64_t deadline = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
      ++((deadline & 0x7fffffff) == goal->order ? right : wrong);
      return rclcpp_action::GoalResponse::REJECT;
    },
    [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::ACCEPT; },
    [](const std::shared_ptr<ServerHandle> &) {});
  executor->add_node(node);
  const Elsewhere source({"--send-goals", file.path()});
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return right + wrong >= 10; }));
  EXPECT_EQ(wrong, 0) << "beside " << right << " that are right";
}

class PublicationsOfActions : public Publications
{
};
OVER_OUR_EXECUTORS(PublicationsOfActions);

// Every client of an action is told of all feedback. It is for `mid`; `high` has nothing to do with it.
TEST_P(PublicationsOfActions, release_the_more_urgent_client_first)
{
  std::shared_ptr<ServerHandle> goal;
  std::atomic<bool> has_goal{false};
  const auto server = rclcpp_action::create_server<Fibonacci>(
    low, "fibonacci",
    [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [](const std::shared_ptr<ServerHandle> &) { return rclcpp_action::CancelResponse::ACCEPT; },
    [&](const std::shared_ptr<ServerHandle> & accepted) {
      goal = accepted;
      has_goal = true;
    });
  const auto of_mid = rclcpp_action::create_client<Fibonacci>(mid, "fibonacci");
  const auto of_high = rclcpp_action::create_client<Fibonacci>(high, "fibonacci");
  spin();
  ASSERT_TRUE(of_mid->wait_for_action_server(kPatience));
  ASSERT_TRUE(of_high->wait_for_action_server(kPatience));
  typename rclcpp_action::Client<Fibonacci>::SendGoalOptions options;
  options.feedback_callback = [](
                                const Handle::SharedPtr &,
                                const std::shared_ptr<const Fibonacci::Feedback> &) { compute(); };
  const auto sent = of_mid->async_send_goal(Fibonacci::Goal(), options);
  ASSERT_EQ(sent.wait_for(kPatience), std::future_status::ready);
  ASSERT_TRUE(wait_for([&] { return has_goal.load(); }));
  std::this_thread::sleep_for(100ms);  // the goal's status, too, has arrived everywhere
  run_at_low([&] { goal->publish_feedback(std::make_shared<Fibonacci::Feedback>()); });
  expect_high_before_mid();
  run_at_low([&] { goal->succeed(std::make_shared<Fibonacci::Result>()); });
  goal.reset();
}

}  // namespace
}  // namespace rclrt_rclcpp

int main(int argc, char ** argv)
{
  return conformance::run(argc, argv, "--send-goals", rclrt_rclcpp::send_goals);
}
