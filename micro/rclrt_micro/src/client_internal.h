/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What topics and services share.
 */
#pragma once

#include "executor_internal.h"
#include "rclrt_micro/client.h"
#include "session_internal.h"

/* What goes into one WRITE_DATA. */
struct rclrt_outgoing
{
  struct rclrt_session * session;
  struct rclrt_output_stream * stream;
  const struct rclrt_type * type;
  const void * message;
  const struct rclrt_request_id * id; /* in front of a response; or null */
  uint16_t object;
  uint16_t request;
  uint8_t priority;
};

enum rclrt_ret client_send(const struct rclrt_outgoing * out);
void client_write_data(struct rclrt_writer * writer, const struct rclrt_outgoing * out);
/* A node whose entities are described like this. */
enum rclrt_ret client_init_node(
  struct rclrt_node_handle * node, struct rclrt_session * session, const char * name,
  int16_t domain, uint8_t representation,
  bool (*describe)(
    struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind));

/* Are there `count` streams more? They are not used twice in a session: the agent would go on with
 * the old numbers. */
enum rclrt_ret client_check_streams(const struct rclrt_session * session, unsigned count);
enum rclrt_ret client_add_output(
  struct rclrt_session * session, struct rclrt_output_stream * stream, bool reliable);
/* The stream and line for what an entity receives. */
void client_add_reception(
  struct rclrt_session * session, struct rclrt_entity * entity, struct rclrt_input_stream * stream,
  struct rclrt_sink * sink, bool reliable);
/* Asks the agent to stop, throws away what has come meanwhile, and takes both out. */
void client_remove_reception(
  struct rclrt_callback * callback, struct rclrt_session * session, struct rclrt_entity * entity,
  struct rclrt_input_stream * stream, struct rclrt_sink * sink);
/* Begins to read if the callback was `added` to its executor; if that fails, it can be added again. */
enum rclrt_ret client_begin_reading(
  enum rclrt_ret added, struct rclrt_callback * callback, struct rclrt_session * session,
  struct rclrt_entity * entity);
/* Storage for what comes in fragments. */
void client_accept_long(
  struct rclrt_session * session, struct rclrt_input_stream * stream, uint8_t * storage,
  uint16_t size);
/* Reads a message from where the reader is. False, and counted, if it cannot be. */
bool client_decode(
  const struct rclrt_type * type, void * message, struct rclrt_reader * reader,
  uint32_t * undecodable);
/* The DATA for the sink's object in its next message. There is one: messages with several are taken
 * in parts. Only of a fragmented message the others are lost, and counted as malformed. */
bool client_take_data(
  struct rclrt_session * session, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
  struct rclrt_bytes * data);
