// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "net_lines.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <algorithm>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kLongestDatagram = 65507;
constexpr int kDatagramsInARow = 64;  // datagrams read before something is sent
// Datagrams that are further apart are read one at a time: to ask for one more would cost as much as to wait for it.
constexpr std::chrono::microseconds kApart{200};

}  // namespace

sockaddr_in socket_address(const NetOptions & options)
{
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  if (::inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1) {
    throw std::runtime_error("'" + options.address + "' is no IPv4 address");
  }
  return address;
}

uint16_t bind_to(int fd, const NetOptions & options)
{
  sockaddr_in address = socket_address(options);
  socklen_t size = sizeof(address);
  if (
    fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr *>(&address), size) != 0 ||
    ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0) {
    throw std::system_error(
      errno, std::generic_category(),
      "port " + std::to_string(options.port) + " of " + options.address + " cannot be had");
  }
  return ntohs(address.sin_port);
}

std::string host_text(uint32_t host)
{
  char text[INET_ADDRSTRLEN] = "";
  const in_addr address{htonl(host)};
  ::inet_ntop(AF_INET, &address, text, sizeof(text));
  return text;
}

namespace
{
Descriptor datagram_socket()
{
  return Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// The client of an address of UdpLine: its host, then 16 bits of its port.
sockaddr_in peer(uint64_t address)
{
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(static_cast<uint32_t>(address >> 16U));
  to.sin_port = htons(static_cast<uint16_t>(address));
  return to;
}
}  // namespace

UdpLine::UdpLine(Agent & agent, const NetOptions & options) : UdpLine(agent, datagram_socket(), 0)
{
  bind(options);
}

void UdpLine::bind(const NetOptions & options) { port_ = bind_to(fd_.get(), options); }

UdpLine::UdpLine(Agent & agent, Descriptor fd, uint16_t port)
: LineThread(agent), fd_(std::move(fd)), port_(port), buffer_(kLongestDatagram)
{
}

std::string UdpLine::name() const { return "udp4 " + std::to_string(port_); }

std::string UdpLine::describe(uint64_t address) const
{
  return host_text(static_cast<uint32_t>(address >> 16U)) + ":" + std::to_string(address & 0xFFFFU);
}

TimePoint UdpLine::prepare(std::vector<pollfd> * polled, TimePoint)
{
  polled->push_back({fd_.get(), static_cast<short>(POLLIN | (can_send(0, {}) ? 0 : POLLOUT)), 0});
  return rclrt_core::kNever;
}

void UdpLine::read(const std::vector<pollfd> & polled, TimePoint now)
{
  if ((polled[1].revents & POLLOUT) != 0) {
    blocked_.store(false, std::memory_order_relaxed);
  }
  if ((polled[1].revents & (POLLIN | POLLERR)) == 0) {
    return;
  }
  const int most = now - last_read_ < kApart ? kDatagramsInARow : 1;
  last_read_ = now;
  for (int i = 0; i < most; ++i) {
    sockaddr_in from{};
    socklen_t from_size = sizeof(from);
    const auto size = ::recvfrom(
      fd_.get(), buffer_.data(), buffer_.size(), 0, reinterpret_cast<sockaddr *>(&from),
      &from_size);
    if (size < 0) {
      return;  // nothing more, or an error of a peer that has gone
    }
    const uint64_t address =
      static_cast<uint64_t>(ntohl(from.sin_addr.s_addr)) << 16U | ntohs(from.sin_port);
    take(address, {buffer_.data(), static_cast<std::size_t>(size)}, now);
  }
}

void UdpLine::transmit(uint64_t address, const Bytes & message, TimePoint)
{
  const sockaddr_in to = peer(address);
  if (
    ::sendto(
      fd_.get(), message.data(), message.size(), MSG_NOSIGNAL,
      reinterpret_cast<const sockaddr *>(&to), sizeof(to)) < 0) {
    // The datagram is lost, as any may be: reliable streams repeat it.
    failures_.fetch_add(1, std::memory_order_relaxed);
    blocked_.store(errno == EAGAIN, std::memory_order_relaxed);
  }
}

namespace
{

constexpr const char * kGroup = "239.255.0.2";  // where eProsima's clients look

// The addresses of this machine's interfaces, or of the one at `address`.
std::vector<in_addr> interfaces(const in_addr & address)
{
  std::vector<in_addr> found;
  ifaddrs * all = nullptr;
  if (address.s_addr != INADDR_ANY) {
    found.push_back(address);
  } else if (::getifaddrs(&all) == 0) {
    for (const ifaddrs * one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET) {
        found.push_back(reinterpret_cast<const sockaddr_in *>(one->ifa_addr)->sin_addr);
      }
    }
    ::freeifaddrs(all);
  }
  return found;
}

Descriptor discovery_socket(const NetOptions & line)
{
  Descriptor fd = datagram_socket();
  const int yes = 1;
  const int no = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  ::setsockopt(fd.get(), IPPROTO_IP, IP_MULTICAST_ALL, &no, sizeof(no));
  ip_mreq asked{};
  ::inet_pton(AF_INET, kGroup, &asked.imr_multiaddr);
  int heard = 0;
  for (const in_addr & interface : interfaces(socket_address(line).sin_addr)) {
    asked.imr_interface = interface;
    heard +=
      ::setsockopt(fd.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &asked, sizeof(asked)) == 0 ? 1 : 0;
  }
  if (heard == 0) {
    throw std::system_error(
      errno, std::generic_category(), "no interface of " + line.address + " has multicast");
  }
  return fd;
}

}  // namespace

