/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sessions and their publishers and readers share.
 */
#pragma once

#include "daemon_internal.h"
#include "rclrt_micro/session.h"

/* What is sent outside any stream is sent again so often until it is answered. */
#define SESSION_INSIST_NS (UINT64_C(200) * 1000000U)

/* Whoever waits for room looks again after that, if nothing comes that makes some. */
#define SESSION_ROOM_NS (UINT64_C(10) * 1000000U)

static inline bool session_usable(const struct rclrt_session * session)
{
  return session != NULL && session->daemon != NULL; /* rclrt_session_init() has not failed */
}

static inline uint64_t session_now(const struct rclrt_session * session)
{
  return daemon_now(session->daemon);
}

/* `timeout_ns` from now. */
static inline uint64_t session_deadline(const struct rclrt_session * session, uint64_t timeout_ns)
{
  return time_after(session_now(session), timeout_ns);
}

/* A request without its content. */
void session_prepare(
  struct rclrt_submessage * sub, enum rclrt_submessage_id id, uint16_t request, uint16_t object);
/* From now on this answer is awaited; one at a time. */
void session_expect(
  struct rclrt_session * session, enum rclrt_submessage_id answer, uint16_t request);
/* Until the answer is there. */
enum rclrt_ret session_wait(struct rclrt_session * session, uint64_t deadline_ns);
/* One submessage in a message of its own, as urgent as can be: it is no part of the application.
 * `greeting`: there is no session yet. */
enum rclrt_ret session_send(
  struct rclrt_session * session, struct rclrt_output_stream * stream,
  const struct rclrt_submessage * sub, rclrt_payload_writer * payload, bool greeting);
/* Outside any stream, where nothing is sent again by itself: until it is answered. */
enum rclrt_ret session_insist(
  struct rclrt_session * session, const struct rclrt_submessage * sub,
  rclrt_payload_writer * payload, bool greeting, uint64_t deadline_ns);
/* If `*ret` is AGAIN and it is not `deadline_ns` yet: handles what comes, for a while, and says true: try
 * once more. If the line is broken, `*ret` says so. */
bool session_wait_room(struct rclrt_session * session, enum rclrt_ret * ret, uint64_t deadline_ns);
/* Handles the answers that have come, and waits for none. */
void session_take_answers(struct rclrt_session * session);
/* Is the answer about the connection? Then it is dealt with. */
bool session_on_connection(struct rclrt_session * session, const struct rclrt_submessage * sub);
/* When rclrt_session_handle() is to be called next, if nothing comes before. */
uint64_t session_due(const struct rclrt_session * session);
/* Sends CREATE; its STATUS is expected. */
enum rclrt_ret session_ask_to_create(
  struct rclrt_session * session, struct rclrt_entity * entity, unsigned part);
/* What it consists of, in the order of creation: the last one is the entity itself. */
static inline unsigned session_parts(const struct rclrt_entity * entity)
{
  return entity->whole ? 3 : 1;
}
/* The line gives no bytes any more. */
void session_line_broken(struct rclrt_session * session);

/* The session's buffer, as much of it as message_capacity, is for one at a time, whatever the context.
 * False: somebody has it. The rest of it has the end of a long message that is being sent. */
bool session_take_buffer(struct rclrt_session * session);
void session_give_buffer(struct rclrt_session * session);

/* Most that is put around a name: "rq/", "Request", a zero. */
#define SESSION_AFFIXES 11U
/* A name that grows; RCLRT_NAME_MAX with its zero. */
struct session_text
{
  char bytes[RCLRT_NAME_MAX];
  size_t size;
  bool failed;
};
/* prefix, full name, suffix. False when it is too long. */
bool session_join(
  struct session_text * to, const char * prefix, const struct rclrt_entity * entity,
  const char * suffix);
/* Room that its names may need. */
size_t session_longest_name(const struct rclrt_entity * entity);
/* The body of its CREATE, as entity->describe; false when a name is too long. By binary, of a
 * participant, topic, publisher, subscriber, datawriter or datareader; of a requester or replier; and of
 * any entity in any representation. Texts are there. */
bool session_describe(
  struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind);
bool session_describe_service(
  struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind);
bool session_describe_any(
  struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind);
/* rclrt_session_create() of an entity with `describe` and what that needs. */
enum rclrt_ret session_create(
  struct rclrt_session * session, struct rclrt_entity * entity, enum rclrt_object_kind kind);
/* rclrt_session_init() of one that sends no message longer than a frame. */
enum rclrt_ret session_init(
  struct rclrt_session * session, struct rclrt_daemon * daemon, uint8_t id, const uint8_t key[4],
  uint8_t * buffer, uint16_t buffer_size);
/* Forgets an entity whether or not it was created: its owner may be used anew. */
void session_forget(struct rclrt_session * session, struct rclrt_entity * entity);
/* Forgets an entity, and asks the agent to delete its first `parts`, without waiting: what is
 * created afterwards under the same identifiers comes after it on the stream. */
void session_drop(struct rclrt_session * session, struct rclrt_entity * entity, unsigned parts);
