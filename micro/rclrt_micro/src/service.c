/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Services and their clients: a replier or requester, a stream in each direction.
 */
#include <string.h>

#include "client_internal.h"

static void notify(struct rclrt_sink * sink)
{
  rclrt_callback_make_ready(&RCLRT_CONTAINER_OF(sink, struct rclrt_service_end, sink)->callback);
}

static struct rclrt_service_end * end_of(struct rclrt_callback * callback)
{
  return RCLRT_CONTAINER_OF(callback, struct rclrt_service_end, callback);
}

static struct rclrt_service * service_of(struct rclrt_callback * callback)
{
  return RCLRT_CONTAINER_OF(end_of(callback), struct rclrt_service, end);
}

static struct rclrt_client * client_of(struct rclrt_callback * callback)
{
  return RCLRT_CONTAINER_OF(end_of(callback), struct rclrt_client, end);
}

/* What follows the client's requests, if anything. */
static void tell(struct rclrt_client * client, enum rclrt_client_news news, uint16_t number)
{
  if (client->follow != NULL) {
    client->follow(client, news, number);
  }
}

/* What is in `end` already was zero. */
static enum rclrt_ret init_end(
  struct rclrt_service_end * end, struct rclrt_node_handle * node, const char * name,
  enum rclrt_object_kind kind)
{
  if (node == NULL || end->request_type == NULL || end->response_type == NULL || name == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const bool serves = kind == RCLRT_REPLIER;
  const struct rclrt_type * read = serves ? end->request_type : end->response_type;
  const struct rclrt_type * written = serves ? end->response_type : end->request_type;
  if (
    read->decode == NULL || written->encode == NULL || node->session == NULL ||
    read->name == NULL || written->name == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (client_check_streams(node->session, 2) != RCLRT_OK) {
    return RCLRT_ERR_STORAGE;
  }
  end->entity.name = name;
  end->entity.naming = &node->naming;
  end->entity.type = end->request_type->name;
  end->entity.reply_type = end->response_type->name;
  end->entity.parent = node->participant.id;
  end->entity.representation = node->participant.representation;
  end->entity.describe = node->participant.describe == session_describe
                           ? session_describe_service
                           : node->participant.describe;
  const enum rclrt_ret ret = session_create(node->session, &end->entity, kind);
  if (ret != RCLRT_OK) {
    return ret;
  }
  end->session = node->session; /* from now on it can be used */
  end->sink.notify = notify;
  client_add_reception(end->session, &end->entity, &end->in, &end->sink, true);
  return client_add_output(end->session, &end->out, true);
}

enum rclrt_ret rclrt_service_accept_long(
  struct rclrt_service_end * end, uint8_t * storage, uint16_t size)
{
  if (end == NULL || end->session == NULL || storage == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  client_accept_long(end->session, &end->in, storage, size);
  return RCLRT_OK;
}

static enum rclrt_ret fini_end(struct rclrt_service_end * end)
{
  struct rclrt_session * session = end->session;
  if (session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  client_remove_reception(&end->callback, session, &end->entity, &end->in, &end->sink);
  rclrt_daemon_remove_output(session->daemon, &end->out);
  end->session = NULL;
  return rclrt_session_delete(session, &end->entity);
}

enum rclrt_ret rclrt_service_init(
  struct rclrt_service * service, struct rclrt_node_handle * node,
  const struct rclrt_type * request_type, const struct rclrt_type * response_type,
  const char * name)
{
  if (service == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(service, 0, sizeof(*service)); /* whatever the storage held */
  service->end.request_type = request_type;
  service->end.response_type = response_type;
  return init_end(&service->end, node, name, RCLRT_REPLIER);
}

enum rclrt_ret rclrt_client_init(
  struct rclrt_client * client, struct rclrt_node_handle * node,
  const struct rclrt_type * request_type, const struct rclrt_type * response_type,
  const char * name, uint8_t priority)
{
  if (client == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(client, 0, sizeof(*client)); /* whatever the storage held */
  if (priority >= RCLRT_PRIORITIES) {
    return RCLRT_ERR_ARGUMENT;
  }
  client->priority = priority;
  client->end.request_type = request_type;
  client->end.response_type = response_type;
  return init_end(&client->end, node, name, RCLRT_REQUESTER);
}

enum rclrt_ret rclrt_service_fini(struct rclrt_service * service)
{
  return service == NULL ? RCLRT_ERR_ARGUMENT : fini_end(&service->end);
}

enum rclrt_ret rclrt_client_fini(struct rclrt_client * client)
{
  if (client != NULL) {
    tell(client, RCLRT_CLIENT_FINISHED, 0);
    client->follow = NULL;
  }
  return client == NULL ? RCLRT_ERR_ARGUMENT : fini_end(&client->end);
}

/* A message of this end, with this number. */
static enum rclrt_ret send_from(
  struct rclrt_service_end * end, const struct rclrt_type * type, const void * message,
  const struct rclrt_request_id * id, uint8_t priority, uint16_t number)
{
  const struct rclrt_outgoing out = {end->session, &end->out,      type,   message,
                                     id,           end->entity.id, number, priority};
  return client_send(&out);
}

enum rclrt_ret rclrt_service_respond(
  struct rclrt_service * service, const struct rclrt_request_id * id, const void * response)
{
  if (service == NULL || id == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_service_end * end = &service->end;
  if (response == NULL || end->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint16_t number = rclrt_session_next_request(end->session);
  return send_from(end, end->response_type, response, id, end->callback.priority, number);
}

enum rclrt_ret rclrt_client_request(
  struct rclrt_client * client, const void * request, uint16_t * number)
{
  if (client == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_service_end * end = &client->end;
  if (request == NULL || end->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint16_t asked = rclrt_session_next_request(end->session);
  if (number != NULL) {
    *number = asked;
  }
  tell(client, RCLRT_CLIENT_ASKS, asked); /* before: the response may come at any time */
  const enum rclrt_ret ret =
    send_from(end, end->request_type, request, NULL, client->priority, asked);
  if (ret != RCLRT_OK) {
    tell(client, RCLRT_CLIENT_ANSWERED, asked); /* it is not under way */
  }
  return ret;
}

static bool service_take(struct rclrt_callback * callback, uint8_t * buffer, size_t capacity)
{
  struct rclrt_service * service = service_of(callback);
  struct rclrt_service_end * end = &service->end;
  struct rclrt_bytes data;
  if (!client_take_data(end->session, &end->sink, buffer, capacity, &data)) {
    return false;
  }
  struct rclrt_reader reader;
  rclrt_reader_init(&reader, data.data, data.size);
  rclrt_read_bytes(&reader, service->id.bytes, sizeof(service->id.bytes));
  return client_decode(end->request_type, service->request, &reader, &service->undecodable);
}

static void service_run(struct rclrt_callback * callback, bool fresh)
{
  (void)fresh;
  struct rclrt_service * service = service_of(callback);
  struct rclrt_service_end * end = &service->end;
  if (!service->run(end->context, service->request, end->response)) {
    return;
  }
  if (rclrt_service_respond(service, &service->id, end->response) != RCLRT_OK) {
    service->unsent++;
  }
}

static bool client_take(struct rclrt_callback * callback, uint8_t * buffer, size_t capacity)
{
  struct rclrt_client * client = client_of(callback);
  struct rclrt_service_end * end = &client->end;
  struct rclrt_bytes data;
  if (!client_take_data(end->session, &end->sink, buffer, capacity, &data)) {
    return false;
  }
  struct rclrt_reader reader;
  rclrt_reader_init(&reader, data.data, data.size);
  const uint8_t high = rclrt_read_u8(&reader);
  client->number = (uint16_t)(high << 8 | rclrt_read_u8(&reader));
  (void)rclrt_read_u16(&reader); /* the requester itself */
  return client_decode(end->response_type, end->response, &reader, &client->undecodable);
}

static void client_run(struct rclrt_callback * callback, bool fresh)
{
  (void)fresh;
  struct rclrt_client * client = client_of(callback);
  tell(client, RCLRT_CLIENT_ANSWERED, client->number);
  client->run(client->end.context, client->end.response, client->number);
}

static bool can_add(const struct rclrt_service_end * end)
{
  return end->session != NULL && end->callback.executor == NULL;
}

static enum rclrt_ret add_end(
  struct rclrt_executor * executor, struct rclrt_service_end * end, void * response, void * context,
  uint8_t priority)
{
  end->response = response;
  end->context = context;
  end->callback.sink = &end->sink;
  return client_begin_reading(
    rclrt_executor_add_on_new_data(executor, &end->callback, priority), &end->callback,
    end->session, &end->entity);
}

enum rclrt_ret rclrt_executor_add_service(
  struct rclrt_executor * executor, struct rclrt_service * service, void * request, void * response,
  bool (*run)(void * context, const void * request, void * response), void * context,
  uint8_t priority)
{
  if (
    service == NULL || request == NULL || response == NULL || run == NULL ||
    !can_add(&service->end)) {
    return RCLRT_ERR_ARGUMENT;
  }
  service->request = request;
  service->run = run;
  service->end.callback.take = service_take;
  service->end.callback.run = service_run;
  return add_end(executor, &service->end, response, context, priority);
}

enum rclrt_ret rclrt_executor_add_client(
  struct rclrt_executor * executor, struct rclrt_client * client, void * response,
  void (*run)(void * context, const void * response, uint16_t number), void * context,
  uint8_t priority)
{
  if (client == NULL || response == NULL || run == NULL || !can_add(&client->end)) {
    return RCLRT_ERR_ARGUMENT;
  }
  client->run = run;
  client->end.callback.take = client_take;
  client->end.callback.run = client_run;
  return add_end(executor, &client->end, response, context, priority);
}
