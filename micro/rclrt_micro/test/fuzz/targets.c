/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#include "rclrt_micro/client.h"

#define CAPACITY 128U
#define NODES 4U
#define SLOTS 6U

static uint64_t fuzz_now;
static unsigned inside;

static uint64_t now_ns(void * context)
{
  (void)context;
  return fuzz_now += 1000000; /* a millisecond a look */
}

static uint32_t enter(void * context)
{
  (void)context;
  return inside++;
}

static void leave(void * context, uint32_t token)
{
  (void)context;
  inside = token;
}

static ptrdiff_t write_nowhere(void * context, const uint8_t * bytes, size_t size)
{
  (void)context, (void)bytes;
  return (ptrdiff_t)size;
}

static ptrdiff_t read_nothing(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  (void)context, (void)bytes, (void)capacity, (void)timeout_ns;
  return 0;
}

struct fixture
{
  struct rclrt_daemon daemon;
  struct rclrt_session session;
  struct rclrt_output_stream output;
  struct rclrt_input_stream input;
  struct rclrt_sink sinks[2]; /* two readers on one stream */
  struct rclrt_node nodes[NODES];
  struct rclrt_slot slots[SLOTS];
  uint8_t node_bytes[NODES * CAPACITY];
  uint8_t ring[512];
  uint8_t piece[64];
  uint8_t buffer[CAPACITY];
  uint8_t take[CAPACITY];
  uint8_t assembly[256];
};

static const struct rclrt_port port = {NULL, now_ns, enter, leave, NULL, NULL};
static const struct rclrt_transport transport = {NULL, NULL, NULL, write_nowhere, read_nothing};
static const uint8_t key[4] = {1, 2, 3, 4};

static bool build(struct fixture * fixture, enum rclrt_framing framing)
{
  struct rclrt_daemon_config config;
  memset(fixture, 0, sizeof(*fixture));
  memset(&config, 0, sizeof(config));
  config.framing = framing;
  config.nodes = fixture->nodes;
  config.node_count = NODES;
  config.node_bytes = fixture->node_bytes;
  config.message_capacity = CAPACITY;
  config.slots = fixture->slots;
  config.slot_count = SLOTS;
  config.ring = fixture->ring;
  config.ring_size = sizeof(fixture->ring);
  config.piece = fixture->piece;
  config.piece_size = sizeof(fixture->piece);
  config.lifetime_ns = 500000000;
  bool ok = rclrt_daemon_init(&fixture->daemon, &config, &port, &transport) == RCLRT_OK;
  ok = ok && rclrt_session_init(
               &fixture->session, &fixture->daemon, RCLRT_SESSION_DEFAULT, key, fixture->buffer,
               sizeof(fixture->buffer)) == RCLRT_OK;
  ok = ok && rclrt_daemon_add_output(&fixture->daemon, &fixture->output, 0x83) == RCLRT_OK;
  ok = ok && rclrt_daemon_add_input(
               &fixture->daemon, &fixture->input, 0x83, fixture->assembly,
               sizeof(fixture->assembly)) == RCLRT_OK;
  ok = ok && rclrt_daemon_add_sink(&fixture->daemon, &fixture->sinks[0], 0x16, 0x83, 3) == RCLRT_OK;
  ok = ok && rclrt_daemon_add_sink(&fixture->daemon, &fixture->sinks[1], 0x26, 0, 9) == RCLRT_OK;
  rclrt_daemon_reset(&fixture->daemon, RCLRT_SESSION_DEFAULT, key);
  return ok;
}

static void take(struct fixture * fixture, struct rclrt_sink * sink)
{
  struct rclrt_message message;
  struct rclrt_submessage sub;
  struct rclrt_reader reader;
  while (rclrt_daemon_take(
           &fixture->daemon, sink, fixture->take, sizeof(fixture->take), &message) == RCLRT_OK) {
    rclrt_reader_init(&reader, message.submessages.data, message.submessages.size);
    while (rclrt_read_submessage(&reader, &sub)) {
    }
  }
}

