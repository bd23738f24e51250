/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What CREATE says of an entity of a session: its names as DDS sees them, in its representation.
 */
#include <string.h>

#include "session_internal.h"

bool session_has_texts(const struct rclrt_entity * entity, enum rclrt_object_kind kind)
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

/* A name that grows; RCLRT_NAME_MAX with its zero. */
struct text
{
  char bytes[RCLRT_NAME_MAX];
  size_t size;
  bool failed;
};

static void append(struct text * to, const char * bytes, size_t size)
{
  to->failed = to->failed || size >= RCLRT_NAME_MAX - to->size;
  if (!to->failed) {
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size] = 0;
  }
}

/* The full name, without its leading slash. */
static void expand(struct text * to, const struct rclrt_naming * naming, const char * name)
{
  const char * node = naming == NULL ? "" : naming->node;
  node += node[0] == '/' ? 1 : 0;
  if (name[0] == '~' && (name[1] == '/' || name[1] == 0)) {
    append(to, node, strlen(node));
    name++;
  } else if (name[0] == '/') {
    name++;
  } else {
    size_t space = strlen(node);
    while (space > 0 && node[space - 1] != '/') {
      space--;
    }
    append(to, node, space);
  }
  append(to, name, strlen(name));
}

static void resolve(struct text * to, const struct rclrt_naming * naming, const char * name)
{
  const size_t begin = to->size;
  expand(to, naming, name);
  for (uint8_t i = 0; naming != NULL && i < naming->remap_count && !to->failed; ++i) {
    struct text from = {{0}, 0, false};
    expand(&from, naming, naming->remaps[i].from);
    const size_t size = to->size - begin;
    if (from.size == size && memcmp(from.bytes, to->bytes + begin, size) == 0) {
      to->size = begin;
      expand(to, naming, naming->remaps[i].to);
      return;
    }
  }
}

/* prefix, full name, suffix. */
static bool join(
  struct text * to, const char * prefix, const struct rclrt_entity * entity, const char * suffix)
{
  to->size = 0;
  to->failed = false;
  append(to, prefix, strlen(prefix));
  resolve(to, entity->naming, entity->name);
  append(to, suffix, strlen(suffix));
  return !to->failed;
}

static bool write_service(struct rclrt_writer * writer, const struct rclrt_entity * entity)
{
  struct text request, reply, service;
  const struct rclrt_service_names names = {
    service.bytes, entity->type, entity->reply_type, request.bytes, reply.bytes};
  if (
    !join(&request, "rq/", entity, "Request") || !join(&reply, "rr/", entity, "Reply") ||
    !join(&service, "", entity, "")) {
    return false;
  }
  if (entity->representation == RCLRT_BY_XML) {
    rclrt_xml_service(writer, (enum rclrt_object_kind)(entity->id & 0xFU), &names);
  } else {
    rclrt_binary_service(writer, &names);
  }
  return true;
}

size_t session_longest_name(const struct rclrt_entity * entity)
{
  const size_t node = entity->naming == NULL ? 0 : strlen(entity->naming->node);
  return node + strlen(entity->name) + SESSION_AFFIXES;
}

bool session_write_body(struct rclrt_writer * writer, const struct rclrt_entity * entity)
{
  const enum rclrt_object_kind kind = (enum rclrt_object_kind)(entity->id & 0xFU);
  const bool xml = entity->representation == RCLRT_BY_XML;
  struct text name;
  if (entity->representation == RCLRT_BY_REFERENCE) {
    rclrt_text_body(writer, entity->name);
    return true;
  }
  switch (kind) {
    case RCLRT_PARTICIPANT:
      (xml ? rclrt_xml_participant : rclrt_binary_participant)(writer, entity->name);
      return true;
    case RCLRT_PUBLISHER:
    case RCLRT_SUBSCRIBER:
      if (xml) {
        rclrt_text_body(writer, "");
      } else {
        rclrt_binary_group(writer);
      }
      return true;
    case RCLRT_REQUESTER:
    case RCLRT_REPLIER:
      return write_service(writer, entity);
    case RCLRT_TOPIC:
      if (!join(&name, entity->prefix, entity, "")) {
        return false;
      }
      (xml ? rclrt_xml_topic : rclrt_binary_topic)(writer, name.bytes, entity->type);
      return true;
    default:
      break;
  }
  if (!xml) {
    rclrt_binary_endpoint(writer, kind, entity->topic, &entity->qos);
    return true;
  }
  if (!join(&name, entity->prefix, entity, "")) {
    return false;
  }
  rclrt_xml_endpoint(writer, kind, name.bytes, entity->type);
  return true;
}
