// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Real peers' messages: read, written again, compared byte by byte.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "captures.hpp"
#include "fuzz/targets.h"
#include "rclrt_micro/xrce.h"

namespace
{
struct Message
{
  rclrt_message_header header;
  std::vector<rclrt_submessage> submessages;
};

::testing::AssertionResult read(const Bytes & bytes, Message & message)
{
  rclrt_reader reader;
  rclrt_reader_init(&reader, bytes.data(), bytes.size());
  rclrt_read_message_header(&reader, &message.header);
  rclrt_submessage submessage;
  while (rclrt_read_submessage(&reader, &submessage)) {
    message.submessages.push_back(submessage);
  }
  if (reader.failed || reader.at != bytes.size()) {
    return ::testing::AssertionFailure() << "stopped at byte " << reader.at;
  }
  return ::testing::AssertionSuccess();
}

Bytes write(const Message & message, uint8_t pad)
{
  Bytes bytes(2048);
  rclrt_writer writer;
  rclrt_writer_init(&writer, bytes.data(), bytes.size());
  writer.pad = pad;
  rclrt_write_message_header(&writer, &message.header);
  for (const auto & submessage : message.submessages) {
    rclrt_write_submessage(&writer, &submessage);
  }
  EXPECT_FALSE(writer.failed);
  bytes.resize(writer.at);
  return bytes;
}

// Equal but for alignment bytes, which are where two writings with different padding differ, and for
// up to three bytes that some peers add at the end of a message.
void expect_same(const Bytes & expected, const Bytes & zeros, const Bytes & ones)
{
  ASSERT_LE(zeros.size(), expected.size());
  ASSERT_LT(expected.size() - zeros.size(), 4U);
  for (size_t i = 0; i < zeros.size(); ++i) {
    if (zeros[i] == ones[i]) {
      ASSERT_EQ(zeros[i], expected[i]) << "byte " << i;
    }
  }
}

TEST(Captures, every_message_is_read_and_written_to_the_same_bytes)
{
  std::map<int, int> seen;
  for (const auto & captured : read_captures()) {
    SCOPED_TRACE(captured.where());
    Message message;
    ASSERT_TRUE(read(captured.message, message));
    ASSERT_FALSE(message.submessages.empty());
    for (const auto & submessage : message.submessages) {
      seen[submessage.id]++;
    }
    expect_same(captured.message, write(message, 0x00), write(message, 0xFF));
  }
  for (int id = RCLRT_CREATE_CLIENT; id <= RCLRT_TIMESTAMP_REPLY; ++id) {
    if (id != RCLRT_RESET) {  // no peer sends it
      EXPECT_GT(seen[id], 0) << "submessage " << id;
    }
  }
}

// The body of the first CREATE of `kind` in `capture`, with the message that holds it.
Bytes captured_body(const std::string & capture, int kind)
{
  for (const auto & captured : read_captures()) {
    Message message;
    if (captured.capture != capture || !captured.from_client || !read(captured.message, message)) {
      continue;
    }
    const auto & sub = message.submessages[0];
    if (sub.id == RCLRT_CREATE && sub.of.create.kind == kind) {
      return {sub.of.create.body.data, sub.of.create.body.data + sub.of.create.body.size};
    }
  }
  ADD_FAILURE() << "no CREATE of kind " << kind << " in " << capture;
  return {};
}

template <typename Write>
void expect_body(const std::string & capture, int kind, Write && write_body)
{
  SCOPED_TRACE(capture + ", kind " + std::to_string(kind));
  const Bytes expected = captured_body(capture, kind);
  Bytes written[2] = {Bytes(512), Bytes(512)};
  for (const auto i : {uint8_t{0}, uint8_t{1}}) {
    rclrt_writer writer;
    rclrt_writer_init(&writer, written[i].data(), written[i].size());
    writer.pad = i == 0 ? 0x00 : 0xFF;
    write_body(&writer);
    ASSERT_FALSE(writer.failed);
    written[i].resize(writer.at);
  }
  ASSERT_EQ(written[0].size(), expected.size());
  expect_same(expected, written[0], written[1]);
}

const char * const kTopic = "rt/chatter";
const char * const kType = "std_msgs::msg::dds_::Int32_";

TEST(Captures, entities_by_binary_have_the_bytes_of_the_peer)
{
  const rclrt_qos qos{true, false, 10};
  for (const std::string capture : {"serial-basic", "tcp-basic", "udp-withkey"}) {
    expect_body(capture, RCLRT_PARTICIPANT, [](auto * w) { rclrt_binary_participant(w, "n1"); });
    expect_body(capture, RCLRT_TOPIC, [](auto * w) { rclrt_binary_topic(w, kTopic, kType); });
    expect_body(capture, RCLRT_PUBLISHER, [](auto * w) { rclrt_binary_group(w); });
    expect_body(capture, RCLRT_SUBSCRIBER, [](auto * w) { rclrt_binary_group(w); });
    const auto endpoint = [&qos](rclrt_object_kind kind) {
      return [&qos, kind](auto * w) {
        rclrt_binary_endpoint(w, kind, rclrt_object_id(1, RCLRT_TOPIC), &qos);
      };
    };
    expect_body(capture, RCLRT_DATAWRITER, endpoint(RCLRT_DATAWRITER));
    expect_body(capture, RCLRT_DATAREADER, endpoint(RCLRT_DATAREADER));
  }
}

const rclrt_service_names kAdd{
  "/add", "example_interfaces::srv::dds_::AddTwoInts_Request_",
  "example_interfaces::srv::dds_::AddTwoInts_Response_", "rq/addRequest", "rr/addReply"};

TEST(Captures, services_by_binary_have_the_bytes_of_the_peer)
{
  for (const int kind : {RCLRT_REQUESTER, RCLRT_REPLIER}) {
    expect_body("udp-service", kind, [](auto * w) { rclrt_binary_service(w, &kAdd); });
  }
}

TEST(Captures, entities_by_xml_have_the_text_of_the_peer)
{
  const std::string capture = "udp-xml";
  expect_body(capture, RCLRT_PARTICIPANT, [](auto * w) { rclrt_xml_participant(w, "n1"); });
  expect_body(capture, RCLRT_TOPIC, [](auto * w) { rclrt_xml_topic(w, kTopic, kType); });
  expect_body(capture, RCLRT_PUBLISHER, [](auto * w) { rclrt_text_body(w, ""); });
  expect_body(capture, RCLRT_DATAWRITER, [](auto * w) {
    rclrt_xml_endpoint(w, RCLRT_DATAWRITER, kTopic, kType);
  });
  expect_body(capture, RCLRT_DATAREADER, [](auto * w) {
    rclrt_xml_endpoint(w, RCLRT_DATAREADER, kTopic, kType);
  });
}

TEST(Captures, entities_by_reference_are_the_profile_name)
{
  expect_body(
    "udp-ref", RCLRT_PARTICIPANT, [](auto * w) { rclrt_text_body(w, "default_xrce_participant"); });
}

TEST(Captures, the_answer_to_a_ping_says_that_the_agent_is_available)
{
  int pings = 0;
  for (const auto & captured : read_captures()) {
    Message message;
    ASSERT_TRUE(read(captured.message, message));
    const auto & sub = message.submessages[0];
    if (sub.id != RCLRT_INFO) {
      continue;
    }
    int16_t availability = 0;
    ASSERT_TRUE(rclrt_info_availability(sub.of.result.info, &availability));
    EXPECT_EQ(availability, 1);
    Bytes written(64);
    rclrt_writer writer;
    rclrt_writer_init(&writer, written.data(), written.size());
    rclrt_write_bytes(&writer, "      ", 6);
    rclrt_write_agent_info(&writer, 1);
    written.resize(writer.at);
    const auto info = sub.of.result.info;
    EXPECT_EQ(Bytes(written.begin() + 6, written.end()), Bytes(info.data, info.data + info.size));
    pings++;
  }
  EXPECT_EQ(pings, 2);
}

TEST(Captures, no_prefix_of_a_message_is_read_beyond_its_end)
{
  for (const auto & captured : read_captures()) {
    for (size_t size = 0; size < captured.message.size(); ++size) {
      // A copy of exactly this size, so that a sanitizer sees a byte too many.
      const Bytes cut(
        captured.message.begin(), captured.message.begin() + static_cast<std::ptrdiff_t>(size));
      Message message;
      (void)read(cut, message);
    }
  }
}

TEST(Xrce, impossible_submessages_are_refused)
{
  const std::map<std::string, std::string> bad = {
    {"length beyond the end", "8101000007010900000e00152a000000"},
    {"big-endian head", "810000000a0005000100000080"},
    {"no cookie", "80000000000110005852434601000001cafe00018100fc01"},
    {"body beyond the end",
     "8180000001071a00000a001101030000ff00000000010000030000006e31000000000000"},
    {"half a header", "81010000070108"},
  };
  for (const auto & [why, hex] : bad) {
    Message message;
    EXPECT_FALSE(read(from_hex(hex), message)) << why;
  }
}

TEST(Xrce, an_unknown_submessage_is_passed_over)
{
  Message message;
  ASSERT_TRUE(read(from_hex("8101000030010400aabbccdd07010800000e00152a000000"), message));
  ASSERT_EQ(message.submessages.size(), 2U);
  EXPECT_EQ(message.submessages[0].id, 0x30);
  EXPECT_EQ(message.submessages[1].id, RCLRT_WRITE_DATA);
}

TEST(Xrce, sequence_numbers_are_compared_around_the_wrap)
{
  EXPECT_TRUE(rclrt_sequence_before(65535, 0));
  EXPECT_TRUE(rclrt_sequence_before(65530, 10));
  EXPECT_FALSE(rclrt_sequence_before(10, 65530));
  EXPECT_FALSE(rclrt_sequence_before(5, 5));
}

TEST(Xrce, a_reset_is_empty)
{
  Bytes bytes(16);
  rclrt_writer writer;
  rclrt_writer_init(&writer, bytes.data(), bytes.size());
  rclrt_submessage reset{};
  reset.id = RCLRT_RESET;
  rclrt_write_submessage(&writer, &reset);
  bytes.resize(writer.at);
  EXPECT_EQ(bytes, from_hex("0c010000"));
}

// The corpus of the fuzzers, and changes of it that are the same in every run.
std::vector<Bytes> corpus(const std::string & wanted)
{
  std::ifstream file(std::string(rclrt_test_folder) + "/fuzz/corpus.txt");
  std::vector<Bytes> all;
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.find(' ');
    if (line.substr(0, space) == wanted) {
      all.push_back(from_hex(line.substr(space + 1)));
    }
  }
  return all;
}

