/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The messages of DDS-XRCE 1.0, for both ends: a message header, then submessages, each aligned to
 * four bytes. Pure functions on the caller's bytes; nothing here knows of streams or time.
 *
 * Where deployed peers deviate from the text of the standard (an MTU in CREATE_CLIENT, the status
 * first in STATUS_AGENT), this is what the peers do.
 *
 * Every function is linear in the bytes it handles, allocates nothing and is real-time safe.
 */
#pragma once

#include "rclrt_micro/cdr.h"
#include "rclrt_micro/ret.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Session identifiers: below 0x80 every message carries the client's key. */
#define RCLRT_SESSION_NONE_WITH_KEY 0x00U
#define RCLRT_SESSION_NONE 0x80U
#define RCLRT_SESSION_DEFAULT 0x81U

/* Streams: 0 has no order, 01..7F are best effort, 80..FF reliable. */
#define RCLRT_STREAM_NONE 0x00U
#define RCLRT_STREAM_BEST_EFFORT 0x01U
#define RCLRT_STREAM_RELIABLE 0x80U

/* Object identifiers with a meaning of their own. */
#define RCLRT_OBJECT_AGENT 0xFFFDU
#define RCLRT_OBJECT_CLIENT 0xFFFEU

#define RCLRT_MESSAGE_HEADER_MAX 8U
#define RCLRT_SUBMESSAGE_HEADER 4U
#define RCLRT_SAMPLE_IDENTITY 24U /* in front of a request's and a reply's data; opaque */

enum rclrt_submessage_id
{
  RCLRT_CREATE_CLIENT = 0,
  RCLRT_CREATE = 1,
  RCLRT_GET_INFO = 2,
  RCLRT_DELETE = 3,
  RCLRT_STATUS_AGENT = 4,
  RCLRT_STATUS = 5,
  RCLRT_INFO = 6,
  RCLRT_WRITE_DATA = 7,
  RCLRT_READ_DATA = 8,
  RCLRT_DATA = 9,
  RCLRT_ACKNACK = 10,
  RCLRT_HEARTBEAT = 11,
  RCLRT_RESET = 12,
  RCLRT_FRAGMENT = 13,
  RCLRT_TIMESTAMP = 14,
  RCLRT_TIMESTAMP_REPLY = 15,
};

/* Flags of a submessage. */
#define RCLRT_FLAG_LITTLE_ENDIAN 0x01U
#define RCLRT_FLAG_REUSE 0x02U         /* CREATE: an equal object may exist */
#define RCLRT_FLAG_REPLACE 0x04U       /* CREATE: a different one is replaced */
#define RCLRT_FLAG_LAST_FRAGMENT 0x02U /* FRAGMENT */

enum rclrt_object_kind
{
  RCLRT_PARTICIPANT = 1,
  RCLRT_TOPIC = 2,
  RCLRT_PUBLISHER = 3,
  RCLRT_SUBSCRIBER = 4,
  RCLRT_DATAWRITER = 5,
  RCLRT_DATAREADER = 6,
  RCLRT_REQUESTER = 7,
  RCLRT_REPLIER = 8,
};

enum rclrt_representation
{
  RCLRT_BY_REFERENCE = 1, /* the name of a profile in the agent's file */
  RCLRT_BY_XML = 2,
  RCLRT_BY_BINARY = 3,
};

enum rclrt_status
{
  RCLRT_STATUS_OK = 0x00,
  RCLRT_STATUS_OK_MATCHED = 0x01,
  RCLRT_STATUS_DDS_ERROR = 0x80,
  RCLRT_STATUS_MISMATCH = 0x81,
  RCLRT_STATUS_ALREADY_EXISTS = 0x82,
  RCLRT_STATUS_DENIED = 0x83,
  RCLRT_STATUS_UNKNOWN_REFERENCE = 0x84,
  RCLRT_STATUS_INVALID_DATA = 0x85,
  RCLRT_STATUS_INCOMPATIBLE = 0x86,
  RCLRT_STATUS_RESOURCES = 0x87,
};

