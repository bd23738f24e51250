/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plain CDR, little endian: what topics and the messages of DDS-XRCE are made of.
 *
 * A writer or reader is a cursor on the caller's bytes. Errors stick: after the first, every later
 * call does nothing to the bytes, so a message is written or read in one go and checked once at the
 * end. A writer goes on counting, so `at` then says how many bytes would have been needed.
 *
 * Values are aligned to their size, counted from `origin`. Every call takes constant time, except
 * strings and bytes: linear in their length. No allocation, real-time safe; a cursor belongs to one
 * context at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rclrt_writer
{
  uint8_t * data;
  size_t size;
  size_t at;     /* next byte; beyond `size` after a failure: the size needed so far */
  size_t origin; /* alignment counts from here */
  bool failed;
  uint8_t pad; /* value of alignment bytes */
};

struct rclrt_reader
{
  const uint8_t * data;
  size_t size;
  size_t at;
  size_t origin;
  bool failed; /* the bytes ended too early, or a length in them was impossible */
};

/* A piece of somebody else's bytes. */
struct rclrt_bytes
{
  const uint8_t * data;
  size_t size;
};

void rclrt_writer_init(struct rclrt_writer * writer, uint8_t * data, size_t size);
void rclrt_write_align(struct rclrt_writer * writer, size_t alignment);
void rclrt_write_bytes(struct rclrt_writer * writer, const void * bytes, size_t size);
void rclrt_write_bool(struct rclrt_writer * writer, bool value);
void rclrt_write_u8(struct rclrt_writer * writer, uint8_t value);
void rclrt_write_u16(struct rclrt_writer * writer, uint16_t value);
void rclrt_write_u32(struct rclrt_writer * writer, uint32_t value);
void rclrt_write_u64(struct rclrt_writer * writer, uint64_t value);
void rclrt_write_i8(struct rclrt_writer * writer, int8_t value);
void rclrt_write_i16(struct rclrt_writer * writer, int16_t value);
void rclrt_write_i32(struct rclrt_writer * writer, int32_t value);
void rclrt_write_i64(struct rclrt_writer * writer, int64_t value);
/* Copied bit by bit, no arithmetic: fit for a processor without floating point. */
void rclrt_write_f32(struct rclrt_writer * writer, const float * value);
void rclrt_write_f64(struct rclrt_writer * writer, const double * value);
/* strlen(), and whether memcmp() gives 0, in less code: those of newlib take 316 bytes. */
size_t rclrt_text_length(const char * text);
bool rclrt_same_bytes(const void * one, const void * other, size_t size);
/* Length including the terminating zero, then the characters. */
void rclrt_write_string(struct rclrt_writer * writer, const char * text);
/* The length in front of a sequence; its elements follow. */
void rclrt_write_count(struct rclrt_writer * writer, size_t count);

void rclrt_reader_init(struct rclrt_reader * reader, const uint8_t * data, size_t size);
void rclrt_read_align(struct rclrt_reader * reader, size_t alignment);
void rclrt_read_bytes(struct rclrt_reader * reader, void * bytes, size_t size);
/* Copies nothing: valid as long as the reader's bytes. */
struct rclrt_bytes rclrt_read_reference(struct rclrt_reader * reader, size_t size);
bool rclrt_read_bool(struct rclrt_reader * reader); /* a byte other than 0 and 1 is an error */
uint8_t rclrt_read_u8(struct rclrt_reader * reader);
uint16_t rclrt_read_u16(struct rclrt_reader * reader);
uint32_t rclrt_read_u32(struct rclrt_reader * reader);
uint64_t rclrt_read_u64(struct rclrt_reader * reader);
int8_t rclrt_read_i8(struct rclrt_reader * reader);
int16_t rclrt_read_i16(struct rclrt_reader * reader);
int32_t rclrt_read_i32(struct rclrt_reader * reader);
int64_t rclrt_read_i64(struct rclrt_reader * reader);
void rclrt_read_f32(struct rclrt_reader * reader, float * value);
void rclrt_read_f64(struct rclrt_reader * reader, double * value);
/* Fails when the string with its zero does not fit `capacity`, or has no zero at its end. `text` is
 * always terminated. */
void rclrt_read_string(struct rclrt_reader * reader, char * text, size_t capacity);
/* The length of a sequence; fails when it is above `limit` or, at `element_size` bytes each, above
 * what is left, so that a loop over it is bounded. */
size_t rclrt_read_count(struct rclrt_reader * reader, size_t limit, size_t element_size);

static inline size_t rclrt_reader_left(const struct rclrt_reader * reader)
{
  return reader->size - reader->at;
}

#ifdef __cplusplus
}
#endif
