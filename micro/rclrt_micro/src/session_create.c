/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entities of any kind, in any representation. Nodes and their topics by binary need the second half only.
 */
#include <string.h>

#include "session_internal.h"

/* Are the texts there that its representation is made of? */
static bool has_texts(const struct rclrt_entity * entity, enum rclrt_object_kind kind)
{
  const bool by_reference = entity->representation == RCLRT_BY_REFERENCE;
  const bool grouped = kind == RCLRT_PUBLISHER || kind == RCLRT_SUBSCRIBER;
  const bool endpoint = kind == RCLRT_DATAWRITER || kind == RCLRT_DATAREADER;
  const bool service = kind == RCLRT_REQUESTER || kind == RCLRT_REPLIER;
  if (!by_reference && (grouped || (endpoint && entity->representation == RCLRT_BY_BINARY))) {
    return true;
  }
  const bool typed = !by_reference && kind != RCLRT_PARTICIPANT;
  return entity->name != NULL && (!typed || entity->type != NULL) &&
         (!typed || !service || entity->reply_type != NULL);
}

struct service_texts
{
  struct session_text request, reply, service;
};

static bool join_service(
  struct service_texts * texts, const struct rclrt_entity * entity,
  struct rclrt_service_names * names)
{
  names->service = texts->service.bytes;
  names->request_type = entity->type;
  names->reply_type = entity->reply_type;
  names->request_topic = texts->request.bytes;
  names->reply_topic = texts->reply.bytes;
  return session_join(&texts->request, "rq/", entity, "Request") &&
         session_join(&texts->reply, "rr/", entity, "Reply") &&
         session_join(&texts->service, "", entity, "");
}

bool session_describe_service(
  struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind)
{
  (void)kind;
  struct service_texts texts;
  struct rclrt_service_names names;
  const bool joined = join_service(&texts, entity, &names);
  if (joined) {
    rclrt_binary_service(writer, &names);
  }
  return joined;
}

static bool describe_by_xml(
  struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind)
{
  struct service_texts texts;
  struct rclrt_service_names names;
  switch (kind) {
    case RCLRT_PARTICIPANT:
      rclrt_xml_participant(writer, entity->name);
      return true;
    case RCLRT_PUBLISHER:
    case RCLRT_SUBSCRIBER:
      rclrt_text_body(writer, "");
      return true;
    case RCLRT_REQUESTER:
    case RCLRT_REPLIER:
      if (!join_service(&texts, entity, &names)) {
        return false;
      }
      rclrt_xml_service(writer, kind, &names);
      return true;
    default:
      break;
  }
  if (!session_join(&texts.service, entity->prefix, entity, "")) {
    return false;
  }
  if (kind == RCLRT_TOPIC) {
    rclrt_xml_topic(writer, texts.service.bytes, entity->type);
  } else {
    rclrt_xml_endpoint(writer, kind, texts.service.bytes, entity->type);
  }
  return true;
}

bool session_describe_any(
  struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind)
{
  if (entity->representation == RCLRT_BY_REFERENCE) {
    rclrt_text_body(writer, entity->name);
    return true;
  }
  if (entity->representation == RCLRT_BY_XML) {
    return describe_by_xml(writer, entity, kind);
  }
  const bool service = kind == RCLRT_REQUESTER || kind == RCLRT_REPLIER;
  return (service ? session_describe_service : session_describe)(writer, entity, kind);
}

enum rclrt_ret rclrt_session_create(
  struct rclrt_session * session, struct rclrt_entity * entity, enum rclrt_object_kind kind)
{
  if (!session_usable(session) || entity == NULL || entity->link.next != NULL) {
    return RCLRT_ERR_ARGUMENT; /* also: it is already in a session's list */
  }
  if (entity->representation == 0) {
    entity->representation = RCLRT_BY_BINARY;
  }
  if (session->connected && !has_texts(entity, kind)) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (entity->prefix == NULL && kind != RCLRT_REQUESTER && kind != RCLRT_REPLIER) {
    entity->prefix = "";
  }
  entity->describe = session_describe_any;
  return session_create(session, entity, kind);
}

/* Below: what CREATE says of an entity; its names as DDS sees them. Needed by all that creates anything. */
static void append(struct session_text * to, const char * bytes, size_t size)
{
  to->failed = to->failed || size >= RCLRT_NAME_MAX - to->size;
  if (!to->failed) {
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size] = 0;
  }
}

/* The full name, without its leading slash. */
static void expand(struct session_text * to, const struct rclrt_naming * naming, const char * name)
{
  const char * node = naming == NULL ? "" : naming->node;
  node += node[0] == '/' ? 1 : 0;
  if (name[0] == '~' && (name[1] == '/' || name[1] == 0)) {
    append(to, node, rclrt_text_length(node));
    name++;
  } else if (name[0] == '/') {
    name++;
  } else {
    size_t space = rclrt_text_length(node);
    while (space > 0 && node[space - 1] != '/') {
      space--;
    }
    append(to, node, space);
  }
  append(to, name, rclrt_text_length(name));
}

static void resolve(struct session_text * to, const struct rclrt_naming * naming, const char * name)
{
  const size_t begin = to->size;
  expand(to, naming, name);
  for (uint8_t i = 0; naming != NULL && i < naming->remap_count && !to->failed; ++i) {
    struct session_text from = {{0}, 0, false};
    expand(&from, naming, naming->remaps[i].from);
    const size_t size = to->size - begin;
    if (from.size == size && rclrt_same_bytes(from.bytes, to->bytes + begin, size)) {
      to->size = begin;
      expand(to, naming, naming->remaps[i].to);
      return;
    }
  }
}

bool session_join(
  struct session_text * to, const char * prefix, const struct rclrt_entity * entity,
  const char * suffix)
{
  to->size = 0;
  to->failed = false;
  append(to, prefix, rclrt_text_length(prefix));
  resolve(to, entity->naming, entity->name);
  append(to, suffix, rclrt_text_length(suffix));
  return !to->failed;
}

size_t session_longest_name(const struct rclrt_entity * entity)
{
  const size_t node = entity->naming == NULL ? 0 : rclrt_text_length(entity->naming->node);
  return node + rclrt_text_length(entity->name) + SESSION_AFFIXES;
}

bool session_describe(
  struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind)
{
  struct session_text name;
  switch (kind) {
    case RCLRT_PARTICIPANT:
      rclrt_binary_participant(writer, entity->name);
      return true;
    case RCLRT_PUBLISHER:
    case RCLRT_SUBSCRIBER:
      rclrt_binary_group(writer);
      return true;
    case RCLRT_TOPIC:
      if (!session_join(&name, entity->prefix, entity, "")) {
        return false;
      }
      rclrt_binary_topic(writer, name.bytes, entity->type);
      return true;
    default:
      rclrt_binary_endpoint(writer, kind, entity->topic, &entity->qos);
      return true;
  }
}
