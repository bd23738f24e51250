/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Messages on a line, and where they begin and end. A program links the framing that it starts with.
 * Functions that say "in a critical section" are called there; the others are not.
 */
#include <string.h>

#include "daemon_internal.h"

/* Room in the ring for `size` bytes; returns where. Told before they are written: code that has copied a
 * frame out looks afterwards whether its bytes may have changed meanwhile. */
static uint32_t reserve_ring(struct rclrt_daemon * daemon, size_t size)
{
  const uint32_t token = daemon_enter(daemon);
  const uint32_t at = daemon->head;
  daemon->head += (uint32_t)size;
  daemon_leave(daemon, token);
  return at;
}

static void put(struct rclrt_daemon * daemon, uint32_t at, uint8_t byte)
{
  daemon->config.ring[at & (daemon->config.ring_size - 1U)] = byte;
}

/* In the ring the bytes of a frame are in one piece or two. */
struct pieces
{
  const uint8_t * first;
  size_t size;
};

static struct pieces find_frame(const struct rclrt_daemon * daemon, const struct rclrt_slot * slot)
{
  const uint32_t size = daemon->config.ring_size;
  const uint32_t begin = slot->at & (size - 1U);
  const struct pieces pieces = {
    daemon->config.ring + begin, slot->wire < size - begin ? slot->wire : size - begin};
  return pieces;
}

/* Bytes that may hold the end of a frame anywhere. Frames for other addresses are left. CRC-16/ARC does
 * not cover addresses: if the line spoils the one that a question comes from, the agent tells that other
 * address that it does not know it. */
static void receive_stream(
  struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size,
  enum rclrt_scan (*scan)(struct rclrt_scanner * scanner, uint8_t byte))
{
  struct rclrt_scanner * scanner = &daemon->scanner;
  const size_t most = daemon->config.ring_size / 4U; /* no more of the ring is claimed at once */
  uint32_t at = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % most == 0) {
      at = reserve_ring(daemon, size - i < most ? size - i : most);
    }
    put(daemon, at, bytes[i]);
    at++;
    const enum rclrt_scan what = scan(scanner, bytes[i]);
    if (what == RCLRT_SCAN_MORE) {
      continue;
    }
    if (what == RCLRT_SCAN_BROKEN || scanner->destination != RCLRT_FRAME_CLIENT) {
      daemon_count(daemon, &daemon->counters.broken_frames);
    } else {
      struct rclrt_slot found;
      memset(&found, 0, sizeof(found));
      found.at = at - scanner->wire;
      found.wire = scanner->wire;
      found.length = scanner->length;
      daemon_on_frame(daemon, &found, scanner->preview);
    }
  }
}

static struct rclrt_bytes next_serial(struct rclrt_daemon * daemon)
{
  if (daemon->message_at == 0) {
    daemon->message_at = 1;
    rclrt_frame_encoder_init(
      &daemon->encoder, daemon->config.check, RCLRT_FRAME_CLIENT, RCLRT_FRAME_AGENT,
      daemon->message, daemon->message_length);
  }
  const struct rclrt_bytes piece = {
    daemon->config.piece,
    rclrt_frame_encode(&daemon->encoder, daemon->config.piece, daemon->config.piece_size)};
  return piece;
}

static void take_in_serial(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size)
{
  receive_stream(daemon, bytes, size, rclrt_scan_byte);
}

static enum rclrt_ret copy_out_serial(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, uint8_t * to, size_t capacity,
  uint16_t * length)
{
  const struct pieces at = find_frame(daemon, slot);
  return rclrt_frame_decode(
    daemon->config.check, at.first, at.size, daemon->config.ring, slot->wire - at.size, to,
    capacity, length);
}

const struct rclrt_daemon_framing daemon_serial = {next_serial, take_in_serial, copy_out_serial};

/* Copies the message as it is. */
static enum rclrt_ret copy_out_plain(
  struct rclrt_daemon * daemon, const struct rclrt_slot * slot, uint8_t * to, size_t capacity,
  uint16_t * length)
{
  const struct pieces at = find_frame(daemon, slot);
  if (slot->length > capacity) {
    return RCLRT_ERR_STORAGE;
  }
  memcpy(to, at.first, at.size);
  memcpy(to + at.size, daemon->config.ring, slot->wire - at.size);
  *length = slot->length;
  return RCLRT_OK;
}

static struct rclrt_bytes next_datagram(struct rclrt_daemon * daemon)
{
  const struct rclrt_bytes piece = {
    daemon->message + daemon->message_at, (size_t)(daemon->message_length - daemon->message_at)};
  daemon->message_at = daemon->message_length;
  return piece;
}

/* A datagram is never split: as if it had been scanned. */
static void take_in_datagram(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size)
{
  struct rclrt_slot found;
  memset(&found, 0, sizeof(found));
  uint8_t preview[RCLRT_FRAME_PREVIEW] = {0};
  if (size > daemon->config.message_capacity) {
    daemon_count(daemon, &daemon->counters.broken_frames);
    return;
  }
  memcpy(preview, bytes, size < sizeof(preview) ? size : sizeof(preview));
  found.at = reserve_ring(daemon, size);
  found.wire = (uint32_t)size;
  found.length = (uint16_t)size;
  const uint32_t begin = found.at & (daemon->config.ring_size - 1U);
  const size_t first = daemon->config.ring_size - begin;
  memcpy(daemon->config.ring + begin, bytes, size < first ? size : first);
  if (size > first) {
    memcpy(daemon->config.ring, bytes + first, size - first);
  }
  daemon_on_frame(daemon, &found, preview);
}

