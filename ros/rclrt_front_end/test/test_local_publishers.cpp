// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/local_publishers.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <new>

namespace
{

/// How many more times this thread gets memory.
thread_local int granted = std::numeric_limits<int>::max();

}  // namespace

void * operator new(std::size_t size)
{
  void * const memory = granted > 0 ? std::malloc(size) : nullptr;
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  --granted;
  return memory;
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

namespace rclrt_front_end
{
namespace
{

TEST(LocalPublishers, are_the_same_object_for_the_same_topic)
{
  const LocalPublishers first = local_publishers("/topic");
  EXPECT_EQ(local_publishers_or_null("/topic"), first);
  EXPECT_NE(local_publishers_or_null("/other"), first);
  {
    const PublisherHere here("/topic");
    EXPECT_EQ(*first, 1);
  }
  EXPECT_EQ(*first, 0);
}

// The middleware's functions are called through C: an exception would end the process.
TEST(LocalPublishers, are_none_without_memory_and_there_once_there_is_some)
{
  int refusals = 0;
  for (int allowed = 0;; ++allowed) {
    granted = allowed;
    const LocalPublishers publishers =
      local_publishers_or_null("/a_topic_whose_name_needs_memory_of_its_own");
    granted = std::numeric_limits<int>::max();
    if (publishers) {
      EXPECT_EQ(*publishers, 0);
      break;
    }
    ++refusals;
    ASSERT_LT(refusals, 10);
  }
  EXPECT_GE(refusals, 2) << "the name, the entry, the number";
}

}  // namespace
}  // namespace rclrt_front_end
