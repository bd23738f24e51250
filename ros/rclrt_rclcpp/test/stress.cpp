// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "stress.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "front_end.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"
#include "rosgraph_msgs/msg/clock.hpp"
#include "test_msgs/action/fibonacci.hpp"

namespace rclrt_rclcpp
{
namespace
{

using builtin_interfaces::msg::Time;
using conformance::qos_of_service;
using rcl_interfaces::srv::ListParameters;
using rosgraph_msgs::msg::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Fibonacci = test_msgs::action::Fibonacci;

constexpr std::size_t kMaxNodes = 3;      // of each thread
constexpr std::size_t kMaxEntities = 12;  // of each node

uint64_t below(Stress::Random & random, uint64_t end) { return random() % end; }
bool one_in(Stress::Random & random, uint64_t count) { return below(random, count) == 0; }

}  // namespace

/// A node and what it has, which callbacks change, too.
class Stress::NodeBox
{
public:
  std::shared_ptr<rclcpp::Node> node;
  bool has_actions = false;
  Round * round = nullptr;  // callbacks end before it does
  std::weak_ptr<NodeBox> self;
  std::string topic;

  std::vector<std::shared_ptr<void>> take_all()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(entities_, {});
  }
  void put(std::shared_ptr<void> entity)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entities_.push_back(std::move(entity));
  }
  std::shared_ptr<void> take(uint64_t number)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entities_.empty()) {
      return nullptr;
    }
    std::swap(entities_[number % entities_.size()], entities_.back());
    auto taken = std::move(entities_.back());
    entities_.pop_back();
    return taken;
  }
  std::size_t size() const
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entities_.size();
  }

  // Only the thread that made the node touches these:
  std::vector<std::shared_ptr<rclcpp::CallbackGroup>> groups;
  std::vector<std::shared_ptr<rclcpp::TimerBase>> timers;
  std::shared_ptr<rclcpp::CallbackGroup> of_server;  // see stress.hpp
  std::shared_ptr<rclcpp::CallbackGroup> of_client;
  std::shared_ptr<rclcpp_action::Server<Fibonacci>> server;
  std::shared_ptr<rclcpp_action::Client<Fibonacci>> client;

private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<void>> entities_;
};

struct Stress::Round
{
  std::shared_ptr<rclcpp::Context> context;
  std::unique_ptr<rclcpp::Executor> executor;
  std::atomic<bool> changers_end{false};
  std::atomic<bool> spinner_ends{false};
  uint64_t seed = 0;
  /// A thread that makes a node shares it; one that shuts down holds it alone; see stress.hpp.
  std::shared_mutex making_nodes;

  std::shared_ptr<rclcpp::Node> make_node(
    const std::string & name, const rclcpp::NodeOptions & options)
  {
    const std::shared_lock<std::shared_mutex> lock(making_nodes);
    return std::make_shared<rclcpp::Node>(name, options);
  }

  /// For a publisher that must not go while the context spins; see stress.hpp.
  void keep(std::shared_ptr<rclcpp::PublisherBase> publisher)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    kept.push_back(std::move(publisher));
  }
  std::mutex mutex;
  std::vector<std::shared_ptr<rclcpp::PublisherBase>> kept;
};

Stress::Stress(MakeExecutor make_executor, uint64_t seed)
: make_executor_(std::move(make_executor)), seed_(seed)
{
}

std::string Stress::to_string() const
{
  std::ostringstream text;
  text << "seed " << seed_ << ", round " << rounds_ << ", " << nodes_ << " nodes, " << entities_
       << " entities, " << callbacks_ << " callbacks, " << spins_ << " spins, " << thrown_
       << " exceptions came out, " << refused_ << " calls were refused; the spinner is in "
       << spinner_does_ << ", the changers in " << changers_do_[0] << " and " << changers_do_[1]
       << ", the round in " << round_does_;
  return text.str();
}

