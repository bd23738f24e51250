/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/frame.h"

#include <string.h>

/* Both sums are reflected, so a table of 16 entries serves four bits at a time: 32 bytes of flash
 * instead of 512, two steps a byte. Entry i is the sum of nibble i. */
static const uint16_t arc_table[16] = {0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00,
                                       0x2800, 0xE401, 0xA001, 0x6C00, 0x7800, 0xB401,
                                       0x5000, 0x9C01, 0x8801, 0x4400};
static const uint16_t fcs_table[16] = {0x0000, 0x1081, 0x2102, 0x3183, 0x4204, 0x5285,
                                       0x6306, 0x7387, 0x8408, 0x9489, 0xA50A, 0xB58B,
                                       0xC60C, 0xD68D, 0xE70E, 0xF78F};

static uint16_t feed(uint16_t sum, const uint16_t table[16], const uint8_t * data, size_t size)
{
  for (size_t i = 0; i < size; ++i) {
    sum = (uint16_t)((sum >> 4) ^ table[(sum ^ data[i]) & 0xFU]);
    sum = (uint16_t)((sum >> 4) ^ table[(sum ^ (data[i] >> 4)) & 0xFU]);
  }
  return sum;
}

uint16_t rclrt_crc16_arc(uint16_t crc, const uint8_t * data, size_t size)
{
  return feed(crc, arc_table, data, size);
}

uint16_t rclrt_fcs16(uint16_t fcs, const uint8_t * data, size_t size)
{
  return feed(fcs, fcs_table, data, size);
}

static uint16_t check_start(enum rclrt_check kind, const uint8_t head[4])
{
  return kind == RCLRT_CHECK_ARC ? 0U : rclrt_fcs16(0xFFFFU, head, 4);
}

static uint16_t check_feed(enum rclrt_check kind, uint16_t sum, const uint8_t * data, size_t size)
{
  return kind == RCLRT_CHECK_ARC ? rclrt_crc16_arc(sum, data, size) : rclrt_fcs16(sum, data, size);
}

static uint16_t check_end(enum rclrt_check kind, uint16_t sum)
{
  return kind == RCLRT_CHECK_ARC ? sum : (uint16_t)(sum ^ 0xFFFFU);
}

static bool is_special(uint8_t byte)
{
  return byte == RCLRT_FRAME_FLAG || byte == RCLRT_FRAME_ESCAPE;
}

void rclrt_frame_encoder_init(
  struct rclrt_frame_encoder * encoder, enum rclrt_check kind, uint8_t source, uint8_t destination,
  const uint8_t * payload, uint16_t length)
{
  encoder->payload = payload;
  encoder->length = length;
  encoder->at = 0;
  encoder->head[0] = source;
  encoder->head[1] = destination;
  encoder->head[2] = (uint8_t)length;
  encoder->head[3] = (uint8_t)(length >> 8);
  encoder->escaped = 0;
  encoder->kind = kind;
  encoder->check = check_start(kind, encoder->head);
}

size_t rclrt_frame_encode(struct rclrt_frame_encoder * encoder, uint8_t * out, size_t capacity)
{
  const uint32_t end = 5U + encoder->length + 2U;
  size_t size = 0;
  while (size < capacity) {
    if (encoder->escaped != 0) {
      out[size++] = encoder->escaped;
      encoder->escaped = 0;
      continue;
    }
    if (encoder->at == end) {
      break;
    }
    const uint32_t at = encoder->at++;
    uint8_t byte = RCLRT_FRAME_FLAG;
    if (at == 0) {
      out[size++] = byte; /* the only byte that is never stuffed */
      continue;
    }
    if (at < 5U) {
      byte = encoder->head[at - 1U];
    } else if (at < 5U + encoder->length) {
      byte = encoder->payload[at - 5U];
      encoder->check = check_feed(encoder->kind, encoder->check, &byte, 1);
    } else {
      const uint16_t check = check_end(encoder->kind, encoder->check);
      byte = (uint8_t)(at == end - 1U ? check >> 8 : check);
    }
    if (is_special(byte)) {
      out[size++] = RCLRT_FRAME_ESCAPE;
      encoder->escaped = (uint8_t)(byte ^ RCLRT_FRAME_XOR);
    } else {
      out[size++] = byte;
    }
  }
  return size;
}

size_t rclrt_frame_wire_size(const struct rclrt_frame_encoder * encoder)
{
  struct rclrt_frame_encoder copy = *encoder;
  uint8_t piece[16];
  size_t size = 0;
  size_t got;
  while ((got = rclrt_frame_encode(&copy, piece, sizeof(piece))) > 0) {
    size += got;
  }
  return size;
}

void rclrt_scanner_init(struct rclrt_scanner * scanner, uint16_t limit)
{
  memset(scanner, 0, sizeof(*scanner));
  scanner->limit = limit;
}

