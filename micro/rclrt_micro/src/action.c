/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages of actions, around the goals, results and feedback of their types.
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
    /* A goal that is not known has an empty result, which is no longer than any other. */
    memset(writer->data + begin, 0, writer->at - begin);
  }
}

void rclrt_action_read_result(void * message, struct rclrt_reader * reader)
{
  struct rclrt_action_message * of = message;
  of->status = rclrt_read_u8(reader);
  read_body(of, reader);
}
