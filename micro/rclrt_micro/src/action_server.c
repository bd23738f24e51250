/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The end of an action that executes goals.
 */
#include <string.h>

#include "action_internal.h"

#define KEEP_NS (UINT64_C(10) * 1000000000U)

static bool is_active(const struct rclrt_goal * goal)
{
  return goal->status >= RCLRT_GOAL_ACCEPTED && goal->status <= RCLRT_GOAL_CANCELING;
}

static bool is_finished(const struct rclrt_goal * goal)
{
  return goal->status >= RCLRT_GOAL_SUCCEEDED;
}

static bool owes_answers(const struct rclrt_goal * goal)
{
  return goal->owes_acceptance || (is_finished(goal) && goal->asker_count > 0);
}

static uint64_t now_of(const struct rclrt_action_server * server)
{
  return session_now(server->status.session);
}

static int64_t stamp_of(const struct rclrt_action_server * server)
{
  return (int64_t)now_of(server) + server->status.session->clock_offset_ns;
}

static struct rclrt_goal * find_goal(struct rclrt_action_server * server, const uint8_t * id)
{
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    struct rclrt_goal * goal = &server->config.goals[i];
    if (goal->status != RCLRT_GOAL_UNKNOWN && action_same_id(goal->id, id)) {
      return goal;
    }
  }
  return NULL;
}

/* ---- What is sent */

static void write_statuses(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_action_server * server = message;
  uint16_t known = 0;
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    known = (uint16_t)(known + (server->config.goals[i].status != RCLRT_GOAL_UNKNOWN ? 1U : 0U));
  }
  rclrt_write_count(writer, known);
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    const struct rclrt_goal * goal = &server->config.goals[i];
    if (goal->status != RCLRT_GOAL_UNKNOWN) {
      action_write_info(writer, goal->id, goal->accepted_ns);
      rclrt_write_u8(writer, goal->status);
    }
  }
}

static const struct rclrt_type status_type = {
  "action_msgs::msg::dds_::GoalStatusArray_", write_statuses, NULL};

static bool send_acceptance(struct rclrt_action_server * server, struct rclrt_goal * goal)
{
  struct rclrt_action_message message = {0};
  message.accepted = true;
  message.stamp_ns = goal->accepted_ns;
  const bool sent = rclrt_service_respond(&server->send_goal, &goal->asker, &message) == RCLRT_OK;
  goal->owes_acceptance = !sent;
  return sent;
}

static bool send_result(
  struct rclrt_action_server * server, const struct rclrt_goal * goal, uint8_t status,
  const struct rclrt_request_id * to)
{
  struct rclrt_action_message message = {0};
  message.type = server->type->result;
  message.from = goal->result;
  message.status = status;
  return rclrt_service_respond(&server->get_result, to, &message) == RCLRT_OK;
}

static bool settle_goal(struct rclrt_action_server * server, struct rclrt_goal * goal)
{
  if (goal->owes_acceptance && !send_acceptance(server, goal)) {
    return false;
  }
  while (owes_answers(goal)) {
    if (!send_result(server, goal, goal->status, &goal->askers[goal->asker_count - 1U])) {
      return false;
    }
    goal->asker_count--;
    goal->fetched = true;
  }
  return true;
}

static bool settle(void * end)
{
  struct rclrt_action_server * server = end;
  bool settled = true;
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    settled = settle_goal(server, &server->config.goals[i]) && settled;
  }
  if (server->owes_status) {
    server->owes_status = rclrt_publish(&server->status, server) != RCLRT_OK;
  }
  return settled && !server->owes_status;
}

static void set_status(struct rclrt_goal * goal, enum rclrt_goal_status status)
{
  goal->status = (uint8_t)status;
  goal->server->owes_status = true;
}

/* ---- Goals that come */

/* May a new goal take its place? The longer it has been finished the sooner; 0: no. */
static uint64_t vacancy(const struct rclrt_action_server * server, const struct rclrt_goal * goal)
{
  if (goal->status == RCLRT_GOAL_UNKNOWN) {
    return UINT64_MAX;
  }
  if (!is_finished(goal) || owes_answers(goal)) {
    return 0;
  }
  const uint64_t since = time_since(now_of(server), goal->finished_ns) + 1U;
  return goal->fetched || since > server->config.keep_ns ? since : 0;
}