/* 12 bits of number, 4 of kind. */
static inline uint16_t rclrt_object_id(uint16_t number, enum rclrt_object_kind kind)
{
  return (uint16_t)((unsigned)number << 4 | (unsigned)kind);
}

struct rclrt_message_header
{
  uint8_t session;
  uint8_t stream;
  uint16_t sequence;
  uint8_t key[4]; /* on the wire only when session < 0x80 */
};

struct rclrt_create_client
{
  uint8_t key[4];
  uint8_t session;
  uint16_t mtu; /* the agent sends no longer messages, bytes */
  /* Read only: a count, then pairs of strings, aligned from their begin; or empty. */
  struct rclrt_bytes properties;
};

struct rclrt_create
{
  uint8_t kind;           /* enum rclrt_object_kind */
  uint8_t representation; /* enum rclrt_representation */
  struct rclrt_bytes body;
  uint16_t parent; /* object identifier; all kinds but participant */
  int16_t domain;  /* participant only */
};

struct rclrt_delivery_control
{
  uint16_t max_samples;   /* 0 cancels, 0xFFFF is without end */
  uint16_t max_elapsed_s; /* 0 is without end, as in the next two */
  uint16_t max_bytes_per_s;
  uint16_t min_pace_period_ms;
};

struct rclrt_read_data
{
  uint8_t preferred_stream; /* the agent answers on this one */
  uint8_t format;
  bool has_filter, has_delivery;
  struct rclrt_bytes filter; /* with its zero */
  struct rclrt_delivery_control delivery;
};

struct rclrt_acknack
{
  uint16_t first_unacked;
  uint16_t missing; /* bit i: first_unacked + i was not received */
  uint8_t stream;
};

struct rclrt_heartbeat
{
  uint16_t first_unacked, last_unacked;
  uint8_t stream;
};

struct rclrt_time
{
  int32_t s;
  uint32_t ns;
};

struct rclrt_timestamp_reply
{
  struct rclrt_time transmit, receive, originate;
};

/* One submessage. `id` decides which of the other members are set: see each member. */
struct rclrt_submessage
{
  uint8_t id;
  uint8_t flags;
  uint16_t request; /* CREATE, GET_INFO, DELETE, STATUS, INFO, WRITE_DATA, READ_DATA, DATA */
  uint16_t object;  /* set in these as well */
  union
  {
    struct rclrt_create_client create_client;
    struct rclrt_create create;
    uint32_t info_mask; /* GET_INFO: 1 configuration, 2 activity */
    struct
    {
      uint8_t status; /* STATUS_AGENT, STATUS, INFO: enum rclrt_status */
      uint8_t implementation;
      struct rclrt_bytes info; /* INFO: the rest */
    } result;
    struct rclrt_bytes data; /* WRITE_DATA, DATA, FRAGMENT */
    struct rclrt_read_data read_data;
    struct rclrt_acknack acknack;
    struct rclrt_heartbeat heartbeat;
    struct rclrt_time timestamp;
    struct rclrt_timestamp_reply timestamp_reply;
  } of;
};

void rclrt_write_message_header(
  struct rclrt_writer * writer, const struct rclrt_message_header * header);
void rclrt_read_message_header(struct rclrt_reader * reader, struct rclrt_message_header * header);
/* Bytes of the header: 4 or 8. */
size_t rclrt_message_header_size(uint8_t session);

/* The two halves of a submessage whose payload the caller writes: begin() aligns and writes the
 * header, end() fills in the length. In between the writer's origin is the payload's begin. A
 * message longer than 64 kB fails. */
size_t rclrt_submessage_begin(struct rclrt_writer * writer, uint8_t id, uint8_t flags);
void rclrt_submessage_end(struct rclrt_writer * writer, size_t begin);
/* begin() of WRITE_DATA or DATA with its identifiers; the origin is then the data's begin. */
size_t rclrt_data_begin(
  struct rclrt_writer * writer, uint8_t id, uint16_t request, uint16_t object);

