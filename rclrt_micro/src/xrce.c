/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/xrce.h"

#include <string.h>

static const uint8_t cookie[4] = {'X', 'R', 'C', 'E'};
static const uint8_t version[2] = {1, 0};
static const uint8_t vendor[2] = {0x01, 0x0F}; /* of the peers in use; others are refused by some */

size_t rclrt_message_header_size(uint8_t session) { return session < RCLRT_SESSION_NONE ? 8 : 4; }

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

void rclrt_read_message_header(struct rclrt_reader * reader, struct rclrt_message_header * header)
{
  memset(header, 0, sizeof(*header));
  header->session = rclrt_read_u8(reader);
  header->stream = rclrt_read_u8(reader);
  header->sequence = rclrt_read_u16(reader);
  if (header->session < RCLRT_SESSION_NONE) {
    rclrt_read_bytes(reader, header->key, sizeof(header->key));
  }
}

size_t rclrt_submessage_begin(struct rclrt_writer * writer, uint8_t id, uint8_t flags)
{
  writer->origin = 0;
  rclrt_write_align(writer, 4);
  rclrt_write_u8(writer, id);
  rclrt_write_u8(writer, (uint8_t)(flags | RCLRT_FLAG_LITTLE_ENDIAN));
  rclrt_write_u16(writer, 0);
  writer->origin = writer->at;
  return writer->at;
}

void rclrt_submessage_end(struct rclrt_writer * writer, size_t begin)
{
  const size_t length = writer->at - begin;
  writer->origin = 0;
  if (length > UINT16_MAX) {
    writer->failed = true;
  }
  if (writer->failed) {
    return;
  }
  writer->data[begin - 2] = (uint8_t)length;
  writer->data[begin - 1] = (uint8_t)(length >> 8);
}

/* Identifiers are pairs of raw bytes, the more significant first, whatever the flags say. */
static void write_identifier(struct rclrt_writer * writer, uint16_t identifier)
{
  rclrt_write_u8(writer, (uint8_t)(identifier >> 8));
  rclrt_write_u8(writer, (uint8_t)identifier);
}

static uint16_t read_identifier(struct rclrt_reader * reader)
{
  const uint8_t high = rclrt_read_u8(reader);
  const uint8_t low = rclrt_read_u8(reader);
  return (uint16_t)(high << 8 | low);
}

size_t rclrt_data_begin(struct rclrt_writer * writer, uint8_t id, uint16_t request, uint16_t object)
{
  const size_t begin = rclrt_submessage_begin(writer, id, 0);
  write_identifier(writer, request);
  write_identifier(writer, object);
  writer->origin = writer->at;
  return begin;
}

static void write_agent_identity(struct rclrt_writer * writer)
{
  rclrt_write_bytes(writer, cookie, sizeof(cookie));
  rclrt_write_bytes(writer, version, sizeof(version));
  rclrt_write_bytes(writer, vendor, sizeof(vendor));
}

static void read_agent_identity(struct rclrt_reader * reader)
{
  uint8_t got[8] = {0};
  rclrt_read_bytes(reader, got, sizeof(got));
  if (memcmp(got, cookie, sizeof(cookie)) != 0 || got[4] != version[0]) {
    reader->failed = true;
  }
}

static void write_create(struct rclrt_writer * writer, const struct rclrt_create * create)
{
  rclrt_write_u8(writer, create->kind);
  rclrt_write_u8(writer, create->representation);
  rclrt_write_count(writer, create->body.size);
  rclrt_write_bytes(writer, create->body.data, create->body.size);
  if (create->kind == RCLRT_PARTICIPANT) {
    rclrt_write_i16(writer, create->domain);
  } else {
    write_identifier(writer, create->parent);
  }
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
    create->parent = read_identifier(reader);
  }
}

