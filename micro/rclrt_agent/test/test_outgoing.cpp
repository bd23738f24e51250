// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// In which order messages for a client go.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "outgoing.hpp"

namespace
{
using namespace rclrt_agent;
using std::chrono::milliseconds;

constexpr TimePoint kBegin = rclrt_core::time_point_of(1'000'000'000);

Bytes data(uint8_t value, std::size_t size = 4)
{
  const Bytes bytes(size, value);
  rclrt_submessage sub{};
  sub.id = RCLRT_DATA;
  sub.of.data = view_of(bytes);
  return write(sub);
}

/// A test in words. Parts of a text are separated by ", ".
///
///   options  piece BYTES; bytes BYTES; window MESSAGES; spacing MS
///   steps    put STREAM URGENCY VALUE [SIZE]: it is taken. full ..., long ...: it is refused as that. status: an answer
///            go WHAT...: what goes now, one after the other: for data its value; frag, and last for the last fragment;
///              beat; ack, or ack:GAPS with the gaps that it asks for; other; none
///            at MS: from now on it is so late
///            acknack STREAM FIRST GAPS: the client says so. owe STREAM FIRST GAPS [asked]: it is to be told so
///            wait STREAM URGENCY: for room. reset keep, reset new
///            due MS, due never, size BYTES (of what went last), told N (that there is room), unacknowledged N,
///            dropped N, too_long N, heartbeats N, given_up N: so it is
///            xN behind a part: so many times. Streams are hexadecimal.
struct Scene
{
  const char * promise;
  const char * options;
  const char * steps;
};

class Stage
{
public:
  explicit Stage(const Scene & scene) : outgoing_(options_of(scene.options))
  {
    each_part(scene.steps, [this](const std::string & part) {
      SCOPED_TRACE(part);
      const std::size_t repeat = part.find(" x");
      const int times = repeat == std::string::npos ? 1 : std::stoi(part.substr(repeat + 2));
      for (int i = 0; i < times; ++i) {
        std::istringstream words(part.substr(0, repeat));
        known_.at(next<std::string>(words))(words);
      }
    });
  }

private:
  using Words = std::istream;

  static void each_part(
    const std::string & text, const std::function<void(const std::string & part)> & use)
  {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(", ", begin), text.size());
      use(text.substr(begin, end - begin));
      begin = end + 2;
    }
  }

  template <typename T>
  static T next(Words & words)
  {
    T value{};
    EXPECT_TRUE(words >> value) << "a scene lacks something";
    return value;
  }
  static uint8_t stream(Words & words)
  {
    return static_cast<uint8_t>(std::stoi(next<std::string>(words), nullptr, 16));
  }

  static OutgoingOptions options_of(const std::string & text)
  {
    OutgoingOptions options;
    each_part(text, [&options](const std::string & part) {
      std::istringstream words(part);
      const auto name = next<std::string>(words);
      const auto value = next<unsigned>(words);
      if (name == "spacing") {
        options.acknack_spacing = milliseconds(value);
      } else if (name == "window") {
        options.window = static_cast<decltype(options.window)>(value);
      } else if (name == "piece") {
        options.piece = static_cast<decltype(options.piece)>(value);
      } else {
        ASSERT_EQ(name, "bytes");
        options.bytes = value;
      }
    });
    return options;
  }

  void put(Words & words, Outgoing::Put expected)
  {
    const uint8_t on = stream(words);
    const auto urgency = static_cast<uint8_t>(next<int>(words));
    const auto value = static_cast<uint8_t>(next<int>(words));
    std::size_t size = 0;
    EXPECT_EQ(
      outgoing_.put(on, urgency, words >> size ? data(value, size) : data(value)), expected);
  }

