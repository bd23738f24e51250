// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "types.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "fastcdr/Cdr.h"
#include "fastcdr/exceptions/Exception.h"
#include "rosidl_typesupport_fastrtps_cpp/identifier.hpp"
#include "rosidl_typesupport_fastrtps_cpp/message_type_support.h"
#include "rosidl_typesupport_fastrtps_cpp/service_type_support.h"

namespace rclrt_agent
{
namespace
{

constexpr std::size_t kMostInvented = 1024;

// ---- How raw messages are written

const RawMessage & raw(const void * message) { return *static_cast<const RawMessage *>(message); }

bool serialize(const void * message, eprosima::fastcdr::Cdr & cdr)
{
  try {
    cdr.serialize_array(raw(message).cdr.data(), raw(message).cdr.size());
    return true;
  } catch (const eprosima::fastcdr::exception::Exception &) {
    return false;  // longer than the middleware has room for
  }
}

// Fast CDR does not say how many bytes are left, only by an exception that so many are not; and its jump() would make
// room for as many as are asked for.
bool deserialize(eprosima::fastcdr::Cdr & cdr, void * message)
{
  Bytes & bytes = static_cast<RawMessage *>(message)->cdr;
  std::size_t size = 0;
  for (std::size_t step = 1024; step > 0;) {
    bytes.resize(size + step);
    try {
      cdr.deserialize_array(bytes.data() + size, step);
      size += step;
    } catch (const eprosima::fastcdr::exception::Exception &) {
      step /= 2;
    }
  }
  bytes.resize(size);
  return true;
}

uint32_t size_of(const void * message) { return static_cast<uint32_t>(raw(message).cdr.size()); }

std::size_t longest(char & bounds)
{
  bounds = ROSIDL_TYPESUPPORT_FASTRTPS_UNBOUNDED_TYPE;
  return 256;  // what is reserved at first
}

// ---- Types of ours, with the name, hash and description of `own` if that is installed

constexpr const char * kIntrospection = "rosidl_typesupport_introspection_cpp";

rosidl_runtime_c__String text(const std::string & of)
{
  return {const_cast<char *>(of.data()), of.size(), of.size() + 1};
}

std::string full_name(const TypeName & name)
{
  return name.package.empty() ? name.name : name.package + "/" + name.folder + "/" + name.name;
}

// What a type without a library says of itself: its name.
struct Unknown
{
  explicit Unknown(const TypeName & type) : name(full_name(type))
  {
    description.type_description.type_name = text(name);
  }
  const std::string name;
  rosidl_type_hash_t hash{};
  rosidl_runtime_c__type_description__TypeDescription description{};
  rosidl_runtime_c__type_description__TypeSource__Sequence sources{};
};

// The functions of a handle get the handle alone: what they need lies behind it.
template <typename Support>
struct Handle : Support
{
  const Support * own = nullptr;
  const Unknown * unknown = nullptr;

  static const Handle & of(const Support * handle) { return *static_cast<const Handle *>(handle); }
  static const rosidl_type_hash_t * hash(const Support * handle)
  {
    const Support * own = of(handle).own;
    return own != nullptr ? own->get_type_hash_func(own) : &of(handle).unknown->hash;
  }
  static const rosidl_runtime_c__type_description__TypeDescription * description(
    const Support * handle)
  {
    const Support * own = of(handle).own;
    return own != nullptr ? own->get_type_description_func(own) : &of(handle).unknown->description;
  }
  static const rosidl_runtime_c__type_description__TypeSource__Sequence * sources(
    const Support * handle)
  {
    const Support * own = of(handle).own;
    return own != nullptr ? own->get_type_description_sources_func(own)
                          : &of(handle).unknown->sources;
  }
  // For `fastrtps` ours, which knows raw messages; what only describes the type is its own.
  static const Support * find(const Support * handle, const char * identifier)
  {
    if (std::strcmp(identifier, handle->typesupport_identifier) == 0) {
      return handle;
    }
    const Support * own = of(handle).own;
    return own != nullptr && std::strcmp(identifier, kIntrospection) == 0
             ? own->func(own, identifier)
             : nullptr;
  }

