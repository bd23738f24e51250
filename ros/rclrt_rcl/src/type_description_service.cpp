// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "type_description_service.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "rclrt_rcl/error.hpp"
#include "type_cache_mutex.hpp"
#include "type_description_interfaces/srv/get_type_description.h"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

using Request = type_description_interfaces__srv__GetTypeDescription_Request;
using Response = type_description_interfaces__srv__GetTypeDescription_Response;

/// rcl speaks C here.
template <typename T>
using Guard = std::unique_ptr<T, void (*)(T *)>;

std::shared_ptr<rcl_service_t> make_handle(const std::shared_ptr<rcl_node_t> & node)
{
  auto service = std::make_unique<rcl_service_t>(rcl_get_zero_initialized_service());
  {
    std::lock_guard<std::mutex> lock(type_cache_mutex());
    throw_unless_ok(
      rcl_node_type_description_service_init(service.get(), node.get()),
      "creating service '~/get_type_description'");
  }
  return std::shared_ptr<rcl_service_t>(service.release(), [node](rcl_service_t * used) {
    std::lock_guard<std::mutex> lock(type_cache_mutex());
    if (rcl_service_fini(used, node.get()) != RCL_RET_OK) {
      take_rcl_error();
    }
    delete used;
  });
}

class TypeDescriptionService : public ServiceBase
{
public:
  TypeDescriptionService(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node)
  : ServiceBase(std::move(setup), std::move(context), node, make_handle(node), {}), node_(node)
  {
  }

private:
  bool do_take_and_run(const rclrt_core::Job &) override
  {
    const Guard<Request> request(
      type_description_interfaces__srv__GetTypeDescription_Request__create(),
      &type_description_interfaces__srv__GetTypeDescription_Request__destroy);
    // rcl initialises it.
    Response response{};
    const Guard<Response> end(
      &response, &type_description_interfaces__srv__GetTypeDescription_Response__fini);
    RequestHeader header;
    if (!take_request(request.get(), &header)) {
      return false;
    }
    const Running running(static_cast<const ServiceBase *>(this));
    {
      std::lock_guard<std::mutex> lock(type_cache_mutex());
      rcl_node_type_description_service_handle_request(
        node_.get(), &header.id, request.get(), &response);
    }
    sender()->send(header, &response);
    return true;
  }

  const std::shared_ptr<rcl_node_t> node_;
};

}  // namespace

std::shared_ptr<ServiceBase> create_type_description_service(Node & node)
{
  return node.make_entity<TypeDescriptionService>(
    rclrt_core::CallbackKind::kService, node.resolve_service_name("~/get_type_description"),
    Scheduling(), nullptr, node.context(), node.handle());
}

}  // namespace detail
}  // namespace rclrt_rcl
