/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Serial frames of DDS-XRCE (Annex C): `7E | source | destination | length u16 | payload | check
 * u16`, everything after 7E stuffed (7E and 7D become 7D and the byte xor 20).
 *
 * An encoder gives the wire bytes of one frame piece by piece, so that an interrupt handler does a
 * bounded amount of work and a buffer never needs the worst case of twice the payload.
 *
 * A scanner finds frames in a byte stream. It looks at each byte once and keeps only the first
 * bytes of the payload: enough to know what a frame is and for whom, without its checksum and
 * without a copy [PoDS §5.2]. The header is therefore unverified until rclrt_frame_decode() copies
 * the frame out and checks it.
 *
 * The checksum: widely used peers send CRC-16/ARC over the unstuffed payload; the text of the
 * standard describes the FCS-16 of RFC 1662, here over source to payload. Both ends must agree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rclrt_micro/ret.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RCLRT_FRAME_FLAG 0x7EU
#define RCLRT_FRAME_ESCAPE 0x7DU
#define RCLRT_FRAME_XOR 0x20U
#define RCLRT_FRAME_OVERHEAD 7U /* wire bytes added to a payload that needs no stuffing */
#define RCLRT_FRAME_AGENT 0U    /* address of the agent */
#define RCLRT_FRAME_CLIENT 1U   /* address of the client */

/* Payload bytes a scanner keeps: message header with key (8), submessage header (4), and in a data
 * message the request and object identifiers (4). */
#define RCLRT_FRAME_PREVIEW 16U

enum rclrt_check
{
  RCLRT_CHECK_ARC = 0, /* CRC-16/ARC over the payload */
  RCLRT_CHECK_FCS16,   /* FCS-16 (RFC 1662) over source, destination, length and payload */
};

/* Feeds `size` bytes into a CRC-16/ARC; start with 0. Linear in `size`. */
uint16_t rclrt_crc16_arc(uint16_t crc, const uint8_t * data, size_t size);
/* Feeds `size` bytes into an FCS-16; start with 0xFFFF, send the complement. Linear in `size`. */
uint16_t rclrt_fcs16(uint16_t fcs, const uint8_t * data, size_t size);

struct rclrt_frame_encoder
{
  const uint8_t * payload;
  uint16_t length;
  uint16_t check;
  uint32_t at; /* next of: flag, 4 header bytes, payload, 2 check bytes */
  uint8_t head[4];
  uint8_t escaped; /* second byte of a pair that did not fit; 0 is none, for no such byte is 0 */
  enum rclrt_check kind;
};

void rclrt_frame_encoder_init(
  struct rclrt_frame_encoder * encoder, enum rclrt_check kind, uint8_t source, uint8_t destination,
  const uint8_t * payload, uint16_t length);
/* Writes at most `capacity` further wire bytes and returns how many; 0 when the frame is complete.
 * Linear in `capacity`. */
size_t rclrt_frame_encode(struct rclrt_frame_encoder * encoder, uint8_t * out, size_t capacity);
/* Wire bytes the whole frame will take. Linear in the payload. */
size_t rclrt_frame_wire_size(const struct rclrt_frame_encoder * encoder);

enum rclrt_scan
{
  RCLRT_SCAN_MORE,   /* nothing yet */
  RCLRT_SCAN_FRAME,  /* this byte ended a frame */
  RCLRT_SCAN_BROKEN, /* this byte shows that the frame so far was cut short or too long */
};

struct rclrt_scanner
{
  uint16_t limit;  /* longest payload accepted */
  uint16_t length; /* payload length of this frame, once `count` >= 4 */
  uint32_t count;  /* unstuffed bytes since the flag */
  uint32_t wire;   /* wire bytes since and with the flag */
  uint8_t source, destination;
  uint8_t preview[RCLRT_FRAME_PREVIEW];
  bool in_frame, escape;
};

void rclrt_scanner_init(struct rclrt_scanner * scanner, uint16_t limit);
/* Looks at the next byte of the line. Constant time. After RCLRT_SCAN_FRAME, `length`, `wire` and
 * `preview` (its first min(length, RCLRT_FRAME_PREVIEW) bytes) describe the frame. */
enum rclrt_scan rclrt_scan_byte(struct rclrt_scanner * scanner, uint8_t byte);

/* Unstuffs and checks one frame: wire bytes in two pieces (a ring buffer wraps), the flag first.
 * `payload` gets `*length` bytes. Errors: MALFORMED, CHECKSUM, STORAGE (payload above `capacity`).
 * Linear in the wire bytes. */
enum rclrt_ret rclrt_frame_decode(
  enum rclrt_check kind, const uint8_t * first, size_t first_size, const uint8_t * second,
  size_t second_size, uint8_t * payload, size_t capacity, uint16_t * length);

#ifdef __cplusplus
}
#endif
