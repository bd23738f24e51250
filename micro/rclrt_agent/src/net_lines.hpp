// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Ports of UDP (one message a datagram) and TCP (each message behind its length, 16 bits, little endian). IPv4.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "line_thread.hpp"

namespace rclrt_agent
{

struct NetOptions
{
  std::string address = "127.0.0.1";  ///< to listen at; "0.0.0.0" is every interface
  uint16_t port = 8888;               ///< 0: any that is free
  int discovery = -1;                 ///< port at which clients look for agents, or -1
};

class UdpLine : public LineThread
{
public:
  /// Throws std::runtime_error if the port cannot be had.
  UdpLine(Agent & agent, const NetOptions & options);
  ~UdpLine() override { stop(); }

  uint16_t port() const { return port_; }
  std::string name() const override;
  bool same_host(uint64_t a, uint64_t b) const override { return a >> 16U == b >> 16U; }
  std::string describe(uint64_t address) const override;

protected:
  UdpLine(Agent & agent, Descriptor fd, uint16_t port);
  void bind(const NetOptions & options);
  virtual void take(uint64_t address, View message, TimePoint now)
  {
    receive(address, message, now);
  }
  TimePoint prepare(std::vector<pollfd> * polled, TimePoint now) override;
  void read(const std::vector<pollfd> & polled, TimePoint now) override;
  bool can_send(uint64_t, TimePoint) override { return !blocked_.load(std::memory_order_relaxed); }
  void transmit(uint64_t address, const Bytes & message, TimePoint now) override;
  bool sends_at_once() const override { return true; }
  bool has_rest() const override { return blocked_.load(std::memory_order_relaxed); }

private:
  Descriptor fd_;
  uint16_t port_ = 0;
  // The socket has no room. Set by the thread that sends, cleared by the line's thread when it has. Relaxed: nothing goes with it.
  std::atomic<bool> blocked_{false};
  TimePoint last_read_{};
  std::vector<uint8_t> buffer_;
};

/// Tells clients that look for agents by multicast where a line is. Several agents of a machine may do so. It listens at the
/// interfaces of the line alone.
class DiscoveryLine : public UdpLine
{
public:
  /// `port`: of the line. Throws std::runtime_error if nothing can be heard.
  DiscoveryLine(Agent & agent, const NetOptions & line, uint16_t port);
  ~DiscoveryLine() override { stop(); }
  std::string name() const override;

protected:
  void take(uint64_t address, View message, TimePoint now) override;

private:
  const uint32_t host_;  // of the line, or 0
  const uint16_t line_port_;
};

class TcpLine : public LineThread
{
public:
  /// Throws std::runtime_error if the port cannot be had.
  TcpLine(Agent & agent, const NetOptions & options, std::size_t connections);
  ~TcpLine() override { stop(); }

  uint16_t port() const { return port_; }
  std::string name() const override;
  bool same_host(uint64_t a, uint64_t b) const override;
  std::string describe(uint64_t address) const override;

protected:
  TimePoint prepare(std::vector<pollfd> * polled, TimePoint now) override;
  void read(const std::vector<pollfd> & polled, TimePoint now) override;
  bool can_send(uint64_t address, TimePoint now) override;
  void transmit(uint64_t address, const Bytes & message, TimePoint now) override;

private:
  struct Connection
  {
    Descriptor fd;
    uint32_t host = 0;
    Bytes incoming;
    Bytes unsent;
    bool broken = false;
  };

  void accept(TimePoint now);
  bool make_way();
  void read(uint64_t address, Connection * connection, TimePoint now);
  void flush(Connection * connection);

  Descriptor listener_;
  uint16_t port_ = 0;
  const std::size_t limit_;
  uint64_t next_ = 1;  // addresses are numbers of connections
  std::map<uint64_t, Connection> connections_;
  std::vector<uint64_t> order_;  // of what is polled
  TimePoint accept_at_ = TimePoint::min();
};

// What UDP and TCP share.
/// Binds a socket; returns the port. Throws std::runtime_error, also if `fd` is not one.
uint16_t bind_to(int fd, const NetOptions & options);
/// "127.0.0.1"
std::string host_text(uint32_t host);

}  // namespace rclrt_agent
