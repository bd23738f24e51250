// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "net_lines.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kLongestDatagram = 65507;
constexpr int kBurst = 64;  // datagrams read before something is sent
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

UdpLine::UdpLine(Agent & agent, const NetOptions & options)
: LineThread(agent),
  fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
  port_(bind_to(fd_.get(), options)),
  buffer_(kLongestDatagram)
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
  const int most = now - last_read_ < kApart ? kBurst : 1;
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
    receive(address, {buffer_.data(), static_cast<std::size_t>(size)}, now);
  }
}

void UdpLine::transmit(uint64_t address, const Bytes & message, TimePoint)
{
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(static_cast<uint32_t>(address >> 16U));
  to.sin_port = htons(static_cast<uint16_t>(address));
  if (
    ::sendto(
      fd_.get(), message.data(), message.size(), MSG_NOSIGNAL,
      reinterpret_cast<const sockaddr *>(&to), sizeof(to)) < 0) {
    // The datagram is lost, as any may be: reliable streams repeat it.
    failures_.fetch_add(1, std::memory_order_relaxed);
    blocked_.store(errno == EAGAIN, std::memory_order_relaxed);
  }
}

void UdpLine::send(uint64_t address, const Bytes & message)
{
  transmit(address, message, TimePoint{});
}

}  // namespace rclrt_agent
