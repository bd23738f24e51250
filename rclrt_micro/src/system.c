/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/system.h"

enum rclrt_ret rclrt_system_start(
  struct rclrt_system * system, enum rclrt_framing framing, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns)
{
  if (system == NULL || key == 0) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint8_t key_bytes[4] = {
    (uint8_t)(key >> 24), (uint8_t)(key >> 16), (uint8_t)(key >> 8), (uint8_t)key};
  system->config.framing = framing;
  enum rclrt_ret ret = rclrt_daemon_init(&system->daemon, &system->config, port, transport);
  if (ret == RCLRT_OK) {
    ret = rclrt_session_init(
      &system->session, &system->daemon, RCLRT_SESSION_DEFAULT, key_bytes, system->session_buffer,
      system->config.message_capacity);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_executor_init(
      &system->executor, &system->session, system->timer_slots, system->timer_count,
      system->take_buffer);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_session_connect(&system->session, timeout_ns);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_node_init(&system->node, &system->session, node_name, 0);
  }
  return ret;
}
