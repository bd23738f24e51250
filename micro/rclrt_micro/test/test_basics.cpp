// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// CDR, frames and queues: functions of bytes and lists alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "captures.hpp"
#include "rclrt_micro/cdr.h"
#include "rclrt_micro/frame.h"
#include "rclrt_micro/queue.h"

namespace
{
Bytes encode(enum rclrt_check kind, const Bytes & payload, size_t piece, uint8_t source = 1)
{
  rclrt_frame_encoder encoder;
  rclrt_frame_encoder_init(
    &encoder, kind, source, source == 1 ? 0 : 1, payload.data(),
    static_cast<uint16_t>(payload.size()));
  const size_t expected = rclrt_frame_wire_size(&encoder);
  Bytes wire;
  Bytes out(piece);
  size_t got = 0;
  while ((got = rclrt_frame_encode(&encoder, out.data(), piece)) > 0) {
    wire.insert(wire.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got));
  }
  EXPECT_EQ(wire.size(), expected);
  return wire;
}

struct Found
{
  int frames = 0;
  int broken = 0;
  rclrt_scanner last{};
};

Found scan(const Bytes & wire, uint16_t limit = 512)
{
  Found found;
  rclrt_scanner scanner;
  rclrt_scanner_init(&scanner, limit);
  for (const uint8_t byte : wire) {
    const auto what = rclrt_scan_byte(&scanner, byte);
    found.broken += what == RCLRT_SCAN_BROKEN ? 1 : 0;
    if (what == RCLRT_SCAN_FRAME) {
      found.frames++;
      found.last = scanner;
    }
  }
  return found;
}

enum rclrt_ret decode(enum rclrt_check kind, const Bytes & wire, size_t split, Bytes & payload)
{
  payload.assign(512, 0);
  uint16_t length = 0;
  const auto ret = rclrt_frame_decode(
    kind, wire.data(), split, wire.data() + split, wire.size() - split, payload.data(),
    payload.size(), &length);
  payload.resize(length);
  return ret;
}

TEST(Frame, checksums_have_their_published_check_values)
{
  const uint8_t digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  EXPECT_EQ(rclrt_crc16_arc(0, digits, sizeof(digits)), 0xBB3D);
  EXPECT_EQ(static_cast<uint16_t>(~rclrt_fcs16(0xFFFF, digits, sizeof(digits))), 0x906E);
}

TEST(Frame, every_captured_frame_is_encoded_to_the_same_bytes_and_decoded_again)
{
  int seen = 0;
  for (const auto & captured : read_captures()) {
    if (captured.capture.rfind("serial", 0) != 0 || captured.wire.empty()) {
      continue;
    }
    SCOPED_TRACE(captured.where());
    Bytes payload;
    // The wire has the alignment bytes that the message in the data file has as zeros.
    ASSERT_EQ(decode(RCLRT_CHECK_ARC, captured.wire, 1, payload), RCLRT_OK);
    ASSERT_EQ(payload.size(), captured.message.size());
    const auto found = scan(captured.wire);
    EXPECT_EQ(found.frames, 1);
    EXPECT_EQ(found.broken, 0);
    EXPECT_EQ(found.last.length, payload.size());
    EXPECT_EQ(found.last.wire, captured.wire.size());
    EXPECT_TRUE(std::equal(
      payload.begin(),
      payload.begin() +
        static_cast<std::ptrdiff_t>(std::min<size_t>(payload.size(), RCLRT_FRAME_PREVIEW)),
      found.last.preview));
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{42}, size_t{1024}}) {
      EXPECT_EQ(
        encode(RCLRT_CHECK_ARC, payload, piece, captured.from_client ? 1 : 0), captured.wire);
    }
    seen++;
  }
  EXPECT_GT(seen, 80);
}

TEST(Frame, any_payload_survives_stuffing_at_every_split_of_the_ring)
{
  std::mt19937 random(1);
  for (const auto kind : {RCLRT_CHECK_ARC, RCLRT_CHECK_FCS16}) {
    for (size_t size = 0; size < 60; ++size) {
      Bytes payload(size);
      for (auto & byte : payload) {
        byte = random() % 3 == 0 ? static_cast<uint8_t>(0x7D + random() % 2)
                                 : static_cast<uint8_t>(random());
      }
      const Bytes wire = encode(kind, payload, 16);
      EXPECT_EQ(std::count(wire.begin() + 1, wire.end(), 0x7E), 0);
      for (size_t split = 1; split <= wire.size(); ++split) {
        Bytes got;
        ASSERT_EQ(decode(kind, wire, split, got), RCLRT_OK);
        ASSERT_EQ(got, payload);
      }
      EXPECT_EQ(scan(wire).frames, 1);
    }
  }
}