static void take_everything(struct fixture * fixture)
{
  rclrt_session_handle(&fixture->session);
  take(fixture, &fixture->sinks[0]);
  take(fixture, &fixture->sinks[1]);
}

static size_t length_of(const struct rclrt_list * list)
{
  size_t count = 0;
  for (const struct rclrt_link * link = rclrt_list_first(list); link != NULL;
       link = rclrt_list_next(list, link)) {
    count++;
  }
  return count;
}

/* Every slot is free, in line, or held because a message before it is missing; every node is free, or
 * waits for its acknowledgement. */
static bool nothing_is_lost(const struct fixture * fixture)
{
  const struct rclrt_daemon * daemon = &fixture->daemon;
  size_t slots = length_of(&daemon->free_slots) + length_of(&fixture->sinks[0].slots) +
                 length_of(&fixture->sinks[1].slots) + length_of(&daemon->others.slots);
  const struct rclrt_link * held;
  for (held = fixture->input.held; held != NULL; held = held->next) {
    slots++;
  }
  for (held = fixture->session.reliable_in.held; held != NULL; held = held->next) {
    slots++;
  }
  const size_t nodes = length_of(&daemon->free) + length_of(&daemon->pending);
  return slots == SLOTS && nodes == NODES && length_of(&daemon->free) == daemon->free_count;
}

/* What is found in a frame is found again in the frame made of it. */
static bool survives(enum rclrt_check kind, const uint8_t * payload, uint16_t length)
{
  uint8_t wire[2 * CAPACITY + 16];
  uint8_t again[CAPACITY];
  struct rclrt_frame_encoder encoder;
  uint16_t got = 0;
  rclrt_frame_encoder_init(&encoder, kind, 1, 0, payload, length);
  const size_t size = rclrt_frame_encode(&encoder, wire, sizeof(wire));
  const size_t half = 1 + size / 2;
  return rclrt_frame_decode(
           kind, wire, half, wire + half, size - half, again, sizeof(again), &got) == RCLRT_OK &&
         got == length && memcmp(again, payload, length) == 0;
}

bool fuzz_frame(const uint8_t * data, size_t size)
{
  struct rclrt_scanner scanner;
  uint8_t payload[CAPACITY];
  bool good = true;
  rclrt_scanner_init(&scanner, CAPACITY);
  for (size_t at = 0; at < size && good; ++at) {
    if (rclrt_scan_byte(&scanner, data[at]) != RCLRT_SCAN_FRAME) {
      continue;
    }
    const uint8_t * begin = data + at + 1 - scanner.wire;
    for (int kind = RCLRT_CHECK_ARC; kind <= RCLRT_CHECK_FCS16; ++kind) {
      uint16_t length = 0;
      if (
        rclrt_frame_decode(
          (enum rclrt_check)kind, begin, scanner.wire, NULL, 0, payload, sizeof(payload),
          &length) == RCLRT_OK) {
        const size_t seen = length < RCLRT_FRAME_PREVIEW ? length : RCLRT_FRAME_PREVIEW;
        good = good && length == scanner.length && memcmp(payload, scanner.preview, seen) == 0 &&
               survives((enum rclrt_check)kind, payload, length);
      }
    }
    good = good && scanner.wire <= 2U * (CAPACITY + 6U) + 1U;
  }
  return good;
}

bool fuzz_line(const uint8_t * data, size_t size)
{
  static struct fixture fixture;
  /* For each framing, made once: that is most of what a run takes. */
  static struct fixture fresh[3];
  if (size == 0) {
    return true;
  }
  const unsigned choice = data[0];
  struct fixture * start = &fresh[choice % 3U];
  if (start->daemon.port == NULL) {
    if (!build(&fixture, (enum rclrt_framing)(choice % 3U))) {
      return false;
    }
    memcpy(start, &fixture, sizeof(fixture)); /* its pointers are into `fixture` */
  }
  memcpy(&fixture, start, sizeof(fixture));
  /* A byte at a time is slow, and seldom finds what larger pieces do not. */
  const size_t piece = choice < 3U ? 1U : 8U + choice / 3U;
  for (size_t at = 1; at < size; at += piece) {
    struct rclrt_node * node = NULL;
    if (
      at % 16U == 1U &&
      rclrt_daemon_acquire(&fixture.daemon, &fixture.output, 3, &node) == RCLRT_OK) {
      const struct rclrt_writer writer = rclrt_daemon_writer(&fixture.daemon, node);
      (void)rclrt_daemon_commit(&fixture.daemon, node, &writer);
    }
    rclrt_daemon_received(&fixture.daemon, data + at, size - at < piece ? size - at : piece);
    if (at % 2U == 0) {
      take_everything(&fixture);
    }
    (void)rclrt_daemon_tick(&fixture.daemon);
  }
  take_everything(&fixture);
  return nothing_is_lost(&fixture) && inside == 0;
}

