/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/xrce.h"

#include <string.h>

#include "xrce_internal.h"

static const uint8_t cookie[4] = {'X', 'R', 'C', 'E'};
static const uint8_t version[2] = {1, 0};
static const uint8_t vendor[2] = {0x01, 0x0F}; /* of the peers in use; others are refused by some */

size_t rclrt_message_header_size(uint8_t session) { return session < RCLRT_SESSION_NONE ? 8 : 4; }

void rclrt_read_message_header(struct rclrt_reader * reader, struct rclrt_message_header * header)
{
  memset(header, 0, sizeof(*header));
  const struct rclrt_bytes head = rclrt_read_reference(reader, 4);
  if (head.size == 0) {
    return;
  }
  header->session = head.data[0];
  header->stream = head.data[1];
  header->sequence = (uint16_t)(head.data[2] | head.data[3] << 8);
  if (header->session < RCLRT_SESSION_NONE) {
    rclrt_read_bytes(reader, header->key, sizeof(header->key));
  }
}

size_t rclrt_submessage_begin(struct rclrt_writer * writer, uint8_t id, uint8_t flags)
{
  writer->origin = 0;
  rclrt_write_align(writer, 4);
  const uint8_t head[RCLRT_SUBMESSAGE_HEADER] = {
    id, (uint8_t)(flags | RCLRT_FLAG_LITTLE_ENDIAN), 0, 0};
  rclrt_write_bytes(writer, head, sizeof(head));
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
void xrce_write_identifier(struct rclrt_writer * writer, uint16_t identifier)
{
  const uint8_t bytes[2] = {(uint8_t)(identifier >> 8), (uint8_t)identifier};
  rclrt_write_bytes(writer, bytes, sizeof(bytes));
}

uint16_t xrce_read_identifier(struct rclrt_reader * reader)
{
  const uint8_t high = rclrt_read_u8(reader);
  const uint8_t low = rclrt_read_u8(reader);
  return (uint16_t)(high << 8 | low);
}

size_t rclrt_data_begin(struct rclrt_writer * writer, uint8_t id, uint16_t request, uint16_t object)
{
  const size_t begin = rclrt_submessage_begin(writer, id, 0);
  xrce_write_identifier(writer, request);
  xrce_write_identifier(writer, object);
  writer->origin = writer->at;
  return begin;
}

void xrce_write_identity(struct rclrt_writer * writer)
{
  rclrt_write_bytes(writer, cookie, sizeof(cookie));
  rclrt_write_bytes(writer, version, sizeof(version));
  rclrt_write_bytes(writer, vendor, sizeof(vendor));
}

void xrce_read_identity(struct rclrt_reader * reader)
{
  uint8_t got[8] = {0};
  rclrt_read_bytes(reader, got, sizeof(got));
  if (!rclrt_same_bytes(got, cookie, sizeof(cookie)) || got[4] != version[0]) {
    reader->failed = true;
  }
}

void xrce_write_time(struct rclrt_writer * writer, const struct rclrt_time * time)
{
  rclrt_write_i32(writer, time->s);
  rclrt_write_u32(writer, time->ns);
}

void xrce_read_time(struct rclrt_reader * reader, struct rclrt_time * time)
{
  time->s = rclrt_read_i32(reader);
  time->ns = rclrt_read_u32(reader);
}

static bool has_identifiers(uint8_t id)
{
  return id == RCLRT_CREATE || id == RCLRT_GET_INFO || id == RCLRT_DELETE || id == RCLRT_STATUS ||
         id == RCLRT_INFO || id == RCLRT_WRITE_DATA || id == RCLRT_READ_DATA || id == RCLRT_DATA;
}

void rclrt_payload_create_client(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  xrce_write_identity(writer);
  rclrt_write_bytes(writer, sub->of.create_client.key, 4);
  rclrt_write_u8(writer, sub->of.create_client.session);
  rclrt_write_bool(writer, false); /* no properties */
  rclrt_write_u16(writer, sub->of.create_client.mtu);
}

void rclrt_payload_create(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  const struct rclrt_create * create = &sub->of.create;
  rclrt_write_u8(writer, create->kind);
  rclrt_write_u8(writer, create->representation);
  rclrt_write_count(writer, create->body.size);
  rclrt_write_bytes(writer, create->body.data, create->body.size);
  if (create->kind == RCLRT_PARTICIPANT) {
    rclrt_write_i16(writer, create->domain);
  } else {
    xrce_write_identifier(writer, create->parent);
  }
}

void rclrt_payload_get_info(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  rclrt_write_u32(writer, sub->of.info_mask);
}

void rclrt_payload_read_data(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  const struct rclrt_read_data * read = &sub->of.read_data;
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

void rclrt_payload_timestamp(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  xrce_write_time(writer, &sub->of.timestamp);
}

void rclrt_payload_bytes(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  rclrt_write_bytes(writer, sub->of.data.data, sub->of.data.size);
}

void rclrt_payload_none(struct rclrt_writer * writer, const struct rclrt_submessage * sub)
{
  (void)writer, (void)sub;
}

void rclrt_write_submessage_by(
  struct rclrt_writer * writer, const struct rclrt_submessage * sub, rclrt_payload_writer * payload)
{
  const size_t begin = rclrt_submessage_begin(writer, sub->id, sub->flags);
  if (has_identifiers(sub->id)) {
    xrce_write_identifier(writer, sub->request);
    xrce_write_identifier(writer, sub->object);
  }
  payload(writer, sub);
  rclrt_submessage_end(writer, begin);
}

void xrce_read_answer_payload(struct rclrt_reader * payload, struct rclrt_submessage * sub)
{
  switch (sub->id) {
    case RCLRT_STATUS_AGENT:
    case RCLRT_STATUS:
    case RCLRT_INFO:
      sub->of.result.status = rclrt_read_u8(payload);
      sub->of.result.implementation = rclrt_read_u8(payload);
      if (sub->id == RCLRT_STATUS_AGENT) {
        xrce_read_identity(payload); /* properties after it are of no interest */
      } else if (sub->id == RCLRT_INFO) {
        sub->of.result.info = rclrt_read_reference(payload, rclrt_reader_left(payload));
      }
      break;
    case RCLRT_ACKNACK:
    case RCLRT_HEARTBEAT: /* differs from ACKNACK in the order of two bytes */
      sub->of.acknack.first_unacked = rclrt_read_u16(payload);
      sub->of.acknack.missing = rclrt_read_u16(payload);
      sub->of.acknack.stream = rclrt_read_u8(payload);
      if (sub->id == RCLRT_ACKNACK) {
        const unsigned swapped = sub->of.acknack.missing;
        sub->of.acknack.missing = (uint16_t)(swapped << 8 | swapped >> 8);
      }
      break;
    case RCLRT_TIMESTAMP_REPLY:
      xrce_read_time(payload, &sub->of.timestamp_reply.transmit);
      xrce_read_time(payload, &sub->of.timestamp_reply.receive);
      xrce_read_time(payload, &sub->of.timestamp_reply.originate);
      break;
    default:
      sub->of.data = rclrt_read_reference(payload, rclrt_reader_left(payload));
      break;
  }
}

bool xrce_read_by(
  struct rclrt_reader * reader, struct rclrt_submessage * sub, xrce_payload_reader * read_payload)
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
  reader->at += pad;
  const struct rclrt_bytes head = rclrt_read_reference(reader, RCLRT_SUBMESSAGE_HEADER);
  if (reader->failed) {
    return false;
  }
  sub->id = head.data[0];
  sub->flags = head.data[1];
  size_t length = (size_t)(head.data[2] | head.data[3] << 8);
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
  if (has_identifiers(sub->id)) {
    sub->request = xrce_read_identifier(&payload);
    sub->object = xrce_read_identifier(&payload);
  }
  read_payload(&payload, sub);
  reader->failed = payload.failed;
  return !reader->failed;
}

bool rclrt_read_answer(struct rclrt_reader * reader, struct rclrt_submessage * sub)
{
  return xrce_read_by(reader, sub, xrce_read_answer_payload);
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
    xrce_read_identity(&reader);
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
