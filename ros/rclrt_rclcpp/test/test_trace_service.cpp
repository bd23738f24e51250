// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Trace files of executors of unmodified nodes are begun and ended by a service.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "fixture.hpp"
#include "std_srvs/srv/set_bool.hpp"

namespace rclrt_rclcpp
{
namespace
{

using std_srvs::srv::SetBool;

class TraceServices : public WithContext
{
protected:
  const std::string folder_ = testing::TempDir() + "trace_service." + std::to_string(getpid());
};

TEST_F(TraceServices, begin_and_end_the_files_of_an_executor)
{
  std::filesystem::remove_all(folder_);
  const auto node = make_node("worker");
  std::atomic<int> ran{0};
  const auto timer = node->create_wall_timer(milliseconds(2), [&ran] { ++ran; });
  PreemptiveExecutorOptions options;
  options.trace.directory = folder_;
  options.trace.service = true;
  PreemptiveExecutor executor(executor_options(), options);
  executor.add_node(node);
  const Spinning spinning(executor);
  std::string name;
  ASSERT_TRUE(wait_for([&] {
    for (const auto & [service, types] : node->get_service_names_and_types()) {
      const bool is_ours =
        service.find("/rclrt/trace/test_rclcpp_trace_service_" + std::to_string(getpid()) + "_") ==
        0;
      if (is_ours && types.front() == "std_srvs/srv/SetBool") {
        name = service;
      }
    }
    return !name.empty();
  }));
  const auto client = node->create_client<SetBool>(name);
  ASSERT_TRUE(client->wait_for_service(std::chrono::seconds(20)));
  const auto call = [&client](bool begin) {
    const auto request = std::make_shared<SetBool::Request>();
    request->data = begin;
    return client->async_send_request(request).get();
  };
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_TRUE(call(true)->success);
  const int before = ran;
  ASSERT_TRUE(wait_for([&] { return ran > before + 10; }));
  const auto answer = call(false);
  EXPECT_TRUE(answer->success);
  const std::string path = answer->message.substr(answer->message.find('/'));
  EXPECT_GT(std::filesystem::file_size(path), 10u * 128u);
  std::filesystem::remove_all(folder_);
}

}  // namespace
}  // namespace rclrt_rclcpp
