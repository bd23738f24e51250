/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Submessages of all kinds: for agents, and for whoever looks at a line. A client links what it needs.
 */
#include "xrce_internal.h"

void rclrt_write_message_header(
  struct rclrt_writer * writer, const struct rclrt_message_header * header)
{
  rclrt_write_u8(writer, header->session);
  rclrt_write_u8(writer, header->stream);
  rclrt_write_u16(writer, header->sequence);
  if (header->session < RCLRT_SESSION_NONE) {
    rclrt_write_bytes(writer, header->key, sizeof(header->key));
  }
}

void rclrt_payload_acknack(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  rclrt_write_u16(writer, sub->of.acknack.first_unacked);
  rclrt_write_u8(writer, (uint8_t)(sub->of.acknack.missing >> 8));
  rclrt_write_u8(writer, (uint8_t)sub->of.acknack.missing);
  rclrt_write_u8(writer, sub->of.acknack.stream);
}

void rclrt_payload_heartbeat(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  rclrt_write_u16(writer, sub->of.heartbeat.first_unacked);
  rclrt_write_u16(writer, sub->of.heartbeat.last_unacked);
  rclrt_write_u8(writer, sub->of.heartbeat.stream);
}

static void write_result(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  rclrt_write_u8(writer, sub->of.result.status);
  rclrt_write_u8(writer, sub->of.result.implementation);
  if (sub->id == RCLRT_STATUS_AGENT) {
    xrce_write_identity(writer);
    rclrt_write_bool(writer, false); /* no properties */
  } else if (sub->id == RCLRT_INFO) {
    rclrt_write_bytes(writer, sub->of.result.info.data, sub->of.result.info.size);
  }
}

static void write_timestamp_reply(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  xrce_write_time(writer, &sub->of.timestamp_reply.transmit);
  xrce_write_time(writer, &sub->of.timestamp_reply.receive);
  xrce_write_time(writer, &sub->of.timestamp_reply.originate);
}

static rclrt_payload_writer * writer_of(uint8_t id)
{
  switch (id) {
    case RCLRT_CREATE_CLIENT:
      return rclrt_payload_create_client;
    case RCLRT_CREATE:
      return rclrt_payload_create;
    case RCLRT_GET_INFO:
      return rclrt_payload_get_info;
    case RCLRT_DELETE:
    case RCLRT_RESET:
      return rclrt_payload_none;
    case RCLRT_STATUS_AGENT:
    case RCLRT_STATUS:
    case RCLRT_INFO:
      return write_result;
    case RCLRT_READ_DATA:
      return rclrt_payload_read_data;
    case RCLRT_ACKNACK:
      return rclrt_payload_acknack;
    case RCLRT_HEARTBEAT:
      return rclrt_payload_heartbeat;
    case RCLRT_TIMESTAMP:
      return rclrt_payload_timestamp;
    case RCLRT_TIMESTAMP_REPLY:
      return write_timestamp_reply;
    default: /* WRITE_DATA, DATA, FRAGMENT, unknown */
      return rclrt_payload_bytes;
  }
}

void rclrt_write_submessage(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  rclrt_write_submessage_by(writer, sub, writer_of(sub->id));
}

static void read_create(struct rclrt_reader * reader, struct rclrt_create * create)
{
  create->kind = rclrt_read_u8(reader);
  create->representation = rclrt_read_u8(reader);
  const size_t size = rclrt_read_count(reader, UINT16_MAX, 1);
  create->body = rclrt_read_reference(reader, size);
  if (create->kind == RCLRT_PARTICIPANT) {
    create->domain = rclrt_read_i16(reader);
  } else {
    create->parent = xrce_read_identifier(reader);
  }
}

static void read_read_data(struct rclrt_reader * reader, struct rclrt_read_data * read)
{
  read->preferred_stream = rclrt_read_u8(reader);
  read->format = rclrt_read_u8(reader);
  read->has_filter = rclrt_read_bool(reader);
  if (read->has_filter) {
    const size_t size = rclrt_read_count(reader, UINT16_MAX, 1);
    read->filter = rclrt_read_reference(reader, size);
  }
  read->has_delivery = rclrt_read_bool(reader);
  if (read->has_delivery) {
    read->delivery.max_samples = rclrt_read_u16(reader);
    read->delivery.max_elapsed_s = rclrt_read_u16(reader);
    read->delivery.max_bytes_per_s = rclrt_read_u16(reader);
    read->delivery.min_pace_period_ms = rclrt_read_u16(reader);
  }
}

static void read_payload(struct rclrt_reader * payload, struct rclrt_submessage * sub)
{
  switch (sub->id) {
    case RCLRT_CREATE_CLIENT:
      xrce_read_identity(payload);
      rclrt_read_bytes(payload, sub->of.create_client.key, 4);
      sub->of.create_client.session = rclrt_read_u8(payload);
      if (rclrt_read_bool(payload)) {
        /* Pairs of strings that nothing here understands: for the agent. */
        rclrt_read_align(payload, 4);
        const size_t begin = payload->at;
        const size_t count = rclrt_read_count(payload, UINT16_MAX, 10);
        for (size_t i = 0; i < 2 * count; ++i) {
          const size_t size = rclrt_read_count(payload, UINT16_MAX, 1);
          (void)rclrt_read_reference(payload, size);
        }
        if (!payload->failed) {
          sub->of.create_client.properties.data = payload->data + begin;
          sub->of.create_client.properties.size = payload->at - begin;
        }
      }
      sub->of.create_client.mtu = rclrt_read_u16(payload);
      break;
    case RCLRT_CREATE:
      read_create(payload, &sub->of.create);
      break;
    case RCLRT_GET_INFO:
      sub->of.info_mask = rclrt_read_u32(payload);
      break;
    case RCLRT_DELETE:
    case RCLRT_RESET:
      break;
    case RCLRT_READ_DATA:
      read_read_data(payload, &sub->of.read_data);
      break;
    case RCLRT_TIMESTAMP:
      xrce_read_time(payload, &sub->of.timestamp);
      break;
    default:
      xrce_read_answer_payload(payload, sub);
      break;
  }
}

bool rclrt_read_submessage(struct rclrt_reader * reader, struct rclrt_submessage * sub)
{
  return xrce_read_by(reader, sub, read_payload);
}

void rclrt_write_agent_info(struct rclrt_writer * writer, int16_t availability)
{
  writer->origin = writer->at - 6U;
  rclrt_write_bool(writer, true);
  rclrt_write_u8(writer, 0x0D);
  xrce_write_identity(writer);
  rclrt_write_bool(writer, false);
  rclrt_write_bool(writer, true);
  rclrt_write_u8(writer, 0x0D);
  rclrt_write_u8(writer, 0);
  rclrt_write_i16(writer, availability);
  rclrt_write_u16(writer, 0);
  rclrt_write_u32(writer, 0);
}
