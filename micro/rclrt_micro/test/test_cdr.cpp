// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "rclrt_micro/cdr.h"

namespace
{
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
}  // namespace