  void set(const void * callbacks, const Support * own_support, const Unknown * described)
  {
    this->typesupport_identifier = rosidl_typesupport_fastrtps_cpp::typesupport_identifier;
    this->data = callbacks;
    this->func = find;
    this->get_type_hash_func = hash;
    this->get_type_description_func = description;
    this->get_type_description_sources_func = sources;
    own = own_support;
    unknown = described;
  }
};

class RawMessageType : public MessageType
{
public:
  RawMessageType(const TypeName & type, const rosidl_message_type_support_t * own)
  : name_space_(type.package.empty() ? "" : type.package + "::" + type.folder),
    name_(type.name),
    unknown_(type)
  {
    callbacks_ = {
      name_space_.c_str(), name_.c_str(), serialize, deserialize, size_of, longest, nullptr};
    handle_.set(&callbacks_, own, &unknown_);
  }
  const rosidl_message_type_support_t * handle() const override { return &handle_; }
  bool is_installed() const override { return handle_.own != nullptr; }

private:
  const std::string name_space_, name_;
  const Unknown unknown_;
  message_type_support_callbacks_t callbacks_{};
  Handle<rosidl_message_type_support_t> handle_{};
};

class OwnMessageType : public MessageType
{
public:
  explicit OwnMessageType(const rosidl_message_type_support_t * own) : own_(own) {}
  const rosidl_message_type_support_t * handle() const override { return own_; }
  bool is_installed() const override { return true; }

private:
  const rosidl_message_type_support_t * const own_;
};

TypeName part(const TypeName & service, const char * suffix)
{
  return {service.package, service.folder, service.name + suffix};
}

class RawServiceType : public ServiceType
{
public:
  RawServiceType(const TypeName & type, const rosidl_service_type_support_t * own)
  : name_space_(type.package + "::" + type.folder),
    name_(type.name),
    unknown_(type),
    request_(part(type, "_Request"), own == nullptr ? nullptr : own->request_typesupport),
    response_(part(type, "_Response"), own == nullptr ? nullptr : own->response_typesupport)
  {
    callbacks_ = {name_space_.c_str(), name_.c_str(), request_.handle(), response_.handle()};
    handle_.set(&callbacks_, own, &unknown_);
    handle_.request_typesupport = request_.handle();
    handle_.response_typesupport = response_.handle();
    if (own != nullptr) {
      handle_.event_typesupport = own->event_typesupport;
    }
  }
  const rosidl_service_type_support_t * handle() const override { return &handle_; }
  bool is_installed() const override { return handle_.own != nullptr; }

private:
  const std::string name_space_, name_;
  const Unknown unknown_;
  const RawMessageType request_, response_;
  service_type_support_callbacks_t callbacks_{};
  Handle<rosidl_service_type_support_t> handle_{};
};

// ---- Libraries of types

// The library stays loaded: the middleware keeps pointers into it. `package` is a token, so the name is that
// of a library of types and no path.
void * library_of(const std::string & package)
{
  const std::string name = "lib" + package + "__rosidl_typesupport_cpp.so";
  if (void * const found = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    return found;
  }
  const char * const prefixes = std::getenv("AMENT_PREFIX_PATH");
  std::istringstream all(prefixes == nullptr ? "" : prefixes);
  for (std::string prefix; std::getline(all, prefix, ':');) {
    const std::string path = prefix + "/lib/" + name;
    if (void * const found = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      return found;
    }
  }
  return nullptr;
}

template <typename Support>
const Support * own_support(const TypeName & type, const std::string & function)
{
  if (type.package.empty()) {
    return nullptr;
  }
  void * const library = library_of(type.package);
  if (library == nullptr) {
    return nullptr;
  }
  const std::string symbol = "rosidl_typesupport_cpp__" + function + "__" + type.package + "__" +
                             type.folder + "__" + type.name;
  using Get = const Support * (*)();
  const auto get = reinterpret_cast<Get>(::dlsym(library, symbol.c_str()));
  return get == nullptr ? nullptr : get();
}

template <typename Type, typename Make>
const Type * find_or_make(const TypeName & name, const Make & make)
{
  static std::mutex mutex;
  static auto & all = *new std::map<std::string, std::unique_ptr<Type>>;
  static std::size_t invented = 0;  // of these, not installed
  const std::lock_guard lock(mutex);
  const std::string full = full_name(name);
  const auto found = all.find(full);
  if (found != all.end()) {
    return found->second.get();
  }
  std::unique_ptr<Type> made = make();
  if (!made->is_installed() && ++invented > kMostInvented) {
    --invented;
    return nullptr;
  }
  return (all[full] = std::move(made)).get();
}

}  // namespace

const MessageType * message_type(const TypeName & name)
{
  return find_or_make<MessageType>(name, [&name]() -> std::unique_ptr<MessageType> {
    const auto * own =
      own_support<rosidl_message_type_support_t>(name, "get_message_type_support_handle");
    if (own != nullptr) {
      return std::make_unique<OwnMessageType>(own);
    }
    return std::make_unique<RawMessageType>(name, nullptr);
  });
}

const ServiceType * service_type(const TypeName & name)
{
  return find_or_make<ServiceType>(name, [&name] {
    return std::make_unique<RawServiceType>(
      name, own_support<rosidl_service_type_support_t>(name, "get_service_type_support_handle"));
  });
}

}  // namespace rclrt_agent