const struct rclrt_daemon_framing daemon_datagram = {
  next_datagram, take_in_datagram, copy_out_plain};

static struct rclrt_bytes next_with_length(struct rclrt_daemon * daemon)
{
  uint8_t * bytes = daemon->config.piece;
  const size_t left = (size_t)(daemon->message_length - daemon->message_at);
  const size_t prefix = daemon->message_at == 0 ? 2U : 0U;
  const size_t room = daemon->config.piece_size - prefix;
  struct rclrt_bytes piece = {bytes, left < room ? left : room};
  memcpy(bytes + prefix, daemon->message + daemon->message_at, piece.size);
  daemon->message_at = (uint16_t)(daemon->message_at + piece.size);
  if (piece.size > 0 && prefix > 0) {
    bytes[0] = (uint8_t)daemon->message_length;
    bytes[1] = (uint8_t)(daemon->message_length >> 8);
    piece.size += prefix;
  }
  return piece;
}

/* One byte of a line with a length in front of each message. */
static enum rclrt_scan scan_length(struct rclrt_scanner * scanner, uint8_t byte)
{
  if (!scanner->in_frame) {
    scanner->in_frame = true;
    scanner->count = 0;
    scanner->destination = RCLRT_FRAME_CLIENT; /* there are no addresses */
    scanner->length = byte;
    return RCLRT_SCAN_MORE;
  }
  const uint32_t at = scanner->count++;
  if (at == 0) {
    scanner->length = (uint16_t)(scanner->length | byte << 8);
  } else if (at - 1U < RCLRT_FRAME_PREVIEW) {
    scanner->preview[at - 1U] = byte;
  }
  if (scanner->count == scanner->length + 1U) {
    scanner->in_frame = false;
    scanner->wire = scanner->length;
    return scanner->length <= scanner->limit ? RCLRT_SCAN_FRAME : RCLRT_SCAN_BROKEN;
  }
  return RCLRT_SCAN_MORE;
}

static void take_in_with_length(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size)
{
  receive_stream(daemon, bytes, size, scan_length);
}

const struct rclrt_daemon_framing daemon_with_length = {
  next_with_length, take_in_with_length, copy_out_plain};

static bool is_power_of_two(uint32_t value) { return value != 0 && (value & (value - 1U)) == 0; }

/* True, and written down, if it is. */
static bool is_short(
  struct rclrt_shortage * shortage, const char * what, uint32_t limit, uint32_t needed)
{
  if (limit < needed) {
    shortage->what = what;
    shortage->limit = limit;
    shortage->needed = needed;
  }
  return limit < needed;
}

/* What RCLRT_SYSTEM checks when it is compiled. Writes down the first size that is too small. */
static enum rclrt_ret check(
  struct rclrt_shortage * shortage, const struct rclrt_daemon_config * config)
{
  if (
    config->nodes == NULL || config->node_bytes == NULL || config->slots == NULL ||
    config->ring == NULL || config->piece == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint32_t message = config->message_capacity;
  const uint32_t whole = message & ~(uint32_t)3;
  /* The longest frame: a flag, and everything behind it stuffed. */
  const uint32_t ring = 2U * (message + 6U) + 1U;
  const bool datagrams = config->framing == RCLRT_FRAMING_DATAGRAM && config->input != NULL;
  const uint32_t usable = is_power_of_two(config->ring_size) ? config->ring_size : 0;
  const bool found =
    is_short(shortage, "node_count", config->node_count, 1) ||
    is_short(shortage, "node_count, more than reserve", config->node_count, config->reserve + 1U) ||
    is_short(shortage, "message_capacity", whole, 64) ||
    is_short(shortage, "message_capacity, a multiple of 4", whole, message) ||
    is_short(shortage, "slot_count", config->slot_count, 1) ||
    is_short(shortage, "ring_size, a power of two", usable, ring) ||
    is_short(shortage, "piece_size", config->piece_size, 16) ||
    (datagrams && is_short(shortage, "input_size", config->input_size, message));
  return found ? RCLRT_ERR_STORAGE : RCLRT_OK;
}

enum rclrt_ret rclrt_daemon_init(
  struct rclrt_daemon * daemon, const struct rclrt_daemon_config * config,
  const struct rclrt_port * port, const struct rclrt_transport * transport)
{
  const enum rclrt_framing framing = config == NULL ? RCLRT_FRAMING_SERIAL : config->framing;
  const struct rclrt_daemon_framing * by = &daemon_with_length;
  if (framing != RCLRT_FRAMING_LENGTH) {
    by = framing == RCLRT_FRAMING_SERIAL ? &daemon_serial : &daemon_datagram;
  }
  const enum rclrt_ret ret = daemon_init(daemon, config, port, transport, by, check);
  if (ret == RCLRT_OK) {
    daemon->policy = &daemon_policy;
  }
  return ret;
}
