/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Intrusive containers: a list, a queue by priority, a heap by time. They hold links that lie in
 * the caller's structures, allocate nothing, and do not protect themselves: the caller does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void * rclrt_before(const void * pointer, size_t bytes)
{
  return (char *)pointer - bytes;
}

/* The structure of `type` whose `member` is `*pointer`. */
#define RCLRT_CONTAINER_OF(pointer, type, member) \
  ((type *)rclrt_before((pointer), offsetof(type, member)))

/* In no list: both null. */
struct rclrt_link
{
  struct rclrt_link * next;
  struct rclrt_link * previous;
};

/* A ring through its head. Every operation takes constant time. */
struct rclrt_list
{
  struct rclrt_link head;
};

void rclrt_list_init(struct rclrt_list * list);
/* These three are in every loop. */
static inline bool rclrt_list_empty(const struct rclrt_list * list)
{
  return list->head.next == &list->head;
}
/* Null when empty. */
static inline struct rclrt_link * rclrt_list_first(const struct rclrt_list * list)
{
  return rclrt_list_empty(list) ? NULL : list->head.next;
}
/* The one after `link`, or null. */
static inline struct rclrt_link * rclrt_list_next(
  const struct rclrt_list * list, const struct rclrt_link * link)
{
  return link->next == &list->head ? NULL : link->next;
}
struct rclrt_link * rclrt_list_last(const struct rclrt_list * list);
void rclrt_list_push_back(struct rclrt_list * list, struct rclrt_link * link);
void rclrt_list_push_front(struct rclrt_list * list, struct rclrt_link * link);
void rclrt_list_insert_after(struct rclrt_link * position, struct rclrt_link * link);
void rclrt_list_remove(struct rclrt_link * link);
struct rclrt_link * rclrt_list_pop_front(struct rclrt_list * list); /* null when empty */

/* Priorities are 0 to 31, larger is more urgent. */
#define RCLRT_PRIORITIES 32U

/* First in, first out among equals. Every operation takes constant time. */
struct rclrt_queue
{
  uint32_t used; /* bit p: there is an element of priority p, and ... */
  struct rclrt_link * levels[RCLRT_PRIORITIES]; /* ... this is its first; they form a ring */
};

void rclrt_queue_init(struct rclrt_queue * queue);
void rclrt_queue_push(struct rclrt_queue * queue, struct rclrt_link * link, unsigned priority);
/* Before its equals. */
void rclrt_queue_push_front(
  struct rclrt_queue * queue, struct rclrt_link * link, unsigned priority);
void rclrt_queue_remove(struct rclrt_queue * queue, struct rclrt_link * link, unsigned priority);
/* The highest priority in the queue; -1 when it is empty. */
int rclrt_queue_highest(const struct rclrt_queue * queue);
/* The first of the most urgent; null when empty. Not removed. */
struct rclrt_link * rclrt_queue_first(const struct rclrt_queue * queue);

/* The one after `link`, which is in the queue with this priority: of its equals, or the first of
 * the next lower ones; null after the last. */
struct rclrt_link * rclrt_queue_next(
  const struct rclrt_queue * queue, const struct rclrt_link * link, unsigned priority);

/* The first among priorities of at least `least` and below `below`. */
struct rclrt_link * rclrt_queue_first_between(
  const struct rclrt_queue * queue, unsigned least, unsigned below);

/* An element of a heap; `place` is where it lies, or RCLRT_HEAP_OUTSIDE. */
#define RCLRT_HEAP_OUTSIDE UINT16_MAX
struct rclrt_heap_node
{
  uint64_t key;
  uint16_t place;
};

/* Smallest key first. Insertion and removal take at most log2(capacity) steps. */
struct rclrt_heap
{
  struct rclrt_heap_node ** nodes;
  uint16_t size, capacity;
};

void rclrt_heap_init(struct rclrt_heap * heap, struct rclrt_heap_node ** nodes, uint16_t capacity);
bool rclrt_heap_push(struct rclrt_heap * heap, struct rclrt_heap_node * node); /* false: full */
void rclrt_heap_remove(struct rclrt_heap * heap, struct rclrt_heap_node * node);
struct rclrt_heap_node * rclrt_heap_first(const struct rclrt_heap * heap); /* null when empty */

#ifdef __cplusplus
}
#endif
