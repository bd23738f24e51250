// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// What lines remember of clients that have gone elsewhere. With real sockets and threads: who is rung, and who sends,
// is what the test is about.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "bench.hpp"
#include "net_lines.hpp"

namespace
{
using namespace rclrt_agent;
using rclrt_agent_test::number;
using rclrt_agent_test::sent_by_threads;

// A client's socket, for a line at this machine.
class Client
{
public:
  explicit Client(const UdpLine & line) : Client(line.port(), SOCK_DGRAM) {}
  explicit Client(const TcpLine & line) : Client(line.port(), SOCK_STREAM) {}
  Client(uint16_t port, int type, int socket = -1, uint32_t address = INADDR_LOOPBACK)
  : fd_(socket < 0 ? ::socket(AF_INET, type, 0) : socket), tcp_(type == SOCK_STREAM)
  {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(address);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr *>(&to), sizeof(to)), 0);
  }
  // The next message; empty if none comes.
  Bytes receive()
  {
    pollfd poll{fd_.get(), POLLIN, 0};
    Bytes bytes(600);
    const auto size =
      ::poll(&poll, 1, 5000) == 1 ? ::recv(fd_.get(), bytes.data(), bytes.size(), 0) : 0;
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    bytes.erase(bytes.begin(), bytes.begin() + (tcp_ && bytes.size() >= 2 ? 2 : 0));
    return bytes;
  }
  // As many bytes, whatever they are.
  Bytes receive_bytes(std::size_t size)
  {
    Bytes bytes(size);
    const auto got = ::recv(fd_.get(), bytes.data(), size, MSG_WAITALL);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
  void send(const rclrt_submessage & sub, uint8_t session, uint8_t stream = 0)
  {
    const uint16_t number = stream == 0 ? uint16_t{0} : next_++;
    Bytes bytes = write_message({session, stream, number, {}}, view_of(write(sub)));
    if (tcp_) {
      bytes.insert(bytes.begin(), {static_cast<uint8_t>(bytes.size()), 0});
    }
    EXPECT_EQ(
      ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
      static_cast<ssize_t>(bytes.size()));
  }
  void say_hello(uint8_t key, uint8_t session = RCLRT_SESSION_DEFAULT)
  {
    rclrt_submessage sub{};
    sub.id = RCLRT_CREATE_CLIENT;
    sub.of.create_client.key[0] = key;
    sub.of.create_client.session = session;
    sub.of.create_client.mtu = 508;
    send(sub, RCLRT_SESSION_NONE);
  }
  // The status of the answer.
  int greet(uint8_t key, uint8_t session = RCLRT_SESSION_DEFAULT)
  {
    say_hello(key, session);
    const Bytes answer = receive();
    return answer.size() < 9 ? -1 : answer[8];
  }
  // Whether the agent answers within the session, on a stream: so it takes a job.
  bool ping(uint8_t session = RCLRT_SESSION_DEFAULT)
  {
    rclrt_submessage sub{};
    sub.id = RCLRT_GET_INFO;
    sub.object = RCLRT_OBJECT_AGENT;
    send(sub, session, RCLRT_STREAM_BEST_EFFORT);
    const Bytes answer = receive();
    return answer.size() > 4 && answer[4] == RCLRT_INFO;
  }

private:
  const Descriptor fd_;
  const bool tcp_;
  uint16_t next_ = 0;
};

struct TwoLines
{
  explicit TwoLines(const AgentOptions & options = {})
  : agent(
      backend, options,
      [this](const std::shared_ptr<Session> & session, int) {
        {
          const std::lock_guard lock(mutex);
          last = session;
        }
        agent.work(session);
      }),
    a(agent, {"127.0.0.1", 0}),
    b(agent, {"127.0.0.1", 0})
  {
    a.start();
    b.start();
  }
  ~TwoLines()
  {
    a.stop();
    b.stop();
  }
  std::weak_ptr<Session> heard()
  {
    const std::lock_guard lock(mutex);
    return last;
  }

