/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/cdr.h"

#include <string.h>

void rclrt_writer_init(struct rclrt_writer * writer, uint8_t * data, size_t size)
{
  writer->data = data;
  writer->size = size;
  writer->at = 0;
  writer->origin = 0;
  writer->failed = data == NULL && size > 0;
  writer->pad = 0;
}

/* Room for `size` bytes, or null; either way the cursor moves on. */
static uint8_t * reserve(struct rclrt_writer * writer, size_t size)
{
  const size_t at = writer->at;
  if (size > SIZE_MAX - at) { /* only absurd sizes; keeps the sum honest */
    writer->failed = true;
    return NULL;
  }
  writer->at = at + size;
  if (writer->at > writer->size) {
    writer->failed = true;
  }
  return writer->failed ? NULL : writer->data + at;
}

/* `alignment` is a power of two. */
static size_t padding(size_t at, size_t origin, size_t alignment)
{
  return (origin - at) & (alignment - 1U);
}

void rclrt_write_align(struct rclrt_writer * writer, size_t alignment)
{
  const size_t size = padding(writer->at, writer->origin, alignment);
  uint8_t * to = size == 0 ? NULL : reserve(writer, size);
  if (to != NULL) {
    memset(to, writer->pad, size);
  }
}

void rclrt_write_bytes(struct rclrt_writer * writer, const void * bytes, size_t size)
{
  uint8_t * to = reserve(writer, size);
  if (to != NULL && size > 0) {
    memcpy(to, bytes, size);
  }
}

static void write_little(struct rclrt_writer * writer, uint64_t value, size_t size)
{
  rclrt_write_align(writer, size);
  uint8_t * to = reserve(writer, size);
  if (to == NULL) {
    return;
  }
  for (size_t i = 0; i < size; ++i) {
    to[i] = (uint8_t)(value >> (8 * i));
  }
}

void rclrt_write_bool(struct rclrt_writer * writer, bool value)
{
  rclrt_write_u8(writer, value ? 1U : 0U);
}
void rclrt_write_u8(struct rclrt_writer * writer, uint8_t value)
{
  uint8_t * to = reserve(writer, 1);
  if (to != NULL) {
    *to = value;
  }
}
void rclrt_write_u16(struct rclrt_writer * writer, uint16_t value)
{
  write_little(writer, value, 2);
}
void rclrt_write_u32(struct rclrt_writer * writer, uint32_t value)
{
  write_little(writer, value, 4);
}
void rclrt_write_u64(struct rclrt_writer * writer, uint64_t value)
{
  write_little(writer, value, 8);
}
void rclrt_write_i8(struct rclrt_writer * writer, int8_t value)
{
  rclrt_write_u8(writer, (uint8_t)value);
}
void rclrt_write_i16(struct rclrt_writer * writer, int16_t value)
{
  write_little(writer, (uint16_t)value, 2);
}
void rclrt_write_i32(struct rclrt_writer * writer, int32_t value)
{
  write_little(writer, (uint32_t)value, 4);
}
void rclrt_write_i64(struct rclrt_writer * writer, int64_t value)
{
  write_little(writer, (uint64_t)value, 8);
}

void rclrt_write_f32(struct rclrt_writer * writer, const float * value)
{
  uint32_t bits;
  memcpy(&bits, value, sizeof(bits));
  rclrt_write_u32(writer, bits);
}

void rclrt_write_f64(struct rclrt_writer * writer, const double * value)
{
  uint64_t bits;
  memcpy(&bits, value, sizeof(bits));
  rclrt_write_u64(writer, bits);
}

size_t rclrt_text_length(const char * text)
{
  const char * end = text;
  while (*end != 0) {
    end++;
  }
  return (size_t)(end - text);
}

bool rclrt_same_bytes(const void * one, const void * other, size_t size)
{
  const uint8_t * a = one;
  const uint8_t * b = other;
  while (size > 0 && *a == *b) {
    a++;
    b++;
    size--;
  }
  return size == 0;
}

void rclrt_write_string(struct rclrt_writer * writer, const char * text)
{
  const size_t size = rclrt_text_length(text) + 1;
  rclrt_write_count(writer, size);
  rclrt_write_bytes(writer, text, size);
}

