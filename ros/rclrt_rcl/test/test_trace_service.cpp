// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Trace files are begun and ended by a service.

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "executor_types.hpp"
#include "rcl/graph.h"
#include "std_srvs/srv/set_bool.hpp"

namespace rclrt_rcl
{
namespace
{

using std_srvs::srv::SetBool;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

template <typename T>
class TraceServices : public ExecutorSuite<T>
{
protected:
  TraceServices() { std::filesystem::remove_all(folder_); }
  ~TraceServices() override { std::filesystem::remove_all(folder_); }

  /// Those of this process that there are; the names of their types by their own.
  std::map<std::string, std::string> services() const
  {
    std::map<std::string, std::string> found;
    const std::string begin = "/rclrt/trace/";
    rcl_allocator_t allocator = rcl_get_default_allocator();
    rcl_names_and_types_t known = rcl_get_zero_initialized_names_and_types();
    throw_unless_ok(
      rcl_get_service_names_and_types(this->node->handle().get(), &allocator, &known), "services");
    for (std::size_t i = 0; i < known.names.size; ++i) {
      const std::string name = known.names.data[i];
      if (
        name.rfind(begin, 0) == 0 &&
        name.find("_" + std::to_string(getpid()) + "_") != std::string::npos) {
        found[name] = known.types[i].data[0];
      }
    }
    throw_unless_ok(rcl_names_and_types_fini(&known), "names of services");
    return found;
  }

  const std::string folder_ = ::testing::TempDir() + "trace_service." + std::to_string(getpid());
};
TYPED_TEST_SUITE(TraceServices, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(TraceServices, begin_and_end_the_files_of_an_executor)
{
  auto options = this->executor_options();
  options.trace.directory = this->folder_;
  options.trace.service = true;
  this->executor = std::make_unique<typename TypeParam::Executor>(options);
  std::atomic<int> ran{0};
  const auto timer = this->node->create_wall_timer(std::chrono::milliseconds(2), [&ran] { ++ran; });
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  ASSERT_TRUE(wait_for([this] { return this->services().size() == 1; }));
  const auto [name, type] = *this->services().begin();
  EXPECT_EQ(type, "std_srvs/srv/SetBool");
  // The digits at the end are those of no other process, in whatever PID namespace.
  EXPECT_THAT(name, MatchesRegex("/rclrt/trace/test_trace_service_[0-9]+_[0-9]+_[0-9a-f]{16}"));
  const auto client = this->node->template create_client<SetBool>(name);
  ASSERT_TRUE(client->wait_for_service(kPatience));
  const auto call = [&client](bool begin) {
    SetBool::Request request;
    request.data = begin;
    const auto answer = client->async_send_request(request);
    return answer.get();
  };
  EXPECT_FALSE(std::filesystem::exists(this->folder_));
  auto answer = call(true);
  EXPECT_TRUE(answer.success);
  EXPECT_THAT(answer.message, HasSubstr("writes " + this->folder_));
  const int before = ran;
  ASSERT_TRUE(wait_for([&] { return ran > before + 10; }));
  answer = call(false);
  EXPECT_TRUE(answer.success);
  const std::string path = answer.message.substr(answer.message.find('/'));
  EXPECT_GT(std::filesystem::file_size(path), 10u * 128u);
}

}  // namespace
}  // namespace rclrt_rcl
