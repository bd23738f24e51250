/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "inner_agent.h"

#include <string.h>

#include "mps2.h"
#include "rclrt_micro/frame.h"
#include "rclrt_micro/xrce.h"

#define LONGEST 700U /* message of the client */
#define FRAMES 48U   /* on their way to it */
#define ENDS 8U
#define REPLY 10U

struct frame
{
  uint32_t due;
  uint8_t size; /* 0: free */
  uint8_t bytes[95];
};

struct reader
{
  uint16_t object;
  uint16_t request; /* of its READ_DATA */
  uint8_t stream;
};

static struct inner_agent setup;
static struct rclrt_scanner scanner;
static uint8_t wire[2U * LONGEST];
static uint32_t wire_size;
static uint8_t message[LONGEST];
static struct frame frames[FRAMES];
static struct frame * going; /* whose bytes are being taken */
static uint8_t gone;
static uint8_t session;
static uint16_t expected[256]; /* by stream */
static uint16_t next[256];
static struct reader readers[ENDS];
static uint16_t writers[ENDS];
static unsigned reader_count, writer_count;
static uint32_t reliable_count;
static bool lost; /* the one that is expected was taken for lost */

void inner_agent_start(const struct inner_agent * with)
{
  setup = *with;
  rclrt_scanner_init(&scanner, LONGEST);
}

/* One message to the client, in `after` cycles. What finds no room is lost, and the program stands still. */
static void send(uint8_t stream, const struct rclrt_submessage * sub, uint32_t after)
{
  uint8_t bytes[64];
  struct frame * to = frames;
  while (to < frames + FRAMES && to->size != 0) {
    to++;
  }
  if (to == frames + FRAMES) {
    mps2_print("the line to the board is full\n");
    mps2_exit(5);
  }
  const bool ordered = stream != RCLRT_STREAM_NONE;
  const struct rclrt_message_header header = {
    session, stream, ordered ? next[stream]++ : (uint16_t)0, {0}};
  struct rclrt_writer writer;
  rclrt_writer_init(&writer, bytes, sizeof(bytes));
  rclrt_write_message_header(&writer, &header);
  rclrt_write_submessage(&writer, sub);
  struct rclrt_frame_encoder encoder;
  rclrt_frame_encoder_init(
    &encoder, RCLRT_CHECK_ARC, RCLRT_FRAME_AGENT, RCLRT_FRAME_CLIENT, bytes, (uint16_t)writer.at);
  to->size = (uint8_t)rclrt_frame_encode(&encoder, to->bytes, sizeof(to->bytes));
  to->due = mps2_cycles() + after;
}

/* All up to `end` is known to exist. */
static void acknowledge(uint8_t stream, uint16_t end)
{
  struct rclrt_submessage sub = {.id = RCLRT_ACKNACK};
  sub.of.acknack.stream = stream;
  sub.of.acknack.first_unacked = expected[stream];
  for (unsigned i = 0; i < 16 && (uint16_t)(expected[stream] + i) != end; ++i) {
    sub.of.acknack.missing = (uint16_t)(sub.of.acknack.missing | 1U << i);
  }
  send(RCLRT_STREAM_NONE, &sub, setup.answer_cycles);
}

static void on_create(uint8_t stream, const struct rclrt_submessage * sub)
{
  if (sub->of.create.kind == RCLRT_DATAWRITER && writer_count < ENDS) {
    writers[writer_count++] = sub->object;
  } else if (sub->of.create.kind == RCLRT_DATAREADER && reader_count < ENDS) {
    readers[reader_count++].object = sub->object;
  }
  const struct rclrt_submessage answer = {
    .id = RCLRT_STATUS, .request = sub->request, .object = sub->object};
  const bool reliable = stream >= RCLRT_STREAM_RELIABLE;
  send(reliable ? RCLRT_STREAM_RELIABLE : RCLRT_STREAM_BEST_EFFORT, &answer, setup.answer_cycles);
}

static void on_read(const struct rclrt_submessage * sub)
{
  for (unsigned i = 0; i < reader_count; ++i) {
    if (readers[i].object == sub->object) {
      readers[i].request = sub->request;
      readers[i].stream = sub->of.read_data.preferred_stream;
    }
  }
}

