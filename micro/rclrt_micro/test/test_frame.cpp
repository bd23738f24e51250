// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "captures.hpp"
#include "rclrt_micro/frame.h"

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
}  // namespace