DiscoveryLine::DiscoveryLine(Agent & agent, const NetOptions & line, uint16_t port)
: UdpLine(agent, discovery_socket(line), 0),
  host_(ntohl(socket_address(line).sin_addr.s_addr)),
  line_port_(port)
{
  NetOptions group;
  group.address = kGroup;
  group.port = static_cast<uint16_t>(line.discovery);
  bind(group);
}

std::string DiscoveryLine::name() const
{
  return std::string(kGroup) + ":" + std::to_string(port()) + ", to be found at port " +
         std::to_string(line_port_);
}

void DiscoveryLine::take(uint64_t address, View message, TimePoint)
{
  rclrt_reader reader;
  rclrt_message_header header;
  rclrt_submessage sub;
  rclrt_reader_init(&reader, message.data, message.size);
  rclrt_read_message_header(&reader, &header);
  if (
    reader.failed || header.session != RCLRT_SESSION_NONE ||
    !rclrt_read_submessage(&reader, &sub) || sub.id != RCLRT_GET_INFO) {
    broken_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  received_.fetch_add(1, std::memory_order_relaxed);
  Locator where{host_, line_port_};
  if (host_ == INADDR_ANY) {  // the address from which the way to the client begins
    const Descriptor fd = datagram_socket();
    sockaddr_in end = peer(address);
    socklen_t size = sizeof(end);
    if (
      ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&end), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(&end), &size) != 0) {
      failures_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    where.host = ntohl(end.sin_addr.s_addr);
  }
  const Bytes info = agent_info(sub.request, sub.object, false, &where);
  send(address, write_message({RCLRT_SESSION_NONE, RCLRT_STREAM_NONE, 0, {}}, view_of(info)));
}

namespace
{

constexpr int kSendBuffer = 4096;
constexpr std::size_t kLongestUnsent = 1U << 17U;
constexpr Duration kAcceptAgain{100'000'000};  // after the operating system had no room for another

}  // namespace

TcpLine::TcpLine(Agent & agent, const NetOptions & options, std::size_t connections)
: LineThread(agent),
  listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
  limit_(connections)
{
  const int yes = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  port_ = bind_to(listener_.get(), options);
  if (::listen(listener_.get(), 64) != 0) {
    throw std::system_error(errno, std::generic_category(), "listen()");
  }
}

std::string TcpLine::name() const { return "tcp4 " + std::to_string(port_); }

bool TcpLine::same_host(uint64_t a, uint64_t b) const
{
  const auto one = connections_.find(a);
  const auto other = connections_.find(b);
  // A connection that has ended holds nobody up.
  return one == connections_.end() || other == connections_.end() ||
         one->second.host == other->second.host;
}

std::string TcpLine::describe(uint64_t address) const
{
  const auto found = connections_.find(address);
  return (found == connections_.end() ? "?" : host_text(found->second.host)) + " connection " +
         std::to_string(address);
}

