// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Type supports for types that this program was not compiled with.
///
/// The middleware asks a type support for the type's name, its hash, and how messages are written. Name and
/// hash come from the type's own library if that is installed. Messages are bytes that are copied.
///
/// Topics use the library's own type support, because their messages go as bytes anyway. Services need one of
/// ours: rcl takes and sends their messages only as structures. It works with middleware that asks for
/// rosidl_typesupport_fastrtps_cpp: Fast DDS and Zenoh.
#pragma once

#include <memory>
#include <string>

#include "representation.hpp"
#include "rosidl_runtime_c/message_type_support_struct.h"
#include "rosidl_runtime_c/service_type_support_struct.h"
#include "wire.hpp"

namespace rclrt_agent
{

/// The message of a service: CDR without encapsulation. What rcl_send_request() and the like get.
struct RawMessage
{
  Bytes cdr;
};

class MessageType
{
public:
  virtual ~MessageType() = default;
  virtual const rosidl_message_type_support_t * handle() const = 0;
  /// Whether its own library is installed.
  virtual bool is_installed() const = 0;
};

class ServiceType
{
public:
  virtual ~ServiceType() = default;
  virtual const rosidl_service_type_support_t * handle() const = 0;
  virtual bool is_installed() const = 0;
};

/// Each type once, for the life of the process: the middleware keeps pointers. Thread-safe. Null: the type is not
/// installed, and so are the 1024 that exist already. So names that a client invents take no installed type from others.
const MessageType * message_type(const TypeName & name);
const ServiceType * service_type(const TypeName & name);

}  // namespace rclrt_agent