TEST(Frame, a_changed_bit_anywhere_in_the_payload_or_check_is_found)
{
  const Bytes payload = from_hex("810100000701080000000e00152a000000");
  for (const auto kind : {RCLRT_CHECK_ARC, RCLRT_CHECK_FCS16}) {
    const Bytes wire = encode(kind, payload, 64);
    for (size_t at = 5; at < wire.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        Bytes bad = wire;
        bad[at] = static_cast<uint8_t>(bad[at] ^ (1U << bit));
        Bytes got;
        EXPECT_NE(decode(kind, bad, 1, got), RCLRT_OK) << at << ' ' << bit;
      }
    }
  }
}

TEST(Frame, the_two_checksums_do_not_accept_each_other)
{
  Bytes got;
  const Bytes payload = from_hex("810000000a0105000100000080");
  EXPECT_EQ(
    decode(RCLRT_CHECK_FCS16, encode(RCLRT_CHECK_ARC, payload, 64), 1, got), RCLRT_ERR_CHECKSUM);
  EXPECT_EQ(
    decode(RCLRT_CHECK_ARC, encode(RCLRT_CHECK_FCS16, payload, 64), 1, got), RCLRT_ERR_CHECKSUM);
}

TEST(Frame, a_cut_frame_costs_only_itself)
{
  const Bytes payload = from_hex("810100000701080000000e00152a000000");
  const Bytes wire = encode(RCLRT_CHECK_ARC, payload, 64);
  for (size_t cut = 2; cut < wire.size(); ++cut) {
    Bytes line(wire.begin(), wire.begin() + static_cast<std::ptrdiff_t>(cut));
    line.insert(line.end(), wire.begin(), wire.end());
    const auto found = scan(line);
    EXPECT_EQ(found.frames, 1) << cut;
    EXPECT_EQ(found.broken, 1) << cut;
  }
}

TEST(Frame, a_frame_longer_than_the_limit_is_left_out)
{
  Bytes line = encode(RCLRT_CHECK_ARC, Bytes(100, 7), 64);
  const Bytes next = encode(RCLRT_CHECK_ARC, Bytes(99, 7), 64);
  line.insert(line.end(), next.begin(), next.end());
  const auto found = scan(line, 99);
  EXPECT_EQ(found.broken, 1);
  EXPECT_EQ(found.frames, 1);
  EXPECT_EQ(found.last.length, 99);
  Bytes small(98);
  uint16_t length = 0;
  EXPECT_EQ(
    rclrt_frame_decode(
      RCLRT_CHECK_ARC, next.data(), next.size(), nullptr, 0, small.data(), small.size(), &length),
    RCLRT_ERR_STORAGE);
}

TEST(Frame, noise_never_hangs_and_hardly_ever_looks_like_a_frame)
{
  std::mt19937 random(2);
  rclrt_scanner scanner;
  rclrt_scanner_init(&scanner, 512);
  Bytes line;
  int valid = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto byte = static_cast<uint8_t>(random() % 20 == 0 ? 0x7E : random());
    line = byte == 0x7E ? Bytes{byte} : (line.push_back(byte), line);
    if (rclrt_scan_byte(&scanner, byte) == RCLRT_SCAN_FRAME) {
      Bytes got;
      valid += decode(RCLRT_CHECK_ARC, line, 1, got) == RCLRT_OK && !got.empty() ? 1 : 0;
    }
  }
  EXPECT_LE(valid, 1);
}