/* Chooses the place of the goal that is being read. */
static void find_place(struct rclrt_action_message * message)
{
  struct rclrt_action_server * server =
    RCLRT_CONTAINER_OF(message, struct rclrt_action_server, request);
  uint64_t best = 0;
  server->candidate = NULL;
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    struct rclrt_goal * goal = &server->config.goals[i];
    const uint64_t free = vacancy(server, goal);
    if (free > best) {
      best = free;
      server->candidate = goal;
    }
  }
  if (find_goal(server, message->id) != NULL) {
    server->candidate = NULL; /* it is known already */
  }
  message->type = server->type->goal;
  message->to = server->candidate == NULL ? NULL : server->candidate->request;
}

static bool on_send_goal(void * context, const void * request, void * response)
{
  struct rclrt_action_server * server = context;
  struct rclrt_action_message * message = response;
  struct rclrt_goal * goal = server->candidate;
  (void)request;
  message->accepted = false;
  message->stamp_ns = stamp_of(server);
  if (goal == NULL) {
    return true;
  }
  void * const kept[3] = {goal->request, goal->result, goal->context};
  memset(goal, 0, sizeof(*goal));
  goal->request = kept[0];
  goal->result = kept[1];
  goal->context = kept[2];
  goal->server = server;
  memcpy(goal->id, message->id, sizeof(goal->id));
  goal->accepted_ns = message->stamp_ns;
  const enum rclrt_goal_answer answer = server->config.on_goal(server->config.context, goal);
  if (answer == RCLRT_GOAL_REFUSE) {
    return true;
  }
  set_status(goal, answer == RCLRT_GOAL_EXECUTE ? RCLRT_GOAL_EXECUTING : RCLRT_GOAL_ACCEPTED);
  goal->asker = server->send_goal.id;
  goal->owes_acceptance = true;
  action_settle(&server->owed);
  return false; /* it is answered when there is room */
}

/* ---- Cancelling */

static void read_cancel(void * message, struct rclrt_reader * reader)
{
  struct rclrt_action_message * of = message;
  rclrt_read_bytes(reader, of->id, RCLRT_GOAL_ID);
  of->stamp_ns = action_read_stamp(reader);
}

static void write_cancelled(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_action_server * server = RCLRT_CONTAINER_OF(
    (const struct rclrt_action_message *)message, const struct rclrt_action_server, request);
  uint16_t count = 0;
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    count = (uint16_t)(count + (server->config.goals[i].reported ? 1U : 0U));
  }
  rclrt_write_u8(writer, server->request.status);
  rclrt_write_count(writer, count);
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    const struct rclrt_goal * goal = &server->config.goals[i];
    if (goal->reported) {
      action_write_info(writer, goal->id, goal->accepted_ns);
    }
  }
}

static const struct rclrt_type cancel_types[2] = {
  {"action_msgs::srv::dds_::CancelGoal_Request_", NULL, read_cancel},
  {"action_msgs::srv::dds_::CancelGoal_Response_", write_cancelled, NULL}};

/* Does the request mean it? Neither id nor time: all; a time: all that were accepted until then. */
static bool is_meant(
  const struct rclrt_action_message * message, bool named, const struct rclrt_goal * goal)
{
  if (named && action_same_id(goal->id, message->id)) {
    return true;
  }
  return message->stamp_ns == 0 ? !named : goal->accepted_ns <= message->stamp_ns;
}

