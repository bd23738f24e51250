// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A component container whose components run under a real-time executor.
///
///   component_container_rt --ros-args -p executor:=isolated -p policy:=edf --params-file priorities.yaml
///
/// Parameters of the container, and extra arguments of a component that shall have an executor (and a
/// thread to spin it) of its own:
///   executor   preemptive (default), isolated, priority_events
///   policy     fixed_priority (default), first_come, edf
///   attributes a file that says what matters about callbacks; default: the parameters files' `rclrt`
///              entries, as everywhere
///   trace      a folder for trace files; default: none, unless the entries or RCLRT_TRACE name one

#include <semaphore.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/component_manager.hpp"
#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"

namespace
{

struct Choice
{
  std::string executor = "preemptive";
  std::string policy = "fixed_priority";
  std::string attributes;
  std::string trace;

  /// Null: there is no such choice.
  std::string * named(const std::string & name)
  {
    return name == "executor"     ? &executor
           : name == "policy"     ? &policy
           : name == "attributes" ? &attributes
           : name == "trace"      ? &trace
                                  : nullptr;
  }
};

const rclrt_core::Policy & policy_named(const std::string & name)
{
  std::string known;
  for (const rclrt_core::Policy * policy : rclrt_core::every_policy()) {
    if (name == policy->name()) {
      return *policy;
    }
    known += std::string(known.empty() ? "" : ", ") + policy->name();
  }
  throw std::invalid_argument("unknown policy '" + name + "'. Use one of " + known);
}

template <typename Executor, typename Options>
std::shared_ptr<rclrt_rclcpp::EngineExecutor> make(const Choice & choice)
{
  Options options;
  options.policy = &policy_named(choice.policy);
  options.configuration_file = choice.attributes;
  options.trace.directory = choice.trace;
  return std::make_shared<Executor>(rclcpp::ExecutorOptions(), options);
}

std::shared_ptr<rclrt_rclcpp::EngineExecutor> make_executor(const Choice & choice)
{
  using namespace rclrt_rclcpp;
  if (choice.executor == "preemptive") {
    return make<PreemptiveExecutor, PreemptiveExecutorOptions>(choice);
  }
  if (choice.executor == "isolated") {
    return make<CallbackIsolatedExecutor, CallbackIsolatedExecutorOptions>(choice);
  }
  if (choice.executor == "priority_events") {
    return make<PriorityEventsExecutor, PriorityEventsExecutorOptions>(choice);
  }
  throw std::invalid_argument(
    "unknown executor '" + choice.executor + "'. Use preemptive, isolated or priority_events");
}

/// What the exception says that is being handled; components throw what they like.
std::string what_was_thrown()
{
  try {
    throw;
  } catch (const std::exception & error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

class Container : public rclcpp_components::ComponentManager
{
public:
  Container()
  : choice_{
      declare_parameter("executor", Choice().executor),
      declare_parameter("policy", Choice().policy),
      declare_parameter("attributes", Choice().attributes),
      declare_parameter("trace", Choice().trace)},
    executor_{make_executor(choice_)}
  {
    set_executor(executor_);
  }
  ~Container() override
  {
    for (auto & [id, own] : own_) {
      stop(own);
    }
  }

  void spin()
  {
    executor_->add_node(shared_from_this());
    executor_->spin();
    executor_->remove_node(shared_from_this());
  }

protected:
  rclcpp::NodeOptions create_node_options(const std::shared_ptr<LoadNode::Request> request) override
  {
    // What is for us is taken out: the base class refuses what it does not know.
    auto others = std::make_shared<LoadNode::Request>(*request);
    loading_ = choice_;
    has_own_ = false;
    auto & arguments = others->extra_arguments;
    arguments.erase(
      std::remove_if(
        arguments.begin(), arguments.end(),
        [this](const auto & argument) {
          std::string * const ours = loading_.named(argument.name);
          if (ours == nullptr) {
            return false;
          }
          if (argument.value.type != rcl_interfaces::msg::ParameterType::PARAMETER_STRING) {
            throw rclcpp_components::ComponentManagerException(
              "extra argument '" + argument.name + "': give a string");
          }
          *ours = argument.value.string_value;
          has_own_ = true;
          return true;
        }),
      arguments.end());
    const auto & given = request->parameters;
    if (std::any_of(given.begin(), given.end(), [](const auto & parameter) {
          return parameter.name.rfind("rclrt.", 0) == 0;
        })) {
      RCLCPP_WARN(
        get_logger(),
        "the 'rclrt' entries in the parameters of '%s' are passed over: executors read files. Give "
        "the container the file with --params-file, or the component the extra argument "
        "'attributes'",
        request->plugin_name.c_str());
    }
    return ComponentManager::create_node_options(others);
  }

  void add_node_to_executor(uint64_t node_id) override
  {
    try {
      if (!has_own_) {
        ComponentManager::add_node_to_executor(node_id);
        return;
      }
      const auto executor = make_executor(loading_);
      executor->add_node(node_wrappers_[node_id].get_node_base_interface());
      Own & own = own_[node_id];
      own.executor = executor;
      own.thread = std::thread([this, &own] { spin(own); });
    } catch (...) {
      const std::string what = what_was_thrown();
      own_.erase(node_id);  // it has no thread to stop
      node_wrappers_.erase(node_id);
      throw rclcpp_components::ComponentManagerException(what);
    }
  }

  void remove_node_from_executor(uint64_t node_id) override
  {
    const auto found = own_.find(node_id);
    if (found == own_.end()) {
      ComponentManager::remove_node_from_executor(node_id);
      return;
    }
    stop(found->second);
    found->second.executor->remove_node(node_wrappers_[node_id].get_node_base_interface());
    own_.erase(found);
  }

private:
  struct Own
  {
    std::shared_ptr<rclrt_rclcpp::EngineExecutor> executor;
    std::atomic<bool> has_ended{false};  // set by `thread`, at its end
    std::thread thread;
  };

  // One component's trouble is not that of the others.
  void spin(Own & own)
  {
    try {
      own.executor->spin();
    } catch (...) {
      RCLCPP_ERROR(
        get_logger(), "a component's executor has stopped: %s", what_was_thrown().c_str());
    }
    own.has_ended = true;
  }

  static void stop(Own & own)
  {
    // Before it spins a cancel would be forgotten.
    while (!own.executor->is_spinning() && !own.has_ended && rclcpp::ok()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    own.executor->cancel();
    own.thread.join();
  }

  const Choice choice_;
  const std::shared_ptr<rclrt_rclcpp::EngineExecutor> executor_;
  Choice loading_;        // of the component that is being loaded
  bool has_own_ = false;  // whether its request says anything about it
  std::map<uint64_t, Own> own_;
};

/// Ctrl-C and SIGTERM shut rclcpp down. Its own handler logs, which may wait for ever for the thread that
/// it has interrupted; this one only posts to a thread.
class Signals
{
public:
  Signals()
  : waiting_([] {
      while (sem_wait(&arrived()) != 0) {  // interrupted
      }
      rclcpp::shutdown(nullptr, "a signal, or the end of main()");
    })
  {
    arrived();  // not for the first time in a handler
    struct sigaction action{};
    action.sa_handler = [](int) {
      const int error = errno;
      sem_post(&arrived());
      errno = error;
    };
    action.sa_flags = SA_RESTART;
    for (const int signal : {SIGINT, SIGTERM}) {
      sigaction(signal, &action, nullptr);
    }
  }
  ~Signals()
  {
    sem_post(&arrived());
    waiting_.join();
  }
  Signals(const Signals &) = delete;
  Signals & operator=(const Signals &) = delete;

private:
  static sem_t & arrived()
  {
    struct Semaphore
    {
      Semaphore() { sem_init(&value, 0, 0); }
      sem_t value{};
    };
    static Semaphore semaphore;
    return semaphore.value;
  }

  std::thread waiting_;
};

}  // namespace

int main(int argc, char ** argv)
{
  if (argc == 2 && std::string(argv[1]) == "--version") {
    std::puts("component_container_rt " RCLRT_VERSION);
    return 0;
  }
  rclcpp::init(argc, argv, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
  const Signals signals;
  int status = 0;
  try {
    std::make_shared<Container>()->spin();
  } catch (...) {
    RCLCPP_ERROR(rclcpp::get_logger("component_container_rt"), "%s", what_was_thrown().c_str());
    status = 1;
  }
  return status;
}
