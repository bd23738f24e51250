/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/client.h"

#include <string.h>

#include "client_internal.h"

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Words of letters, digits and "_", with "/" between them, and perhaps before them. */
static bool is_name(const char * name)
{
  bool begins = true; /* a word does, here */
  for (name += name[0] == '/' ? 1 : 0; *name != 0; ++name) {
    if (!is_letter(*name) && (begins || (*name != '/' && (*name < '0' || *name > '9')))) {
      return false;
    }
    begins = *name == '/';
  }
  return !begins;
}

enum rclrt_ret client_init_node(
  struct rclrt_node_handle * node, struct rclrt_session * session, const char * name,
  int16_t domain, uint8_t representation,
  bool (*describe)(
    struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind))
{
  if (node == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(node, 0, sizeof(*node));
  if (!session_usable(session) || name == NULL || !is_name(name)) {
    return RCLRT_ERR_ARGUMENT;
  }
  node->participant.name = name;
  node->participant.domain = domain;
  node->participant.representation = representation;
  node->participant.describe = describe;
  const enum rclrt_ret ret = session_create(session, &node->participant, RCLRT_PARTICIPANT);
  node->session = ret == RCLRT_OK ? session : NULL;
  node->naming.node = name;
  return ret;
}

enum rclrt_ret rclrt_node_init(
  struct rclrt_node_handle * node, struct rclrt_session * session, const char * name,
  int16_t domain)
{
  return client_init_node(node, session, name, domain, RCLRT_BY_BINARY, session_describe);
}

enum rclrt_ret rclrt_node_set_remaps(
  struct rclrt_node_handle * node, const struct rclrt_remap * remaps, uint8_t count)
{
  if (node == NULL || node->session == NULL || (remaps == NULL && count > 0)) {
    return RCLRT_ERR_ARGUMENT;
  }
  node->naming.remaps = remaps;
  node->naming.remap_count = count;
  return RCLRT_OK;
}

/* Topic, then publisher or subscriber, then writer or reader. */
static enum rclrt_ret create_endpoint(
  const struct rclrt_node_handle * node, const struct rclrt_type * type, const char * name,
  struct rclrt_qos qos, struct rclrt_entity * endpoint, enum rclrt_object_kind kind)
{
  if (type->name == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  endpoint->whole = true;
  endpoint->name = name;
  endpoint->naming = &node->naming;
  endpoint->prefix = "rt/";
  endpoint->type = type->name;
  endpoint->parent = node->participant.id;
  endpoint->qos = qos;
  endpoint->representation = node->participant.representation;
  endpoint->describe = node->participant.describe;
  return session_create(node->session, endpoint, kind);
}

enum rclrt_ret client_check_streams(const struct rclrt_session * session, unsigned count)
{
  const unsigned needed = session->next_stream + count;
  return needed <= 0x7FU ? RCLRT_OK : daemon_short(session->daemon, "streams", 0x7FU, needed);
}

/* A stream of its own for everything that has a priority of its own: see daemon.h. */
static uint8_t next_stream(struct rclrt_session * session, bool reliable)
{
  const unsigned base = reliable ? RCLRT_STREAM_RELIABLE : RCLRT_STREAM_NONE;
  return (uint8_t)(base + ++session->next_stream);
}

enum rclrt_ret client_add_output(
  struct rclrt_session * session, struct rclrt_output_stream * stream, bool reliable)
{
  return rclrt_daemon_add_output(session->daemon, stream, next_stream(session, reliable));
}

enum rclrt_ret rclrt_publisher_init(
  struct rclrt_publisher * publisher, struct rclrt_node_handle * node,
  const struct rclrt_type * type, const char * name, struct rclrt_qos qos, uint8_t priority)
{
  if (publisher == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(publisher, 0, sizeof(*publisher)); /* whatever the storage held */
  if (node == NULL || type == NULL || name == NULL || type->encode == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (node->session == NULL || priority >= RCLRT_PRIORITIES) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_session * session = node->session;
  if (client_check_streams(session, 1) != RCLRT_OK) {
    return RCLRT_ERR_STORAGE;
  }
  publisher->session = session;
  publisher->type = type;
  publisher->priority = priority;
  const enum rclrt_ret ret =
    create_endpoint(node, type, name, qos, &publisher->writer, RCLRT_DATAWRITER);
  if (ret != RCLRT_OK) {
    return ret;
  }
  if (session->daemon->config.mode == RCLRT_MODE_PAPER) {
    publisher->stream = qos.reliable ? &session->reliable : &session->best_effort;
    return RCLRT_OK;
  }
  publisher->stream = &publisher->own_stream;
  return client_add_output(session, &publisher->own_stream, qos.reliable);
}

enum rclrt_ret rclrt_publisher_set_budget(
  struct rclrt_publisher * publisher, struct rclrt_budget * budget)
{
  if (publisher == NULL || publisher->stream == NULL || (budget != NULL && budget->amount == 0)) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_daemon * daemon = publisher->session->daemon;
  const uint32_t token = daemon_enter(daemon);
  publisher->stream->budget = budget;
  daemon_leave(daemon, token);
  return RCLRT_OK;
}

enum rclrt_ret rclrt_publisher_fini(struct rclrt_publisher * publisher)
{
  if (publisher == NULL || publisher->stream == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  /* First: what came after the deletion would be acknowledged, and thrown away. */
  if (publisher->stream == &publisher->own_stream) {
    rclrt_daemon_remove_output(publisher->session->daemon, &publisher->own_stream);
  }
  publisher->stream = NULL;
  return rclrt_session_delete(publisher->session, &publisher->writer);
}

void client_add_reception(
  struct rclrt_session * session, struct rclrt_entity * entity, struct rclrt_input_stream * stream,
  struct rclrt_sink * sink, bool reliable)
{
  struct rclrt_daemon * daemon = session->daemon;
  const uint8_t id = next_stream(session, reliable);
  entity->read_stream = id;
  entity->max_samples = UINT16_MAX;
  daemon_add_input(daemon, stream, id);
  (void)rclrt_daemon_add_sink(daemon, sink, entity->id, id, 0); /* fails for null pointers only */
}

void client_remove_reception(
  struct rclrt_callback * callback, struct rclrt_session * session, struct rclrt_entity * entity,
  struct rclrt_input_stream * stream, struct rclrt_sink * sink)
{
  if (callback->executor != NULL) {
    rclrt_executor_remove(callback->executor, callback);
  }
  entity->max_samples = 0;
  if (session->connected) {
    (void)rclrt_session_read(session, entity);
  }
  rclrt_daemon_remove_sink(session->daemon, sink);
  rclrt_daemon_remove_input(session->daemon, stream);
}

static void subscription_notify(struct rclrt_sink * sink)
{
  rclrt_callback_make_ready(&RCLRT_CONTAINER_OF(sink, struct rclrt_subscription, sink)->callback);
}

enum rclrt_ret rclrt_subscription_init(
  struct rclrt_subscription * subscription, struct rclrt_node_handle * node,
  const struct rclrt_type * type, const char * name, struct rclrt_qos qos)
{
  if (subscription == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(subscription, 0, sizeof(*subscription)); /* whatever the storage held */
  if (
    node == NULL || type == NULL || name == NULL || type->decode == NULL || node->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (client_check_streams(node->session, 1) != RCLRT_OK) {
    return RCLRT_ERR_STORAGE;
  }
  subscription->type = type;
  const enum rclrt_ret ret =
    create_endpoint(node, type, name, qos, &subscription->reader, RCLRT_DATAREADER);
  if (ret != RCLRT_OK) {
    return ret;
  }
  subscription->session = node->session; /* from now on it can be used */
  subscription->sink.notify = subscription_notify;
  client_add_reception(
    node->session, &subscription->reader, &subscription->stream, &subscription->sink, qos.reliable);
  return RCLRT_OK;
}

enum rclrt_ret rclrt_subscription_fini(struct rclrt_subscription * subscription)
{
  if (subscription == NULL || subscription->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_session * session = subscription->session;
  client_remove_reception(
    &subscription->callback, session, &subscription->reader, &subscription->stream,
    &subscription->sink);
  subscription->session = NULL;
  return rclrt_session_delete(session, &subscription->reader);
}

void client_accept_long(
  struct rclrt_session * session, struct rclrt_input_stream * stream, uint8_t * storage,
  uint16_t size)
{
  const uint32_t token = daemon_enter(session->daemon);
  stream->assembly = storage;
  stream->assembly_capacity = size;
  session->daemon->assemble = daemon_assemble;
  /* Pieces that are there are in the old storage: of their message nothing is delivered. */
  stream->assembly_broken = stream->assembly_broken || stream->assembly_length > 0;
  stream->assembly_length = 0;
  daemon_leave(session->daemon, token);
}

enum rclrt_ret rclrt_subscription_accept_long(
  struct rclrt_subscription * subscription, uint8_t * storage, uint16_t size)
{
  if (subscription == NULL || subscription->session == NULL || storage == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (!subscription->reader.qos.reliable) {
    return RCLRT_ERR_UNSUPPORTED;
  }
  client_accept_long(subscription->session, &subscription->stream, storage, size);
  return RCLRT_OK;
}

void client_write_data(struct rclrt_writer * writer, const struct rclrt_outgoing * out)
{
  const size_t begin = rclrt_data_begin(writer, RCLRT_WRITE_DATA, out->request, out->object);
  if (out->id != NULL) {
    rclrt_write_bytes(writer, out->id->bytes, sizeof(out->id->bytes));
    writer->origin = writer->at;
  }
  out->type->encode(out->message, writer);
  rclrt_submessage_end(writer, begin);
}

enum rclrt_ret client_send(const struct rclrt_outgoing * out)
{
  struct rclrt_daemon * daemon = out->session->daemon;
  if (!out->session->connected) {
    return RCLRT_ERR_STATE;
  }
  struct rclrt_node * node = NULL;
  enum rclrt_ret ret = rclrt_daemon_acquire(daemon, out->stream, out->priority, &node);
  if (ret != RCLRT_OK) {
    return ret;
  }
  struct rclrt_writer writer = rclrt_daemon_writer(daemon, node);
  client_write_data(&writer, out);
  ret = rclrt_daemon_commit(daemon, node, &writer);
  const bool may_be_long = ret == RCLRT_ERR_STORAGE && out->session->send_long != NULL;
  return may_be_long ? out->session->send_long(out) : ret;
}

enum rclrt_ret rclrt_publish(struct rclrt_publisher * publisher, const void * message)
{
  if (publisher == NULL || message == NULL || publisher->stream == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const struct rclrt_outgoing out = {
    publisher->session,
    publisher->stream,
    publisher->type,
    message,
    NULL,
    publisher->writer.id,
    rclrt_session_next_request(publisher->session),
    publisher->priority};
  const enum rclrt_ret ret = client_send(&out);
  return ret == RCLRT_OK && publisher->wait != NULL ? publisher->wait(publisher) : ret;
}

bool client_take_data(
  struct rclrt_session * session, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
  struct rclrt_bytes * data)
{
  struct rclrt_message message;
  struct rclrt_reader reader;
  struct rclrt_submessage sub;
  struct rclrt_daemon * daemon = session->daemon;
  if (rclrt_daemon_take(daemon, sink, buffer, capacity, &message) != RCLRT_OK) {
    return false;
  }
  bool found = false;
  rclrt_reader_init(&reader, message.submessages.data, message.submessages.size);
  while (rclrt_read_answer(&reader, &sub)) {
    if (sub.id == RCLRT_DATA && sub.object == sink->object && !found) {
      *data = sub.of.data;
      found = true;
    } else if (daemon_on_control(daemon, &sub)) {
      daemon_kick(daemon);
    } else {
      daemon_count(daemon, &daemon->counters.malformed);
    }
  }
  if (reader.failed) {
    daemon_count(daemon, &daemon->counters.malformed);
  }
  return found;
}

bool client_decode(
  const struct rclrt_type * type, void * message, struct rclrt_reader * reader,
  uint32_t * undecodable)
{
  reader->origin = reader->at;
  type->decode(message, reader);
  *undecodable += reader->failed ? 1U : 0U;
  return !reader->failed;
}

enum rclrt_ret client_begin_reading(
  enum rclrt_ret added, struct rclrt_callback * callback, struct rclrt_session * session,
  struct rclrt_entity * entity)
{
  enum rclrt_ret ret = added;
  if (ret == RCLRT_OK) {
    const uint64_t deadline = session_deadline(session, session->answer_timeout_ns);
    do {
      ret = rclrt_session_read(session, entity);
    } while (session_wait_room(session, &ret, deadline));
    if (ret != RCLRT_OK) {
      rclrt_executor_remove(callback->executor, callback);
    }
  }
  return ret;
}

static bool subscription_take(struct rclrt_callback * callback, uint8_t * buffer, size_t capacity)
{
  struct rclrt_subscription * subscription =
    RCLRT_CONTAINER_OF(callback, struct rclrt_subscription, callback);
  struct rclrt_bytes data;
  if (!client_take_data(subscription->session, &subscription->sink, buffer, capacity, &data)) {
    return false;
  }
  struct rclrt_reader reader;
  rclrt_reader_init(&reader, data.data, data.size);
  return client_decode(
    subscription->type, subscription->message, &reader, &subscription->undecodable);
}

static void subscription_run(struct rclrt_callback * callback, bool fresh)
{
  struct rclrt_subscription * subscription =
    RCLRT_CONTAINER_OF(callback, struct rclrt_subscription, callback);
  subscription->run(subscription->context, fresh ? subscription->message : NULL);
}

enum rclrt_ret rclrt_executor_add_subscription_by(
  rclrt_adder * add, struct rclrt_executor * executor, struct rclrt_subscription * subscription,
  void * message, void (*run)(void * context, const void * message), void * context,
  uint8_t priority)
{
  if (
    subscription == NULL || message == NULL || run == NULL || subscription->session == NULL ||
    subscription->callback.executor != NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  subscription->message = message;
  subscription->run = run;
  subscription->context = context;
  subscription->callback.sink = &subscription->sink;
  subscription->callback.take = subscription_take;
  subscription->callback.run = subscription_run;
  return client_begin_reading(
    add(executor, &subscription->callback, priority), &subscription->callback,
    subscription->session, &subscription->reader);
}

/* Few programs need the rest: messages longer than a frame, publishers that wait, nodes described by XML. */
#define BLOCKING_TIMEOUT_NS UINT64_C(1000000000)

enum rclrt_ret rclrt_send_long(const struct rclrt_outgoing * out)
{
  struct rclrt_session * session = out->session;
  struct rclrt_daemon * daemon = session->daemon;
  if (!session_take_buffer(session)) {
    return RCLRT_ERR_AGAIN;
  }
  /* If it is free, it stays so: nobody else begins a long message while we have the first part. */
  const uint32_t token = daemon_enter(daemon);
  const bool whole = daemon->rest.stream == NULL && !daemon->rest.cutting;
  daemon_leave(daemon, token);
  if (!whole) {
    session_give_buffer(session);
    return RCLRT_ERR_AGAIN;
  }
  struct rclrt_writer writer;
  rclrt_writer_init(&writer, session->buffer, session->buffer_size);
  client_write_data(&writer, out);
  const enum rclrt_ret ret =
    writer.failed
      ? daemon_short(daemon, "the session's buffer", session->buffer_size, writer.at)
      : rclrt_daemon_send_long(daemon, out->stream, out->priority, session->buffer, writer.at);
  session_give_buffer(session);
  return ret;
}

/* Polls until the message is gone: what a client without a daemon does. */
static enum rclrt_ret wait_sent(struct rclrt_publisher * publisher)
{
  struct rclrt_daemon * daemon = publisher->session->daemon;
  const struct rclrt_port * port = daemon->port;
  const uint64_t deadline = port->now_ns(port->context) + BLOCKING_TIMEOUT_NS;
  for (;;) { /* ends: poll() waits, and time goes on */
    const bool done = publisher->stream->id >= RCLRT_STREAM_RELIABLE
                        ? rclrt_daemon_confirmed(daemon, publisher->stream)
                        : rclrt_daemon_idle(daemon);
    if (done) {
      return RCLRT_OK;
    }
    const uint64_t now = port->now_ns(port->context);
    if (now >= deadline) {
      return RCLRT_ERR_TIMEOUT;
    }
    const enum rclrt_ret ret = rclrt_daemon_poll(daemon, deadline - now);
    if (ret != RCLRT_OK) {
      return ret;
    }
  }
}

enum rclrt_ret rclrt_publisher_set_blocking(struct rclrt_publisher * publisher, bool blocking)
{
  if (publisher == NULL || publisher->stream == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  publisher->wait = blocking ? wait_sent : NULL;
  return RCLRT_OK;
}

enum rclrt_ret rclrt_session_init(
  struct rclrt_session * session, struct rclrt_daemon * daemon, uint8_t id, const uint8_t key[4],
  uint8_t * buffer, uint16_t buffer_size)
{
  const enum rclrt_ret ret = session_init(session, daemon, id, key, buffer, buffer_size);
  if (ret == RCLRT_OK) {
    session->send_long = rclrt_send_long;
  }
  return ret;
}

enum rclrt_ret rclrt_node_init_by_xml(
  struct rclrt_node_handle * node, struct rclrt_session * session, const char * name,
  int16_t domain)
{
  return client_init_node(node, session, name, domain, RCLRT_BY_XML, session_describe_any);
}