static void scan_header(struct rclrt_scanner * scanner, uint32_t at, uint8_t byte)
{
  switch (at) {
    case 0:
      scanner->source = byte;
      break;
    case 1:
      scanner->destination = byte;
      break;
    case 2:
      scanner->length = byte;
      break;
    case 3:
      scanner->length = (uint16_t)(scanner->length | (uint16_t)(byte << 8));
      break;
    default:
      if (at - 4U < RCLRT_FRAME_PREVIEW && at - 4U < scanner->length) {
        scanner->preview[at - 4U] = byte;
      }
      break;
  }
}

enum rclrt_scan rclrt_scan_byte(struct rclrt_scanner * scanner, uint8_t byte)
{
  if (byte == RCLRT_FRAME_FLAG) {
    /* A flag in the middle begins the next frame: what came before was cut short. */
    const bool broken = scanner->in_frame && scanner->count > 0;
    scanner->in_frame = true;
    scanner->escape = false;
    scanner->count = 0;
    scanner->wire = 1;
    return broken ? RCLRT_SCAN_BROKEN : RCLRT_SCAN_MORE;
  }
  if (!scanner->in_frame) {
    return RCLRT_SCAN_MORE;
  }
  scanner->wire++;
  if (byte == RCLRT_FRAME_ESCAPE) {
    /* Nobody sends two in a row: a frame could otherwise take any number of wire bytes. */
    scanner->in_frame = !scanner->escape;
    scanner->escape = true;
    return scanner->in_frame ? RCLRT_SCAN_MORE : RCLRT_SCAN_BROKEN;
  }
  if (scanner->escape) {
    byte ^= (uint8_t)RCLRT_FRAME_XOR;
    scanner->escape = false;
  }
  scan_header(scanner, scanner->count, byte);
  scanner->count++;
  if (scanner->count == 4 && scanner->length > scanner->limit) {
    scanner->in_frame = false;
    return RCLRT_SCAN_BROKEN;
  }
  if (scanner->count == 4U + scanner->length + 2U && scanner->count >= 6U) {
    scanner->in_frame = false;
    return RCLRT_SCAN_FRAME;
  }
  return RCLRT_SCAN_MORE;
}

/* Unstuffed bytes of a frame in two pieces. */
struct unstuffer
{
  const uint8_t * pieces[2];
  size_t sizes[2];
  size_t piece, at;
};

/* The next byte, or -1 at the end, on a flag or on two escapes in a row. */
static int unstuff(struct unstuffer * from)
{
  bool escape = false;
  for (;;) { /* ends: every turn consumes a byte or leaves a piece */
    while (from->piece < 2 && from->at == from->sizes[from->piece]) {
      from->piece++;
      from->at = 0;
    }
    if (from->piece == 2) {
      return -1;
    }
    const uint8_t byte = from->pieces[from->piece][from->at++];
    if (byte == RCLRT_FRAME_FLAG || (escape && byte == RCLRT_FRAME_ESCAPE)) {
      return -1;
    }
    if (byte != RCLRT_FRAME_ESCAPE) {
      return escape ? byte ^ (int)RCLRT_FRAME_XOR : byte;
    }
    escape = true;
  }
}

enum rclrt_ret rclrt_frame_decode(
  enum rclrt_check kind, const uint8_t * first, size_t first_size, const uint8_t * second,
  size_t second_size, uint8_t * payload, size_t capacity, uint16_t * length)
{
  if (first == NULL || (second == NULL && second_size > 0) || payload == NULL || length == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (first_size == 0 || first[0] != RCLRT_FRAME_FLAG) {
    return RCLRT_ERR_MALFORMED;
  }
  struct unstuffer from = {{first + 1, second}, {first_size - 1, second_size}, 0, 0};
  uint8_t head[4];
  for (size_t i = 0; i < 4; ++i) {
    const int byte = unstuff(&from);
    if (byte < 0) {
      return RCLRT_ERR_MALFORMED;
    }
    head[i] = (uint8_t)byte;
  }
  const uint16_t size = (uint16_t)(head[2] | (head[3] << 8));
  if (size > capacity) {
    return RCLRT_ERR_STORAGE;
  }
  for (size_t i = 0; i < size; ++i) {
    const int byte = unstuff(&from);
    if (byte < 0) {
      return RCLRT_ERR_MALFORMED;
    }
    payload[i] = (uint8_t)byte;
  }
  const int low = unstuff(&from);
  const int high = unstuff(&from);
  if (low < 0 || high < 0) {
    return RCLRT_ERR_MALFORMED;
  }
  const uint16_t sum = check_feed(kind, check_start(kind, head), payload, size);
  if (check_end(kind, sum) != (uint16_t)(low | (high << 8))) {
    return RCLRT_ERR_CHECKSUM;
  }
  *length = size;
  return RCLRT_OK;
}
