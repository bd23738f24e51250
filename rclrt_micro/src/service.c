/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Services and their clients: a replier or requester, a stream in each direction.
 */
#include <string.h>

#include "client_internal.h"

static void service_notify(struct rclrt_sink * sink)
{
  rclrt_callback_make_ready(&RCLRT_CONTAINER_OF(sink, struct rclrt_service, sink)->callback);
}

static void client_notify(struct rclrt_sink * sink)
{
  rclrt_callback_make_ready(&RCLRT_CONTAINER_OF(sink, struct rclrt_client, sink)->callback);
}

static enum rclrt_ret create_service(
  struct rclrt_node_handle * node, struct rclrt_entity * entity, const char * name,
  const struct rclrt_type * request_type, const struct rclrt_type * response_type,
  enum rclrt_object_kind kind)
{
  entity->name = name;
  entity->type = request_type->name;
  entity->reply_type = response_type->name;
  entity->parent = node->participant.id;
  entity->representation = node->representation;
  return rclrt_session_create(node->session, entity, kind);
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
  if (
    node == NULL || request_type == NULL || response_type == NULL || name == NULL ||
    node->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (client_check_streams(node->session, 2) != RCLRT_OK) {
    return RCLRT_ERR_STORAGE;
  }
  service->request_type = request_type;
  service->response_type = response_type;
  enum rclrt_ret ret =
    create_service(node, &service->replier, name, request_type, response_type, RCLRT_REPLIER);
  if (ret != RCLRT_OK) {
    return ret;
  }
  service->session = node->session; /* from now on it can be used */
  service->sink.notify = service_notify;
  ret = client_add_reception(node->session, &service->replier, &service->in, &service->sink, true);
  if (ret != RCLRT_OK) {
    return ret;
  }
  return client_add_output(node->session, &service->out, true);
}

enum rclrt_ret rclrt_service_fini(struct rclrt_service * service)
{
  if (service == NULL || service->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_session * session = service->session;
  client_remove_reception(
    &service->callback, session, &service->replier, &service->in, &service->sink);
  const enum rclrt_ret ret = rclrt_session_delete(session, &service->replier);
  rclrt_daemon_remove_output(session->daemon, &service->out);
  service->session = NULL;
  return ret;
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
  if (
    node == NULL || request_type == NULL || response_type == NULL || name == NULL ||
    node->session == NULL || priority >= RCLRT_PRIORITIES) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (client_check_streams(node->session, 2) != RCLRT_OK) {
    return RCLRT_ERR_STORAGE;
  }
  client->request_type = request_type;
  client->response_type = response_type;
  client->priority = priority;
  enum rclrt_ret ret =
    create_service(node, &client->requester, name, request_type, response_type, RCLRT_REQUESTER);
  if (ret != RCLRT_OK) {
    return ret;
  }
  client->session = node->session; /* from now on it can be used */
  client->sink.notify = client_notify;
  ret = client_add_reception(node->session, &client->requester, &client->in, &client->sink, true);
  if (ret != RCLRT_OK) {
    return ret;
  }
  return client_add_output(node->session, &client->out, true);
}

enum rclrt_ret rclrt_client_fini(struct rclrt_client * client)
{
  if (client == NULL || client->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_session * session = client->session;
  client_remove_reception(
    &client->callback, session, &client->requester, &client->in, &client->sink);
  const enum rclrt_ret ret = rclrt_session_delete(session, &client->requester);
  rclrt_daemon_remove_output(session->daemon, &client->out);
  client->session = NULL;
  return ret;
}

enum rclrt_ret rclrt_service_respond(
  struct rclrt_service * service, const struct rclrt_request_id * id, const void * response)
{
  if (service == NULL || id == NULL || response == NULL || service->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const struct outgoing out = {
    service->session,
    &service->out,
    service->response_type,
    response,
    id,
    service->replier.id,
    rclrt_session_next_request(service->session),
    service->callback.priority};
  return client_send(&out);
}

enum rclrt_ret rclrt_client_request(
  struct rclrt_client * client, const void * request, uint16_t * number)
{
  if (client == NULL || request == NULL || client->session == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const struct outgoing out = {
    client->session,
    &client->out,
    client->request_type,
    request,
    NULL,
    client->requester.id,
    rclrt_session_next_request(client->session),
    client->priority};
  if (number != NULL) {
    *number = out.request;
  }
  return client_send(&out);
}

static bool service_take(struct rclrt_callback * callback, uint8_t * buffer, size_t capacity)
{
  struct rclrt_service * service = RCLRT_CONTAINER_OF(callback, struct rclrt_service, callback);
  struct rclrt_bytes data;
  if (!client_take_data(service->session, &service->sink, buffer, capacity, &data)) {
    return false;
  }
  struct rclrt_reader reader;
  rclrt_reader_init(&reader, data.data, data.size);
  rclrt_read_bytes(&reader, service->id.bytes, sizeof(service->id.bytes));
  return client_decode(service->request_type, service->request, &reader, &service->undecodable);
}

static void service_run(struct rclrt_callback * callback, bool fresh)
{
  (void)fresh;
  struct rclrt_service * service = RCLRT_CONTAINER_OF(callback, struct rclrt_service, callback);
  if (!service->run(service->context, service->request, service->response)) {
    return;
  }
  if (rclrt_service_respond(service, &service->id, service->response) != RCLRT_OK) {
    service->unsent++;
  }
}

enum rclrt_ret rclrt_executor_add_service(
  struct rclrt_executor * executor, struct rclrt_service * service, void * request, void * response,
  bool (*run)(void * context, const void * request, void * response), void * context,
  uint8_t priority)
{
  if (
    service == NULL || request == NULL || response == NULL || run == NULL ||
    service->session == NULL || service->callback.executor != NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  service->request = request;
  service->response = response;
  service->run = run;
  service->context = context;
  service->callback.sink = &service->sink;
  service->callback.take = service_take;
  service->callback.run = service_run;
  return client_add_reader(
    executor, &service->callback, priority, RCLRT_ON_NEW_DATA, service->session, &service->replier);
}

static bool client_take(struct rclrt_callback * callback, uint8_t * buffer, size_t capacity)
{
  struct rclrt_client * client = RCLRT_CONTAINER_OF(callback, struct rclrt_client, callback);
  struct rclrt_bytes data;
  if (!client_take_data(client->session, &client->sink, buffer, capacity, &data)) {
    return false;
  }
  struct rclrt_reader reader;
  rclrt_reader_init(&reader, data.data, data.size);
  const uint8_t high = rclrt_read_u8(&reader);
  client->number = (uint16_t)(high << 8 | rclrt_read_u8(&reader));
  (void)rclrt_read_u16(&reader); /* the requester itself */
  return client_decode(client->response_type, client->response, &reader, &client->undecodable);
}

static void client_run(struct rclrt_callback * callback, bool fresh)
{
  (void)fresh;
  struct rclrt_client * client = RCLRT_CONTAINER_OF(callback, struct rclrt_client, callback);
  client->run(client->context, client->response, client->number);
}

enum rclrt_ret rclrt_executor_add_client(
  struct rclrt_executor * executor, struct rclrt_client * client, void * response,
  void (*run)(void * context, const void * response, uint16_t number), void * context,
  uint8_t priority)
{
  if (
    client == NULL || response == NULL || run == NULL || client->session == NULL ||
    client->callback.executor != NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  client->response = response;
  client->run = run;
  client->context = context;
  client->callback.sink = &client->sink;
  client->callback.take = client_take;
  client->callback.run = client_run;
  return client_add_reader(
    executor, &client->callback, priority, RCLRT_ON_NEW_DATA, client->session, &client->requester);
}