static bool on_cancel_goal(void * context, const void * request, void * response)
{
  static const uint8_t none[RCLRT_GOAL_ID] = {0};
  struct rclrt_action_server * server = context;
  struct rclrt_action_message * message = response;
  const bool named = !action_same_id(message->id, none);
  const struct rclrt_goal * wanted = named ? find_goal(server, message->id) : NULL;
  bool asked = false;
  bool agreed = false;
  (void)request;
  for (uint8_t i = 0; i < server->config.goal_count; ++i) {
    struct rclrt_goal * goal = &server->config.goals[i];
    goal->reported = false;
    if (
      !is_active(goal) || goal->status == RCLRT_GOAL_CANCELING || !is_meant(message, named, goal)) {
      continue;
    }
    asked = true;
    goal->reported =
      server->config.on_cancel != NULL && server->config.on_cancel(server->config.context, goal);
    agreed = agreed || goal->reported;
    if (goal->reported && is_active(goal)) { /* on_cancel may have finished it */
      set_status(goal, RCLRT_GOAL_CANCELING);
    }
  }
  message->status = RCLRT_CANCEL_NONE;
  if (asked && !agreed) {
    message->status = RCLRT_CANCEL_REJECTED;
  } else if (!asked && named) {
    message->status = wanted == NULL ? RCLRT_CANCEL_UNKNOWN_GOAL : RCLRT_CANCEL_GOAL_TERMINATED;
  }
  action_settle(&server->owed);
  return true;
}

/* ---- Results */

static bool on_get_result(void * context, const void * request, void * response)
{
  struct rclrt_action_server * server = context;
  struct rclrt_action_message * message = response;
  struct rclrt_goal * goal = find_goal(server, message->id);
  (void)request;
  if (goal == NULL) {
    message->type = server->type->result;
    message->from = server->config.goals[0].result;
    message->status = RCLRT_GOAL_UNKNOWN;
    return true;
  }
  if (goal->asker_count == RCLRT_GOAL_ASKERS) {
    memmove(&goal->askers[0], &goal->askers[1], sizeof(goal->askers) - sizeof(goal->askers[0]));
    goal->asker_count--;
    server->forgotten++;
  }
  goal->askers[goal->asker_count++] = server->get_result.id;
  action_settle(&server->owed);
  return false;
}

/* ---- The program's side */