static void write_read_data(struct rclrt_writer * writer, const struct rclrt_read_data * read)
{
  rclrt_write_u8(writer, read->preferred_stream);
  rclrt_write_u8(writer, read->format);
  rclrt_write_bool(writer, read->has_filter);
  if (read->has_filter) {
    rclrt_write_count(writer, read->filter.size);
    rclrt_write_bytes(writer, read->filter.data, read->filter.size);
  }
  rclrt_write_bool(writer, read->has_delivery);
  if (read->has_delivery) {
    rclrt_write_u16(writer, read->delivery.max_samples);
    rclrt_write_u16(writer, read->delivery.max_elapsed_s);
    rclrt_write_u16(writer, read->delivery.max_bytes_per_s);
    rclrt_write_u16(writer, read->delivery.min_pace_period_ms);
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

static void write_time(struct rclrt_writer * writer, const struct rclrt_time * time)
{
  rclrt_write_i32(writer, time->s);
  rclrt_write_u32(writer, time->ns);
}

static void read_time(struct rclrt_reader * reader, struct rclrt_time * time)
{
  time->s = rclrt_read_i32(reader);
  time->ns = rclrt_read_u32(reader);
}

static bool has_identifiers(uint8_t id)
{
  return id == RCLRT_CREATE || id == RCLRT_GET_INFO || id == RCLRT_DELETE || id == RCLRT_STATUS ||
         id == RCLRT_INFO || id == RCLRT_WRITE_DATA || id == RCLRT_READ_DATA || id == RCLRT_DATA;
}

void rclrt_write_submessage(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  const size_t begin = rclrt_submessage_begin(writer, sub->id, sub->flags);
  if (has_identifiers(sub->id)) {
    write_identifier(writer, sub->request);
    write_identifier(writer, sub->object);
  }
  switch (sub->id) {
    case RCLRT_CREATE_CLIENT:
      write_agent_identity(writer);
      rclrt_write_bytes(writer, sub->of.create_client.key, 4);
      rclrt_write_u8(writer, sub->of.create_client.session);
      rclrt_write_bool(writer, false); /* no properties */
      rclrt_write_u16(writer, sub->of.create_client.mtu);
      break;
    case RCLRT_CREATE:
      write_create(writer, &sub->of.create);
      break;
    case RCLRT_GET_INFO:
      rclrt_write_u32(writer, sub->of.info_mask);
      break;
    case RCLRT_DELETE:
    case RCLRT_RESET:
      break;
    case RCLRT_STATUS_AGENT:
    case RCLRT_STATUS:
    case RCLRT_INFO:
      rclrt_write_u8(writer, sub->of.result.status);
      rclrt_write_u8(writer, sub->of.result.implementation);
      if (sub->id == RCLRT_STATUS_AGENT) {
        write_agent_identity(writer);
        rclrt_write_bool(writer, false); /* no properties */
      } else if (sub->id == RCLRT_INFO) {
        rclrt_write_bytes(writer, sub->of.result.info.data, sub->of.result.info.size);
      }
      break;
    case RCLRT_READ_DATA:
      write_read_data(writer, &sub->of.read_data);
      break;
    case RCLRT_ACKNACK:
      rclrt_write_u16(writer, sub->of.acknack.first_unacked);
      rclrt_write_u8(writer, (uint8_t)(sub->of.acknack.missing >> 8));
      rclrt_write_u8(writer, (uint8_t)sub->of.acknack.missing);
      rclrt_write_u8(writer, sub->of.acknack.stream);
      break;
    case RCLRT_HEARTBEAT:
      rclrt_write_u16(writer, sub->of.heartbeat.first_unacked);
      rclrt_write_u16(writer, sub->of.heartbeat.last_unacked);
      rclrt_write_u8(writer, sub->of.heartbeat.stream);
      break;
    case RCLRT_TIMESTAMP:
      write_time(writer, &sub->of.timestamp);
      break;
    case RCLRT_TIMESTAMP_REPLY:
      write_time(writer, &sub->of.timestamp_reply.transmit);
      write_time(writer, &sub->of.timestamp_reply.receive);
      write_time(writer, &sub->of.timestamp_reply.originate);
      break;
    default: /* WRITE_DATA, DATA, FRAGMENT, unknown */
      rclrt_write_bytes(writer, sub->of.data.data, sub->of.data.size);
      break;
  }
  rclrt_submessage_end(writer, begin);
}

static void read_payload(struct rclrt_reader * payload, struct rclrt_submessage * sub)
{
  if (has_identifiers(sub->id)) {
    sub->request = read_identifier(payload);
    sub->object = read_identifier(payload);
  }
  switch (sub->id) {
    case RCLRT_CREATE_CLIENT:
      read_agent_identity(payload);
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
    case RCLRT_STATUS_AGENT:
    case RCLRT_STATUS:
    case RCLRT_INFO:
      sub->of.result.status = rclrt_read_u8(payload);
      sub->of.result.implementation = rclrt_read_u8(payload);
      if (sub->id == RCLRT_STATUS_AGENT) {
        read_agent_identity(payload); /* properties after it are of no interest */
      } else if (sub->id == RCLRT_INFO) {
        sub->of.result.info = rclrt_read_reference(payload, rclrt_reader_left(payload));
      }
      break;
    case RCLRT_READ_DATA:
      read_read_data(payload, &sub->of.read_data);
      break;
    case RCLRT_ACKNACK:
      sub->of.acknack.first_unacked = rclrt_read_u16(payload);
      sub->of.acknack.missing = (uint16_t)(rclrt_read_u8(payload) << 8);
      sub->of.acknack.missing = (uint16_t)(sub->of.acknack.missing | rclrt_read_u8(payload));
      sub->of.acknack.stream = rclrt_read_u8(payload);
      break;
    case RCLRT_HEARTBEAT:
      sub->of.heartbeat.first_unacked = rclrt_read_u16(payload);
      sub->of.heartbeat.last_unacked = rclrt_read_u16(payload);
      sub->of.heartbeat.stream = rclrt_read_u8(payload);
      break;
    case RCLRT_TIMESTAMP:
      read_time(payload, &sub->of.timestamp);
      break;
    case RCLRT_TIMESTAMP_REPLY:
      read_time(payload, &sub->of.timestamp_reply.transmit);
      read_time(payload, &sub->of.timestamp_reply.receive);
      read_time(payload, &sub->of.timestamp_reply.originate);
      break;
    default:
      sub->of.data = rclrt_read_reference(payload, rclrt_reader_left(payload));
      break;
  }
}

bool rclrt_read_submessage(struct rclrt_reader * reader, struct rclrt_submessage * sub)
{
  memset(sub, 0, sizeof(*sub));
  reader->origin = 0;
  if (reader->failed || rclrt_reader_left(reader) == 0) {
    return false;
  }
  const size_t pad = (4U - reader->at % 4U) % 4U;
  if (rclrt_reader_left(reader) <= pad) {
    reader->at = reader->size; /* some peers pad the end of a message */
    return false;
  }
  rclrt_read_align(reader, 4);
  sub->id = rclrt_read_u8(reader);
  sub->flags = rclrt_read_u8(reader);
  size_t length = rclrt_read_u16(reader);
  if (length == 0 && (sub->id == RCLRT_WRITE_DATA || sub->id == RCLRT_DATA)) {
    length = rclrt_reader_left(reader); /* the rest of a message above 64 kB */
  }
  if (sub->id == RCLRT_CREATE_CLIENT && rclrt_reader_left(reader) > length) {
    length = rclrt_reader_left(reader); /* peers do not count the properties; it is alone */
  }
  /* Data is opaque in any byte order; a head written big endian is more than anybody sends. */
  const bool opaque = sub->id == RCLRT_WRITE_DATA || sub->id == RCLRT_DATA ||
                      sub->id == RCLRT_FRAGMENT || sub->id == RCLRT_RESET;
  if ((sub->flags & RCLRT_FLAG_LITTLE_ENDIAN) == 0 && !opaque) {
    reader->failed = true;
  }
  const struct rclrt_bytes bytes = rclrt_read_reference(reader, length);
  if (reader->failed) {
    return false;
  }
  struct rclrt_reader payload;
  rclrt_reader_init(&payload, bytes.data, bytes.size);
  read_payload(&payload, sub);
  reader->failed = payload.failed;
  return !reader->failed;
}

bool rclrt_info_availability(struct rclrt_bytes info, int16_t * availability)
{
  struct rclrt_reader reader;
  /* Alignment counts from the begin of the payload: six bytes before the rest. */
  rclrt_reader_init(&reader, info.data, info.size);
  reader.origin = (size_t)0 - 6U;
  if (rclrt_read_bool(&reader)) {
    if (rclrt_read_u8(&reader) != 0x0D) {
      return false; /* not about an agent */
    }
    read_agent_identity(&reader);
    if (rclrt_read_bool(&reader)) {
      return false; /* properties: nobody sends them */
    }
  }
  if (!rclrt_read_bool(&reader) || rclrt_read_u8(&reader) != 0x0D) {
    return false;
  }
  (void)rclrt_read_u8(&reader); /* an empty address */
  *availability = rclrt_read_i16(&reader);
  return !reader.failed;
}

void rclrt_write_agent_info(struct rclrt_writer * writer, int16_t availability)
{
  writer->origin = writer->at - 6U;
  rclrt_write_bool(writer, true);
  rclrt_write_u8(writer, 0x0D);
  write_agent_identity(writer);
  rclrt_write_bool(writer, false);
  rclrt_write_bool(writer, true);
  rclrt_write_u8(writer, 0x0D);
  rclrt_write_u8(writer, 0);
  rclrt_write_i16(writer, availability);
  rclrt_write_u16(writer, 0);
  rclrt_write_u32(writer, 0);
}
