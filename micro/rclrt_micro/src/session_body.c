/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What CREATE says of an entity of a session: its names as DDS sees them, in its representation.
 */
#include <string.h>

#include "session_internal.h"

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

static void resolve(struct session_text * to, const struct rclrt_naming * naming, const char * name)
{
  const size_t begin = to->size;
  expand(to, naming, name);
  for (uint8_t i = 0; naming != NULL && i < naming->remap_count && !to->failed; ++i) {
    struct session_text from = {{0}, 0, false};
    expand(&from, naming, naming->remaps[i].from);
    const size_t size = to->size - begin;
    if (from.size == size && memcmp(from.bytes, to->bytes + begin, size) == 0) {
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
  append(to, prefix, strlen(prefix));
  resolve(to, entity->naming, entity->name);
  append(to, suffix, strlen(suffix));
  return !to->failed;
}

size_t session_longest_name(const struct rclrt_entity * entity)
{
  const size_t node = entity->naming == NULL ? 0 : strlen(entity->naming->node);
  return node + strlen(entity->name) + SESSION_AFFIXES;
}

bool session_describe(struct rclrt_writer * writer, const struct rclrt_entity * entity)
{
  const enum rclrt_object_kind kind = (enum rclrt_object_kind)(entity->id & 0xFU);
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