static enum rclrt_ret check_config(const struct rclrt_action_server_config * config)
{
  if (
    config == NULL || config->goals == NULL || config->goal_count == 0 || config->on_goal == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  for (uint8_t i = 0; i < config->goal_count; ++i) {
    if (config->goals[i].request == NULL || config->goals[i].result == NULL) {
      return RCLRT_ERR_ARGUMENT;
    }
  }
  return RCLRT_OK;
}

static enum rclrt_ret make_service(
  struct rclrt_action_server * server, struct rclrt_service * service,
  struct rclrt_node_handle * node, struct rclrt_executor * executor, const char * name,
  const struct rclrt_type * types,
  bool (*run)(void * context, const void * request, void * response))
{
  const enum rclrt_ret ret = rclrt_service_init(service, node, &types[0], &types[1], name);
  return ret != RCLRT_OK ? ret
                         : rclrt_executor_add_service(
                             executor, service, &server->request, &server->request, run, server,
                             server->config.priority);
}

static enum rclrt_ret make(
  struct rclrt_action_server * server, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, const struct rclrt_action_names * names)
{
  const struct rclrt_action_type * type = server->type;
  const uint8_t priority = server->config.priority;
  struct rclrt_qos qos = rclrt_qos_reliable();
  enum rclrt_ret ret = rclrt_publisher_init(
    &server->feedback, node, &type->feedback_message, names->feedback, qos, priority);
  if (ret == RCLRT_OK) {
    qos = rclrt_qos_depth(qos, 1);
    qos.transient_local = true; /* late readers see the latest, too */
    ret = rclrt_publisher_init(&server->status, node, &status_type, names->status, qos, priority);
  }
  if (ret == RCLRT_OK) {
    ret = action_init_owed(&server->owed, executor, priority, settle, server);
  }
  if (ret == RCLRT_OK) {
    ret = make_service(
      server, &server->get_result, node, executor, names->get_result, &type->result_request,
      on_get_result);
  }
  if (ret == RCLRT_OK) {
    ret = make_service(
      server, &server->cancel_goal, node, executor, names->cancel_goal, cancel_types,
      on_cancel_goal);
  }
  if (ret == RCLRT_OK) {
    ret = make_service(
      server, &server->send_goal, node, executor, names->send_goal, &type->goal_request,
      on_send_goal);
  }
  return ret;
}

/* The first error. What was not made is passed over. */
static enum rclrt_ret take_down(struct rclrt_action_server * server)
{
  struct rclrt_service * const services[3] = {
    &server->send_goal, &server->cancel_goal, &server->get_result};
  struct rclrt_publisher * const publishers[2] = {&server->feedback, &server->status};
  enum rclrt_ret ret = RCLRT_OK;
  for (unsigned i = 0; i < 3; ++i) {
    const bool made = services[i]->end.session != NULL;
    const enum rclrt_ret one = made ? rclrt_service_fini(services[i]) : RCLRT_OK;
    ret = ret == RCLRT_OK ? one : ret;
  }
  if (server->owed.timer.callback.executor != NULL) {
    rclrt_timer_cancel(&server->owed.timer);
  }
  for (unsigned i = 0; i < 2; ++i) {
    const bool made = publishers[i]->stream != NULL;
    const enum rclrt_ret one = made ? rclrt_publisher_fini(publishers[i]) : RCLRT_OK;
    ret = ret == RCLRT_OK ? one : ret;
  }
  server->type = NULL;
  return ret;
}

enum rclrt_ret rclrt_action_server_init(
  struct rclrt_action_server * server, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, const struct rclrt_action_type * type,
  const struct rclrt_action_names * names, const struct rclrt_action_server_config * config)
{
  if (server == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(server, 0, sizeof(*server)); /* whatever the storage held */
  enum rclrt_ret ret = action_check(executor, type, names);
  ret = ret == RCLRT_OK ? check_config(config) : ret;
  if (ret != RCLRT_OK) {
    return ret;
  }
  server->type = type;
  server->config = *config;
  server->config.keep_ns = config->keep_ns == 0 ? KEEP_NS : config->keep_ns;
  server->request.find = find_place;
  for (uint8_t i = 0; i < config->goal_count; ++i) {
    config->goals[i].status = RCLRT_GOAL_UNKNOWN;
    config->goals[i].owes_acceptance = false;
    config->goals[i].reported = false;
  }
  ret = make(server, node, executor, names);
  if (ret != RCLRT_OK) {
    (void)take_down(server);
  }
  return ret;
}

enum rclrt_ret rclrt_action_server_fini(struct rclrt_action_server * server)
{
  return server == NULL || server->type == NULL ? RCLRT_ERR_ARGUMENT : take_down(server);
}

static bool usable(const struct rclrt_goal * goal)
{
  return goal != NULL && goal->server != NULL && goal->server->type != NULL;
}

enum rclrt_ret rclrt_goal_begin(struct rclrt_goal * goal)
{
  if (!usable(goal)) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (goal->status != RCLRT_GOAL_ACCEPTED) {
    return RCLRT_ERR_STATE;
  }
  set_status(goal, RCLRT_GOAL_EXECUTING);
  action_settle(&goal->server->owed);
  return RCLRT_OK;
}

enum rclrt_ret rclrt_goal_feedback(struct rclrt_goal * goal, const void * feedback)
{
  if (!usable(goal) || feedback == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (!is_active(goal)) {
    return RCLRT_ERR_STATE;
  }
  struct rclrt_action_message message = {0};
  message.type = goal->server->type->feedback;
  message.from = feedback;
  memcpy(message.id, goal->id, sizeof(message.id));
  return rclrt_publish(&goal->server->feedback, &message);
}

enum rclrt_ret rclrt_goal_finish(struct rclrt_goal * goal, enum rclrt_goal_status status)
{
  if (!usable(goal) || status < RCLRT_GOAL_SUCCEEDED || status > RCLRT_GOAL_ABORTED) {
    return RCLRT_ERR_ARGUMENT;
  }
  const bool cancels = goal->status == RCLRT_GOAL_CANCELING;
  if (!cancels && (status == RCLRT_GOAL_CANCELED || goal->status != RCLRT_GOAL_EXECUTING)) {
    return RCLRT_ERR_STATE;
  }
  set_status(goal, status);
  goal->finished_ns = now_of(goal->server);
  action_settle(&goal->server->owed);
  return RCLRT_OK;
}
