/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/queue.h"

void rclrt_list_init(struct rclrt_list * list)
{
  list->head.next = &list->head;
  list->head.previous = &list->head;
}

struct rclrt_link * rclrt_list_last(const struct rclrt_list * list)
{
  return rclrt_list_empty(list) ? NULL : list->head.previous;
}

void rclrt_list_insert_after(struct rclrt_link * position, struct rclrt_link * link)
{
  link->previous = position;
  link->next = position->next;
  position->next->previous = link;
  position->next = link;
}

void rclrt_list_push_back(struct rclrt_list * list, struct rclrt_link * link)
{
  rclrt_list_insert_after(list->head.previous, link);
}

void rclrt_list_push_front(struct rclrt_list * list, struct rclrt_link * link)
{
  rclrt_list_insert_after(&list->head, link);
}

void rclrt_list_remove(struct rclrt_link * link)
{
  link->previous->next = link->next;
  link->next->previous = link->previous;
  link->next = NULL;
  link->previous = NULL;
}

struct rclrt_link * rclrt_list_pop_front(struct rclrt_list * list)
{
  struct rclrt_link * link = rclrt_list_first(list);
  if (link != NULL) {
    rclrt_list_remove(link);
  }
  return link;
}

void rclrt_queue_init(struct rclrt_queue * queue)
{
  queue->used = 0; /* what is in `levels` does not count then */
}

void rclrt_queue_push(struct rclrt_queue * queue, struct rclrt_link * link, unsigned priority)
{
  const uint32_t bit = UINT32_C(1) << priority;
  if ((queue->used & bit) != 0) {
    rclrt_list_insert_after(queue->levels[priority]->previous, link);
  } else {
    link->next = link;
    link->previous = link;
    queue->levels[priority] = link;
    queue->used |= bit;
  }
}

void rclrt_queue_push_front(struct rclrt_queue * queue, struct rclrt_link * link, unsigned priority)
{
  rclrt_queue_push(queue, link, priority);
  queue->levels[priority] = link; /* in a ring it is the last, and before the first */
}

void rclrt_queue_remove(struct rclrt_queue * queue, struct rclrt_link * link, unsigned priority)
{
  if (link->next == link) {
    queue->used &= ~(UINT32_C(1) << priority);
  } else if (queue->levels[priority] == link) {
    queue->levels[priority] = link->next;
  }
  rclrt_list_remove(link);
}

/* Number of the highest bit set, -1 for none. */
static int highest_bit(uint32_t bits) { return bits == 0 ? -1 : 31 - __builtin_clz(bits); }

int rclrt_queue_highest(const struct rclrt_queue * queue) { return highest_bit(queue->used); }

struct rclrt_link * rclrt_queue_first(const struct rclrt_queue * queue)
{
  const int priority = rclrt_queue_highest(queue);
  return priority < 0 ? NULL : queue->levels[priority];
}

struct rclrt_link * rclrt_queue_first_between(
  const struct rclrt_queue * queue, unsigned least, unsigned below)
{
  const uint32_t up_to = below < RCLRT_PRIORITIES ? (UINT32_C(1) << below) - 1U : UINT32_MAX;
  const int priority = highest_bit(queue->used & up_to);
  return priority < (int)least ? NULL : queue->levels[priority];
}

struct rclrt_link * rclrt_queue_next(
  const struct rclrt_queue * queue, const struct rclrt_link * link, unsigned priority)
{
  return link->next != queue->levels[priority] ? link->next
                                               : rclrt_queue_first_between(queue, 0, priority);
}

void rclrt_heap_init(struct rclrt_heap * heap, struct rclrt_heap_node ** nodes, uint16_t capacity)
{
  heap->nodes = nodes;
  heap->size = 0;
  heap->capacity = capacity;
}

static void place(struct rclrt_heap * heap, struct rclrt_heap_node * node, uint16_t at)
{
  heap->nodes[at] = node;
  node->place = at;
}

static void sift_up(struct rclrt_heap * heap, struct rclrt_heap_node * node, uint16_t at)
{
  while (at > 0) {
    const uint16_t parent = (uint16_t)((at - 1) / 2);
    if (heap->nodes[parent]->key <= node->key) {
      break;
    }
    place(heap, heap->nodes[parent], at);
    at = parent;
  }
  place(heap, node, at);
}

static void sift_down(struct rclrt_heap * heap, struct rclrt_heap_node * node, uint16_t at)
{
  for (;;) { /* a level down each turn */
    uint32_t child = 2U * at + 1U;
    if (child >= heap->size) {
      break;
    }
    if (child + 1U < heap->size && heap->nodes[child + 1U]->key < heap->nodes[child]->key) {
      child++;
    }
    if (node->key <= heap->nodes[child]->key) {
      break;
    }
    place(heap, heap->nodes[child], at);
    at = (uint16_t)child;
  }
  place(heap, node, at);
}

bool rclrt_heap_push(struct rclrt_heap * heap, struct rclrt_heap_node * node)
{
  if (heap->size == heap->capacity) {
    return false;
  }
  sift_up(heap, node, heap->size++);
  return true;
}

void rclrt_heap_remove(struct rclrt_heap * heap, struct rclrt_heap_node * node)
{
  const uint16_t at = node->place;
  struct rclrt_heap_node * last = heap->nodes[--heap->size];
  node->place = RCLRT_HEAP_OUTSIDE;
  if (last == node) {
    return;
  }
  sift_up(heap, last, at);
  sift_down(heap, last, last->place);
}

struct rclrt_heap_node * rclrt_heap_first(const struct rclrt_heap * heap)
{
  return heap->size == 0 ? NULL : heap->nodes[0];
}
