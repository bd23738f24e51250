// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Serial lines, with pseudo-terminals: who sends, and when the line is looked at.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "serial_line.hpp"

namespace
{
using namespace rclrt_agent;
using rclrt_agent_test::number;
using rclrt_agent_test::sent_by_threads;

// What a line tells of its device that comes and goes.
TEST(SerialLines, say_what_becomes_of_their_device)
{
  const std::string folder = ::testing::TempDir() + "rclrt_serial_XXXXXX";
  std::vector<char> name(folder.begin(), folder.end());
  name.push_back(0);
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::string device = std::string(name.data()) + "/tty";
  rclrt_agent_test::MemoryBackend backend;
  rclrt_agent::Agent agent(backend, {}, [](const std::shared_ptr<Session> &, int) {});
  std::mutex mutex;
  std::vector<std::string> told;
  SerialLine line(agent, {device, 115200}, [&](const std::string & what) {
    const std::lock_guard lock(mutex);
    told.push_back(what);
  });
  const auto until = [&](std::size_t count) {
    for (int i = 0; i < 3000; ++i) {
      {
        const std::lock_guard lock(mutex);
        if (told.size() >= count) {
          break;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::lock_guard lock(mutex);
    return told.size() > count - 1 ? told[count - 1] : std::string();
  };
  line.start();
  EXPECT_EQ(until(1), "waiting for " + device + ": No such file or directory");
  int master = -1;
  int slave = -1;
  char path[128];
  ASSERT_EQ(::openpty(&master, &slave, path, nullptr, nullptr), 0);
  ASSERT_EQ(::symlink(path, device.c_str()), 0);
  EXPECT_EQ(until(2), "listening at " + device);
  ::unlink(device.c_str());
  ::close(slave);
  ::close(master);
  EXPECT_EQ(until(3).substr(0, 12), "waiting for ");
  line.stop();
  EXPECT_LE(told.size(), 4U) << "once for each";
  ::rmdir(name.data());
}

// The other end of a serial line, which takes no time.
class SerialEnd
{
public:
  SerialEnd()
  {
    int master = -1;
    int slave = -1;
    char name[128];
    termios raw{};
    ::cfmakeraw(&raw);
    EXPECT_EQ(::openpty(&master, &slave, name, &raw, nullptr), 0);
    master_.reset(master);
    slave_.reset(slave);
    device_ = name;
    rclrt_scanner_init(&scanner_, 600);
  }
  const std::string & device() const { return device_; }
  void write(const uint8_t * bytes, std::size_t size) const
  {
    ASSERT_EQ(::write(master_.get(), bytes, size), static_cast<ssize_t>(size));
  }
  static Bytes frame(const Bytes & message, uint8_t client = 1)
  {
    rclrt_frame_encoder encoder;
    rclrt_frame_encoder_init(
      &encoder, RCLRT_CHECK_ARC, client, RCLRT_FRAME_AGENT, message.data(),
      static_cast<uint16_t>(message.size()));
    Bytes frame(rclrt_frame_wire_size(&encoder));
    rclrt_frame_encode(&encoder, frame.data(), frame.size());
    return frame;
  }
  void send(
    const rclrt_submessage & sub, uint8_t session, uint8_t client = 1, uint8_t stream = 0) const
  {
    const Bytes message = write_message({session, stream, 0, {}}, view_of(rclrt_agent::write(sub)));
    const Bytes bytes = frame(message, client);
    write(bytes.data(), bytes.size());
  }
  void greet(uint8_t client = 1) const
  {
    rclrt_submessage sub{};
    sub.id = RCLRT_CREATE_CLIENT;
    sub.of.create_client.key[0] = client;
    sub.of.create_client.session = RCLRT_SESSION_DEFAULT;
    sub.of.create_client.mtu = 508;
    send(sub, RCLRT_SESSION_NONE, client);
  }
  // Once: on a stream, so it takes a job.
  void ping(uint8_t client = 1) const
  {
    rclrt_submessage sub{};
    sub.id = RCLRT_GET_INFO;
    sub.object = RCLRT_OBJECT_AGENT;
    send(sub, RCLRT_SESSION_DEFAULT, client, RCLRT_STREAM_BEST_EFFORT);
  }
  // The client for which the last frame was.
  uint8_t client() const { return scanner_.destination; }
  // The next message; empty if none comes.
  Bytes receive(int patience_ms = 5000)
  {
    Bytes bytes;
    pollfd poll{master_.get(), POLLIN, 0};
    uint8_t byte = 0;
    while (::poll(&poll, 1, patience_ms) == 1 && ::read(master_.get(), &byte, 1) == 1) {
      if (byte == RCLRT_FRAME_FLAG) {
        bytes.clear();
      }
      bytes.push_back(byte);
      if (rclrt_scan_byte(&scanner_, byte) == RCLRT_SCAN_FRAME) {
        Bytes message(600);
        uint16_t length = 0;
        EXPECT_EQ(
          rclrt_frame_decode(
            RCLRT_CHECK_ARC, bytes.data(), bytes.size(), nullptr, 0, message.data(), 600, &length),
          RCLRT_OK);
        message.resize(length);
        return message;
      }
    }
    return {};
  }

private:
  Descriptor master_, slave_;
  std::string device_;
  rclrt_scanner scanner_{};
};

// A serial line whose steps the test makes, with a time of its own. No thread.
struct StepLine : SerialLine
{
  StepLine(rclrt_agent::Agent & agent, const char * device, int baud)
  : SerialLine(agent, {device, baud})
  {
  }
  // Whether the operating system has not taken all of a message.
  bool is_full()
  {
    const std::lock_guard lock(sending_);
    return has_rest();
  }
  // When it wants to look next, and whether it looks for bytes meanwhile.
  std::pair<TimePoint, bool> prepare_at(TimePoint now)
  {
    polled.assign(1, {-1, 0, 0});
    const TimePoint next = prepare(&polled, now);
    return {next, polled.size() > 1 && (polled[1].events & POLLIN) != 0};
  }
  void read_at(TimePoint now)
  {
    ::poll(&polled[1], 1, 5000);
    read(polled, now);
  }
  void transmit(uint64_t address, const Bytes & message, TimePoint now) override
  {
    overlap = ++inside > 1 || overlap;
    std::this_thread::sleep_for(delay);
    SerialLine::transmit(address, message, now);
    --inside;
  }
  std::vector<pollfd> polled;
  std::chrono::microseconds delay{0};  // for which a message is being given to the operating system
  std::atomic<int> inside{0};
  std::atomic<bool> overlap{false};
};

// A client at the end of a line, after its greeting.
struct SerialRig
{
  explicit SerialRig(int baud = 115200) : line(agent, end.device().c_str(), baud) {}
  // Let a client greet now, through the line's thread, and return its session.
  std::shared_ptr<Session> meet(uint8_t client = 1)
  {
    // What comes before the line's thread has opened the device is lost.
    for (int i = 0; i < 100 && end.receive(100).empty(); ++i) {
      end.greet(client);
    }
    end.ping(client);
    Bytes answer = end.receive();
    while (!answer.empty() && answer.at(4) != RCLRT_INFO) {
      answer = end.receive();
    }
    EXPECT_FALSE(answer.empty());
    return session();
  }

  SerialEnd end;
  rclrt_agent_test::MemoryBackend backend;
  std::mutex mutex;
  std::weak_ptr<Session> last;
  rclrt_agent::Agent agent{backend, {}, [this](const auto & session, int) {
                             {
                               const std::lock_guard lock(mutex);
                               last = session;
                             }
                             agent.work(session);
                           }};
  StepLine line;
  TimePoint now = rclrt_core::time_point_of(1'000'000'000);

  std::shared_ptr<Session> session()
  {
    const std::lock_guard lock(mutex);
    return last.lock();
  }
};

TEST(SerialLines, a_serial_line_that_is_free_gets_one_message_of_who_has_it)
{
  SerialRig rig;
  ASSERT_TRUE(rig.line.prepare_at(rig.now).second);
  rig.end.greet();
  rig.line.read_at(rig.now);
  ASSERT_FALSE(rig.end.receive().empty());
  rig.end.ping();
  rig.line.read_at(
    rig.now);  // the answer waits: the line's thread, which does not exist, has been told
  const auto session = rig.session();
  ASSERT_NE(session, nullptr);
  std::this_thread::sleep_for(
    std::chrono::milliseconds(20));  // the answer to the greeting has left
  session->ask();
  EXPECT_EQ(rig.line.counters().sent, 1U) << "of two";
  const Bytes first = rig.end.receive();
  ASSERT_GT(first.size(), 4U);
  EXPECT_EQ(first[4], RCLRT_INFO);
  EXPECT_TRUE(rig.end.receive(0).empty()) << "the line is not free any more";
}

TEST(SerialLines, messages_that_several_threads_send_on_a_serial_line_leave_in_order)
{
  SerialRig rig;
  rig.line.start();
  const std::vector<int> order = sent_by_threads(rig.end, rig.meet());
  rig.line.stop();
  EXPECT_GT(order.size(), 4U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(SerialLines, clients_of_a_line_whose_threads_send_at_once_do_not_spoil_each_others_messages)
{
  SerialRig rig(0);  // at any time
  rig.line.delay = std::chrono::microseconds(200);
  rig.line.start();
  const std::shared_ptr<Session> sessions[2] = {rig.meet(1), rig.meet(2)};
  ASSERT_NE(sessions[0], sessions[1]);
  constexpr uint16_t kEach = 50;
  std::vector<std::thread> threads;
  for (const auto & session : sessions) {
    threads.emplace_back([&session] {
      for (uint16_t k = 0; k < kEach; ++k) {
        while (session->outgoing().put(0x84, 0, number(k)) == Outgoing::Put::kFull) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        session->ask();
      }
    });
  }
  std::vector<int> came[2];
  while (came[0].size() < kEach || came[1].size() < kEach) {
    const Bytes message = rig.end.receive();
    ASSERT_FALSE(message.empty());
    auto & of = came[rig.end.client() - 1];
    if (message.at(1) == 0x84 && message.at(2) == of.size()) {  // not one that is repeated
      of.push_back(message.at(message.size() - 2));
      rclrt_submessage sub{};
      sub.id = RCLRT_ACKNACK;
      sub.of.acknack = {static_cast<uint16_t>(of.size()), 0, 0x84};
      rig.end.send(sub, RCLRT_SESSION_DEFAULT, rig.end.client());
    }
  }
  for (auto & thread : threads) {
    thread.join();
  }
  rig.line.stop();
  std::vector<int> all(kEach);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(came[0], all);
  EXPECT_EQ(came[1], all);
  EXPECT_FALSE(rig.line.overlap) << "a line gets one message at a time";
}

TEST(SerialLines, what_a_full_line_has_not_taken_of_a_message_goes_when_there_is_room)
{
  SerialRig rig(0);  // by the driver's word alone, and a pseudo-terminal says that it has sent all
  rig.line.start();
  const auto session = rig.meet();
  const Bytes text(400, 1);
  rclrt_submessage sub{};
  sub.id = RCLRT_DATA;
  sub.of.data = view_of(text);
  int put = 0;
  for (; put < 1000 && !rig.line.is_full(); ++put) {
    session->outgoing().put(RCLRT_STREAM_BEST_EFFORT, 0, rclrt_agent::write(sub));
    session->ask();
  }
  ASSERT_TRUE(rig.line.is_full());
  int came = 0;
  for (Bytes message = rig.end.receive(); !message.empty() && came < put;) {
    came += message.at(1) == RCLRT_STREAM_BEST_EFFORT ? 1 : 0;
    message = came < put ? rig.end.receive() : Bytes{};
  }
  rig.line.stop();
  EXPECT_EQ(came, put);
}

TEST(SerialLines, look_for_the_end_of_a_frame_as_it_comes_and_for_the_rest_when_it_can_have_come)
{
  SerialRig rig;
  ASSERT_TRUE(rig.line.prepare_at(rig.now).second);
  for (const std::size_t length : {std::size_t{12}, std::size_t{40}, std::size_t{200}}) {
    const Bytes frame = SerialEnd::frame(Bytes(length, 1));
    const uint64_t before = rig.line.counters().received;
    ASSERT_TRUE(rig.line.prepare_at(rig.now).second);
    rig.end.write(frame.data(), 8);
    rig.line.read_at(rig.now);
    const auto [next, looks] = rig.line.prepare_at(rig.now);
    if (length == 12) {
      EXPECT_TRUE(looks) << "the end: a thread that waits by the clock comes late";
    } else {
      EXPECT_FALSE(looks) << "a byte each time would be a wake-up each time";
      const Duration rest = length == 40
                              ? Duration((frame.size() - 8 - 16) * 10'000'000'000 / 115200)
                              : Duration(2'000'000);
      EXPECT_EQ(next, rig.now + rest);
      rig.now = next;
    }
    EXPECT_TRUE(rig.line.prepare_at(rig.now).second);
    rig.end.write(frame.data() + 8, frame.size() - 8);
    rig.line.read_at(rig.now);
    EXPECT_EQ(rig.line.counters().received, before + 1);
    EXPECT_TRUE(rig.line.prepare_at(rig.now).second) << "nothing has begun";
  }
}
}  // namespace