TimePoint TcpLine::prepare(std::vector<pollfd> * polled, TimePoint now)
{
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    if (connection->second.broken) {
      detach(connection->first);
      connection = connections_.erase(connection);
    } else {
      ++connection;
    }
  }
  // A client that cannot be accepted stays in the queue: the listener would be ready at once, again and again.
  const bool pausing = now < accept_at_;
  polled->push_back({listener_.get(), static_cast<short>(pausing ? 0 : POLLIN), 0});
  order_.clear();
  for (const auto & [address, connection] : connections_) {
    const int events = POLLIN | (connection.unsent.empty() ? 0 : POLLOUT);
    polled->push_back({connection.fd.get(), static_cast<short>(events), 0});
    order_.push_back(address);
  }
  return pausing ? accept_at_ : rclrt_core::kNever;
}

void TcpLine::read(const std::vector<pollfd> & polled, TimePoint now)
{
  for (std::size_t i = 0; i < order_.size(); ++i) {
    Connection & connection = connections_.at(order_[i]);
    if ((polled[i + 2].revents & POLLOUT) != 0) {
      flush(&connection);
    }
    if ((polled[i + 2].revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
      read(order_[i], &connection, now);
    }
  }
  if ((polled[1].revents & POLLIN) != 0) {
    accept(now);
  }
}

// The oldest on which nobody has greeted gives way: one that only connects must not keep clients out.
bool TcpLine::make_way()
{
  const auto idle = std::find_if(
    connections_.begin(), connections_.end(),
    [this](const auto & connection) { return !has_session(connection.first); });
  if (idle == connections_.end()) {
    return false;
  }
  connections_.erase(idle);
  return true;
}

void TcpLine::accept(TimePoint now)
{
  sockaddr_in from{};
  socklen_t size = sizeof(from);
  Descriptor fd(::accept4(
    listener_.get(), reinterpret_cast<sockaddr *>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd.is_open()) {
    const int why = errno;
    failures_.fetch_add(1, std::memory_order_relaxed);
    if (why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM) {
      (void)make_way();
      accept_at_ = now + kAcceptAgain;
    }
    return;
  }
  if (connections_.size() >= limit_ && !make_way()) {
    return;  // closed again
  }
  const int yes = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  // What is urgent waits for what the kernel has, so that is to be little.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof(kSendBuffer));
  Connection & connection = connections_[next_++];
  connection.fd = std::move(fd);
  connection.host = ntohl(from.sin_addr.s_addr);
}

void TcpLine::read(uint64_t address, Connection * connection, TimePoint now)
{
  uint8_t bytes[4096];
  const auto size = ::recv(connection->fd.get(), bytes, sizeof(bytes), 0);
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
    connection->broken = true;
    return;
  }
  Bytes & incoming = connection->incoming;
  incoming.insert(incoming.end(), bytes, bytes + std::max<ssize_t>(size, 0));
  std::size_t at = 0;
  while (incoming.size() - at >= 2) {
    const std::size_t length = incoming[at] | static_cast<std::size_t>(incoming[at + 1]) << 8U;
    if (incoming.size() - at < 2 + length) {
      break;
    }
    receive(address, {incoming.data() + at + 2, length}, now);
    at += 2 + length;
  }
  incoming.erase(incoming.begin(), incoming.begin() + static_cast<std::ptrdiff_t>(at));
}

bool TcpLine::can_send(uint64_t address, TimePoint)
{
  const auto found = connections_.find(address);
  return found != connections_.end() && found->second.unsent.empty();
}

void TcpLine::transmit(uint64_t address, const Bytes & message, TimePoint)
{
  const auto found = connections_.find(address);
  if (found == connections_.end() || found->second.unsent.size() > kLongestUnsent) {
    return;
  }
  Bytes & unsent = found->second.unsent;
  unsent.push_back(static_cast<uint8_t>(message.size()));
  unsent.push_back(static_cast<uint8_t>(message.size() >> 8U));
  unsent.insert(unsent.end(), message.begin(), message.end());
  flush(&found->second);
}

void TcpLine::flush(Connection * connection)
{
  const auto size = ::send(
    connection->fd.get(), connection->unsent.data(), connection->unsent.size(), MSG_NOSIGNAL);
  if (size > 0) {
    connection->unsent.erase(connection->unsent.begin(), connection->unsent.begin() + size);
  } else if (size < 0 && errno != EAGAIN && errno != EINTR) {
    connection->broken = true;
  }
}

}  // namespace rclrt_agent