TEST(Cdr, values_are_aligned_to_their_size_from_the_origin)
{
  uint8_t data[64];
  rclrt_writer writer;
  rclrt_writer_init(&writer, data, sizeof(data));
  writer.pad = 0xEE;
  rclrt_write_u8(&writer, 1);
  rclrt_write_u32(&writer, 0x04030201);
  rclrt_write_bool(&writer, true);
  rclrt_write_u64(&writer, 0x0807060504030201);
  rclrt_write_string(&writer, "ab");
  ASSERT_FALSE(writer.failed);
  const std::vector<uint8_t> expected = {1,    0xEE, 0xEE, 0xEE, 1,    2, 3,   4,   1, 0xEE, 0xEE,
                                         0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 1, 2,   3,   4, 5,    6,
                                         7,    8,    3,    0,    0,    0, 'a', 'b', 0};
  EXPECT_EQ(std::vector<uint8_t>(data, data + writer.at), expected);
}

TEST(Cdr, everything_written_is_read_back)
{
  uint8_t data[128];
  rclrt_writer writer;
  rclrt_writer_init(&writer, data, sizeof(data));
  const float f32 = -0.1F;
  const double f64 = 1e300;
  rclrt_write_i8(&writer, -5);
  rclrt_write_i16(&writer, -500);
  rclrt_write_i32(&writer, -70000);
  rclrt_write_i64(&writer, INT64_MIN);
  rclrt_write_f32(&writer, &f32);
  rclrt_write_f64(&writer, &f64);
  rclrt_write_string(&writer, "");
  rclrt_write_count(&writer, 2);
  rclrt_write_u16(&writer, 7);
  rclrt_write_u16(&writer, 65535);
  ASSERT_FALSE(writer.failed);

  rclrt_reader reader;
  rclrt_reader_init(&reader, data, writer.at);
  EXPECT_EQ(rclrt_read_i8(&reader), -5);
  EXPECT_EQ(rclrt_read_i16(&reader), -500);
  EXPECT_EQ(rclrt_read_i32(&reader), -70000);
  EXPECT_EQ(rclrt_read_i64(&reader), INT64_MIN);
  float got_f32 = 0;
  double got_f64 = 0;
  rclrt_read_f32(&reader, &got_f32);
  rclrt_read_f64(&reader, &got_f64);
  EXPECT_EQ(std::memcmp(&got_f32, &f32, sizeof(f32)), 0);
  EXPECT_EQ(std::memcmp(&got_f64, &f64, sizeof(f64)), 0);
  char text[4] = "xyz";
  rclrt_read_string(&reader, text, sizeof(text));
  EXPECT_STREQ(text, "");
  ASSERT_EQ(rclrt_read_count(&reader, 10, 2), 2U);
  EXPECT_EQ(rclrt_read_u16(&reader), 7);
  EXPECT_EQ(rclrt_read_u16(&reader), 65535);
  EXPECT_FALSE(reader.failed);
  EXPECT_EQ(rclrt_reader_left(&reader), 0U);
}

TEST(Cdr, a_writer_that_is_full_stays_in_its_bytes_and_says_how_many_it_needed)
{
  uint8_t data[8] = {9, 9, 9, 9, 9, 9, 9, 9};
  rclrt_writer writer;
  rclrt_writer_init(&writer, data, 6);
  rclrt_write_u32(&writer, 0);
  rclrt_write_u32(&writer, 0);
  rclrt_write_u8(&writer, 0);
  EXPECT_TRUE(writer.failed);
  EXPECT_EQ(writer.at, 9U);
  EXPECT_EQ(data[4], 9);
  EXPECT_EQ(data[6], 9);
}

TEST(Cdr, a_reader_that_has_run_dry_gives_zeros_and_says_so)
{
  const uint8_t data[5] = {1, 2, 3, 4, 5};
  rclrt_reader reader;
  rclrt_reader_init(&reader, data, sizeof(data));
  EXPECT_EQ(rclrt_read_u32(&reader), 0x04030201U);
  EXPECT_EQ(rclrt_read_u16(&reader), 0U);
  EXPECT_TRUE(reader.failed);
  EXPECT_EQ(rclrt_read_u8(&reader), 0U) << "errors stick";
}