void rclrt_write_count(struct rclrt_writer * writer, size_t count)
{
  if (count > UINT32_MAX) {
    writer->failed = true;
  }
  rclrt_write_u32(writer, (uint32_t)count);
}

void rclrt_reader_init(struct rclrt_reader * reader, const uint8_t * data, size_t size)
{
  reader->data = data;
  reader->size = data == NULL ? 0 : size;
  reader->at = 0;
  reader->origin = 0;
  reader->failed = false;
}

struct rclrt_bytes rclrt_read_reference(struct rclrt_reader * reader, size_t size)
{
  struct rclrt_bytes bytes = {NULL, 0};
  if (reader->failed || size > rclrt_reader_left(reader)) {
    reader->failed = true;
    return bytes;
  }
  bytes.data = reader->data + reader->at;
  bytes.size = size;
  reader->at += size;
  return bytes;
}

void rclrt_read_align(struct rclrt_reader * reader, size_t alignment)
{
  (void)rclrt_read_reference(reader, padding(reader->at, reader->origin, alignment));
}

void rclrt_read_bytes(struct rclrt_reader * reader, void * bytes, size_t size)
{
  const struct rclrt_bytes from = rclrt_read_reference(reader, size);
  if (from.size > 0) {
    memcpy(bytes, from.data, size);
  }
}

static uint64_t read_little(struct rclrt_reader * reader, size_t size)
{
  const size_t pad = padding(reader->at, reader->origin, size);
  if (reader->failed || pad + size > rclrt_reader_left(reader)) {
    reader->failed = true;
    return 0;
  }
  const uint8_t * from = reader->data + reader->at + pad;
  reader->at += pad + size;
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) {
    value = value << 8 | from[i];
  }
  return value;
}

bool rclrt_read_bool(struct rclrt_reader * reader)
{
  const uint8_t value = rclrt_read_u8(reader);
  if (value > 1) {
    reader->failed = true;
  }
  return value == 1;
}
uint8_t rclrt_read_u8(struct rclrt_reader * reader)
{
  if (reader->failed || reader->at >= reader->size) {
    reader->failed = true;
    return 0;
  }
  return reader->data[reader->at++];
}
uint16_t rclrt_read_u16(struct rclrt_reader * reader) { return (uint16_t)read_little(reader, 2); }
uint32_t rclrt_read_u32(struct rclrt_reader * reader) { return (uint32_t)read_little(reader, 4); }
uint64_t rclrt_read_u64(struct rclrt_reader * reader) { return read_little(reader, 8); }
int8_t rclrt_read_i8(struct rclrt_reader * reader) { return (int8_t)rclrt_read_u8(reader); }
int16_t rclrt_read_i16(struct rclrt_reader * reader) { return (int16_t)read_little(reader, 2); }
int32_t rclrt_read_i32(struct rclrt_reader * reader) { return (int32_t)read_little(reader, 4); }
int64_t rclrt_read_i64(struct rclrt_reader * reader) { return (int64_t)read_little(reader, 8); }

void rclrt_read_f32(struct rclrt_reader * reader, float * value)
{
  const uint32_t bits = rclrt_read_u32(reader);
  memcpy(value, &bits, sizeof(bits));
}

void rclrt_read_f64(struct rclrt_reader * reader, double * value)
{
  const uint64_t bits = rclrt_read_u64(reader);
  memcpy(value, &bits, sizeof(bits));
}

void rclrt_read_string(struct rclrt_reader * reader, char * text, size_t capacity)
{
  const size_t size = rclrt_read_count(reader, capacity, 1);
  const struct rclrt_bytes from = rclrt_read_reference(reader, size);
  if (from.size == 0 || from.data[from.size - 1] != 0) {
    reader->failed = true;
  }
  if (capacity == 0) {
    return;
  }
  if (reader->failed) {
    text[0] = 0;
    return;
  }
  memcpy(text, from.data, from.size);
}

size_t rclrt_read_count(struct rclrt_reader * reader, size_t limit, size_t element_size)
{
  const uint32_t count = rclrt_read_u32(reader);
  const size_t fit = element_size == 0 ? limit : rclrt_reader_left(reader) / element_size;
  if (count > limit || count > fit) {
    reader->failed = true;
  }
  return reader->failed ? 0 : count;
}
