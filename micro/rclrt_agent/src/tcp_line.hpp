// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A TCP port: each message is preceded by its length, 16 bits, little endian. IPv4.
#ifndef TCP_LINE_HPP_
#define TCP_LINE_HPP_

#include <map>
#include <string>
#include <vector>

#include "line_thread.hpp"
#include "udp_line.hpp"

namespace rclrt_agent
{

class TcpLine : public LineThread
{
public:
  /// Throws std::runtime_error if the port cannot be had.
  TcpLine(Agent & agent, const NetOptions & options, std::size_t connections);
  ~TcpLine() override { stop(); }

  uint16_t port() const { return port_; }
  std::string name() const override;
  void send(uint64_t address, const Bytes & message) override;
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

}  // namespace rclrt_agent

#endif  // TCP_LINE_HPP_
