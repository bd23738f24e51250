// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A serial line. Clients are told apart by the source address in their frames.
///
/// A frame is given to the operating system when the one before has almost left: by the baud rate, and by
/// what the driver says that it still holds. The thread that makes a frame while the line is free sends it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "line_thread.hpp"
#include "rclrt_micro/frame.h"

namespace rclrt_agent
{

struct SerialOptions
{
  std::string device;
  int baud = 115200;  ///< 0: leave the speed of the device as it is, and do not count with it
};

class SerialLine : public LineThread
{
public:
  /// The device need not be there: it is opened again and again. `tell`, if there is one, is told by the line's
  /// thread when it comes, when it goes, and why it cannot be opened.
  SerialLine(
    Agent & agent, SerialOptions options, std::function<void(const std::string & what)> tell = {});
  ~SerialLine() override { stop(); }

  std::string name() const override { return options_.device; }
  bool tells() const override { return true; }
  void send(uint64_t address, const Bytes & message) override;
  std::string describe(uint64_t address) const override;
  bool takes_time() const override { return true; }

protected:
  TimePoint prepare(std::vector<pollfd> * polled, TimePoint now) override;
  void read(const std::vector<pollfd> & polled, TimePoint now) override;
  bool can_send(uint64_t address, TimePoint now) override;
  void transmit(uint64_t address, const Bytes & message, TimePoint now) override;
  bool sends_at_once() const override { return true; }
  bool has_rest() const override { return !unsent_.empty(); }

private:
  void open();
  void fail(int error);
  void is_now(int error);
  TimePoint tell(TimePoint now);
  void feed(uint8_t byte, TimePoint now);
  bool flush();
  Duration time_of(std::size_t bytes) const;

  const SerialOptions options_;
  const std::function<void(const std::string & what)> tell_;
  Descriptor fd_;  // changed by the line's thread alone, under sending_: so that reads it without
  // Written by the thread that sends, under sending_.
  TimePoint free_at_{};  // when the line has sent what it was given
  Bytes unsent_;         // of which the operating system has not taken all
  // For the line's thread alone.
  TimePoint open_at_{};  // when to try again
  static constexpr int kNotTried = -1;
  int error_ = kNotTried;   // why the device is not there; 0: it is
  int told_ = kNotTried;    // what was told of that last
  TimePoint changed_at_{};  // `error_`
  TimePoint rest_until_{};  // before then the rest of a frame is not looked for
  rclrt_scanner scanner_{};
  Bytes frame_;  // since the last flag
};

}  // namespace rclrt_agent