  // As `go` says it, where `expected` is as exact.
  std::string goes(const std::string & expected)
  {
    rclrt_reader reader;
    rclrt_message_header header;
    rclrt_submessage sub{};
    if (!outgoing_.next(now_, &last_)) {
      return "none";
    }
    rclrt_reader_init(&reader, last_.data(), last_.size());
    rclrt_read_message_header(&reader, &header);
    EXPECT_TRUE(rclrt_read_submessage(&reader, &sub));
    switch (sub.id) {
      case RCLRT_DATA:
        return std::to_string(*sub.of.data.data);
      case RCLRT_FRAGMENT:
        return (sub.flags & RCLRT_FLAG_LAST_FRAGMENT) != 0 ? "last" : "frag";
      case RCLRT_HEARTBEAT:
        return "beat";
      case RCLRT_ACKNACK:
        return expected == "ack" ? "ack" : "ack:" + std::to_string(sub.of.acknack.missing);
      default:
        return "other";
    }
  }

  static rclrt_acknack acknack(Words & words)
  {
    rclrt_acknack of{};
    of.stream = stream(words);
    of.first_unacked = next<uint16_t>(words);
    of.missing = next<uint16_t>(words);
    return of;
  }

  Outgoing outgoing_;
  TimePoint now_ = kBegin;
  Bytes last_;
  unsigned told_ = 0;
  const std::map<std::string, std::function<void(Words &)>> known_ = {
    {"put", [this](Words & words) { put(words, Outgoing::Put::kTaken); }},
    {"full", [this](Words & words) { put(words, Outgoing::Put::kFull); }},
    {"long", [this](Words & words) { put(words, Outgoing::Put::kTooLong); }},
    {"status",
     [this](Words &) {
       rclrt_submessage status{};
       status.id = RCLRT_STATUS;
       outgoing_.put(RCLRT_STREAM_RELIABLE, 31, write(status));
     }},
    {"go",
     [this](Words & words) {
       for (std::string expected; words >> expected;) {
         EXPECT_EQ(goes(expected), expected);
       }
     }},
    {"at", [this](Words & words) { now_ = kBegin + milliseconds(next<int>(words)); }},
    {"acknack", [this](Words & words) { outgoing_.on_acknack(acknack(words), now_); }},
    {"owe",
     [this](Words & words) {
       const rclrt_acknack of = acknack(words);
       std::string asked;
       outgoing_.owe_acknack(of, 0, now_, !!(words >> asked));
     }},
    {"wait",
     [this](Words & words) {
       const uint8_t on = stream(words);
       outgoing_.when_room(on, static_cast<uint8_t>(next<int>(words)), [this] { ++told_; });
     }},
    {"reset", [this](Words & words) { outgoing_.reset(next<std::string>(words) == "keep"); }},
    {"due",
     [this](Words & words) {
       const auto when = next<std::string>(words);
       EXPECT_EQ(
         outgoing_.due(),
         when == "never" ? rclrt_core::kNever : kBegin + milliseconds(std::stoi(when)));
     }},
    {"size", [this](Words & words) { EXPECT_EQ(last_.size(), next<std::size_t>(words)); }},
    {"told", [this](Words & words) { EXPECT_EQ(told_, next<unsigned>(words)); }},
    {"unacknowledged",
     [this](Words & words) { EXPECT_EQ(outgoing_.unacknowledged(), next<std::size_t>(words)); }},
    {"dropped",
     [this](Words & words) { EXPECT_EQ(outgoing_.counters().dropped, next<uint64_t>(words)); }},
    {"too_long",
     [this](Words & words) { EXPECT_EQ(outgoing_.counters().too_long, next<uint64_t>(words)); }},
    {"heartbeats",
     [this](Words & words) { EXPECT_EQ(outgoing_.counters().heartbeats, next<uint64_t>(words)); }},
    {"given_up",
     [this](Words & words) { EXPECT_EQ(outgoing_.counters().given_up, next<uint64_t>(words)); }}};
};

