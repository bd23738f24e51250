// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "rclrt_micro/queue.h"

namespace
{
struct Element
{
  rclrt_link link{};
  int name = 0;
};

int name_of(rclrt_link * link)
{
  return link == nullptr ? -1 : RCLRT_CONTAINER_OF(link, Element, link)->name;
}

TEST(Queue, gives_the_most_urgent_first_and_equals_in_their_order)
{
  rclrt_queue queue;
  rclrt_queue_init(&queue);
  EXPECT_EQ(rclrt_queue_highest(&queue), -1);
  EXPECT_EQ(rclrt_queue_lowest(&queue), -1);
  EXPECT_EQ(rclrt_queue_first(&queue), nullptr);
  std::vector<Element> elements(5);
  const unsigned priorities[] = {3, 31, 3, 0, 3};
  for (int i = 0; i < 5; ++i) {
    elements[static_cast<size_t>(i)].name = i;
  }
  for (size_t i = 0; i < 4; ++i) {
    rclrt_queue_push(&queue, &elements[i].link, priorities[i]);
  }
  rclrt_queue_push_front(&queue, &elements[4].link, 3);
  EXPECT_EQ(rclrt_queue_highest(&queue), 31);
  EXPECT_EQ(rclrt_queue_lowest(&queue), 0);
  std::vector<int> order;
  while (rclrt_queue_first(&queue) != nullptr) {
    const auto priority = static_cast<unsigned>(rclrt_queue_highest(&queue));
    auto * link = rclrt_queue_first(&queue);
    order.push_back(name_of(link));
    rclrt_queue_remove(&queue, link, priority);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 4, 0, 2, 3}));
}

TEST(Queue, finds_every_priority)
{
  for (unsigned priority = 0; priority < RCLRT_PRIORITIES; ++priority) {
    rclrt_queue queue;
    rclrt_queue_init(&queue);
    Element element;
    rclrt_queue_push(&queue, &element.link, priority);
    EXPECT_EQ(rclrt_queue_highest(&queue), static_cast<int>(priority));
    EXPECT_EQ(rclrt_queue_lowest(&queue), static_cast<int>(priority));
  }
}

TEST(Heap, gives_the_smallest_key_first_under_random_insertion_and_removal)
{
  std::mt19937 random(1);
  constexpr uint16_t kCapacity = 40;
  rclrt_heap_node * places[kCapacity];
  rclrt_heap heap;
  rclrt_heap_init(&heap, places, kCapacity);
  std::vector<rclrt_heap_node> nodes(kCapacity + 1);
  std::multiset<uint64_t> keys;
  for (auto & node : nodes) {
    node.place = RCLRT_HEAP_OUTSIDE;
  }
  for (int step = 0; step < 20000; ++step) {
    auto & node = nodes[random() % nodes.size()];
    if (node.place == RCLRT_HEAP_OUTSIDE) {
      node.key = random() % 50;
      const bool fits = rclrt_heap_push(&heap, &node);
      ASSERT_EQ(fits, keys.size() < kCapacity);
      if (fits) {
        keys.insert(node.key);
      }
    } else {
      keys.erase(keys.find(node.key));
      rclrt_heap_remove(&heap, &node);
      ASSERT_EQ(node.place, RCLRT_HEAP_OUTSIDE);
    }
    const auto * first = rclrt_heap_first(&heap);
    ASSERT_EQ(first == nullptr, keys.empty());
    if (first != nullptr) {
      ASSERT_EQ(first->key, *keys.begin());
    }
  }
}
}  // namespace
