// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// One thread at a time changes the jump callbacks of a clock: rcl reallocates the array of them.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "fixture.hpp"
#include "rcl/allocator.h"
#include "rcl/error_handling.h"

namespace
{

/// From before the constructors of this program on, in which the definitions of rcl are looked up.
std::atomic<bool> hides_rcl{true};

}  // namespace

extern "C" {

// The linker puts it in the place of dlsym() in this program.
void * __real_dlsym(void * handle, const char * name);
void * __wrap_dlsym(void * handle, const char * name)
{
  const bool is_hidden = hides_rcl && std::strstr(name, "_jump_callback") != nullptr;
  return is_hidden ? nullptr : __real_dlsym(handle, name);
}
}

namespace rclrt_rclcpp
{
namespace
{

/// Where the clock's array lies, however it is reallocated: threads that meet here harm nothing else.
struct Array
{
  alignas(std::max_align_t) std::array<char, 65536> memory{};
  std::atomic<int> inside{0};
  std::atomic<int> most_inside{0};
  std::atomic<int> reallocated{0};

  rcl_allocator_t allocator()
  {
    rcl_allocator_t to = rcl_get_default_allocator();
    to.state = this;
    to.deallocate = [](void * freed, void * state) {
      if (freed != static_cast<Array *>(state)->memory.data()) {
        std::free(freed);
      }
    };
    to.reallocate = [](void *, std::size_t size, void * state) -> void * {
      auto & array = *static_cast<Array *>(state);
      array.most_inside = std::max(array.most_inside.load(), ++array.inside);
      ++array.reallocated;
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // for others to come
      --array.inside;
      return size <= array.memory.size() ? array.memory.data() : nullptr;
    };
    return to;
  }
};

void on_jump(const rcl_time_jump_t *, bool, void *) {}

class JumpCallbacks : public WithContext
{
};

// The first test of this program: what has been found stays found.
TEST_F(JumpCallbacks, are_refused_where_rcl_does_not_come_after_this_library)
{
  const PreemptiveExecutor executor(executor_options());
  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_clock_t clock;
  ASSERT_EQ(rcl_ros_clock_init(&clock, &allocator), RCL_RET_OK);
  EXPECT_EQ(rcl_clock_add_jump_callback(&clock, {}, &on_jump, nullptr), RCL_RET_ERROR);
  EXPECT_NE(std::string(rcl_get_error_string().str).find("rcl_clock_add_jump"), std::string::npos);
  rcl_reset_error();
  EXPECT_EQ(rcl_clock_remove_jump_callback(&clock, &on_jump, nullptr), RCL_RET_ERROR);
  EXPECT_NE(
    std::string(rcl_get_error_string().str).find("rcl_clock_remove_jump"), std::string::npos);
  rcl_reset_error();
  ASSERT_EQ(rcl_clock_fini(&clock), RCL_RET_OK);
}

TEST_F(JumpCallbacks, are_changed_by_one_thread_at_a_time)
{
  hides_rcl = false;
  const PreemptiveExecutor executor(executor_options());
  Array array;
  rcl_allocator_t allocator = array.allocator();
  rcl_clock_t clock;
  ASSERT_EQ(rcl_ros_clock_init(&clock, &allocator), RCL_RET_OK);
  rcl_jump_threshold_t threshold{};
  threshold.on_clock_change = true;
  std::atomic<int> failed{0};
  const auto add_and_remove = [&] {
    int mine = 0;
    for (int i = 0; i < 200; ++i) {
      failed += rcl_clock_add_jump_callback(&clock, threshold, &on_jump, &mine) != RCL_RET_OK;
      failed += rcl_clock_remove_jump_callback(&clock, &on_jump, &mine) != RCL_RET_OK;
    }
  };
  std::thread one(add_and_remove);
  std::thread other(add_and_remove);
  one.join();
  other.join();
  EXPECT_GT(array.reallocated, 0);
  EXPECT_EQ(array.most_inside, 1);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(clock.num_jump_callbacks, 0U);
  ASSERT_EQ(rcl_clock_fini(&clock), RCL_RET_OK);
}

}  // namespace
}  // namespace rclrt_rclcpp