TEST(Cdr, lengths_that_cannot_be_are_refused)
{
  const uint8_t data[8] = {0xFF, 0xFF, 0xFF, 0xFF, 'a', 'b', 'c', 'd'};
  char text[8] = "old";
  rclrt_reader reader;
  rclrt_reader_init(&reader, data, sizeof(data));
  rclrt_read_string(&reader, text, sizeof(text));
  EXPECT_TRUE(reader.failed);
  EXPECT_STREQ(text, "");

  const uint8_t no_zero[6] = {2, 0, 0, 0, 'a', 'b'};
  rclrt_reader_init(&reader, no_zero, sizeof(no_zero));
  rclrt_read_string(&reader, text, sizeof(text));
  EXPECT_TRUE(reader.failed);

  const uint8_t long_string[8] = {4, 0, 0, 0, 'a', 'b', 'c', 0};
  char small[3];
  rclrt_reader_init(&reader, long_string, sizeof(long_string));
  rclrt_read_string(&reader, small, sizeof(small));
  EXPECT_TRUE(reader.failed);
  EXPECT_STREQ(small, "");

  const uint8_t count[8] = {5, 0, 0, 0, 0, 0, 0, 0};
  rclrt_reader_init(&reader, count, sizeof(count));
  EXPECT_EQ(rclrt_read_count(&reader, 100, 1), 0U) << "five elements cannot lie in four bytes";
  EXPECT_TRUE(reader.failed);

  const uint8_t not_bool[1] = {2};
  rclrt_reader_init(&reader, not_bool, sizeof(not_bool));
  EXPECT_FALSE(rclrt_read_bool(&reader));
  EXPECT_TRUE(reader.failed);
}

struct Element
{
  rclrt_link link{};
  int name = 0;
};

int name_of(rclrt_link * link)
{
  return link == nullptr ? -1 : RCLRT_CONTAINER_OF(link, Element, link)->name;
}

TEST(Queue, gives_the_most_urgent_first_and_equals_in_their_order)
{
  rclrt_queue queue;
  rclrt_queue_init(&queue);
  EXPECT_EQ(rclrt_queue_highest(&queue), -1);
  EXPECT_EQ(rclrt_queue_first(&queue), nullptr);
  std::vector<Element> elements(5);
  const unsigned priorities[] = {3, 31, 3, 0, 3};
  for (int i = 0; i < 5; ++i) {
    elements[static_cast<size_t>(i)].name = i;
  }
  for (size_t i = 0; i < 4; ++i) {
    rclrt_queue_push(&queue, &elements[i].link, priorities[i]);
  }
  rclrt_queue_push_front(&queue, &elements[4].link, 3);
  EXPECT_EQ(rclrt_queue_highest(&queue), 31);
  std::vector<int> order;
  while (rclrt_queue_first(&queue) != nullptr) {
    const auto priority = static_cast<unsigned>(rclrt_queue_highest(&queue));
    auto * link = rclrt_queue_first(&queue);
    order.push_back(name_of(link));
    rclrt_queue_remove(&queue, link, priority);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 4, 0, 2, 3}));
}

TEST(Queue, finds_every_priority)
{
  for (unsigned priority = 0; priority < RCLRT_PRIORITIES; ++priority) {
    rclrt_queue queue;
    rclrt_queue_init(&queue);
    Element element;
    rclrt_queue_push(&queue, &element.link, priority);
    EXPECT_EQ(rclrt_queue_highest(&queue), static_cast<int>(priority));
  }
}

TEST(Heap, gives_the_smallest_key_first_under_random_insertion_and_removal)
{
  std::mt19937 random(1);
  constexpr uint16_t kCapacity = 40;
  rclrt_heap_node * places[kCapacity];
  rclrt_heap heap;
  rclrt_heap_init(&heap, places, kCapacity);
  std::vector<rclrt_heap_node> nodes(kCapacity + 1);
  std::multiset<uint64_t> keys;
  for (auto & node : nodes) {
    node.place = RCLRT_HEAP_OUTSIDE;
  }
  for (int step = 0; step < 20000; ++step) {
    auto & node = nodes[random() % nodes.size()];
    if (node.place == RCLRT_HEAP_OUTSIDE) {
      node.key = random() % 50;
      const bool fits = rclrt_heap_push(&heap, &node);
      ASSERT_EQ(fits, keys.size() < kCapacity);
      if (fits) {
        keys.insert(node.key);
      }
    } else {
      keys.erase(keys.find(node.key));
      rclrt_heap_remove(&heap, &node);
      ASSERT_EQ(node.place, RCLRT_HEAP_OUTSIDE);
    }
    const auto * first = rclrt_heap_first(&heap);
    ASSERT_EQ(first == nullptr, keys.empty());
    if (first != nullptr) {
      ASSERT_EQ(first->key, *keys.begin());
    }
  }
}
}  // namespace
