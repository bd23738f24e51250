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

/* prefix, name without a leading slash, suffix. */
static bool join(char * to, const char * prefix, const char * name, const char * suffix)
{
  const char * parts[3] = {prefix, name[0] == '/' ? name + 1 : name, suffix};
  size_t at = 0;
  for (size_t i = 0; i < 3; ++i) {
    const size_t size = strlen(parts[i]);
    if (size >= RCLRT_NAME_MAX - at) {
      return false;
    }
    memcpy(to + at, parts[i], size);
    at += size;
  }
  to[at] = 0;
  return true;
}

static bool write_service(struct rclrt_writer * writer, const struct rclrt_entity * entity)
{
  char request[RCLRT_NAME_MAX];
  char reply[RCLRT_NAME_MAX];
  const struct rclrt_service_names names = {
    entity->name, entity->type, entity->reply_type, request, reply};
  if (
    !join(request, "rq/", entity->name, "Request") || !join(reply, "rr/", entity->name, "Reply")) {
    return false;
  }
  if (entity->representation == RCLRT_BY_XML) {
    rclrt_xml_service(writer, (enum rclrt_object_kind)(entity->id & 0xFU), &names);
  } else {
    rclrt_binary_service(writer, &names);
  }
  return true;
}

bool session_write_body(struct rclrt_writer * writer, const struct rclrt_entity * entity)
{
  const enum rclrt_object_kind kind = (enum rclrt_object_kind)(entity->id & 0xFU);
  const bool xml = entity->representation == RCLRT_BY_XML;
  char name[RCLRT_NAME_MAX];
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
      if (!join(name, entity->prefix, entity->name, "")) {
        return false;
      }
      (xml ? rclrt_xml_topic : rclrt_binary_topic)(writer, name, entity->type);
      return true;
    default:
      break;
  }
  if (!xml) {
    rclrt_binary_endpoint(writer, kind, entity->topic, &entity->qos);
    return true;
  }
  if (!join(name, entity->prefix, entity->name, "")) {
    return false;
  }
  rclrt_xml_endpoint(writer, kind, name, entity->type);
  return true;
}
