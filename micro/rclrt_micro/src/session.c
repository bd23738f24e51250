/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/session.h"

#include <string.h>

#include "session_internal.h"

#define FIRST_REQUEST 10U

bool session_take_buffer(struct rclrt_session * session)
{
  const uint32_t token = daemon_enter(session->daemon);
  const bool taken = !session->buffer_taken;
  session->buffer_taken = true;
  daemon_leave(session->daemon, token);
  return taken;
}

void session_give_buffer(struct rclrt_session * session)
{
  const uint32_t token = daemon_enter(session->daemon);
  session->buffer_taken = false;
  daemon_leave(session->daemon, token);
}

uint16_t rclrt_session_next_request(struct rclrt_session * session)
{
  const struct rclrt_port * port = session->daemon->port;
  const uint32_t token = port->enter(port->context);
  const uint16_t request = session->next_request;
  session->next_request = request == UINT16_MAX ? FIRST_REQUEST : (uint16_t)(request + 1U);
  port->leave(port->context, token);
  return request;
}

enum rclrt_ret session_init(
  struct rclrt_session * session, struct rclrt_daemon * daemon, uint8_t id, const uint8_t key[4],
  uint8_t * buffer, uint16_t buffer_size)
{
  if (session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(session, 0, sizeof(*session)); /* whatever the storage held */
  if (daemon == NULL || daemon->port == NULL || key == NULL || buffer == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (id == RCLRT_SESSION_NONE || id == RCLRT_SESSION_NONE_WITH_KEY) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (buffer_size < daemon->config.message_capacity) {
    return daemon_short(
      daemon, "the session's buffer", buffer_size, daemon->config.message_capacity);
  }
  session->daemon = daemon;
  session->id = id;
  memcpy(session->key, key, sizeof(session->key));
  session->next_request = FIRST_REQUEST;
  session->next_number = 1;
  session->next_stream = 1;
  session->answer_timeout_ns = UINT64_C(1000000000);
  session->buffer = buffer;
  session->buffer_size = buffer_size;
  rclrt_list_init(&session->entities);
  /* These fail for null pointers only. */
  (void)rclrt_daemon_add_output(daemon, &session->none, RCLRT_STREAM_NONE);
  (void)rclrt_daemon_add_output(daemon, &session->best_effort, RCLRT_STREAM_BEST_EFFORT);
  (void)rclrt_daemon_add_output(daemon, &session->reliable, RCLRT_STREAM_RELIABLE);
  daemon_add_input(daemon, &session->best_effort_in, RCLRT_STREAM_BEST_EFFORT);
  daemon_add_input(daemon, &session->reliable_in, RCLRT_STREAM_RELIABLE);
  rclrt_daemon_reset(daemon, id, key);
  return RCLRT_OK;
}

static void on_submessage(struct rclrt_session * session, const struct rclrt_submessage * sub)
{
  if (sub->id == RCLRT_STATUS || sub->id == RCLRT_STATUS_AGENT) {
    session->status = sub->of.result.status;
  }
  if (sub->id == RCLRT_INFO) { /* points into the buffer, which others may use afterwards */
    session->agent_known = rclrt_info_availability(sub->of.result.info, &session->availability);
  }
  if (session_on_connection(session, sub)) {
    return;
  }
  const bool matches =
    sub->id == session->awaited && !session->answered &&
    (sub->id == RCLRT_TIMESTAMP_REPLY || sub->request == session->awaited_request);
  if (matches) {
    session->answered = true;
    session->answer = *sub;
  }
}

void session_take_answers(struct rclrt_session * session)
{
  struct rclrt_daemon * daemon = session->daemon;
  struct rclrt_message message;
  if (!session_take_buffer(session)) {
    return; /* a message longer than a frame is just being sent from it: next time */
  }
  /* No more than there are slots: what comes meanwhile is for the next call. */
  for (uint32_t i = 0; i < daemon->config.slot_count; ++i) {
    if (
      daemon->take_answer(
        daemon, &daemon->others, session->buffer, daemon->config.message_capacity, &message) !=
      RCLRT_OK) {
      break;
    }
    struct rclrt_reader reader;
    struct rclrt_submessage sub;
    rclrt_reader_init(&reader, message.submessages.data, message.submessages.size);
    while (rclrt_read_answer(&reader, &sub)) {
      if (is_data(sub.id)) {
        daemon_count(daemon, &daemon->counters.malformed); /* no reader is for it */
      } else if (daemon_on_control(daemon, &sub)) {
        daemon_kick(daemon);
      } else {
        on_submessage(session, &sub);
      }
    }
    if (reader.failed) {
      daemon_count(daemon, &daemon->counters.malformed);
    }
  }
  session_give_buffer(session);
}

void session_expect(
  struct rclrt_session * session, enum rclrt_submessage_id answer, uint16_t request)
{
  session->awaited = (uint8_t)answer;
  session->awaited_request = request;
  session->answered = false;
}

enum rclrt_ret session_wait(struct rclrt_session * session, uint64_t deadline_ns)
{
  for (;;) { /* ends: time goes on, and poll() waits */
    session_take_answers(session);
    if (session->answered) {
      session->awaited = 0;
      return RCLRT_OK;
    }
    const uint64_t now = session_now(session);
    if (now >= deadline_ns) {
      return RCLRT_ERR_TIMEOUT;
    }
    const enum rclrt_ret ret = rclrt_daemon_poll(session->daemon, deadline_ns - now);
    if (ret != RCLRT_OK) {
      return ret;
    }
  }
}

void session_prepare(
  struct rclrt_submessage * sub, enum rclrt_submessage_id id, uint16_t request, uint16_t object)
{
  memset(sub, 0, sizeof(*sub));
  sub->id = (uint8_t)id;
  sub->request = request;
  sub->object = object;
}

enum rclrt_ret session_send(
  struct rclrt_session * session, struct rclrt_output_stream * stream,
  const struct rclrt_submessage * sub, rclrt_payload_writer * payload, bool greeting)
{
  struct rclrt_node * node = NULL;
  const enum rclrt_ret ret =
    rclrt_daemon_acquire(session->daemon, stream, RCLRT_PRIORITIES - 1U, &node);
  if (ret != RCLRT_OK) {
    return ret;
  }
  struct rclrt_writer writer = rclrt_daemon_writer(session->daemon, node);
  if (greeting) { /* 0x80, or 0 and the key: as long as the header of the session to be */
    node->bytes[0] =
      session->id < RCLRT_SESSION_NONE ? RCLRT_SESSION_NONE_WITH_KEY : RCLRT_SESSION_NONE;
  }
  rclrt_write_submessage_by(&writer, sub, payload);
  return rclrt_daemon_commit(session->daemon, node, &writer);
}

enum rclrt_ret session_insist(
  struct rclrt_session * session, const struct rclrt_submessage * sub,
  rclrt_payload_writer * payload, bool greeting, uint64_t deadline_ns)
{
  enum rclrt_ret ret;
  do {
    ret = session_send(session, &session->none, sub, payload, greeting);
    if (ret == RCLRT_OK || ret == RCLRT_ERR_AGAIN) {
      const uint64_t next = session_deadline(session, SESSION_INSIST_NS);
      ret = session_wait(session, next < deadline_ns ? next : deadline_ns);
    }
  } while (ret == RCLRT_ERR_TIMEOUT && session_now(session) < deadline_ns);
  return ret;
}

bool session_wait_room(struct rclrt_session * session, enum rclrt_ret * ret, uint64_t deadline_ns)
{
  const uint64_t now = session_now(session);
  if (*ret != RCLRT_ERR_AGAIN || now >= deadline_ns) {
    return false;
  }
  const uint64_t left = deadline_ns - now;
  const enum rclrt_ret polled =
    rclrt_daemon_poll(session->daemon, left < SESSION_ROOM_NS ? left : SESSION_ROOM_NS);
  *ret = polled == RCLRT_OK ? *ret : polled;
  return polled == RCLRT_OK;
}

/* Asks on the reliable stream, where a STATUS is the answer. */
static enum rclrt_ret ask(
  struct rclrt_session * session, struct rclrt_submessage * sub, rclrt_payload_writer * payload)
{
  sub->request = rclrt_session_next_request(session);
  session_expect(session, RCLRT_STATUS, sub->request);
  return session_send(session, &session->reliable, sub, payload, false);
}

static enum rclrt_ret await_status(struct rclrt_session * session)
{
  enum rclrt_ret ret = session_wait(session, session_deadline(session, session->answer_timeout_ns));
  if (ret == RCLRT_OK && session->answer.of.result.status > RCLRT_STATUS_OK_MATCHED) {
    ret = RCLRT_ERR_AGENT;
  }
  return ret;
}

/* The identifier of a part. The kind of a group is two below that of its endpoint. */
static uint16_t id_of(const struct rclrt_entity * entity, unsigned part)
{
  const unsigned id = entity->id;
  const unsigned before = part == 0 ? (id & ~0xFU) | RCLRT_TOPIC : id - 2U;
  return (uint16_t)(part + 1U == session_parts(entity) ? id : before);
}

enum rclrt_ret session_ask_to_create(
  struct rclrt_session * session, struct rclrt_entity * entity, unsigned part)
{
  struct rclrt_submessage sub;
  session_prepare(&sub, RCLRT_CREATE, 0, id_of(entity, part));
  sub.flags = RCLRT_FLAG_REUSE | RCLRT_FLAG_REPLACE;
  sub.of.create.kind = (uint8_t)(sub.object & 0xFU);
  sub.of.create.representation = entity->representation;
  sub.of.create.parent = part < 2U ? entity->parent : id_of(entity, 1);
  sub.of.create.domain = entity->domain;
  if (!session_take_buffer(session)) {
    return RCLRT_ERR_AGAIN;
  }
  struct rclrt_writer writer;
  const uint16_t capacity = session->daemon->config.message_capacity;
  rclrt_writer_init(&writer, session->buffer, capacity);
  enum rclrt_ret ret;
  if (!entity->describe(&writer, entity, (enum rclrt_object_kind)sub.of.create.kind)) {
    ret =
      daemon_short(session->daemon, "RCLRT_NAME_MAX", RCLRT_NAME_MAX, session_longest_name(entity));
  } else if (writer.failed) {
    ret = daemon_short(session->daemon, "message_capacity", capacity, writer.at);
  } else {
    sub.of.create.body.data = session->buffer;
    sub.of.create.body.size = writer.at;
    ret = ask(session, &sub, rclrt_payload_create);
  }
  session_give_buffer(session);
  return ret;
}

enum rclrt_ret session_create(
  struct rclrt_session * session, struct rclrt_entity * entity, enum rclrt_object_kind kind)
{
  if (!session_usable(session) || entity == NULL || entity->link.next != NULL) {
    return RCLRT_ERR_ARGUMENT; /* also: it is already in a session's list */
  }
  if (!session->connected) {
    return RCLRT_ERR_STATE;
  }
  const bool chosen = entity->id == 0;
  if (chosen) {
    if (session->next_number > 0xFFEU) {
      return daemon_short(session->daemon, "entities", 0xFFEU, session->next_number);
    }
    entity->id = rclrt_object_id(session->next_number++, kind);
  }
  if (entity->whole) {
    entity->topic = id_of(entity, 0);
  }
  unsigned part = 0;
  enum rclrt_ret ret;
  do {
    const uint64_t deadline = session_deadline(session, session->answer_timeout_ns);
    do {
      ret = session_ask_to_create(session, entity, part);
    } while (session_wait_room(session, &ret, deadline));
    if (ret == RCLRT_OK) {
      ret = await_status(session);
    }
  } while (ret == RCLRT_OK && ++part < session_parts(entity));
  entity->exists = ret == RCLRT_OK;
  if (ret == RCLRT_OK) {
    rclrt_list_push_back(&session->entities, &entity->link);
    return ret;
  }
  /* So that it can be tried again; what was not refused may still come to be. */
  session_drop(session, entity, ret == RCLRT_ERR_AGENT ? part : part + 1U);
  if (chosen) {
    session->next_number--;
    entity->id = 0;
  }
  return ret;
}

void session_forget(struct rclrt_session * session, struct rclrt_entity * entity)
{
  if (session->cursor == &entity->link) { /* just being created again */
    session->cursor = rclrt_list_next(&session->entities, session->cursor);
    session->asked = false;
    session->part = 0;
  }
  if (entity->link.next != NULL) {
    rclrt_list_remove(&entity->link);
  }
  entity->exists = false;
}

static enum rclrt_ret ask_to_delete(
  struct rclrt_session * session, const struct rclrt_entity * entity, unsigned part)
{
  struct rclrt_submessage sub;
  session_prepare(&sub, RCLRT_DELETE, 0, id_of(entity, part));
  return ask(session, &sub, rclrt_payload_none);
}

void session_drop(struct rclrt_session * session, struct rclrt_entity * entity, unsigned parts)
{
  while (parts > 0) {
    (void)ask_to_delete(session, entity, --parts);
  }
  session_forget(session, entity);
}

enum rclrt_ret rclrt_session_delete(struct rclrt_session * session, struct rclrt_entity * entity)
{
  if (!session_usable(session) || entity == NULL || entity->link.next == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  session_forget(session, entity); /* whatever the agent says: it will not be created again */
  if (!session->connected) {
    return RCLRT_ERR_STATE;
  }
  enum rclrt_ret ret = RCLRT_OK;
  for (unsigned part = session_parts(entity); part-- > 0 && ret == RCLRT_OK;) {
    const uint64_t deadline = session_deadline(session, session->answer_timeout_ns);
    do {
      ret = ask_to_delete(session, entity, part);
    } while (session_wait_room(session, &ret, deadline));
    ret = ret == RCLRT_OK ? await_status(session) : ret;
  }
  return ret;
}

enum rclrt_ret rclrt_session_read(struct rclrt_session * session, struct rclrt_entity * entity)
{
  if (!session_usable(session) || entity == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_submessage sub;
  session_prepare(&sub, RCLRT_READ_DATA, rclrt_session_next_request(session), entity->id);
  sub.of.read_data.preferred_stream = entity->read_stream;
  sub.of.read_data.has_delivery = true;
  sub.of.read_data.delivery.max_samples = entity->max_samples;
  session->read_again = rclrt_session_read;
  return session_send(session, &session->reliable, &sub, rclrt_payload_read_data, false);
}
