/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The end of an action that has goals executed.
 */
#include <string.h>

#include "action_internal.h"

enum state
{
  IDLE,
  ASKED,    /* the goal was sent */
  ACCEPTED, /* and the result is still to be asked for */
  WAITING,  /* for the result */
};

static void take_out(struct rclrt_client_goal * goal)
{
  struct rclrt_client_goal ** at = &goal->client->goals;
  while (*at != NULL && *at != goal) {
    at = &(*at)->next;
  }
  if (*at == goal) {
    *at = goal->next;
  }
  goal->state = IDLE;
}

static struct rclrt_client_goal * with_number(
  const struct rclrt_action_client * client, enum state state, uint16_t number)
{
  struct rclrt_client_goal * goal = client->goals;
  while (goal != NULL && (goal->state != state || goal->number != number)) {
    goal = goal->next;
  }
  return goal;
}

/* ---- What is sent */

static bool ask_for_result(struct rclrt_client_goal * goal)
{
  struct rclrt_action_message message = {0};
  memcpy(message.id, goal->id, sizeof(message.id));
  goal->state = WAITING; /* before: the response may come at any time */
  if (rclrt_client_request(&goal->client->get_result, &message, &goal->number) != RCLRT_OK) {
    goal->state = ACCEPTED;
    return false;
  }
  return true;
}

static bool settle(void * end)
{
  const struct rclrt_action_client * client = end;
  bool settled = true;
  for (struct rclrt_client_goal * goal = client->goals; goal != NULL; goal = goal->next) {
    settled = (goal->state != ACCEPTED || ask_for_result(goal)) && settled;
  }
  return settled;
}

static void write_cancel(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_action_message * of = message;
  action_write_info(writer, of->id, 0); /* no time: this goal alone */
}

static void read_cancelled(void * message, struct rclrt_reader * reader)
{
  struct rclrt_action_message * of = message;
  of->status = rclrt_read_u8(reader);
  (void)rclrt_read_count(reader, UINT16_MAX, RCLRT_GOAL_ID + 8U); /* which is known */
}

static const struct rclrt_type cancel_types[2] = {
  {"action_msgs::srv::dds_::CancelGoal_Request_", write_cancel, NULL},
  {"action_msgs::srv::dds_::CancelGoal_Response_", NULL, read_cancelled}};

/* ---- What comes */

static void on_response(void * context, const void * response, uint16_t number)
{
  struct rclrt_action_client * client = context;
  const struct rclrt_action_message * message = response;
  struct rclrt_client_goal * goal = with_number(client, ASKED, number);
  if (goal == NULL) {
    return;
  }
  const bool accepted = message->accepted;
  if (accepted) {
    goal->state = ACCEPTED;
  } else {
    take_out(goal);
  }
  if (client->config.on_response != NULL) {
    client->config.on_response(client->config.context, goal, accepted);
  }
  action_settle(&client->owed);
}

static void on_result(void * context, const void * response, uint16_t number)
{
  struct rclrt_action_client * client = context;
  const struct rclrt_action_message * message = response;
  struct rclrt_client_goal * goal = with_number(client, WAITING, number);
  if (goal == NULL) {
    return;
  }
  take_out(goal);
  if (client->config.on_result != NULL) {
    const enum rclrt_goal_status status = message->status > RCLRT_GOAL_ABORTED
                                            ? RCLRT_GOAL_UNKNOWN
                                            : (enum rclrt_goal_status)message->status;
    client->config.on_result(client->config.context, goal, status, client->config.result);
  }
}

static void on_cancelled(void * context, const void * response, uint16_t number)
{
  struct rclrt_action_client * client = context;
  const struct rclrt_action_message * message = response;
  struct rclrt_client_goal * goal = client->goals;
  while (goal != NULL && goal->cancel_number != number) {
    goal = goal->next;
  }
  if (goal != NULL) {
    goal->cancel_number = 0;
    if (client->config.on_cancel != NULL) {
      client->config.on_cancel(
        client->config.context, goal, (enum rclrt_cancel_code)message->status);
    }
  }
}

/* Feedback for goals of others comes, too. */
static void find_feedback(struct rclrt_action_message * message)
{
  struct rclrt_action_client * client =
    RCLRT_CONTAINER_OF(message, struct rclrt_action_client, message);
  struct rclrt_client_goal * goal = client->goals;
  while (goal != NULL && !action_same_id(goal->id, message->id)) {
    goal = goal->next;
  }
  client->of_feedback = goal;
  message->to = goal == NULL ? NULL : client->config.feedback;
}

static void on_feedback(void * context, const void * message)
{
  struct rclrt_action_client * client = context;
  (void)message;
  if (client->of_feedback != NULL && client->config.on_feedback != NULL) {
    client->config.on_feedback(
      client->config.context, client->of_feedback, client->config.feedback);
  }
}

/* ---- The program's side */

static enum rclrt_ret make_client(
  struct rclrt_action_client * client, struct rclrt_client * of, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, const char * name, const struct rclrt_type * types,
  struct rclrt_action_message * response,
  void (*run)(void * context, const void * response, uint16_t number))
{
  const uint8_t priority = client->config.priority;
  const enum rclrt_ret ret = rclrt_client_init(of, node, &types[0], &types[1], name, priority);
  return ret != RCLRT_OK ? ret
                         : rclrt_executor_add_client(executor, of, response, run, client, priority);
}