void Stress::run_round()
{
  Random random(seed_ * 1000 + rounds_);
  Round round;
  round.seed = random();
  round.context = std::make_shared<rclcpp::Context>();
  round.context->init(0, nullptr);
  rclcpp::ExecutorOptions options;
  options.context = round.context;
  round_does_ = "making the executor";
  round.executor = make_executor_(options);

  std::thread spinner([&] { spin(round, Random(round.seed + 1)); });
  std::thread ticker([&] { tick(round, Random(round.seed + 2)); });
  std::vector<std::thread> changers;
  for (int i = 0; i < 2; ++i) {
    changers.emplace_back([&, i] { change(round, Random(round.seed + 3 + i), i); });
  }
  round_does_ = "its time";
  std::this_thread::sleep_for(milliseconds(1000 + below(random, 2000)));
  const bool shuts_down = one_in(random, 3);
  if (shuts_down) {
    round_does_ = "shutdown()";
    const std::lock_guard<std::shared_mutex> lock(round.making_nodes);
    round.context->shutdown("early");
    std::this_thread::sleep_for(milliseconds(below(random, 50)));
  }
  round.changers_end = true;
  round_does_ = "joining the changers";
  for (auto & changer : changers) {
    changer.join();
  }
  ticker.join();
  round.spinner_ends = true;
  round_does_ = "joining the spinner";
  std::atomic<bool> joined{false};
  std::thread canceller([&] {  // spin() may begin just after a cancel()
    while (!joined) {
      round.executor->cancel();
      std::this_thread::sleep_for(milliseconds(2));
    }
  });
  spinner.join();
  joined = true;
  canceller.join();
  round_does_ = "dropping the executor";
  round.executor.reset();
  round_does_ = "dropping the publishers that were kept";
  round.kept.clear();
  if (!shuts_down) {
    round.context->shutdown("the round is over");
  }
  ++rounds_;
}