static size_t read_all(
  const uint8_t * data, size_t size, struct rclrt_message_header * header,
  struct rclrt_submessage * subs, size_t capacity)
{
  struct rclrt_reader reader;
  size_t count = 0;
  rclrt_reader_init(&reader, data, size);
  rclrt_read_message_header(&reader, header);
  while (count < capacity && rclrt_read_submessage(&reader, &subs[count])) {
    count++;
  }
  return count;
}

bool fuzz_message(const uint8_t * data, size_t size)
{
  static struct rclrt_submessage subs[8];
  static struct rclrt_submessage again[8];
  static uint8_t written[65536];
  static uint8_t twice[65536];
  struct rclrt_message_header header;
  const size_t count = read_all(data, size < 4096 ? size : 4096, &header, subs, 8);
  struct rclrt_writer writer;
  rclrt_writer_init(&writer, written, sizeof(written));
  rclrt_write_message_header(&writer, &header);
  for (size_t i = 0; i < count; ++i) {
    rclrt_write_submessage(&writer, &subs[i]);
    int16_t availability = 0;
    if (subs[i].id == RCLRT_INFO) {
      (void)rclrt_info_availability(subs[i].of.result.info, &availability);
    }
  }
  const size_t length = writer.at;
  if (writer.failed || count == 0) {
    return !writer.failed;
  }
  /* What was written is read as the same again: seen by writing that once more. */
  const size_t got = read_all(written, length, &header, again, 8);
  rclrt_writer_init(&writer, twice, sizeof(twice));
  rclrt_write_message_header(&writer, &header);
  for (size_t i = 0; i < got; ++i) {
    rclrt_write_submessage(&writer, &again[i]);
  }
  return got == count && writer.at == length && memcmp(written, twice, length) == 0;
}

bool fuzz_cdr(const uint8_t * data, size_t size)
{
  char text[16];
  uint8_t bytes[16];
  float f32;
  double f64;
  const size_t orders = size < 16 ? size : 16;
  struct rclrt_reader reader;
  rclrt_reader_init(&reader, data + orders, size - orders);
  for (size_t i = 0; i < orders; ++i) {
    switch (data[i] % 10U) {
      case 0:
        (void)rclrt_read_u8(&reader);
        break;
      case 1:
        (void)rclrt_read_bool(&reader);
        break;
      case 2:
        (void)rclrt_read_i16(&reader);
        break;
      case 3:
        (void)rclrt_read_u32(&reader);
        break;
      case 4:
        (void)rclrt_read_i64(&reader);
        break;
      case 5:
        rclrt_read_f32(&reader, &f32);
        break;
      case 6:
        rclrt_read_f64(&reader, &f64);
        break;
      case 7:
        rclrt_read_string(&reader, text, sizeof(text));
        if (memchr(text, 0, sizeof(text)) == NULL) {
          return false;
        }
        break;
      case 8:
        if (rclrt_read_count(&reader, 1000, 4) > 1000) {
          return false;
        }
        break;
      default:
        rclrt_read_bytes(&reader, bytes, data[i] % sizeof(bytes));
        break;
    }
  }
  return reader.at <= reader.size;
}

#ifdef FUZZ_TARGET /* one of targets.h: libFuzzer's entry */
int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size)
{
  if (!FUZZ_TARGET(data, size)) {
    abort();
  }
  return 0;
}
#endif
