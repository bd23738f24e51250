// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams from a client, and names and bodies as clients write them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <filesystem>
#include <fstream>
#include <set>

#include "agent.hpp"
#include "incoming.hpp"
#include "line_thread.hpp"
#include "representation.hpp"

namespace
{
using namespace rclrt_agent;

struct Stream
{
  explicit Stream(uint8_t id) : in(id, storage) {}
  Incoming::Verdict put(uint16_t sequence, uint8_t value)
  {
    const Bytes bytes(100, value);
    return in.put(sequence, view_of(bytes));
  }
  std::vector<int> take()
  {
    std::vector<int> values;
    Bytes bytes;
    while (in.take(&bytes)) {
      values.push_back(bytes.at(0));
    }
    return values;
  }
  Storage storage;
  Incoming in;
};

TEST(Incoming, reliable_messages_come_out_in_order_and_once)
{
  Stream stream(0x80);
  stream.put(1, 1);
  EXPECT_EQ(stream.in.acknack().first_unacked, 0);
  EXPECT_EQ(stream.in.acknack().missing, 0x1);
  EXPECT_TRUE(stream.take().empty());
  stream.put(0, 0);
  EXPECT_EQ(stream.put(1, 9), Incoming::Verdict::kDuplicate);
  EXPECT_EQ(stream.take(), (std::vector<int>{0, 1}));
  EXPECT_EQ(stream.put(0, 0), Incoming::Verdict::kDuplicate);
  EXPECT_EQ(stream.in.acknack().first_unacked, 2);
  EXPECT_EQ(stream.in.acknack().missing, 0);
  EXPECT_EQ(stream.put(18, 0), Incoming::Verdict::kNoRoom);
}

TEST(Incoming, numbers_wrap)
{
  Stream stream(0x80);
  for (const uint16_t first : {uint16_t{0x7000}, uint16_t{0xE000}, uint16_t{0xFFFE}}) {
    stream.in.on_heartbeat({first, first, 0x80});
  }
  for (int i = 0; i < 4; ++i) {
    stream.put(static_cast<uint16_t>(0xFFFE + i), static_cast<uint8_t>(i));
  }
  EXPECT_EQ(stream.take(), (std::vector<int>{0, 1, 2, 3}));
}

TEST(Incoming, best_effort_messages_that_are_late_are_dropped)
{
  Stream stream(0x01);
  stream.put(5, 5);
  EXPECT_EQ(stream.take(), std::vector<int>{5});
  EXPECT_EQ(stream.put(4, 4), Incoming::Verdict::kDuplicate);
  stream.put(9, 9);
  EXPECT_EQ(stream.take(), std::vector<int>{9});
  stream.put(40'000, 40);
  EXPECT_EQ(stream.take(), std::vector<int>{40}) << "after a cut of 40,000 messages";
  EXPECT_EQ(stream.put(39'000, 39), Incoming::Verdict::kDuplicate);
}

TEST(Incoming, a_heartbeat_says_what_is_missing_and_what_is_given_up)
{
  Stream stream(0x80);
  const uint16_t last = 2;
  EXPECT_EQ(stream.in.acknack(&last).missing, 0x7);
  const uint16_t far = 1000;
  EXPECT_EQ(stream.in.acknack(&far).missing, 0xFFFF) << "no more than the window";
  stream.put(2, 2);
  stream.in.on_heartbeat({2, 2, 0x80});
  EXPECT_EQ(stream.take(), std::vector<int>{2});
}

TEST(Incoming, storage_bounds_what_waits_and_never_stops_the_next_message)
{
  Stream stream(0x80);
  stream.storage.limit = 250;
  EXPECT_EQ(stream.put(1, 1), Incoming::Verdict::kKept);
  EXPECT_EQ(stream.put(2, 2), Incoming::Verdict::kKept);
  EXPECT_EQ(stream.put(3, 3), Incoming::Verdict::kNoRoom);
  EXPECT_EQ(stream.put(0, 0), Incoming::Verdict::kKept);
  EXPECT_EQ(stream.take(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(stream.storage.used, 0U);
}

TEST(Incoming, fragments_without_end_are_given_up_at_the_limit)
{
  Stream stream(0x80);
  stream.storage.limit = 250;
  const Bytes piece(100, 1);
  EXPECT_FALSE(stream.in.fragment(view_of(piece), false));
  EXPECT_FALSE(stream.in.fragment(view_of(piece), false));
  EXPECT_FALSE(stream.in.fragment(view_of(piece), false));
  EXPECT_FALSE(stream.in.fragment(view_of(piece), true));
  EXPECT_EQ(stream.in.unassembled(), 1U);
  EXPECT_TRUE(stream.in.fragment(view_of(piece), true)) << "the next message";
  EXPECT_EQ(stream.in.assembled(), piece);
}

TEST(Names, of_dds_become_those_of_ros)
{
  EXPECT_EQ(ros_topic("rt/chatter"), "/chatter");
  EXPECT_EQ(ros_topic("plain"), "/plain");
  EXPECT_EQ(ros_service("rq/arm/addRequest"), "/arm/add");
  EXPECT_EQ(ros_service("/add"), "/add");
  EXPECT_EQ(ros_type("std_msgs::msg::dds_::Int32_")->name, "Int32");
  EXPECT_EQ(ros_type("std_msgs/msg/Int32")->package, "std_msgs");
  EXPECT_EQ(ros_type("Hello")->package, "");
  EXPECT_EQ(ros_service_type("a::srv::dds_::B_Request_")->name, "B");
  for (const char * name : {"board/arm", "/board/arm"}) {
    EXPECT_EQ(node_name(name)->name_space, "/board");
    EXPECT_EQ(node_name(name)->name, "arm");
  }
  EXPECT_EQ(node_name("arm")->name_space, "/");
}

TEST(Names, that_are_none_of_ros_are_refused)
{
  for (const std::string & name :
       {std::string(), std::string(300, 'a'), std::string("a b"), std::string("a//b"),
        std::string("a__b"), std::string("1a"), std::string("a/"), std::string("\xFF"),
        std::string("a;b"), std::string("../x"), std::string("7 dwarfs!"), std::string("//a/")}) {
    EXPECT_FALSE(ros_topic(name)) << name;
    EXPECT_FALSE(node_name(name)) << name;
  }
  EXPECT_FALSE(ros_topic("rt/"));
  for (const char * type :
       {"", "::", "a::b", "../lib::msg::dds_::X_", "a::msg::dds_::X", "a/b/c/d"}) {
    EXPECT_FALSE(ros_type(type)) << type;
  }
  EXPECT_FALSE(ros_service_type("a::srv::dds_::B_Response_"));
}

TEST(Representation, says_what_xml_says)
{
  const std::string xml =
    "<dds><data_reader><topic><kind>NO_KEY</kind><name> rt/a </name><dataType>T</dataType>"
    "<historyQos><kind>KEEP_LAST</kind><depth>7</depth></historyQos></topic>"
    "<qos><reliability><kind>RELIABLE</kind></reliability></qos></data_reader></dds>";
  rclrt_create create{};
  create.kind = RCLRT_DATAREADER;
  create.representation = RCLRT_BY_XML;
  create.body = {reinterpret_cast<const uint8_t *>(xml.data()), xml.size()};
  const auto what = describe(create, {});
  ASSERT_TRUE(what);
  EXPECT_EQ(what->name, "rt/a");
  EXPECT_EQ(what->type, "T");
  EXPECT_TRUE(what->qos.reliable);
  EXPECT_EQ(what->qos.depth, 7);
}

TEST(Representation, of_every_length_and_kind_of_garbage_is_read_or_refused)
{
  uint32_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    Bytes body(static_cast<std::size_t>(random >> 8) % 64);
    for (auto & byte : body) {
      random = random * 1664525U + 1013904223U;
      byte = static_cast<uint8_t>(random >> 24);
    }
    random = random * 1664525U + 1013904223U;
    rclrt_create create{};
    create.kind = static_cast<uint8_t>(1 + (random >> 16) % 8);
    create.representation = static_cast<uint8_t>((random >> 24) % 5);
    create.body = view_of(body);
    (void)describe(create, {});
  }
}

// Which shared memory of others is removed, and which is not.
using rclrt_agent::Descriptor;
using rclrt_agent::remove_dead_segments;

class DeadSegments : public ::testing::Test
{
protected:
  DeadSegments() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~DeadSegments() override { std::filesystem::remove_all(folder_); }

  void make(const std::string & name) const { std::ofstream(folder_ + "/" + name) << "x"; }
  std::set<std::string> names() const
  {
    std::set<std::string> found;
    for (const auto & entry : std::filesystem::directory_iterator(folder_)) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }

  std::string folder_ = "/tmp/dead_segments_XXXXXX";
};

TEST_F(DeadSegments, go_if_nobody_holds_their_lock)
{
  const std::string dead = "fastdds_0123456789abcdef", lives = "fastdds_fedcba9876543210";
  for (const auto & name : {dead, dead + "_el", lives, lives + "_el"}) {
    make(name);
  }
  const Descriptor lock(::open((folder_ + "/" + lives + "_el").c_str(), O_RDONLY));
  ASSERT_EQ(::flock(lock.get(), LOCK_SH), 0);
  EXPECT_EQ(remove_dead_segments(folder_, std::chrono::seconds(0)), 1U);
  EXPECT_EQ(names(), (std::set<std::string>{lives, lives + "_el"}));
}

TEST_F(DeadSegments, that_are_young_stay_and_so_does_what_is_called_otherwise)
{
  const std::set<std::string> all = {"fastdds_0123456789abcdef",   "fastdds_0123456789abcdef_el",
                                     "fastdds_port7411_el",        "fastdds_0123456789abcdex_el",
                                     "fastdds_0123456789abcde_el", "sem.fastdds_port7411_mutex"};
  for (const auto & name : all) {
    make(name);
  }
  EXPECT_EQ(remove_dead_segments(folder_, std::chrono::seconds(60)), 0U);
  EXPECT_EQ(names(), all);
  EXPECT_EQ(remove_dead_segments(folder_, std::chrono::seconds(0)), 1U);
  EXPECT_EQ(names().size(), 4U);
  EXPECT_EQ(remove_dead_segments(folder_ + "/none"), 0U);
}
}  // namespace