static enum rclrt_ret make(
  struct rclrt_action_client * client, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, const struct rclrt_action_names * names)
{
  const struct rclrt_action_type * type = client->type;
  const uint8_t priority = client->config.priority;
  enum rclrt_ret ret = action_init_owed(&client->owed, executor, priority, settle, client);
  if (ret == RCLRT_OK) {
    ret = rclrt_subscription_init(
      &client->feedback, node, &type->feedback_message, names->feedback, rclrt_qos_reliable());
  }
  if (ret == RCLRT_OK) {
    ret = rclrt_executor_add_subscription(
      executor, &client->feedback, &client->message, on_feedback, client, priority,
      RCLRT_ON_NEW_DATA);
  }
  if (ret == RCLRT_OK) {
    ret = make_client(
      client, &client->send_goal, node, executor, names->send_goal, &type->goal_request,
      &client->response, on_response);
  }
  if (ret == RCLRT_OK) {
    ret = make_client(
      client, &client->cancel_goal, node, executor, names->cancel_goal, cancel_types,
      &client->response, on_cancelled);
  }
  if (ret == RCLRT_OK) {
    ret = make_client(
      client, &client->get_result, node, executor, names->get_result, &type->result_request,
      &client->response, on_result);
  }
  return ret;
}

/* The first error. What was not made is passed over. */
static enum rclrt_ret take_down(struct rclrt_action_client * client)
{
  struct rclrt_client * const clients[3] = {
    &client->send_goal, &client->cancel_goal, &client->get_result};
  enum rclrt_ret ret = RCLRT_OK;
  for (unsigned i = 0; i < 3; ++i) {
    const bool made = clients[i]->end.session != NULL;
    const enum rclrt_ret one = made ? rclrt_client_fini(clients[i]) : RCLRT_OK;
    ret = ret == RCLRT_OK ? one : ret;
  }
  if (client->owed.timer.callback.executor != NULL) {
    rclrt_timer_cancel(&client->owed.timer);
  }
  if (client->feedback.session != NULL) {
    const enum rclrt_ret one = rclrt_subscription_fini(&client->feedback);
    ret = ret == RCLRT_OK ? one : ret;
  }
  while (client->goals != NULL) {
    take_out(client->goals);
  }
  client->type = NULL;
  return ret;
}

enum rclrt_ret rclrt_action_client_init(
  struct rclrt_action_client * client, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, const struct rclrt_action_type * type,
  const struct rclrt_action_names * names, const struct rclrt_action_client_config * config)
{
  if (client == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(client, 0, sizeof(*client)); /* whatever the storage held */
  enum rclrt_ret ret = action_check(executor, type, names);
  if (ret == RCLRT_OK && (config == NULL || config->feedback == NULL || config->result == NULL)) {
    ret = RCLRT_ERR_ARGUMENT;
  }
  if (ret != RCLRT_OK) {
    return ret;
  }
  client->type = type;
  client->config = *config;
  client->message.type = type->feedback;
  client->message.find = find_feedback;
  client->response.type = type->result;
  client->response.to = config->result;
  ret = make(client, node, executor, names);
  if (ret != RCLRT_OK) {
    (void)take_down(client);
  }
  return ret;
}

enum rclrt_ret rclrt_action_client_fini(struct rclrt_action_client * client)
{
  return client == NULL || client->type == NULL ? RCLRT_ERR_ARGUMENT : take_down(client);
}

static bool is_under_way(
  const struct rclrt_action_client * client, const struct rclrt_client_goal * goal)
{
  const struct rclrt_client_goal * at = client->goals;
  while (at != NULL && at != goal) {
    at = at->next;
  }
  return at != NULL;
}

enum rclrt_ret rclrt_action_send_goal(
  struct rclrt_action_client * client, struct rclrt_client_goal * goal, const void * message)
{
  if (
    client == NULL || client->type == NULL || goal == NULL || message == NULL ||
    is_under_way(client, goal)) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint32_t number = client->next++;
  memcpy(&goal->id[0], &client->config.random, sizeof(client->config.random));
  memcpy(&goal->id[8], client->feedback.session->key, 4);
  memcpy(&goal->id[12], &number, sizeof(number));
  struct rclrt_action_message request = {0};
  request.type = client->type->goal;
  request.from = message;
  memcpy(request.id, goal->id, sizeof(request.id));
  goal->client = client;
  goal->cancel_number = 0;
  goal->state = ASKED; /* before: the response may come at any time */
  goal->next = client->goals;
  client->goals = goal;
  const enum rclrt_ret ret = rclrt_client_request(&client->send_goal, &request, &goal->number);
  if (ret != RCLRT_OK) {
    take_out(goal);
  }
  return ret;
}

static bool usable(const struct rclrt_client_goal * goal)
{
  return goal != NULL && goal->client != NULL && goal->client->type != NULL &&
         is_under_way(goal->client, goal);
}

enum rclrt_ret rclrt_action_cancel_goal(struct rclrt_client_goal * goal)
{
  if (!usable(goal)) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_action_message request = {0};
  memcpy(request.id, goal->id, sizeof(request.id));
  return rclrt_client_request(&goal->client->cancel_goal, &request, &goal->cancel_number);
}

enum rclrt_ret rclrt_action_forget(struct rclrt_client_goal * goal)
{
  if (!usable(goal)) {
    return RCLRT_ERR_ARGUMENT;
  }
  take_out(goal);
  return RCLRT_OK;
}
