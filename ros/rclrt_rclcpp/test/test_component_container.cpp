// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Components in a container of ours: loaded, scheduled as the parameters say, unloaded, refused.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "composition_interfaces/srv/load_node.hpp"
#include "composition_interfaces/srv/unload_node.hpp"
#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"
#include "rcl_interfaces/msg/log.hpp"
#ifdef RCLRT_HAS_DIAGNOSTIC_MSGS
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#endif

#ifndef RUN_LIBRARY
#define RUN_LIBRARY ""
#define STOCK_FOLDER ""
#endif

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using composition_interfaces::srv::LoadNode;
using composition_interfaces::srv::UnloadNode;
using rcl_interfaces::msg::Log;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The container as a process of its own.
class Container
{
public:
  /// `log`: a file for its errors; empty: where ours go.
  explicit Container(
    std::vector<std::string> arguments, bool may_schedule = true, const std::string & log = "",
    const std::string & program = CONTAINER)
  {
    arguments.insert(arguments.begin(), program);
    std::vector<char *> pointers;
    for (std::string & argument : arguments) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    const char * before = std::getenv("AMENT_PREFIX_PATH");
    const std::string prefixes = std::string(AMENT_INDEX) + ":" + (before ? before : "");
    pid_ = fork();
    if (pid_ == 0) {
      if (!may_schedule) {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_RTPRIO, &none);
        prctl(PR_CAPBSET_DROP, CAP_SYS_NICE);
      }
      setenv("AMENT_PREFIX_PATH", prefixes.c_str(), 1);
      if (program != CONTAINER) {
        setenv("LD_PRELOAD", RUN_LIBRARY, 1);
        setenv("RCLRT_RUN", STOCK_FOLDER, 1);
      }
      if (!log.empty() && std::freopen(log.c_str(), "w", stderr) == nullptr) {
        _exit(127);
      }
      execv(pointers[0], pointers.data());
      _exit(127);
    }
  }
  ~Container()
  {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Container(const Container &) = delete;
  Container & operator=(const Container &) = delete;

  /// Exit status after Ctrl-C, or of one that ends by itself; -1 of one that does not, or by a signal. Calls `meanwhile`
  /// again and again.
  int end(bool interrupt, const std::function<void()> & meanwhile = [] {})
  {
    if (interrupt) {
      kill(pid_, SIGINT);
    }
    int status = 0;
    const bool has_ended = wait_for([&] {
      meanwhile();
      return waitpid(pid_, &status, WNOHANG) == pid_;
    });
    if (!has_ended) {
      ADD_FAILURE() << "the container does not end";
      return -1;  // and is killed
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

private:
  pid_t pid_ = -1;
};

class ComponentContainer : public WithContext
{
protected:
  void SetUp() override
  {
    node_ = make_node("test");
    executor_ = make_executor_in(context, Kind::kPreemptive);
    executor_->add_node(node_);
    spinning_ = std::make_unique<Spinning<Executor>>(*executor_);
    subscription_ = node_->create_subscription<Log>("heard", 10, [this](const Log & log) {
      const std::lock_guard<std::mutex> lock(mutex_);
      heard_ = log;
    });
  }
  void TearDown() override
  {
    spinning_.reset();
    executor_.reset();
    WithContext::TearDown();
  }

  LoadNode::Response load(
    const std::string & plugin, const std::vector<std::pair<std::string, std::string>> & extra = {},
    const std::string & node = "")
  {
    auto request = std::make_shared<LoadNode::Request>();
    if (!node.empty()) {
      request->node_name = node;
      request->node_namespace = "/robot1";
      request->remap_rules = {"said:=/said", "heard:=/heard"};
    }
    request->package_name = "rclrt_rclcpp";
    request->plugin_name = "rclrt_rclcpp::" + plugin;
    for (const auto & [name, value] : extra) {
      auto & to = name.rfind("rclrt.", 0) == 0 ? request->parameters : request->extra_arguments;
      to.push_back(rclcpp::Parameter(name, value).to_parameter_msg());
    }
    return call<LoadNode>("/ComponentManager/_container/load_node", request);
  }

  bool unload(const LoadNode::Response & loaded)
  {
    auto request = std::make_shared<UnloadNode::Request>();
    request->unique_id = loaded.unique_id;
    return call<UnloadNode>("/ComponentManager/_container/unload_node", request).success;
  }

  template <typename ServiceT>
  typename ServiceT::Response call(
    const std::string & name, const std::shared_ptr<typename ServiceT::Request> & request)
  {
    const auto client = node_->create_client<ServiceT>(name);
    EXPECT_TRUE(client->wait_for_service(seconds(30)));
    auto answer = client->async_send_request(request);
    if (answer.wait_for(seconds(30)) != std::future_status::ready) {
      ADD_FAILURE() << name << " does not answer";
      return typename ServiceT::Response();
    }
    return *answer.get();
  }

  bool hears(const std::string & talker, const std::string & listener)
  {
    return wait_for([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return heard_.msg == talker && heard_.name == listener;
    });
  }

  std::shared_ptr<rclcpp::Node> node_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Spinning<Executor>> spinning_;
  rclcpp::Subscription<Log>::SharedPtr subscription_;
  std::mutex mutex_;
  Log heard_;
};

TEST(AComponentContainer, tells_its_version)
{
  FILE * const asked = popen(CONTAINER " --version", "r");
  ASSERT_NE(asked, nullptr);
  int major = -1;
  int minor = -1;
  EXPECT_EQ(std::fscanf(asked, "component_container_rt %d.%d", &major, &minor), 2);
  EXPECT_EQ(pclose(asked), 0);
}

TEST_F(ComponentContainer, runs_components_under_the_executor_and_the_attributes_of_its_parameters)
{
  if (geteuid() != 0) {
    GTEST_SKIP() << "SCHED_FIFO may be refused";
  }
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        /talker/timer/*: {scheduling_policy: fifo, priority: 33}\n"
    "        /listener/subscription/said: {scheduling_policy: rr, priority: 34}\n");
  Container container({"--ros-args", "-p", "executor:=isolated", "--params-file", file.path()});
  const auto talker = load("Talker");
  ASSERT_TRUE(talker.success) << talker.error_message;
  EXPECT_EQ(talker.full_node_name, "/talker");
  ASSERT_TRUE(load("Listener", {{"executor", "priority_events"}, {"policy", "edf"}}).success);
  EXPECT_TRUE(hears("1/33", "2/34"));  // SCHED_FIFO, SCHED_RR

  EXPECT_FALSE(load("Talker", {{"executor", "nonsense"}}).success);
  EXPECT_NE(
    load("Talker", {{"policy", "nonsense"}}).error_message.find("unknown policy 'nonsense'"),
    std::string::npos);
  EXPECT_TRUE(unload(talker));
  EXPECT_EQ(container.end(true), 0);
}

TEST_F(ComponentContainer, attributes_are_found_by_the_names_that_components_are_loaded_with)
{
  if (geteuid() != 0) {
    GTEST_SKIP() << "SCHED_FIFO may be refused";
  }
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        /talker/timer/*: {scheduling_policy: fifo, priority: 31}\n"  // its name in the code
    "        /**/front/timer/*: {scheduling_policy: fifo, priority: 33}\n"
    "/robot1/ear:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        subscription/said: {scheduling_policy: rr, priority: 34}\n");
  // Ours, and rclcpp's as `rclrt run` starts them, which load components while they spin.
  std::vector<std::string> programs{CONTAINER};
  for (const char * const kind : {"", "_mt", "_isolated", "_event"}) {
    programs.push_back(std::string(STOCK_CONTAINERS) + kind);
  }
  for (const std::string & program : programs) {
    SCOPED_TRACE(program);
    if (!std::filesystem::exists(program) || (program != CONTAINER && *RUN_LIBRARY == '\0')) {
      std::printf("skipped: librclrt_run or %s is not here\n", program.c_str());
      continue;
    }
    Container container({"--ros-args", "--params-file", file.path()}, true, "", program);
    EXPECT_EQ(load("Talker", {}, "front").full_node_name, "/robot1/front");
    EXPECT_TRUE(load("Listener", {}, "ear").success);
    EXPECT_TRUE(hears("1/33", "2/34"));
    EXPECT_EQ(container.end(true), 0);
    const std::lock_guard<std::mutex> lock(mutex_);
    heard_ = Log();
  }
}

#ifdef RCLRT_HAS_DIAGNOSTIC_MSGS
TEST_F(ComponentContainer, says_on_diagnostics_what_its_chains_and_callbacks_do)
{
  using diagnostic_msgs::msg::DiagnosticArray;
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      chains:\n        say: "
    "{callbacks: ['/talker/timer/*', /listener/subscription/said], "
    "semantics: latency}\n");
  std::set<std::string> names;
  const auto diagnostics = node_->create_subscription<DiagnosticArray>(
    "/diagnostics", 10, [&](const DiagnosticArray & array) {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const auto & status : array.status) {
        names.insert(status.name + " of " + status.hardware_id + ": " + status.message);
      }
    });
  Container container({"--ros-args", "--params-file", file.path()});
  ASSERT_TRUE(load("Talker").success);
  ASSERT_TRUE(load("Listener", {{"executor", "priority_events"}}).success);
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return names.count("rclrt: chain say of component_container_rt: no deadline") > 0 &&
           names.count(
             "rclrt: callback /listener/subscription/said of component_container_rt: no jobs "
             "lost") > 0;
  }));
  EXPECT_EQ(container.end(true), 0);
}
#endif

TEST_F(ComponentContainer, attributes_and_a_trace_may_come_with_a_component)
{
  if (geteuid() != 0) {
    GTEST_SKIP() << "SCHED_FIFO may be refused";
  }
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        /talker/timer/*: {scheduling_policy: fifo, priority: 35}\n");
  Container container({});
  ASSERT_TRUE(load("Listener").success);
  EXPECT_FALSE(load("Talker", {{"attributes", "/no/such/file.yaml"}}).success);
  const std::string traces = file.path() + ".traces";
  const auto talker = load("Talker", {{"attributes", file.path()}, {"trace", traces}});
  ASSERT_TRUE(talker.success) << talker.error_message;
  EXPECT_TRUE(hears("1/35", "0/0"));  // SCHED_FIFO, SCHED_OTHER
  EXPECT_EQ(container.end(true), 0);
  EXPECT_FALSE(std::filesystem::is_empty(traces));
  std::filesystem::remove_all(traces);
}

TEST_F(ComponentContainer, one_that_may_not_have_what_it_requires_leaves_the_others_alone)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n"
    "      executor: {attributes: require}\n      callbacks:\n"
    "        /talker/timer/*: {scheduling_policy: fifo, priority: 35}\n");
  Container container({}, false);
  ASSERT_TRUE(load("Listener").success);
  const auto talker = load("Talker", {{"attributes", file.path()}});
  ASSERT_TRUE(talker.success) << talker.error_message;
  EXPECT_TRUE(unload(talker));
  ASSERT_TRUE(load("Talker").success);
  EXPECT_TRUE(hears("0/0", "0/0"));
  EXPECT_EQ(container.end(true), 0);
}

TEST_F(ComponentContainer, a_component_may_throw_anything)
{
  Container container({});
  ASSERT_TRUE(load("Listener").success);
  const auto thrower = load("Thrower", {{"executor", "priority_events"}});
  ASSERT_TRUE(thrower.success) << thrower.error_message;
  EXPECT_TRUE(unload(thrower)) << "its executor has stopped by now, or stops here";
  ASSERT_TRUE(load("Thrower", {{"executor", "isolated"}}).success);
  ASSERT_TRUE(load("Talker").success);
  EXPECT_TRUE(hears("0/0", "0/0"));
  EXPECT_EQ(container.end(true), 0);

  Container together({});
  const auto thrown = std::make_shared<LoadNode::Request>();
  thrown->package_name = "rclrt_rclcpp";
  thrown->plugin_name = "rclrt_rclcpp::Thrower";
  const auto client = node_->create_client<LoadNode>("/ComponentManager/_container/load_node");
  ASSERT_TRUE(client->wait_for_service(seconds(30)));
  // It may end before it answers. And the service that the client has found may be that of the container before.
  const auto ask = [&] {
    client->async_send_request(thrown);
    std::this_thread::sleep_for(milliseconds(100));
  };
  EXPECT_EQ(together.end(false, ask), 1) << "an error, said in its log";
}

TEST_F(ComponentContainer, one_for_which_there_is_no_thread_is_refused_and_leaves_nothing_behind)
{
  Container container({});
  const auto hungry = load("Hungry", {{"executor", "isolated"}});
  EXPECT_FALSE(hungry.success);
  EXPECT_NE(hungry.error_message, "");
  const auto talker = load("Talker", {{"executor", "isolated"}});
  EXPECT_TRUE(talker.success) << talker.error_message;
  EXPECT_EQ(container.end(true), 0);
}

TEST_F(ComponentContainer, components_may_be_unloaded_as_soon_as_they_are_loaded)
{
  Container container({});
  const auto repeat = [&](const std::string & plugin) {
    for (int i = 0; i < 10; ++i) {
      const auto loaded = i % 2 == 0 ? load(plugin, {{"executor", "isolated"}}) : load(plugin);
      ASSERT_TRUE(loaded.success) << loaded.error_message;
      ASSERT_TRUE(unload(loaded));
    }
  };
  std::thread other([&] { repeat("Busy"); });
  repeat("Talker");
  other.join();
  EXPECT_EQ(container.end(true), 0);
}

// rclcpp's handler logs in whatever thread it interrupts, and waits for ever if that one was logging.
TEST_F(ComponentContainer, logs_what_it_passes_over_and_nothing_in_a_signal_handler)
{
  const std::string path = testing::TempDir() + "rclrt_log_" + std::to_string(getpid());
  Container container({}, true, path);
  EXPECT_TRUE(load("Talker", {{"rclrt.callbacks./**/timer/*.scheduling_policy", "fifo"}}).success);
  EXPECT_EQ(container.end(true), 0);
  std::stringstream log;
  log << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_NE(log.str().find("parameters of 'rclrt_rclcpp::Talker' are passed"), std::string::npos)
    << log.str();
  EXPECT_EQ(log.str().find("signal_handler"), std::string::npos) << log.str();
}

TEST_F(ComponentContainer, an_argument_that_is_no_text_is_refused)
{
  Container container({});
  auto request = std::make_shared<LoadNode::Request>();
  request->package_name = "rclrt_rclcpp";
  request->plugin_name = "rclrt_rclcpp::Talker";
  request->extra_arguments.push_back(rclcpp::Parameter("attributes", 7).to_parameter_msg());
  const auto refused = call<LoadNode>("/ComponentManager/_container/load_node", request);
  EXPECT_FALSE(refused.success);
  EXPECT_NE(refused.error_message.find("'attributes': give a string"), std::string::npos)
    << refused.error_message;
  EXPECT_EQ(container.end(true), 0);
}

TEST_F(ComponentContainer, ends_with_an_error_when_there_is_no_such_executor)
{
  Container container({"--ros-args", "-p", "executor:=nonsense"});
  EXPECT_EQ(container.end(false), 1);
}

}  // namespace
}  // namespace rclrt_rclcpp