  rclrt_agent_test::MemoryBackend backend;
  std::mutex mutex;
  std::weak_ptr<Session> last;
  rclrt_agent::Agent agent;
  UdpLine a, b;
};

bool goes(const std::weak_ptr<Session> & session)
{
  for (int i = 0; i < 500 && !session.expired(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return session.expired();
}

TEST(Lines, hear_nobody_elsewhere_unless_they_are_told_to)
{
  rclrt_agent_test::MemoryBackend backend;
  rclrt_agent::Agent agent(backend, {}, [&](const auto & session, int) { agent.work(session); });
  for (const bool everywhere : {false, true}) {
    NetOptions options;
    options.port = 0;
    options.address = everywhere ? "0.0.0.0" : options.address;
    UdpLine line(agent, options);
    line.start();
    const auto before = agent.counters().greetings;
    // This machine by another of its addresses, which stands for its other interfaces.
    Client elsewhere(line.port(), SOCK_DGRAM, -1, INADDR_LOOPBACK + 1);
    elsewhere.say_hello(1);
    Client here(line);
    EXPECT_EQ(here.greet(2), RCLRT_STATUS_OK);
    EXPECT_EQ(agent.counters().greetings - before, everywhere ? 2U : 1U);
    line.stop();
  }
}

// As eProsima's clients look for agents.
TEST(Lines, of_several_agents_on_a_machine_each_is_found_by_multicast)
{
  for (const char * address : {"127.0.0.1", "0.0.0.0"}) {
    TwoLines lines;
    NetOptions how;
    how.address = address;
    how.discovery = 0;
    DiscoveryLine one(lines.agent, how, lines.a.port());
    how.discovery = one.port();
    DiscoveryLine other(lines.agent, how, lines.b.port());
    one.start();
    other.start();
    const Descriptor fd(::socket(AF_INET, SOCK_DGRAM, 0));
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    ::setsockopt(fd.get(), IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof(loopback));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(one.port());
    ::inet_pton(AF_INET, "239.255.0.2", &to.sin_addr);
    const Bytes question = {0x80, 0, 0, 0, RCLRT_GET_INFO, 1, 8, 0, 0, 9, 0xFF, 0xFD, 3, 0, 0, 0};
    ::sendto(
      fd.get(), question.data(), question.size(), 0, reinterpret_cast<const sockaddr *>(&to),
      sizeof(to));
    std::set<int> found;
    pollfd poll{fd.get(), POLLIN, 0};
    Bytes answer(100);
    while (found.size() < 2 && ::poll(&poll, 1, 5000) == 1) {
      ASSERT_EQ(::recv(fd.get(), answer.data(), answer.size(), 0), 44);
      // One locator, of IPv4: the address, then the port.
      EXPECT_EQ(answer[32], 1);
      EXPECT_EQ(Bytes(answer.begin() + 36, answer.begin() + 41), (Bytes{1, 127, 0, 0, 1}))
        << address;
      found.insert(answer[42] | answer[43] << 8);
    }
    EXPECT_EQ(found, (std::set<int>{lines.a.port(), lines.b.port()}));
    one.stop();
    other.stop();
  }
}

TEST(Lines, forget_a_session_that_the_agent_has_given_up)
{
  TwoLines lines;
  Client client(lines.a), again(lines.a);
  ASSERT_EQ(client.greet(1), RCLRT_STATUS_OK);
  ASSERT_TRUE(client.ping());
  const auto first = lines.heard();
  // What it never acknowledges is repeated no longer.
  first.lock()->outgoing().put(RCLRT_STREAM_RELIABLE, 0, {RCLRT_DATA, 1, 0, 0});
  ASSERT_EQ(again.greet(1, 0x82), RCLRT_STATUS_OK) << "from another port";
  EXPECT_TRUE(goes(first)) << "another session has taken its place";
  ASSERT_TRUE(again.ping(0x82));
  const auto second = lines.heard();
  lines.agent.tick(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(goes(second)) << "it was silent";
}

TEST(Lines, one_that_a_client_has_left_neither_speaks_for_it_nor_silences_it)
{
  AgentOptions options;
  options.settled = std::chrono::seconds(-1);  // a line's time may be a little behind the other's
  TwoLines lines(options);
  Client there(lines.a), here(lines.b);
  ASSERT_EQ(there.greet(1), RCLRT_STATUS_OK);
  ASSERT_TRUE(there.ping());
  ASSERT_EQ(here.greet(1), RCLRT_STATUS_OK);
  EXPECT_TRUE(here.ping());
  EXPECT_EQ(there.greet(2), RCLRT_STATUS_OK) << "another client, where the first was";
  EXPECT_TRUE(here.ping());
  ASSERT_EQ(there.greet(1), RCLRT_STATUS_OK) << "and back";
  EXPECT_TRUE(there.ping());
}

TEST(Lines, datagrams_that_several_threads_send_to_a_client_leave_in_the_order_of_their_numbers)
{
  TwoLines lines;
  Client client(lines.a);
  ASSERT_EQ(client.greet(1), RCLRT_STATUS_OK);
  ASSERT_TRUE(client.ping());
  const std::vector<int> order = sent_by_threads(client, lines.heard().lock());
  EXPECT_GT(order.size(), 4U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Lines, of_what_another_thread_has_sent_the_line_looks_after_the_heartbeats)
{
  TwoLines lines;
  Client client(lines.a);
  ASSERT_EQ(client.greet(1), RCLRT_STATUS_OK);
  ASSERT_TRUE(client.ping());
  const auto session = lines.heard().lock();
  for (uint16_t round = 0; round < 2; ++round) {
    std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // the line's thread has nothing to look for
    session->outgoing().put(0x84, 0, number(round));
    session->ask();
    int kind = 0;
    for (Bytes message = client.receive(); !message.empty() && kind != RCLRT_HEARTBEAT;
         message = client.receive()) {
      kind = message.at(4);
    }
    EXPECT_EQ(kind, RCLRT_HEARTBEAT) << "nothing has acknowledged it";
    rclrt_submessage sub{};
    sub.id = RCLRT_ACKNACK;
    sub.of.acknack = {static_cast<uint16_t>(round + 1), 0, 0x84};
    client.send(sub, RCLRT_SESSION_DEFAULT);
    for (int i = 0; i < 500 && session->outgoing().unacknowledged() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(session->outgoing().unacknowledged(), 0U);
  }
}

struct TcpRig
{
  explicit TcpRig(std::size_t connections) : line(agent, {"127.0.0.1", 0}, connections)
  {
    line.start();
  }
  rclrt_agent_test::MemoryBackend backend;
  rclrt_agent::Agent agent{backend, {}, [this](const auto & session, int) { agent.work(session); }};
  TcpLine line;
};

TEST(Lines, connections_on_which_nobody_greets_keep_no_client_out)
{
  TcpRig rig(3);
  Client first(rig.line);
  ASSERT_EQ(first.greet(1), RCLRT_STATUS_OK);
  const Client silent(rig.line), too(rig.line);
  Client second(rig.line);
  EXPECT_EQ(second.greet(2), RCLRT_STATUS_OK);
  EXPECT_TRUE(first.ping()) << "a client that has greeted stays";
}

// What the operating system has taken is past all order.
TEST(Lines, an_urgent_message_passes_what_waits_for_a_connection_that_is_slow)
{
  rclrt_agent_test::MemoryBackend backend;
  std::promise<std::shared_ptr<Session>> heard;
  std::once_flag once;
  rclrt_agent::Agent agent(backend, {}, [&](const auto & of, int) {
    std::call_once(once, [&] { heard.set_value(of); });
    agent.work(of);
  });
  TcpLine line(agent, {"127.0.0.1", 0}, 3);
  line.start();
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const int little = 16384;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
  Client client(line.port(), SOCK_STREAM, socket);
  ASSERT_EQ(client.greet(1), RCLRT_STATUS_OK);
  ASSERT_TRUE(client.ping());
  const auto session = heard.get_future().get();
  constexpr std::size_t kSize = 500;
  constexpr std::size_t kBulk = 320;
  Bytes bulk(kSize, 0);
  bulk[0] = RCLRT_DATA;
  for (std::size_t i = 0; i < kBulk; ++i) {
    ASSERT_EQ(
      session->outgoing().put(static_cast<uint8_t>(1 + i / 16), 0, bulk), Outgoing::Put::kTaken);
  }
  session->ask();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the line takes what it can
  session->outgoing().put(0x7F, 31, number(7));
  session->ask();
  const Bytes all = client.receive_bytes(kBulk * (2 + 4 + kSize) + 2 + 4 + number(7).size());
  std::size_t before = 0;
  while (before + 4 < all.size() && all[before + 3] != 0x7F) {
    before += 2 + (all[before] | static_cast<std::size_t>(all[before + 1]) << 8U);
  }
  EXPECT_LT(before, kBulk * kSize / 2);
  EXPECT_EQ(session->outgoing().counters().dropped, 0U);
  line.stop();
}

// While it lives this process opens no file.
class NoFiles
{
public:
  NoFiles()
  {
    const Descriptor lowest(::dup(0));
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{static_cast<rlim_t>(lowest.get()), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoFiles(const NoFiles &) = delete;
  NoFiles & operator=(const NoFiles &) = delete;

private:
  rlimit before_{};
};

TEST(Lines, without_files_left_try_now_and_then)
{
  TcpRig rig(8);
  Client first(rig.line);
  ASSERT_EQ(first.greet(1), RCLRT_STATUS_OK);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  std::optional<NoFiles> none(std::in_place);
  const auto began = std::chrono::steady_clock::now();
  Client second(rig.line.port(), SOCK_STREAM, socket);
  while (rig.line.counters().failures < 4) {
    ASSERT_TRUE(first.ping()) << "the others go on";
  }
  const auto failures = rig.line.counters().failures;
  // Each try takes at least 100 ms of time, however slow the machine is.
  const auto tries = (std::chrono::steady_clock::now() - began) / std::chrono::milliseconds(100);
  EXPECT_LE(failures, 2 + static_cast<uint64_t>(tries));
  none.reset();
  EXPECT_EQ(second.greet(2), RCLRT_STATUS_OK);
}

TEST(Lines, without_files_left_take_one_from_who_has_not_greeted)
{
  TcpRig rig(8);
  const Client silent(rig.line);
  Client first(rig.line);
  ASSERT_EQ(first.greet(1), RCLRT_STATUS_OK);  // so the silent one is accepted, too
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const NoFiles none;
  Client second(rig.line.port(), SOCK_STREAM, socket);
  EXPECT_EQ(second.greet(2), RCLRT_STATUS_OK);
  EXPECT_TRUE(first.ping());
}

TEST(Lines, what_cannot_be_made_for_a_client_does_not_end_the_process)
{
  rclrt_agent_test::MemoryBackend backend;
  rclrt_agent::Agent agent(
    backend, {}, [](const auto &, int) { throw std::runtime_error("no more of these"); });
  UdpLine line(agent, {"127.0.0.1", 0});
  line.start();
  Client client(line), other(line);
  ASSERT_EQ(client.greet(1), RCLRT_STATUS_OK);
  rclrt_submessage sub{};
  sub.id = RCLRT_RESET;
  client.send(sub, RCLRT_SESSION_DEFAULT);
  EXPECT_EQ(other.greet(2), RCLRT_STATUS_OK);
  EXPECT_EQ(line.counters().failures, 1U);
}
}  // namespace
