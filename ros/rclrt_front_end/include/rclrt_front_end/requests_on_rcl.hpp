// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Stands in for the four functions of the RMW by which requests and replies of services go out and come in, and so
/// those of actions. rcl calls them through the dynamic linker, which takes the first definition in the program: this
/// one in executables that link a front end. Each calls the next definition.
///
/// A request has the deadline of the job that sends it, and so has a reply. The job that takes one goes by that
/// deadline, unless its callback has a relative deadline (rclrt_core/deadline_ring.hpp). In traces it names the job
/// that has sent what it has taken. Real-time safe but for the middleware itself.
///
/// These are definitions: one source file of a front end includes this.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>

#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rmw/rmw.h"

/// Before Iron there is none.
extern "C" [[gnu::weak]] rmw_ret_t rmw_get_gid_for_client(const rmw_client_t *, rmw_gid_t *);

namespace rclrt_front_end
{
namespace
{

template <typename... ArgumentsT>
using NextOfRmw = NextDefinition<rmw_ret_t(ArgumentsT...)>;

NextOfRmw<const rmw_client_t *, const void *, int64_t *> next_send_request("rmw_send_request");
NextOfRmw<const rmw_service_t *, rmw_request_id_t *, void *> next_send_response(
  "rmw_send_response");
NextOfRmw<const rmw_service_t *, rmw_service_info_t *, void *, bool *> next_take_request(
  "rmw_take_request");
NextOfRmw<const rmw_client_t *, rmw_service_info_t *, void *, bool *> next_take_response(
  "rmw_take_response");

/// So that nothing is looked up, which may allocate, after start.
[[gnu::constructor]] void look_up_requests()
{
  next_send_request.get();
  next_send_response.get();
  next_take_request.get();
  next_take_response.get();
}

template <typename... ArgumentsT>
rmw_ret_t call(NextOfRmw<ArgumentsT...> & next, ArgumentsT... arguments)
{
  const auto real = next.get();
  return real ? real(arguments...) : RMW_RET_UNSUPPORTED;
}

/// Empty if the RMW does not tell. (rmw_fastrtps copies 16 bytes.)
std::optional<rclrt_core::ClientId> client_id(const rmw_client_t * client) noexcept
{
  rmw_gid_t gid{};
  auto * const ask = &rmw_get_gid_for_client;
  if (!client || !ask || ask(client, &gid) != RMW_RET_OK) {
    return std::nullopt;
  }
  rclrt_core::ClientId id{};
  std::copy_n(std::begin(gid.data), id.size(), id.begin());
  return id;
}

/// The client that has sent the request, as the service gets it.
rclrt_core::ClientId client_id(const rmw_request_id_t & request) noexcept
{
  rclrt_core::ClientId id{};
  static_assert(sizeof(request.writer_guid) >= sizeof(id), "an id is the beginning of a GID");
  std::copy_n(std::begin(request.writer_guid), id.size(), id.begin());
  return id;
}

}  // namespace
}  // namespace rclrt_front_end

extern "C" {

rmw_ret_t rmw_send_request(const rmw_client_t * client, const void * request, int64_t * number)
{
  using namespace rclrt_front_end;
  const rclrt_core::Publication publication;
  const auto id = client_id(client);
  const rclrt_core::SentRequest sent(
    id ? rclrt_core::DeadlineRing::of_process() : nullptr, id.value_or(rclrt_core::ClientId{}),
    rclrt_core::deadline_to_publish());
  const rmw_ret_t ret = call(next_send_request, client, request, number);
  if (id && ret == RMW_RET_OK && number) {
    sent.is_sent(*number);
    rclrt_core::note_published(rclrt_core::publisher_in_trace(*id), static_cast<uint64_t>(*number));
  }
  return ret;
}

rmw_ret_t rmw_send_response(
  const rmw_service_t * service, rmw_request_id_t * request, void * response)
{
  using namespace rclrt_front_end;
  const rclrt_core::Publication publication;
  if (!request) {
    return call(next_send_response, service, request, response);
  }
  const rclrt_core::ClientId id = client_id(*request);
  const int64_t number = request->sequence_number;
  rclrt_core::state_deadline_of_reply(
    rclrt_core::DeadlineRing::of_process(), id, number, rclrt_core::deadline_to_publish());
  const rmw_ret_t ret = call(next_send_response, service, request, response);
  if (ret == RMW_RET_OK) {
    rclrt_core::note_published(rclrt_core::replier_in_trace(id), static_cast<uint64_t>(number));
  }
  return ret;
}

rmw_ret_t rmw_take_request(
  const rmw_service_t * service, rmw_service_info_t * info, void * request, bool * taken)
{
  using namespace rclrt_front_end;
  const rmw_ret_t ret = call(next_take_request, service, info, request, taken);
  if (ret == RMW_RET_OK && info && taken && *taken) {
    const rclrt_core::ClientId id = client_id(info->request_id);
    const int64_t number = info->request_id.sequence_number;
    rclrt_core::note_taken(rclrt_core::publisher_in_trace(id), static_cast<uint64_t>(number));
    if (const auto * const table = rclrt_core::DeadlineRing::of_process()) {
      rclrt_core::inherit_deadline(
        rclrt_core::deadline_of_request(table, id, number, info->source_timestamp));
    }
  }
  return ret;
}

rmw_ret_t rmw_take_response(
  const rmw_client_t * client, rmw_service_info_t * info, void * response, bool * taken)
{
  using namespace rclrt_front_end;
  const rmw_ret_t ret = call(next_take_response, client, info, response, taken);
  const bool is_taken = ret == RMW_RET_OK && info && taken && *taken;
  if (const auto id = is_taken ? client_id(client) : std::nullopt) {
    const int64_t number = info->request_id.sequence_number;
    rclrt_core::note_taken(rclrt_core::replier_in_trace(*id), static_cast<uint64_t>(number));
    if (const auto * const table = rclrt_core::DeadlineRing::of_process()) {
      rclrt_core::inherit_deadline(rclrt_core::deadline_of_reply(table, *id, number));
    }
  }
  return ret;
}
}
