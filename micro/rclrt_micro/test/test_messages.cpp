// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Structures that rclrt_micro_messages() has made, as a program uses them. That their CDR is that of
// rosidl for all messages: test_all_messages.py.
#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include "rcl_interfaces.h"
#include "std_msgs.h"
}

namespace
{
struct Bytes
{
  uint8_t data[8192] = {};
  rclrt_writer writer{};

  template <typename Message>
  explicit Bytes(const rclrt_type & type, const Message & message)
  {
    rclrt_writer_init(&writer, data, sizeof(data));
    type.encode(&message, &writer);
  }
  template <typename Message>
  bool read(const rclrt_type & type, Message & message) const
  {
    rclrt_reader reader;
    rclrt_reader_init(&reader, data, writer.at);
    type.decode(&message, &reader);
    return !reader.failed;
  }
};

TEST(Messages, are_written_field_by_field_as_the_format_says)
{
  std_msgs__msg__Header header{};
  header.stamp.sec = 0x01020304;
  header.stamp.nanosec = 5;
  std::strcpy(header.frame_id, "map");
  const Bytes bytes(std_msgs__msg__Header__type, header);
  const uint8_t wanted[] = {4, 3, 2, 1, 5, 0, 0, 0, 4, 0, 0, 0, 'm', 'a', 'p', 0};
  ASSERT_EQ(bytes.writer.at, sizeof(wanted));
  EXPECT_EQ(std::memcmp(bytes.data, wanted, sizeof(wanted)), 0);
  EXPECT_STREQ(std_msgs__msg__Header__type.name, "std_msgs::msg::dds_::Header_");
  std_msgs__msg__Header read{};
  ASSERT_TRUE(bytes.read(std_msgs__msg__Header__type, read));
  EXPECT_EQ(read.stamp.sec, header.stamp.sec);
  EXPECT_STREQ(read.frame_id, "map");
}

TEST(Messages, have_the_room_that_is_stated)
{
  // CMakeLists.txt: strings 20, sequences 3, of std_msgs/String.data 100.
  EXPECT_EQ(sizeof(std_msgs__msg__Header::frame_id), 21U);
  EXPECT_EQ(sizeof(std_msgs__msg__String::data), 101U);
  EXPECT_EQ(sizeof(std_msgs__msg__Int32MultiArray{}.data.data) / sizeof(int32_t), 3U);
  EXPECT_EQ(int{std_msgs__msg__Int32__MAX}, 4);
}

TEST(Messages, longer_than_their_room_are_refused_in_both_directions)
{
  std_msgs__msg__String text{};
  std::memset(text.data, 'x', 60);
  const Bytes sixty(std_msgs__msg__String__type, text);
  std_msgs__msg__Header header{};
  Bytes shorter(std_msgs__msg__Header__type, header);
  std::memcpy(shorter.data + 8, sixty.data, sixty.writer.at);  // a frame_id of 60 characters
  shorter.writer.at = 8 + sixty.writer.at;
  EXPECT_FALSE(shorter.read(std_msgs__msg__Header__type, header));

  std_msgs__msg__Int32MultiArray array{};
  array.data.size = 4;
  EXPECT_TRUE(Bytes(std_msgs__msg__Int32MultiArray__type, array).writer.failed);
  array.data.size = 3;
  Bytes full(std_msgs__msg__Int32MultiArray__type, array);
  EXPECT_FALSE(full.writer.failed);
  EXPECT_TRUE(full.read(std_msgs__msg__Int32MultiArray__type, array));
  full.data[full.writer.at - 16] = 4;
  full.writer.at += 4;
  EXPECT_FALSE(full.read(std_msgs__msg__Int32MultiArray__type, array));
}

TEST(Messages, of_services_have_the_names_of_ros)
{
  EXPECT_STREQ(
    rcl_interfaces__srv__GetParameters_Request__type.name,
    "rcl_interfaces::srv::dds_::GetParameters_Request_");
  rcl_interfaces__srv__GetParameters_Request request{};
  request.names.size = 2;
  std::strcpy(request.names.data[1], "gain");
  const Bytes bytes(rcl_interfaces__srv__GetParameters_Request__type, request);
  rcl_interfaces__srv__GetParameters_Request read{};
  ASSERT_TRUE(bytes.read(rcl_interfaces__srv__GetParameters_Request__type, read));
  EXPECT_STREQ(read.names.data[1], "gain");
}
}  // namespace
