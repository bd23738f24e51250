/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/client.h"

static void encode_bool(const void * message, struct rclrt_writer * writer)
{
  rclrt_write_bool(writer, *(const bool *)message);
}
static void decode_bool(void * message, struct rclrt_reader * reader)
{
  *(bool *)message = rclrt_read_bool(reader);
}

static void encode_int32(const void * message, struct rclrt_writer * writer)
{
  rclrt_write_i32(writer, *(const int32_t *)message);
}
static void decode_int32(void * message, struct rclrt_reader * reader)
{
  *(int32_t *)message = rclrt_read_i32(reader);
}

static void encode_float64(const void * message, struct rclrt_writer * writer)
{
  rclrt_write_f64(writer, message);
}
static void decode_float64(void * message, struct rclrt_reader * reader)
{
  rclrt_read_f64(reader, message);
}

static void encode_string(const void * message, struct rclrt_writer * writer)
{
  rclrt_write_string(writer, ((const struct rclrt_string *)message)->text);
}
static void decode_string(void * message, struct rclrt_reader * reader)
{
  struct rclrt_string * string = message;
  rclrt_read_string(reader, string->text, string->capacity);
}

const struct rclrt_type rclrt_type_bool = {"std_msgs::msg::dds_::Bool_", encode_bool, decode_bool};
const struct rclrt_type rclrt_type_int32 = {
  "std_msgs::msg::dds_::Int32_", encode_int32, decode_int32};
const struct rclrt_type rclrt_type_float64 = {
  "std_msgs::msg::dds_::Float64_", encode_float64, decode_float64};
const struct rclrt_type rclrt_type_string = {
  "std_msgs::msg::dds_::String_", encode_string, decode_string};
