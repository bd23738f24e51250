// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "serial_line.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace rclrt_agent
{
namespace
{

constexpr uint16_t kLongestMessage = 4096;
constexpr std::size_t kAlmost = 16;  // bytes left of a frame when the next is chosen
constexpr Duration kTryAgain{500'000'000};
// A device is told of when it has been there, or away, for so long: one that fails whenever it is opened is told of once.
constexpr Duration kSettled{300'000'000};
// So many bytes at the end of a frame are looked for as they come. Whoever waits for them by the clock comes later: by
// what the thread was late for the bytes before, and by what it is late again.
constexpr std::size_t kEnd = 16;
// Longest time for which the rest of a frame is not looked for; a line that is faster than its rate loses so much.
constexpr Duration kLongestRest{2'000'000};

// Bytes of the frame that has begun that have not come, at least; 0 if none has.
std::size_t missing_of(const rclrt_scanner & scanner)
{
  constexpr std::size_t kHead = 4;  // addresses and length
  constexpr std::size_t kCheck = 2;
  const std::size_t length = scanner.count < kHead ? 1 : scanner.length;
  return scanner.in_frame ? kHead + length + kCheck - scanner.count : 0;
}

speed_t speed_of(int baud)
{
  static constexpr std::pair<int, speed_t> kSpeeds[] = {
    {9600, B9600},       {19200, B19200},     {38400, B38400},     {57600, B57600},
    {115200, B115200},   {230400, B230400},   {460800, B460800},   {500000, B500000},
    {576000, B576000},   {921600, B921600},   {1000000, B1000000}, {1152000, B1152000},
    {1500000, B1500000}, {2000000, B2000000}, {3000000, B3000000}, {4000000, B4000000}};
  for (const auto & [known, speed] : kSpeeds) {
    if (known == baud) {
      return speed;
    }
  }
  throw std::runtime_error(
    "baud rate " + std::to_string(baud) + " is none that termios knows (9600 to 4000000)");
}

}  // namespace

SerialLine::SerialLine(
  Agent & agent, SerialOptions options, std::function<void(const std::string & what)> tell)
: LineThread(agent), options_(std::move(options)), tell_(std::move(tell))
{
  if (options_.baud != 0) {
    (void)speed_of(options_.baud);
  }
  rclrt_scanner_init(&scanner_, kLongestMessage);
}

std::string SerialLine::describe(uint64_t address) const
{
  return options_.device + " address " + std::to_string(address);
}

Duration SerialLine::time_of(std::size_t bytes) const
{
  return options_.baud == 0
           ? Duration(0)
           : Duration(bytes * 10'000'000'000 / static_cast<uint64_t>(options_.baud));
}

// Devices are opened and closed without sending_: that may take long, and threads of the middleware wait for it.
void SerialLine::open()
{
  Descriptor opened(::open(options_.device.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!opened.is_open()) {
    is_now(errno);
    return;
  }
  is_now(0);
  termios settings{};
  if (::tcgetattr(opened.get(), &settings) == 0) {
    ::cfmakeraw(&settings);
    settings.c_cflag |= CLOCAL | CREAD;
    settings.c_cflag &= ~static_cast<tcflag_t>(CRTSCTS | CSTOPB);
    if (options_.baud != 0) {
      ::cfsetspeed(&settings, speed_of(options_.baud));
    }
    ::tcsetattr(opened.get(), TCSANOW, &settings);
    ::tcflush(opened.get(), TCIOFLUSH);
  }
  frame_.clear();
  rclrt_scanner_init(&scanner_, kLongestMessage);
  rest_until_ = {};
  const std::lock_guard lock(sending_);
  fd_ = std::move(opened);
  free_at_ = {};
}

// The device is there (0), or why it is not.
void SerialLine::is_now(int error)
{
  if (error != error_) {
    error_ = error;
    changed_at_ = std::chrono::steady_clock::now();
  }
}

// What has not been told yet. Returns when to ask again.
TimePoint SerialLine::tell(TimePoint now)
{
  if (!tell_ || error_ == told_) {
    return rclrt_core::kNever;
  }
  const TimePoint due = changed_at_ + kSettled;
  if (now < due && told_ != kNotTried) {
    return due;
  }
  told_ = error_;
  if (error_ == 0) {
    tell_("listening at " + name());
  } else {
    const char * const remedy =
      error_ == EACCES ? "; the user has to be in the device's group, often dialout" : "";
    tell_("waiting for " + name() + ": " + std::generic_category().message(error_) + remedy);
  }
  return rclrt_core::kNever;
}

void SerialLine::fail(int error)
{
  is_now(error);
  failures_.fetch_add(1, std::memory_order_relaxed);
  open_at_ = std::chrono::steady_clock::now() + kTryAgain;
  Descriptor gone;
  const std::lock_guard lock(sending_);
  std::swap(gone, fd_);
  unsent_.clear();
}

TimePoint SerialLine::prepare(std::vector<pollfd> * polled, TimePoint now)
{
  if (!fd_.is_open() && now >= open_at_) {
    open();
  }
  const TimePoint telling = tell(now);
  if (!fd_.is_open()) {
    open_at_ = std::max(open_at_, now + kTryAgain);
    return std::min(open_at_, telling);
  }
  const std::lock_guard lock(sending_);
  const bool resting = now < rest_until_;
  const short events = static_cast<short>((resting ? 0 : POLLIN) | (unsent_.empty() ? 0 : POLLOUT));
  polled->push_back({fd_.get(), events, 0});
  // When the line is free again, what waits is looked at again.
  const TimePoint next = free_at_ - time_of(kAlmost);
  const TimePoint until = std::min(next > now ? next : rclrt_core::kNever, telling);
  return resting ? std::min(until, rest_until_) : until;
}

void SerialLine::read(const std::vector<pollfd> & polled, TimePoint now)
{
  if (polled.size() < 2) {
    return;
  }
  if ((polled[1].revents & POLLOUT) != 0) {
    std::unique_lock lock(sending_);
    const bool is_there = flush();
    lock.unlock();
    if (!is_there) {
      fail(ENODEV);
    }
  }
  if ((polled[1].revents & (POLLIN | POLLERR | POLLHUP | POLLNVAL)) == 0 || !fd_.is_open()) {
    return;
  }
  uint8_t bytes[2048];
  const auto size = ::read(fd_.get(), bytes, sizeof(bytes));
  if (size > 0) {
    for (const uint8_t * byte = bytes; byte != bytes + size; ++byte) {
      feed(*byte, now);
    }
    // A driver gives a few bytes at a time. Each would wake the thread, and do nothing for want of the others.
    const std::size_t missing = missing_of(scanner_);
    rest_until_ =
      now + std::min(time_of(missing - std::min(missing, kEnd)), Duration(kLongestRest));
  } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    fail(size == 0 ? ENODEV : errno);  // unplugged, or the other end of a pseudo-terminal has gone
  }
}

void SerialLine::feed(uint8_t byte, TimePoint now)
{
  if (byte == RCLRT_FRAME_FLAG) {
    frame_.clear();
  }
  frame_.push_back(byte);
  switch (rclrt_scan_byte(&scanner_, byte)) {
    case RCLRT_SCAN_MORE:
      if (!scanner_.in_frame) {
        frame_.clear();  // noise between frames
      }
      return;
    case RCLRT_SCAN_BROKEN:
      broken_.fetch_add(1, std::memory_order_relaxed);
      return;
    case RCLRT_SCAN_FRAME:
      break;
  }
  uint8_t payload[kLongestMessage];
  uint16_t length = 0;
  if (
    rclrt_frame_decode(
      RCLRT_CHECK_ARC, frame_.data(), frame_.size(), nullptr, 0, payload, sizeof(payload),
      &length) != RCLRT_OK) {
    broken_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  receive(scanner_.source, {payload, length}, now);
}

bool SerialLine::can_send(uint64_t, TimePoint now)
{
  if (!fd_.is_open() || !unsent_.empty() || now < free_at_ - time_of(kAlmost)) {
    return false;
  }
  int queued = 0;
  if (::ioctl(fd_.get(), TIOCOUTQ, &queued) != 0 || queued <= static_cast<int>(kAlmost)) {
    return true;
  }
  // The device is slower than its rate says. The next look is when it can have sent that.
  const Duration time =
    options_.baud == 0 ? Duration(1'000'000) : time_of(static_cast<std::size_t>(queued));
  free_at_ = now + time;
  return false;
}

void SerialLine::transmit(uint64_t address, const Bytes & message, TimePoint now)
{
  rclrt_frame_encoder encoder;
  rclrt_frame_encoder_init(
    &encoder, RCLRT_CHECK_ARC, RCLRT_FRAME_AGENT, static_cast<uint8_t>(address), message.data(),
    static_cast<uint16_t>(message.size()));
  const std::size_t begin = unsent_.size();
  unsent_.resize(begin + rclrt_frame_wire_size(&encoder));
  rclrt_frame_encode(&encoder, unsent_.data() + begin, unsent_.size() - begin);
  free_at_ = std::max(free_at_, now) + time_of(unsent_.size() - begin);
  // A line that is gone is closed by its thread, which waits for it: for room, because of the rest, and so for its end.
  (void)flush();
}

void SerialLine::send(uint64_t address, const Bytes & message)
{
  const std::lock_guard lock(sending_);
  // Few and short; but a flood of questions must not fill the memory.
  if (fd_.is_open() && unsent_.size() < kLongestMessage) {
    transmit(address, message, std::chrono::steady_clock::now());
  }
}

// Under sending_. False: the line is gone.
bool SerialLine::flush()
{
  const auto size = ::write(fd_.get(), unsent_.data(), unsent_.size());
  if (size > 0) {
    unsent_.erase(unsent_.begin(), unsent_.begin() + size);
  }
  return size >= 0 || errno == EAGAIN || errno == EINTR;
}

}  // namespace rclrt_agent
