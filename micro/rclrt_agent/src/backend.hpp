// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the agent asks of ROS. The session below it speaks DDS-XRCE and knows no ROS; tests put something
/// else in its place.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "representation.hpp"
#include "wire.hpp"

namespace rclrt_agent
{

/// Something cannot be created. `status`: what the client is told (enum rclrt_status).
class Refused : public std::runtime_error
{
public:
  Refused(uint8_t status, const std::string & why) : std::runtime_error(why), status_(status) {}
  uint8_t status() const noexcept { return status_; }

private:
  uint8_t status_;
};

/// Where data for a client goes. Thread-safe. Data is CDR without the four bytes of encapsulation. wants(), data() and
/// lost() may be called by a thread of the middleware inside its locks: nothing that they wait for may wait for these.
class Sink
{
public:
  virtual ~Sink() = default;
  /// Whether data for this object may be taken now. If not, the source lets it lie; Source::resume() is
  /// called when that changes.
  virtual bool wants(uint16_t object) = 0;
  virtual void data(uint16_t object, View cdr) = 0;
  /// Tells how many messages were lost before they could be taken.
  virtual void lost(uint16_t object, uint64_t count) = 0;
  /// `identity`: of the request, RCLRT_SAMPLE_IDENTITY bytes.
  virtual void request(uint16_t object, const uint8_t * identity, View cdr) = 0;
  /// `request`: as given to Requester::request().
  virtual void reply(uint16_t object, uint16_t request, View cdr) = 0;
};

class Writer
{
public:
  virtual ~Writer() = default;
  virtual bool write(View cdr) = 0;
};

/// Destroying it may happen while it calls the sink.
class Source
{
public:
  virtual ~Source() = default;
  /// From any thread, also under locks: never blocks, never calls the sink itself.
  virtual void resume() = 0;
};

class Requester : public Source
{
public:
  virtual bool request(uint16_t request, View cdr) = 0;
};

class Replier : public Source
{
public:
  virtual bool reply(const uint8_t * identity, View cdr) = 0;
};

/// Thread-safe. All functions may throw Refused.
class BackendNode
{
public:
  virtual ~BackendNode() = default;
  virtual std::shared_ptr<Writer> make_writer(const Description & what) = 0;
  virtual std::shared_ptr<Source> make_reader(
    const Description & what, uint16_t object, const std::weak_ptr<Sink> & sink) = 0;
  virtual std::shared_ptr<Requester> make_requester(
    const Description & what, uint16_t object, const std::weak_ptr<Sink> & sink) = 0;
  virtual std::shared_ptr<Replier> make_replier(
    const Description & what, uint16_t object, const std::weak_ptr<Sink> & sink) = 0;
};

class Backend
{
public:
  virtual ~Backend() = default;
  /// `participant`: its name as the client gives it. `domain`: 255 is the agent's own.
  virtual std::shared_ptr<BackendNode> make_node(
    const std::string & participant, int16_t domain, const Key & key) = 0;
};

}  // namespace rclrt_agent