TEST(Outgoing, does_as_the_scenes_say)
{
  const Scene scenes[] = {
    {"the most urgent goes first, also of one stream", "",
     "put 01 3 1, put 01 3 2, put 01 20 3, go 3 1 2 none"},
    {"the same, reliable", "", "put 80 3 1, put 80 3 2, put 80 20 3, go 3 1 2 none"},
    {"an urgent message passes between the fragments of another stream", "piece 64",
     "put 84 1 1 700, go frag, put a0 8 2, go 2 frag"},
    {"and on a second stream, reliable or not, those of the stream that eProsima's clients share",
     "", "put 80 1 1 1800, go frag, put 81 9 2, put 01 8 3, go 2 3 frag"},
    {"of that stream an urgent message waits for the one at hand, and for none that waits", "",
     "put 80 1 1 700, put 80 1 2 700, put 80 1 3, go frag, put 80 9 9, go last 9"},
    {"what a client takes in one message is not cut: it may have no storage for fragments",
     "piece 64", "put 84 1 7 480, go 7"},
    {"fragments lend from the most urgent message that waits behind them", "",
     "put 80 1 1 700, go frag, put 88 5 5, put 80 9 9, go last 9 5"},
    {"a young acknowledgement waits for data; an old one, for data that is more urgent", "",
     "owe 80 1 0, put 01 0 1, go 1 ack, owe 80 1 0, put 01 0 1, put 01 9 9, at 15, go 9 ack 1"},
    {"of half a window, or after four times its delay, it does not wait", "",
     "owe 80 1 0 x8, put 01 31 1, go ack, owe 80 1 0, at 40, go ack"},
    {"acknowledgements of several streams share a message", "",
     "owe 80 1 0, owe 81 1 0, owe 82 1 0, go ack, size 37, go none"},
    {"of what is not acknowledged only the first goes again, until the client answers", "",
     "put 84 0 1, go 1, put 84 0 2, go 2, put 84 0 3, go 3, at 100, go beat, at 300, go beat, "
     "at 301, go none, at 700, go beat, at 701, go 1, at 702, go none, at 703, acknack 84 1 0, "
     "at 803, go beat, at 804, go none"},
    {"the next heartbeat comes after four round trips of a heartbeat, then twice that", "",
     "put 84 0 1, put 84 0 2, go 1 2, due 100, at 100, go beat, at 110, acknack 84 0 1, go 1, "
     "due 150, at 150, go beat, due 230, at 230, go beat, "
     // Under way for long, but not for a round trip: one was repeated, one held up behind the gap.
     "at 1000, acknack 84 2 0, put 84 0 3, go 3, due 1040"},
    {"heartbeats share a message and back off; after two in vain, what they ask about goes along",
     "",
     "put 84 0 1, put 88 0 2, go 1 2, due 100, at 100, go beat none, at 299, go none, at 300, "
     "go beat none, at 699, go none, at 700, go beat 1 2 none, at 1499, go none, at 1500, "
     "go beat 1 2 none, at 3099, go none, at 3100, go beat 1 2 none, at 5099, go none, at 5100, "
     "go beat 1 2 none, at 7099, go none, at 7100, go beat 1 2 none, heartbeats 14"},
    {"only what is asked for is repeated, and once: the repeat cannot have arrived yet", "",
     "put 84 0 0, go 0, put 84 0 1, go 1, put 84 0 2, go 2, at 10, acknack 84 1 1, at 11, "
     "acknack 84 1 1, go 1, at 12, acknack 84 1 1, go none, at 30, acknack 84 3 0, "
     "unacknowledged 0"},
    {"acknowledgements of what was never sent are ignored", "",
     "put 84 0 0, go 0, acknack 84 2 0, acknack 84 65535 0, acknack 85 1 0, unacknowledged 1"},
    {"a window bounds what is on its way", "",
     "put 80 0 7 x8, go 7 7 7 7 none, acknack 80 1 0, go 7"},
    {"a full reliable stream refuses, and says once when there is room", "",
     "put 84 0 1 x16, full 84 0 1, wait 84 6, told 0, go 1, told 1, go 1, told 1"},
    {"a full best effort stream drops the oldest of the least urgent", "",
     "put 01 9 100, put 01 2 0, put 01 2 1, put 01 2 7 x14, dropped 1, go 100 1, put 01 0 200, "
     "put 01 0 201, put 01 2 16, dropped 2"},
    {"messages longer than the mtu are cut or, if best effort, counted", "",
     "long 01 0 1 600, too_long 1, put 80 0 1 600, go frag, size 508, go last"},
    {"fragments count as bytes until they are acknowledged, and leave nothing over", "bytes 1000",
     "put 81 1 1 980, go frag last, put 82 1 1, full 82 1 1, acknack 81 2 0, go 1, "
     "acknack 82 1 0, put 83 1 1 980, put 83 1 1"},
    {"what is not acknowledged counts as bytes that wait: ten messages of 104", "bytes 1000",
     "put 80 1 1 96, put 81 1 1 96, put 82 1 1 96, put 83 1 1 96, put 84 1 1 96, put 85 1 1 96, "
     "put 86 1 1 96, put 87 1 1 96, put 88 1 1 96, put 89 1 1 96, go 1 1 1 1 1 1 1 1 1 1 none, "
     "full 8a 1 1 96, acknack 80 1 0, put 80 1 1 96, full 80 1 1 96"},
    {"room in bytes is told to all streams, when it is acknowledged", "bytes 100",
     "put 81 1 1 92, wait 82 7, go 1, told 0, acknack 81 1 0, told 1"},
    {"messages of which a reset loses fragments are counted; a whole message goes again", "",
     "put 81 1 1 700, go frag, reset keep, given_up 1, put 81 1 1 700, put 81 1 2 700, "
     "go frag last frag, reset keep, given_up 3, put 81 1 3, go 3, reset keep, given_up 3, go 3"},
    {"what a new beginning loses is counted: one not acknowledged, one waiting, one half",
     "window 2",
     "put 81 1 1, put 81 1 2, put 81 1 3, put 82 1 4 700, status, go other 1 2 frag, "
     "acknack 81 1 0, reset new, given_up 3, go none"},
    {"a gap is asked for once, and again when the client wants to know or numbers begin again", "",
     "owe 80 10 1, go ack:1, owe 80 10 1, go ack:0, owe 80 10 5, go ack:4, owe 80 12 1, go ack:0, "
     "owe 80 12 1 asked, go ack:1, owe 80 30000 0, owe 80 60000 0, owe 80 9 0, owe 80 9 1, "
     "go ack:1"},
    {"a gap is asked for although more came before that went", "",
     "owe 80 10 1, owe 80 10 1, go ack:1, owe 80 10 1 asked, owe 80 10 1, go ack:1"},
    {"a gap is asked for again and again although no heartbeat comes, until it is filled", "",
     "owe 80 10 1, go ack:1, at 99, go none, due 100, at 100, go ack:1, at 299, go none, due 300, "
     "at 300, go ack:1, at 699, go none, due 700, at 700, go ack:1, at 1499, go none, due 1500, "
     "at 1500, go ack:1, at 3100, go ack:1, at 5099, go none, at 5100, go ack:1, due 7100, "
     "at 7100, go ack:1, at 0, owe 80 11 0, at 7100, go ack:0, due never"},
    {"acknowledgements of a stream keep their distance; those of others do not wait", "spacing 40",
     "owe 80 10 0, go ack:0, owe 80 11 1, owe 81 1 0, go ack:0, at 39, go none, due 40, at 40, "
     "go ack:1"},
  };
  for (const Scene & scene : scenes) {
    SCOPED_TRACE(scene.promise);
    const Stage stage(scene);
  }
}

TEST(Outgoing, best_effort_data_of_many_streams_that_nobody_fetches_is_bounded_in_bytes)
{
  OutgoingOptions options;
  options.mtu = 65'000;
  options.bytes = 100'000;
  Outgoing outgoing(options);
  for (const std::size_t size : {std::size_t{8}, std::size_t{60'000}}) {
    for (int i = 0; i < 16; ++i) {
      for (uint8_t stream = 1; stream < 0x80; ++stream) {
        outgoing.put(stream, 1, data(1, size));
      }
    }
  }
  std::size_t all = 0;
  for (Bytes message; outgoing.next(kBegin, &message);) {
    all += message.size();
  }
  EXPECT_LE(all, 2 * options.bytes + options.mtu);
  EXPECT_GT(all, options.bytes) << "the newest takes the place of older ones";
}
}  // namespace
