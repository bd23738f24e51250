// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// One thread at a time is in the functions of rcl that change what threads share, without a lock.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "builtin_interfaces/msg/time.hpp"
#include "conformance/suite.hpp"
#include "rcl/error_handling.h"
#include "rcl/node.h"

#if !RCLRT_RCLCPP_IS_HUMBLE
#include "rcl/node_type_cache.h"
#include "type_description_interfaces/srv/get_type_description.hpp"
#endif

extern "C" void * __real_dlsym(void * handle, const char * name);

namespace
{

/// From before the constructors of this program on, in which the definitions of rcl are looked up.
std::atomic<bool> hides_rcl{true};
std::atomic<int> inside{0};
std::atomic<int> most_inside{0};

/// Found in the place of one of those functions: it waits for other threads to come, and calls the function unless
/// the first argument is null.
template <auto * kFunction>
struct Watched;
template <
  typename ReturnT, typename FirstT, typename... Others, ReturnT (*kFunction)(FirstT, Others...)>
struct Watched<kFunction>
{
  static inline std::atomic<int> calls{0};
  static inline std::atomic<ReturnT (*)(FirstT, Others...)> real{nullptr};

  static ReturnT function(FirstT first, Others... others)
  {
    struct Inside
    {
      Inside() { most_inside = std::max(most_inside.load(), ++inside); }
      ~Inside() { --inside; }
    };
    ++calls;
    const Inside here;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return first ? real.load()(first, others...) : ReturnT();
  }

  static void * in_place_of(void * found)
  {
    real = reinterpret_cast<decltype(real.load())>(found);
    return reinterpret_cast<void *>(&function);
  }
};

using AddJump = Watched<&rcl_clock_add_jump_callback>;
using RemoveJump = Watched<&rcl_clock_remove_jump_callback>;
#if !RCLRT_RCLCPP_IS_HUMBLE
using RegisterType = Watched<&rcl_node_type_cache_register_type>;
using UnregisterType = Watched<&rcl_node_type_cache_unregister_type>;
using DescribeType = Watched<&rcl_node_type_description_service_handle_request>;
#endif

constexpr std::pair<const char *, void * (*)(void *)> kWatched[] = {
  {"rcl_clock_add_jump_callback", &AddJump::in_place_of},
  {"rcl_clock_remove_jump_callback", &RemoveJump::in_place_of},
#if !RCLRT_RCLCPP_IS_HUMBLE
  {"rcl_node_type_cache_register_type", &RegisterType::in_place_of},
  {"rcl_node_type_cache_unregister_type", &UnregisterType::in_place_of},
  {"rcl_node_type_description_service_handle_request", &DescribeType::in_place_of},
#endif
};

}  // namespace

// The linker puts it in the place of dlsym() in this program.
extern "C" void * __wrap_dlsym(void * handle, const char * name)
{
  void * const found = __real_dlsym(handle, name);
  for (const auto & [watched, in_place_of] : kWatched) {
    if (handle == RTLD_NEXT && std::string(name) == watched) {
      return hides_rcl ? nullptr : in_place_of(found);
    }
  }
  return found;
}

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;

class OneAtATime : public WithContext
{
};

/// Whether the call before was refused, for want of the function of that name.
testing::AssertionResult was_refused(const std::string & name)
{
  const std::string error = rcl_get_error_string().str;
  rcl_reset_error();
  if (error.find("no " + name + "() is linked after it") == std::string::npos) {
    return testing::AssertionFailure() << name << ": '" << error << "'";
  }
  return testing::AssertionSuccess();
}

