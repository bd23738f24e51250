// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A UDP port: one message a datagram. IPv4.
#ifndef UDP_LINE_HPP_
#define UDP_LINE_HPP_

#include <atomic>
#include <string>
#include <vector>

#include "line_thread.hpp"

namespace rclrt_agent
{

struct NetOptions
{
  std::string address = "127.0.0.1";  ///< to listen at; "0.0.0.0" is every interface
  uint16_t port = 8888;               ///< 0: any that is free
};

class UdpLine : public LineThread
{
public:
  /// Throws std::runtime_error if the port cannot be had.
  UdpLine(Agent & agent, const NetOptions & options);
  ~UdpLine() override { stop(); }

  uint16_t port() const { return port_; }
  std::string name() const override;
  void send(uint64_t address, const Bytes & message) override;
  bool same_host(uint64_t a, uint64_t b) const override { return a >> 16U == b >> 16U; }
  std::string describe(uint64_t address) const override;

protected:
  TimePoint prepare(std::vector<pollfd> * polled, TimePoint now) override;
  void read(const std::vector<pollfd> & polled, TimePoint now) override;
  bool can_send(uint64_t, TimePoint) override { return !blocked_.load(std::memory_order_relaxed); }
  void transmit(uint64_t address, const Bytes & message, TimePoint now) override;
  bool sends_at_once() const override { return true; }
  bool has_rest() const override { return blocked_.load(std::memory_order_relaxed); }

private:
  Descriptor fd_;
  uint16_t port_ = 0;
  // The socket has no room. Set by who sends, cleared by the line's thread when it has. Relaxed: nothing goes with it.
  std::atomic<bool> blocked_{false};
  TimePoint last_read_{};
  std::vector<uint8_t> buffer_;
};

}  // namespace rclrt_agent

#endif  // UDP_LINE_HPP_