static void on_write(const struct rclrt_submessage * sub)
{
  uint8_t reply[REPLY] = {0};
  memcpy(reply, sub->of.data.data, sub->of.data.size < 4 ? sub->of.data.size : 4);
  for (unsigned i = 0; i < writer_count && i < reader_count; ++i) {
    if (writers[i] == sub->object && readers[i].request != 0) {
      struct rclrt_submessage data = {
        .id = RCLRT_DATA, .request = readers[i].request, .object = readers[i].object};
      data.of.data.data = reply;
      data.of.data.size = sizeof(reply);
      send(readers[i].stream, &data, setup.reply_cycles);
    }
  }
}

static void handle(uint8_t stream, struct rclrt_reader * reader)
{
  struct rclrt_submessage sub;
  while (rclrt_read_submessage(reader, &sub)) {
    switch (sub.id) {
      case RCLRT_CREATE_CLIENT: {
        const struct rclrt_submessage answer = {.id = RCLRT_STATUS_AGENT};
        session = sub.of.create_client.session;
        send(RCLRT_STREAM_NONE, &answer, setup.answer_cycles);
        break;
      }
      case RCLRT_CREATE:
        on_create(stream, &sub);
        break;
      case RCLRT_READ_DATA:
        on_read(&sub);
        break;
      case RCLRT_WRITE_DATA:
        on_write(&sub);
        break;
      case RCLRT_HEARTBEAT:
        acknowledge(sub.of.heartbeat.stream, (uint16_t)(sub.of.heartbeat.last_unacked + 1U));
        break;
      default:
        break;
    }
  }
}

static void on_message(size_t size)
{
  struct rclrt_reader reader;
  struct rclrt_message_header header;
  rclrt_reader_init(&reader, message, size);
  rclrt_read_message_header(&reader, &header);
  const uint8_t stream = header.stream;
  if (stream < RCLRT_STREAM_RELIABLE) {
    handle(stream, &reader);
    return;
  }
  if (header.sequence == expected[stream]) {
    const bool loses = setup.lose_every != 0 && ++reliable_count % setup.lose_every == 0;
    if (!loses || lost) {
      lost = false;
      expected[stream]++;
      handle(stream, &reader);
    } else {
      lost = true;
      acknowledge(stream, (uint16_t)(header.sequence + 1U));
      return;
    }
  }
  if (setup.acknowledges) {
    const bool ahead = !rclrt_sequence_before(header.sequence, expected[stream]);
    acknowledge(stream, ahead ? (uint16_t)(header.sequence + 1U) : expected[stream]);
  }
}

void inner_agent_take(const uint8_t * bytes, size_t size)
{
  for (size_t i = 0; i < size; ++i) {
    wire_size = bytes[i] == RCLRT_FRAME_FLAG || wire_size == sizeof(wire) ? 0 : wire_size;
    wire[wire_size++] = bytes[i];
    uint16_t length = 0;
    if (
      rclrt_scan_byte(&scanner, bytes[i]) == RCLRT_SCAN_FRAME &&
      rclrt_frame_decode(
        RCLRT_CHECK_ARC, wire, wire_size, NULL, 0, message, sizeof(message), &length) == RCLRT_OK) {
      on_message(length);
    }
  }
}

/* The frame that is due first, and in how many cycles. */
static struct frame * first(uint32_t * wait)
{
  const uint32_t now = mps2_cycles();
  struct frame * best = NULL;
  for (struct frame * at = frames; at < frames + FRAMES; ++at) {
    if (at->size != 0 && (best == NULL || (int32_t)(at->due - best->due) < 0)) {
      best = at;
    }
  }
  *wait = UINT32_MAX;
  if (best != NULL) {
    const int32_t left = (int32_t)(best->due - now);
    *wait = left > 0 ? (uint32_t)left : 0;
  }
  return best;
}

uint32_t inner_agent_next(uint8_t * byte)
{
  if (going == NULL) {
    uint32_t wait;
    struct frame * frame = first(&wait);
    if (wait != 0) {
      return wait;
    }
    going = frame;
    gone = 0;
  }
  *byte = going->bytes[gone++];
  if (gone == going->size) {
    going->size = 0;
    going = NULL;
  }
  return 0;
}