void Stress::spin(Round & round, Random random)
{
  while (!round.spinner_ends) {
    try {
      switch (below(random, 8)) {
        case 0:
          spinner_does_ = "spin_some()";
          round.executor->spin_some(milliseconds(5));
          break;
        case 1:
          spinner_does_ = "spin_all()";
          round.executor->spin_all(milliseconds(5));
          break;
        case 2:
          spinner_does_ = "spin_once()";
          round.executor->spin_once(milliseconds(5));
          break;
        case 3: {
          spinner_does_ = "spin_until_future_complete()";
          std::promise<void> never;
          auto future = never.get_future();
          round.executor->spin_until_future_complete(future, milliseconds(5));
          break;
        }
        default:
          spinner_does_ = "spin()";
          round.executor->spin();
      }
    } catch (const Thrown &) {
      ++thrown_;
    } catch (const std::exception &) {
      ++refused_;  // of a context that has been shut down, say
    }
    ++spins_;
    if (!round.context->is_valid()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  spinner_does_ = "nothing any more";
}

/// Simulated time, which now and then goes back.
void Stress::tick(Round & round, Random random)
{
  try {
    rclcpp::NodeOptions options;
    options.context(round.context);
    const auto node = round.make_node("ticker", options);
    const auto publisher = node->create_publisher<Clock>("/clock", rclcpp::ClockQoS());
    Clock now;
    for (int64_t now_ms = 1; !round.changers_end; now_ms += below(random, 5)) {
      if (one_in(random, 300)) {
        now_ms = now_ms / 2 + 1;
      }
      now.clock = rclcpp::Time(now_ms * 1000000, RCL_ROS_TIME);
      publisher->publish(now);
      std::this_thread::sleep_for(milliseconds(1));
    }
  } catch (const std::exception &) {
    ++refused_;
  }
}

std::shared_ptr<Stress::NodeBox> Stress::make_node(Round & round, Random & random, int number)
{
  auto box = std::make_shared<NodeBox>();
  box->has_actions = one_in(random, 2);
  box->round = &round;
  box->self = box;
  box->topic = "topic_" + std::to_string(below(random, 3));
  rclcpp::NodeOptions options;
  options.context(round.context);
  options.use_intra_process_comms(one_in(random, 2));
  rclcpp::PublisherOptionsBase events;  // of the node's own publisher, which goes with the node
  events.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;
  options.parameter_event_publisher_options(events);
  options.use_clock_thread(false);
  if (!box->has_actions && one_in(random, 2)) {
    options.append_parameter_override("use_sim_time", true);
  }
  const std::string name = "node_" + std::to_string(number) + "_" + std::to_string(nodes_++);
  box->node = round.make_node(name, options);
  box->node->declare_parameter("value", 0);
  round.executor->add_node(box->node);
  return box;
}

void Stress::called(const std::weak_ptr<NodeBox> & of)
{
  const uint64_t number = ++callbacks_;
  const auto box = of.lock();
  if (!box) {
    return;
  }
  Random random(box->round->seed + number);
  if (one_in(random, 400)) {
    throw Thrown();
  }
  if (one_in(random, 400)) {
    box->round->executor->cancel();
  }
  try {
    if (one_in(random, 30) && box->size() < kMaxEntities) {
      add_entity(*box->round, *box, random, true);
    }
  } catch (const std::exception &) {
    ++refused_;
  }
  if (one_in(random, 30)) {
    drop_entity(*box, random);
  }
  if (one_in(random, 4)) {
    std::this_thread::sleep_for(std::chrono::microseconds(below(random, 300)));
  }
}

void Stress::add_entity(Round & round, NodeBox & box, Random & random, bool from_callback)
{
  const auto node = box.node;
  const auto call = [this, self = box.self] { called(self); };
  rclcpp::CallbackGroup::SharedPtr group;
  if (!from_callback && !box.groups.empty() && one_in(random, 2)) {
    group = box.groups[below(random, box.groups.size())];
  }
  ++entities_;
  switch (below(random, from_callback ? 5 : 7)) {
    case 0:
    case 1: {
      rclcpp::SubscriptionOptions options;
      options.callback_group = group;
      box.put(node->create_subscription<Time>(
        box.topic, 5, [call](std::unique_ptr<Time>) { call(); }, options));
      break;
    }
    case 2: {
      const auto publisher = node->create_publisher<Time>(box.topic, 5);
      if (node->get_node_options().use_intra_process_comms()) {
        round.keep(publisher);
      }
      box.put(publisher);
      box.put(node->create_wall_timer(
        milliseconds(2 + below(random, 5)),
        [call, weak = std::weak_ptr(publisher)] {
          if (const auto present = weak.lock()) {
            present->publish(std::make_unique<Time>());
          }
          call();
        },
        group));
      break;
    }
    case 3:
      box.put(node->create_service<ListParameters>(
        "service_" + box.topic,
        [call](
          const ListParameters::Request::SharedPtr, const ListParameters::Response::SharedPtr) {
          call();
        },
        qos_of_service(rclcpp::ServicesQoS()), group));
      break;
    case 4: {
      const auto client = node->create_client<ListParameters>(
        "service_" + box.topic, qos_of_service(rclcpp::ServicesQoS()), group);
      box.put(client);
      client->async_send_request(
        std::make_shared<ListParameters::Request>(),
        [call](rclcpp::Client<ListParameters>::SharedFuture) { call(); });
      break;
    }
    case 5:
      // In the node's own time, which its action servers also use.
      box.timers.push_back(rclcpp::create_timer(
        node, node->get_clock(), milliseconds(1 + below(random, 5)), call, group));
      break;
    default: {
      const bool automatic = !one_in(random, 3);
      box.groups.push_back(node->create_callback_group(
        one_in(random, 2) ? rclcpp::CallbackGroupType::Reentrant
                          : rclcpp::CallbackGroupType::MutuallyExclusive,
        automatic));
      if (!automatic) {
        round.executor->add_callback_group(box.groups.back(), node->get_node_base_interface());
      }
    }
  }
}

void Stress::add_action(NodeBox & box, Random & random)
{
  const auto call = [this, self = box.self] { called(self); };
  const auto make_group = [&box] {
    return box.node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  };
  if (!box.server) {
    box.of_server = make_group();
    rcl_action_server_options_t options = rcl_action_server_get_default_options();
    options.result_timeout.nanoseconds = std::chrono::nanoseconds(milliseconds(20)).count();
    box.server = rclcpp_action::create_server<Fibonacci>(
      box.node, "action_" + box.topic,
      [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
        return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
      },
      [](const std::shared_ptr<rclcpp_action::ServerGoalHandle<Fibonacci>> &) {
        return rclcpp_action::CancelResponse::ACCEPT;
      },
      [call](const std::shared_ptr<rclcpp_action::ServerGoalHandle<Fibonacci>> & goal) {
        try {
          goal->publish_feedback(std::make_shared<Fibonacci::Feedback>());
        } catch (const std::exception &) {
          // The context was shut down. Out of here it would end the program: a goal that is dropped
          // before it is done throws in its destructor then.
        }
        try {
          goal->succeed(std::make_shared<Fibonacci::Result>());
        } catch (const std::exception &) {
          // It is done all the same.
        }
        call();
      },
      options, box.of_server);
  } else if (!box.client) {
    box.of_client = make_group();
    box.client =
      rclcpp_action::create_client<Fibonacci>(box.node, "action_" + box.topic, box.of_client);
  } else if (one_in(random, 6)) {
    box.client.reset();
  } else if (one_in(random, 6)) {
    box.server.reset();
  } else {
    rclcpp_action::Client<Fibonacci>::SendGoalOptions options;
    options.feedback_callback = [call](const auto &, const auto &) { call(); };
    options.result_callback = [call](const auto &) { call(); };
    box.client->async_send_goal(Fibonacci::Goal(), options);
  }
}

void Stress::drop_entity(NodeBox & box, Random & random) { box.take(random()); }

void Stress::change_entity(Round & round, NodeBox & box, Random & random)
{
  if (!box.timers.empty()) {
    auto & timer = box.timers[below(random, box.timers.size())];
    switch (below(random, 3)) {
      case 0:
        timer->cancel();
        break;
      case 1:
        timer->reset();
        break;
      default:
        std::swap(timer, box.timers.back());
        box.timers.pop_back();
    }
  }
  if (!box.groups.empty() && one_in(random, 4)) {
    const auto group = std::move(box.groups.back());
    box.groups.pop_back();
    if (!group->automatically_add_to_executor_with_node() && one_in(random, 2)) {
      round.executor->remove_callback_group(group);
    }
  }
  const auto * ours = dynamic_cast<EngineExecutor *>(round.executor.get());
  if (ours && one_in(random, 4)) {
    for (const auto & known : ours->statistics()) {
      rclrt_core::Attributes attributes;
      attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
      attributes.priority = static_cast<int>(1 + below(random, 5));
      // It may have gone by now, which is refused.
      dynamic_cast<EngineExecutor &>(*round.executor).set_attributes(known.first, attributes);
      break;
    }
  }
}

void Stress::change(Round & round, Random random, int number)
{
  std::vector<std::shared_ptr<NodeBox>> boxes;
  auto & does = changers_do_[number];
  while (!round.changers_end) {
    try {
      if (boxes.size() < kMaxNodes && (boxes.empty() || one_in(random, 20))) {
        does = "make_node()";
        boxes.push_back(make_node(round, random, number));
      }
      NodeBox & box = *boxes[below(random, boxes.size())];
      switch (below(random, 12)) {
        case 0:
        case 1:
        case 2:
          does = "add_entity()";
          if (box.size() + box.timers.size() + box.groups.size() < kMaxEntities) {
            add_entity(round, box, random, false);
          }
          break;
        case 3:
        case 4:
          does = "drop_entity()";
          drop_entity(box, random);
          break;
        case 5:
        case 6:
          does = "add_action()";
          if (box.has_actions) {
            add_action(box, random);
          }
          break;
        case 7:
        case 8:
          does = "change_entity()";
          change_entity(round, box, random);
          break;
        case 9:
          does = "set_parameter()";
          box.node->set_parameter(rclcpp::Parameter("value", static_cast<int>(random() % 100)));
          break;
        case 10:
          does = "set_parameter(use_sim_time)";
          if (!box.has_actions) {
            box.node->set_parameter(rclcpp::Parameter("use_sim_time", one_in(random, 2)));
          }
          break;
        default:
          if (one_in(random, 4)) {
            does = "dropping a node";
            auto dropped = std::move(boxes.front());
            boxes.erase(boxes.begin());
            if (one_in(random, 2)) {
              round.executor->remove_node(dropped->node);
            }
            dropped->take_all();
          }
      }
    } catch (const std::exception &) {
      ++refused_;
    }
    does = "sleep_for()";
    std::this_thread::sleep_for(std::chrono::microseconds(below(random, 2000)));
  }
  does = "dropping its nodes";
  boxes.clear();
  does = "nothing any more";
}

}  // namespace rclrt_rclcpp
