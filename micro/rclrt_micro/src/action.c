/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What both ends of an action share: its messages, around the goals, results and feedback of their types; and
 * what an end could not send.
 */
#include "rclrt_micro/action.h"

#include <string.h>

#include "action_internal.h"

#define SECOND_NS INT64_C(1000000000)

static void write_stamp(struct rclrt_writer * writer, int64_t stamp_ns)
{
  rclrt_write_i32(writer, (int32_t)(stamp_ns / SECOND_NS));
  rclrt_write_u32(writer, (uint32_t)(stamp_ns % SECOND_NS));
}

int64_t action_read_stamp(struct rclrt_reader * reader)
{
  const int64_t seconds = rclrt_read_i32(reader);
  return seconds * SECOND_NS + rclrt_read_u32(reader);
}

void action_write_info(struct rclrt_writer * writer, const uint8_t * id, int64_t stamp_ns)
{
  rclrt_write_bytes(writer, id, RCLRT_GOAL_ID);
  write_stamp(writer, stamp_ns);
}

static void read_body(struct rclrt_action_message * message, struct rclrt_reader * reader)
{
  if (message->find != NULL) {
    message->find(message);
  }
  if (message->to != NULL) {
    message->type->decode(message->to, reader);
  }
}

void rclrt_action_write_body(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_action_message * of = message;
  rclrt_write_bytes(writer, of->id, RCLRT_GOAL_ID);
  of->type->encode(of->from, writer);
}

void rclrt_action_read_body(void * message, struct rclrt_reader * reader)
{
  struct rclrt_action_message * of = message;
  rclrt_read_bytes(reader, of->id, RCLRT_GOAL_ID);
  if (!reader->failed) {
    read_body(of, reader);
  }
}

void rclrt_action_write_acceptance(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_action_message * of = message;
  rclrt_write_bool(writer, of->accepted);
  write_stamp(writer, of->stamp_ns);
}

void rclrt_action_read_acceptance(void * message, struct rclrt_reader * reader)
{
  struct rclrt_action_message * of = message;
  of->accepted = rclrt_read_bool(reader);
  of->stamp_ns = action_read_stamp(reader);
}

void rclrt_action_write_id(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_action_message * of = message;
  rclrt_write_bytes(writer, of->id, RCLRT_GOAL_ID);
}

void rclrt_action_read_id(void * message, struct rclrt_reader * reader)
{
  struct rclrt_action_message * of = message;
  rclrt_read_bytes(reader, of->id, RCLRT_GOAL_ID);
}

void rclrt_action_write_result(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_action_message * of = message;
  rclrt_write_u8(writer, of->status);
  const size_t begin = writer->at;
  of->type->encode(of->from, writer);
  if (of->status == RCLRT_GOAL_UNKNOWN && !writer->failed) {
    /* Of a goal that is not known there is an empty result, which is no longer than any other. */
    memset(writer->data + begin, 0, writer->at - begin);
  }
}

void rclrt_action_read_result(void * message, struct rclrt_reader * reader)
{
  struct rclrt_action_message * of = message;
  of->status = rclrt_read_u8(reader);
  read_body(of, reader);
}

static bool has_type(const struct rclrt_type * type)
{
  return type != NULL && type->encode != NULL && type->decode != NULL;
}

enum rclrt_ret action_check(
  const struct rclrt_executor * executor, const struct rclrt_action_type * type,
  const struct rclrt_action_names * names)
{
  if (
    !executor_usable(executor) || type == NULL || names == NULL || !has_type(type->goal) ||
    !has_type(type->result) || !has_type(type->feedback)) {
    return RCLRT_ERR_ARGUMENT;
  }
  return executor->semantics == RCLRT_SEMANTICS_LET ? RCLRT_ERR_UNSUPPORTED : RCLRT_OK;
}

static void expire(void * context, struct rclrt_timer * timer)
{
  (void)timer;
  action_settle(context);
}

enum rclrt_ret action_init_owed(
  struct rclrt_action_owed * owed, struct rclrt_executor * executor, uint8_t priority,
  bool (*settle)(void * end), void * end)
{
  owed->settle = settle;
  owed->end = end;
  return rclrt_executor_add_timer_at(
    executor, &owed->timer, UINT64_MAX, UINT64_MAX, priority, expire, owed);
}

void action_settle(struct rclrt_action_owed * owed)
{
  struct rclrt_executor * executor = owed->timer.callback.executor;
  if (!owed->settle(owed->end) && executor != NULL) {
    const uint64_t now = executor->port->now_ns(executor->port->context);
    const uint32_t token = executor_enter(executor);
    timer_set(executor, &owed->timer, time_after(now, ACTION_RETRY_NS));
    executor_leave(executor, token);
    daemon_wake(executor->daemon); /* a thread that waits for a timer looks again */
  }
}