// The first test of this program: what has been found stays found.
TEST_F(OneAtATime, are_refused_where_rcl_does_not_come_after_this_library)
{
  EXPECT_EQ(rcl_clock_add_jump_callback(nullptr, {}, nullptr, nullptr), RCL_RET_ERROR);
  EXPECT_TRUE(was_refused("rcl_clock_add_jump_callback"));
  EXPECT_EQ(rcl_clock_remove_jump_callback(nullptr, nullptr, nullptr), RCL_RET_ERROR);
  EXPECT_TRUE(was_refused("rcl_clock_remove_jump_callback"));
#if !RCLRT_RCLCPP_IS_HUMBLE
  EXPECT_EQ(rcl_node_type_cache_register_type(nullptr, nullptr, nullptr, nullptr), RCL_RET_ERROR);
  EXPECT_TRUE(was_refused("rcl_node_type_cache_register_type"));
  EXPECT_EQ(rcl_node_type_cache_unregister_type(nullptr, nullptr), RCL_RET_ERROR);
  EXPECT_TRUE(was_refused("rcl_node_type_cache_unregister_type"));
  rcl_node_type_description_service_handle_request(nullptr, nullptr, nullptr, nullptr);
  EXPECT_TRUE(was_refused("rcl_node_type_description_service_handle_request"));
#endif
}

TEST_F(OneAtATime, threads_enter_whichever_of_them_they_call)
{
  hides_rcl = false;
  std::atomic<int> failed{0};
  const auto call_all = [&] {
    for (int i = 0; i < 40; ++i) {
      failed += rcl_clock_add_jump_callback(nullptr, {}, nullptr, nullptr) != RCL_RET_OK;
      failed += rcl_clock_remove_jump_callback(nullptr, nullptr, nullptr) != RCL_RET_OK;
#if !RCLRT_RCLCPP_IS_HUMBLE
      failed += rcl_node_type_cache_register_type(nullptr, nullptr, nullptr, nullptr) != RCL_RET_OK;
      failed += rcl_node_type_cache_unregister_type(nullptr, nullptr) != RCL_RET_OK;
      rcl_node_type_description_service_handle_request(nullptr, nullptr, nullptr, nullptr);
#endif
    }
  };
  std::thread other(call_all);
  call_all();
  other.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(most_inside, 1);
  EXPECT_EQ(AddJump::calls, 80);
  EXPECT_EQ(RemoveJump::calls, 80);
#if !RCLRT_RCLCPP_IS_HUMBLE
  EXPECT_EQ(RegisterType::calls, 80);
  EXPECT_EQ(UnregisterType::calls, 80);
  EXPECT_EQ(DescribeType::calls, 80);
#endif
}

TEST_F(OneAtATime, rcl_and_rclcpp_enter_by_this_library)
{
  hides_rcl = false;
  const auto node = make_node("node");
  const int added = AddJump::calls;
  const int removed = RemoveJump::calls;
  rclcpp::create_timer(node, node->get_clock(), 10ms, [] {}).reset();
  EXPECT_EQ(AddJump::calls, added + 1);
  EXPECT_EQ(RemoveJump::calls, removed + 1);

#if !RCLRT_RCLCPP_IS_HUMBLE
  const int registered = RegisterType::calls;
  const int unregistered = UnregisterType::calls;
  auto publisher = node->create_publisher<builtin_interfaces::msg::Time>("topic", 1);
  EXPECT_EQ(RegisterType::calls, registered + 1);
  publisher.reset();
  EXPECT_EQ(UnregisterType::calls, unregistered + 1);

#if !defined(RCLRT_SANITIZE_address)
  // (rclcpp frees no string in the messages of this service, which are C.)
  using GetTypeDescription = type_description_interfaces::srv::GetTypeDescription;
  const auto client = node->create_client<GetTypeDescription>("/node/get_type_description");
  ASSERT_TRUE(client->wait_for_service(kPatience));
  const int described = DescribeType::calls;
  const auto response = client->async_send_request(std::make_shared<GetTypeDescription::Request>());
  const auto executor = make_executor_in(context, Kind::kPreemptive);
  executor->add_node(node);
  ASSERT_EQ(
    executor->spin_until_future_complete(response.future, kPatience),
    rclcpp::FutureReturnCode::SUCCESS);
  EXPECT_EQ(DescribeType::calls, described + 1);
#endif
#endif
}

}  // namespace
}  // namespace rclrt_rclcpp
