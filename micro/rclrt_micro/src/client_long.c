/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What few programs need: messages longer than a frame, publishers that wait, nodes described by XML.
 */
#include "client_internal.h"

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
