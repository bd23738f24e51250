/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/parameters.h"

#include <string.h>

#include "daemon_internal.h"

#define SECOND_NS INT64_C(1000000000)

struct entry
{
  const struct rclrt_rosout * rosout;
  const char * text;
  const char * file;
  const char * function;
  int64_t stamp_ns;
  uint32_t line;
  uint8_t level;
};

/* "board/arm" is the logger "board.arm". */
static void write_logger(struct rclrt_writer * writer, const char * node)
{
  node += node[0] == '/' ? 1 : 0;
  rclrt_write_count(writer, rclrt_text_length(node) + 1);
  for (; *node != 0; ++node) {
    rclrt_write_u8(writer, (uint8_t)(*node == '/' ? '.' : *node));
  }
  rclrt_write_u8(writer, 0);
}

static void encode_entry(const void * message, struct rclrt_writer * writer)
{
  const struct entry * entry = message;
  rclrt_write_i32(writer, (int32_t)(entry->stamp_ns / SECOND_NS));
  rclrt_write_u32(writer, (uint32_t)(entry->stamp_ns % SECOND_NS));
  rclrt_write_u8(writer, entry->level);
  write_logger(writer, entry->rosout->node);
  rclrt_write_string(writer, entry->text);
  rclrt_write_string(writer, entry->file);
  rclrt_write_string(writer, entry->function);
  rclrt_write_u32(writer, entry->line);
}

static const struct rclrt_type type = {"rcl_interfaces::msg::dds_::Log_", encode_entry, NULL};

enum rclrt_ret rclrt_rosout_init(
  struct rclrt_rosout * rosout, struct rclrt_node_handle * node, uint8_t priority)
{
  if (rosout == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(rosout, 0, sizeof(*rosout)); /* whatever the storage held */
  struct rclrt_qos qos = rclrt_qos_depth(rclrt_qos_reliable(), 100);
  qos.transient_local = true; /* late readers see the latest, too */
  const enum rclrt_ret ret =
    rclrt_publisher_init(&rosout->publisher, node, &type, "/rosout", qos, priority);
  if (ret == RCLRT_OK) {
    rosout->node = node->participant.name;
    rosout->least = RCLRT_LOG_INFO;
  }
  return ret;
}

enum rclrt_ret rclrt_rosout_fini(struct rclrt_rosout * rosout)
{
  return rosout == NULL ? RCLRT_ERR_ARGUMENT : rclrt_publisher_fini(&rosout->publisher);
}

enum rclrt_ret rclrt_log(
  struct rclrt_rosout * rosout, enum rclrt_log_level level, const char * text, const char * file,
  const char * function, uint32_t line)
{
  if (rosout == NULL || rosout->node == NULL || text == NULL || file == NULL || function == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if ((uint8_t)level < rosout->least) {
    return RCLRT_OK;
  }
  struct rclrt_session * session = rosout->publisher.session;
  const struct rclrt_port * port = session->daemon->port;
  const struct entry entry = {
    rosout,
    text,
    file,
    function,
    (int64_t)port->now_ns(port->context) + session->clock_offset_ns,
    line,
    (uint8_t)level};
  const enum rclrt_ret ret = rclrt_publish(&rosout->publisher, &entry);
  if (ret != RCLRT_OK) {
    daemon_count(session->daemon, &rosout->lost);
  }
  return ret;
}
