// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "ros_backend.hpp"

#include <cstring>
#include <mutex>
#include <typeinfo>
#include <utility>

#include "rclrt_rcl/error.hpp"

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kEncapsulation = 4;
constexpr uint8_t kLittleEndian[kEncapsulation] = {0, 1, 0, 0};
constexpr std::chrono::seconds kRequestAge{60};

// A type that no message has: nothing of this process gets these messages by pointer.
struct Bytewise
{
};

}  // namespace

// ---- Publishers

RawPublisher::RawPublisher(
  ContextPointer context, const NodePointer & node, const rosidl_message_type_support_t * type,
  const std::string & topic, const rclrt_rcl::QoS & qos)
: PublisherBase(std::move(context), node, type, typeid(Bytewise), topic, qos, false)
{
}

bool RawPublisher::write(View cdr)
{
  const std::lock_guard lock(mutex_);
  message_.resize(kEncapsulation + cdr.size);
  std::memcpy(message_.data(), kLittleEndian, kEncapsulation);
  if (cdr.size > 0) {
    std::memcpy(message_.data() + kEncapsulation, cdr.data, cdr.size);
  }
  try {
    publish_bytes(message_);
    return true;
  } catch (const rclrt_rcl::Error &) {
    return false;
  }
}

// ---- Subscriptions

bool RawSubscription::hand_on(Sink & sink)
{
  return take_and_handle(message_, [&](const rclrt_rcl::MessageInfo & info) {
    if (const uint64_t lost = missing_before(info)) {
      sink.lost(object_, lost);
    }
    if (message_.size() >= kEncapsulation && std::memcmp(message_.data(), kLittleEndian, 2) == 0) {
      sink.data(object_, {message_.data() + kEncapsulation, message_.size() - kEncapsulation});
    }
  });
}

// The middleware drops the oldest message when too many wait, and says nothing. Numbers say it.
uint64_t RawSubscription::missing_before(const rclrt_rcl::MessageInfo & info)
{
  constexpr std::size_t kPublishers = 64;
  if (numbers_.size() >= kPublishers) {
    numbers_.clear();
  }
  const uint64_t number = info.publication_sequence_number;
  const auto [known, is_new] = numbers_.try_emplace(info.publisher_gid, number);
  const uint64_t before = std::exchange(known->second, number);
  return is_new || number == UINT64_MAX || number <= before ? 0 : number - before - 1;
}

// ---- Clients

namespace
{

class Waiting : public rclrt_rcl::detail::PendingResponse
{
public:
  Waiting(std::shared_ptr<Sink> sink, uint16_t object, uint16_t request)
  : sink_(std::move(sink)), object_(object), request_(request)
  {
  }
  void complete(void * response) override
  {
    sink_->reply(object_, request_, view_of(static_cast<RawMessage *>(response)->cdr));
  }
  void fail(const std::exception_ptr &) override {}

private:
  const std::shared_ptr<Sink> sink_;
  const uint16_t object_;
  const uint16_t request_;
};

}  // namespace

bool RawClient::request(uint16_t request, View cdr)
{
  auto to = sink();
  if (to == nullptr) {
    return false;
  }
  if (pending_request_count() >= kPendingRequests) {
    remove_requests_older_than(kRequestAge);
  }
  const RawMessage message{bytes_of(cdr)};
  try {
    send_request(&message, std::make_unique<Waiting>(std::move(to), object_, request));
    return true;
  } catch (const rclrt_rcl::Error &) {
    return false;
  }
}

bool RawClient::hand_on(Sink &)
{
  RawMessage response;
  int64_t id = 0;
  if (!take_response(&response, &id)) {
    return false;
  }
  if (const auto pending = claim(id)) {
    pending->complete(&response);
  }
  return true;
}

// ---- Services

bool RawService::hand_on(Sink & sink)
{
  RawMessage request;
  rclrt_rcl::RequestHeader header;
  if (!take_request(&request, &header)) {
    return false;
  }
  // The identity as DDS writes it: 16 bytes of the writer, then the number, its high half first.
  uint8_t identity[RCLRT_SAMPLE_IDENTITY];
  static_assert(sizeof(header.id.writer_guid) == 16);
  std::memcpy(identity, header.id.writer_guid, 16);
  const auto high = static_cast<int32_t>(header.id.sequence_number >> 32);
  const auto low = static_cast<uint32_t>(header.id.sequence_number);
  std::memcpy(identity + 16, &high, 4);
  std::memcpy(identity + 20, &low, 4);
  sink.request(object_, identity, view_of(request.cdr));
  return true;
}

bool RawService::reply(const uint8_t * identity, View cdr)
{
  rclrt_rcl::RequestHeader header;
  int32_t high = 0;
  uint32_t low = 0;
  std::memcpy(header.id.writer_guid, identity, 16);
  std::memcpy(&high, identity + 16, 4);
  std::memcpy(&low, identity + 20, 4);
  header.id.sequence_number =
    static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32U | low);
  RawMessage response{bytes_of(cdr)};
  try {
    sender()->send(header, &response);
    return true;
  } catch (const rclrt_rcl::Error &) {
    return false;
  }
}

}  // namespace rclrt_agent
