/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ends of the action /fibonacci on this machine, for tests:
 *
 *   agent_test_actions server PORT
 *   agent_test_actions client PORT ORDER [cancel]
 *
 * The server gives one number more each 20 ms as feedback, up to ORDER or until it is cancelled, and refuses
 * an ORDER below 0. The client sends one goal, with `cancel` cancels it after the first feedback, prints what it
 * hears, and ends with the result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rclrt_micro/action.h"
#include "rclrt_micro/posix.h"
#include "rclrt_micro/system.h"
#include "test_msgs.h"

#define GOALS 3
#define RESULT test_msgs__action__Fibonacci_Result
#define FEEDBACK test_msgs__action__Fibonacci_Feedback
#define GOAL test_msgs__action__Fibonacci_Goal

RCLRT_SYSTEM_WITH(
  client, message_bytes = 512, messages = 24, frames = 64, ring_bytes = 8192, timers = 2,
  long_bytes = 512, levels = 1, polled = 1);

static const struct rclrt_action_names names = RCLRT_ACTION_NAMES("fibonacci");
static const struct rclrt_action_type * const type = &test_msgs__action__Fibonacci__type;
static bool over;

#define TRY(call)                                                        \
  do {                                                                   \
    const enum rclrt_ret try_ret = (call);                               \
    if (try_ret != RCLRT_OK) {                                           \
      (void)fprintf(stderr, "%s: %s\n", #call, rclrt_ret_text(try_ret)); \
      exit(1);                                                           \
    }                                                                    \
  } while (false)

static void say(const char * what, long number)
{
  (void)printf("%s %ld\n", what, number);
  (void)fflush(stdout);
}

/* ---- Server */

static struct rclrt_action_server server;
static struct rclrt_goal goals[GOALS];
static struct GOAL requests[GOALS];
static struct RESULT results[GOALS];

static enum rclrt_goal_answer on_goal(void * context, struct rclrt_goal * goal)
{
  (void)context;
  const int32_t order = ((const struct GOAL *)goal->request)->order;
  ((struct RESULT *)goal->result)->sequence.size = 0;
  return order < 0 ? RCLRT_GOAL_REFUSE : RCLRT_GOAL_EXECUTE;
}

static bool on_cancel(void * context, struct rclrt_goal * goal)
{
  (void)context, (void)goal;
  return true;
}

static void next_number(struct rclrt_goal * goal)
{
  const int32_t order = ((const struct GOAL *)goal->request)->order;
  struct RESULT * result = goal->result;
  const uint32_t size = result->sequence.size;
  if (goal->status == RCLRT_GOAL_CANCELING) {
    TRY(rclrt_goal_finish(goal, RCLRT_GOAL_CANCELED));
  } else if (size >= (uint32_t)order || size >= 64U) {
    TRY(rclrt_goal_finish(goal, RCLRT_GOAL_SUCCEEDED));
  } else {
    int32_t * data = result->sequence.data;
    data[size] = size < 2 ? (int32_t)size : data[size - 1] + data[size - 2];
    result->sequence.size = size + 1;
    struct FEEDBACK feedback = {{0, {0}}};
    feedback.sequence.size = size + 1;
    memcpy(feedback.sequence.data, data, (size + 1) * sizeof(data[0]));
    TRY(rclrt_goal_feedback(goal, &feedback));
  }
}

static void on_timer(void * context, struct rclrt_timer * timer)
{
  (void)context, (void)timer;
  for (unsigned i = 0; i < GOALS; ++i) {
    if (goals[i].status == RCLRT_GOAL_EXECUTING || goals[i].status == RCLRT_GOAL_CANCELING) {
      next_number(&goals[i]);
    }
  }
}

static void serve(void)
{
  static struct rclrt_timer timer;
  struct rclrt_action_server_config config = {0};
  for (unsigned i = 0; i < GOALS; ++i) {
    goals[i].request = &requests[i];
    goals[i].result = &results[i];
  }
  config.goals = goals;
  config.goal_count = GOALS;
  config.priority = 2;
  config.on_goal = on_goal;
  config.on_cancel = on_cancel;
  TRY(rclrt_action_server_init(&server, client->node, client->executor, type, &names, &config));
  TRY(rclrt_executor_add_timer(client->executor, &timer, RCLRT_MS(20), 1, on_timer, NULL));
}

/* ---- Client */

static struct rclrt_action_client asker;
static struct rclrt_client_goal goal;
static struct FEEDBACK got_feedback;
static struct RESULT got_result;
static bool cancels;

static void on_response(void * context, struct rclrt_client_goal * of, bool accepted)
{
  (void)context, (void)of;
  say("accepted", accepted ? 1 : 0);
  over = !accepted;
}

static void on_feedback(void * context, struct rclrt_client_goal * of, const void * message)
{
  (void)context, (void)message;
  say("feedback", (long)got_feedback.sequence.size);
  if (cancels) {
    cancels = false;
    TRY(rclrt_action_cancel_goal(of));
  }
}

static void on_result(
  void * context, struct rclrt_client_goal * of, enum rclrt_goal_status status,
  const void * message)
{
  (void)context, (void)of, (void)message;
  say("result", (long)status);
  for (uint32_t i = 0; i < got_result.sequence.size; ++i) {
    say("number", (long)got_result.sequence.data[i]);
  }
  over = true;
}

static void on_cancelled(void * context, struct rclrt_client_goal * of, enum rclrt_cancel_code code)
{
  (void)context, (void)of;
  say("cancel", (long)code);
}

static void ask(void)
{
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  struct rclrt_action_client_config config = {0};
  config.priority = 2;
  config.random = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
  config.feedback = &got_feedback;
  config.result = &got_result;
  config.on_response = on_response;
  config.on_feedback = on_feedback;
  config.on_result = on_result;
  config.on_cancel = on_cancelled;
  TRY(rclrt_action_client_init(&asker, client->node, client->executor, type, &names, &config));
}

int main(int argc, char ** argv)
{
  static struct rclrt_posix line;
  const bool serves = argc == 3 && strcmp(argv[1], "server") == 0;
  if (!serves && (argc < 4 || strcmp(argv[1], "client") != 0)) {
    (void)fprintf(stderr, "usage: %s server PORT | client PORT ORDER [cancel]\n", argv[0]);
    return 2;
  }
  TRY(rclrt_posix_start_udp(
    &line, client, "127.0.0.1", (uint16_t)atoi(argv[2]), serves ? 0x20U : 0x21U,
    serves ? "action_server" : "action_client", RCLRT_S(20)));
  client->session->answer_timeout_ns = RCLRT_S(20);
  (void)(serves ? serve : ask)();
  say("ready", 0);
  if (!serves) {
    /* A goal goes when the test says so: when both ends have found each other. */
    char go[8];
    if (fgets(go, sizeof(go), stdin) == NULL) {
      return 1;
    }
    const struct GOAL wanted = {(int32_t)atoi(argv[3])};
    cancels = argc > 4;
    TRY(rclrt_action_send_goal(&asker, &goal, &wanted));
  }
  while (!over) {
    const enum rclrt_ret ret = rclrt_executor_spin_some(client->executor, RCLRT_MS(100));
    if (ret != RCLRT_OK && ret != RCLRT_ERR_TIMEOUT) {
      TRY(ret);
    }
  }
  return 0;
}
