// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Trace files are begun and ended by a service. A program of its own, because not everybody has its type.

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "conformance/suite.hpp"
#include "rcl/graph.h"
#include "std_srvs/srv/set_bool.hpp"

namespace conformance
{
namespace
{

using std_srvs::srv::SetBool;

class TraceServices : public Suite
{
protected:
  TraceServices() { std::filesystem::remove_all(folder_); }
  ~TraceServices() override { std::filesystem::remove_all(folder_); }

  /// The services of this process, with their types.
  std::vector<std::pair<std::string, std::string>> services() const
  {
    std::vector<std::pair<std::string, std::string>> found;
    const std::string ours = "_" + std::to_string(getpid()) + "_";
    rcl_allocator_t allocator = rcl_get_default_allocator();
    rcl_names_and_types_t known = rcl_get_zero_initialized_names_and_types();
    EXPECT_EQ(rcl_get_service_names_and_types(rcl_node_of(*node), &allocator, &known), RCL_RET_OK);
    for (std::size_t i = 0; i < known.names.size; ++i) {
      const std::string name = known.names.data[i];
      if (name.rfind("/rclrt/trace/", 0) == 0 && name.find(ours) != std::string::npos) {
        found.emplace_back(name, known.types[i].data[0]);
      }
    }
    EXPECT_EQ(rcl_names_and_types_fini(&known), RCL_RET_OK);
    return found;
  }

  const std::string folder_ = testing::TempDir() + "trace_service." + std::to_string(getpid());
};
OVER_OUR_EXECUTORS(TraceServices);

TEST_P(TraceServices, begin_and_end_the_files_of_an_executor)
{
  Options options;
  options.trace.directory = folder_;
  options.trace.service = true;
  executor = make_executor(options);
  std::atomic<int> ran{0};
  const auto timer = node->create_wall_timer(2ms, [&ran] { ++ran; });
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(wait_for([this] { return services().size() == 1; }));
  const auto [name, type] = services().front();
  EXPECT_EQ(type, "std_srvs/srv/SetBool");
  // The digits at the end are those of no other process, in whatever PID namespace.
  EXPECT_THAT(name, testing::MatchesRegex("/rclrt/trace/test_[a-z_]+_[0-9]+_[0-9]+_[0-9a-f]{16}"));
  const auto client = node->create_client<SetBool>(name);
  ASSERT_TRUE(client->wait_for_service(kPatience));
  const auto call = [&client = *client](bool begin) {
    SetBool::Request request;
    request.data = begin;
    return answer_to<SetBool>(client, request);
  };
  EXPECT_FALSE(std::filesystem::exists(folder_));
  auto answer = call(true);
  EXPECT_TRUE(answer.success);
  EXPECT_THAT(answer.message, testing::HasSubstr("writes " + folder_));
  const int before = ran;
  ASSERT_TRUE(wait_for([&] { return ran > before + 10; }));
  answer = call(false);
  EXPECT_TRUE(answer.success);
  const std::string path = answer.message.substr(answer.message.find('/'));
  EXPECT_GT(std::filesystem::file_size(path), 10u * 128u);
}

}  // namespace
}  // namespace conformance
