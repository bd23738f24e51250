/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/system.h"

#include "session_internal.h"

static enum rclrt_ret start(
  const struct rclrt_system * system, enum rclrt_framing framing,
  const struct rclrt_daemon_framing * of_daemon, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns)
{
  if (system == NULL || key == 0) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint8_t key_bytes[4] = {
    (uint8_t)(key >> 24), (uint8_t)(key >> 16), (uint8_t)(key >> 8), (uint8_t)key};
  struct rclrt_daemon_config config = *system->config;
  config.framing = framing;
  enum rclrt_ret ret = daemon_init(system->daemon, &config, port, transport, of_daemon, NULL);
  if (ret == RCLRT_OK) {
    ret = session_init(
      system->session, system->daemon, RCLRT_SESSION_DEFAULT, key_bytes, system->session_buffer,
      system->session_buffer_size);
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_executor_init(
      system->executor, system->session, system->timer_slots, system->timer_count,
      system->take_buffers);
  }
  if (ret == RCLRT_OK) {
    const uint64_t begin = port->now_ns(port->context);
    system->session->keep_alive_ns = RCLRT_S(1);
    system->session->send_long = system->send_long;
    ret = rclrt_session_connect(system->session, timeout_ns);
    if (ret == RCLRT_OK) { /* what is left of the time is for the node */
      const uint64_t usual = system->session->answer_timeout_ns;
      const uint64_t gone = port->now_ns(port->context) - begin;
      system->session->answer_timeout_ns = gone < timeout_ns ? timeout_ns - gone : 0;
      ret = rclrt_node_init(system->node, system->session, node_name, system->domain);
      system->session->answer_timeout_ns = usual;
    }
  }
  return ret;
}

enum rclrt_ret rclrt_system_start_serial(
  const struct rclrt_system * system, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns)
{
  return start(
    system, RCLRT_FRAMING_SERIAL, &daemon_serial, port, transport, key, node_name, timeout_ns);
}

enum rclrt_ret rclrt_system_start_datagram(
  const struct rclrt_system * system, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns)
{
  return start(
    system, RCLRT_FRAMING_DATAGRAM, &daemon_datagram, port, transport, key, node_name, timeout_ns);
}

enum rclrt_ret rclrt_system_start_length(
  const struct rclrt_system * system, const struct rclrt_port * port,
  const struct rclrt_transport * transport, uint32_t key, const char * node_name,
  uint64_t timeout_ns)
{
  return start(
    system, RCLRT_FRAMING_LENGTH, &daemon_with_length, port, transport, key, node_name, timeout_ns);
}
