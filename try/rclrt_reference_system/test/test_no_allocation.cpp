// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "stage_logic.hpp"

namespace
{

thread_local std::size_t allocations = 0;

}  // namespace

#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)

void * operator new(std::size_t size)
{
  ++allocations;
  if (void * memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

#endif

namespace rclrt_reference_system
{
namespace
{

TEST(StageLogic, allocates_nothing_for_a_job_even_when_its_logs_are_full)
{
#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
  GTEST_SKIP() << "a counting allocator cannot coexist with a sanitizer's";
#endif
  StageLogic::Options options;
  options.kind = NodeKind::kFusion;
  options.inputs = 2;
  options.work = std::chrono::microseconds(50);
  options.is_sink = true;
  options.input_capacity = {8, 8};
  uint64_t published = 0;
  StageLogic logic(options, BusyWork(1000.0), [&published](Message &) { ++published; });
  Message message;
  message.origins[0].sequence = 1;

  std::size_t before = allocations;
  ::operator delete(::operator new(8));  // a new-expression could be optimized away
  ASSERT_GT(allocations, before) << "the counter must count";

  before = allocations;
  for (int i = 0; i < 20; ++i) {
    logic.on_message(0, message, i, i);
    logic.on_message(1, message, i, i);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(published, 20u);
  EXPECT_EQ(logic.hot_path_log().size(), 16u);
}

}  // namespace
}  // namespace rclrt_reference_system