/* Writes the payload of one kind of submessage. A program that names the kinds it sends links only
 * those. */
typedef void rclrt_payload_writer(
  struct rclrt_writer * writer, const struct rclrt_submessage * submessage);
rclrt_payload_writer rclrt_payload_create_client, rclrt_payload_create, rclrt_payload_get_info,
  rclrt_payload_read_data, rclrt_payload_acknack, rclrt_payload_heartbeat, rclrt_payload_timestamp;
/* `of.data`, and nothing (DELETE, RESET). */
rclrt_payload_writer rclrt_payload_bytes, rclrt_payload_none;
void rclrt_write_submessage_by(
  struct rclrt_writer * writer, const struct rclrt_submessage * submessage,
  rclrt_payload_writer * payload);
/* Writes a submessage of any kind. */
void rclrt_write_submessage(
  struct rclrt_writer * writer, const struct rclrt_submessage * submessage);
/* The next submessage; its byte references point into the reader's bytes. False at the end of the
 * message or when `reader->failed`. An unknown id is returned with its payload in `of.data`. */
bool rclrt_read_submessage(struct rclrt_reader * reader, struct rclrt_submessage * submessage);
/* Reads what agents send. All else is returned with its payload in `of.data`, as if unknown. */
bool rclrt_read_answer(struct rclrt_reader * reader, struct rclrt_submessage * submessage);

/* The agent's availability (> 0: at your service) in the rest of an INFO. */
bool rclrt_info_availability(struct rclrt_bytes info, int16_t * availability);
/* The answer of an agent to GET_INFO of itself: the rest of an INFO. */
void rclrt_write_agent_info(struct rclrt_writer * writer, int16_t availability);

/* Is `a` before `b`? Serial number arithmetic: right when they are less than 32768 apart. */
static inline bool rclrt_sequence_before(uint16_t a, uint16_t b)
{
  return (uint16_t)(b - a) != 0 && (uint16_t)(b - a) < 0x8000U;
}

/* Bodies of CREATE, in all three representations. Each begins at its own alignment origin; a reference is a name. */
struct rclrt_qos
{
  bool reliable;
  bool transient_local;
  uint16_t depth; /* history, samples; 0 keeps all */
};

/* A service and its types as DDS sees them, for example "rq/addRequest". */
struct rclrt_service_names
{
  const char * service;
  const char * request_type;
  const char * reply_type;
  const char * request_topic;
  const char * reply_topic;
};

void rclrt_binary_participant(struct rclrt_writer * writer, const char * name);
void rclrt_binary_topic(struct rclrt_writer * writer, const char * name, const char * type);
/* Publisher or subscriber: empty. */
void rclrt_binary_group(struct rclrt_writer * writer);
/* `kind` is RCLRT_DATAWRITER or RCLRT_DATAREADER, `topic` an object identifier. */
void rclrt_binary_endpoint(
  struct rclrt_writer * writer, enum rclrt_object_kind kind, uint16_t topic,
  const struct rclrt_qos * qos);
/* Requester or replier. */
void rclrt_binary_service(struct rclrt_writer * writer, const struct rclrt_service_names * names);

/* The text of a reference or of XML written elsewhere, with its zero. */
void rclrt_text_body(struct rclrt_writer * writer, const char * text);
void rclrt_xml_participant(struct rclrt_writer * writer, const char * name);
void rclrt_xml_topic(struct rclrt_writer * writer, const char * name, const char * type);
void rclrt_xml_endpoint(
  struct rclrt_writer * writer, enum rclrt_object_kind kind, const char * topic, const char * type);
void rclrt_xml_service(
  struct rclrt_writer * writer, enum rclrt_object_kind kind,
  const struct rclrt_service_names * names);

#ifdef __cplusplus
}
#endif