void run(const std::vector<Bytes> & seeds, bool (*target)(const uint8_t *, size_t))
{
  ASSERT_GT(seeds.size(), 10U);
  for (const auto & seed : seeds) {
    ASSERT_TRUE(target(seed.data(), seed.size()));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = seeds[random() % seeds.size()];
    const Bytes & other = seeds[random() % seeds.size()];
    if (random() % 2 == 0) {
      bytes.insert(bytes.end(), other.begin(), other.end());
    }
    for (unsigned change = random() % 4; change > 0 && !bytes.empty(); --change) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    if (random() % 4 == 0) {
      bytes.resize(random() % (bytes.size() + 1));
    }
    ASSERT_TRUE(target(bytes.data(), bytes.size())) << "change number " << i;
  }
}

TEST(Fuzz, any_bytes_on_the_line_are_survived_and_no_buffer_is_lost)
{
  run(corpus("line"), fuzz_line);
}

TEST(Fuzz, any_frame_found_is_the_one_that_is_read_and_made_again)
{
  run(corpus("line"), fuzz_frame);
}

TEST(Fuzz, any_message_is_read_safely_and_written_as_it_was_read)
{
  run(corpus("message"), fuzz_message);
}

TEST(Fuzz, any_bytes_are_read_safely_as_cdr) { run(corpus("message"), fuzz_cdr); }
}  // namespace
