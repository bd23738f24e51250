/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Actions as ROS knows them: goals that take their time, with feedback, a result, and cancelling. Both
 * ends, on services and topics. Optional: a program links the end that it uses.
 *
 * An action is three services and two topics below its name: `_action/send_goal`, `cancel_goal`,
 * `get_result`, `feedback`, `status`. All callbacks of one end have one priority, and functions on
 * its goals are called by callbacks of that priority's level (without levels: by any callback). None
 * of them waits; what finds no room on the line is kept, and sent by a timer (one of the executor's
 * `timers`) 10 ms later. The executor must not have LET semantics. Linear in the goals.
 *
 * Time stamps are the agent's after rclrt_session_synchronize(), before that the board's.
 */
#pragma once

#include "rclrt_micro/client.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RCLRT_GOAL_ID 16U
/* Requests for the result of one goal that wait for its end; one more takes the place of the oldest. */
#define RCLRT_GOAL_ASKERS 2U

enum rclrt_goal_status /* numbers of action_msgs/GoalStatus */
{
  RCLRT_GOAL_UNKNOWN,
  RCLRT_GOAL_ACCEPTED,
  RCLRT_GOAL_EXECUTING,
  RCLRT_GOAL_CANCELING,
  RCLRT_GOAL_SUCCEEDED,
  RCLRT_GOAL_CANCELED,
  RCLRT_GOAL_ABORTED,
};

enum rclrt_cancel_code /* numbers of action_msgs/CancelGoal */
{
  RCLRT_CANCEL_NONE,
  RCLRT_CANCEL_REJECTED,
  RCLRT_CANCEL_UNKNOWN_GOAL,
  RCLRT_CANCEL_GOAL_TERMINATED,
};

/* Names, in flash: static const struct rclrt_action_names names = RCLRT_ACTION_NAMES("fibonacci"); */
struct rclrt_action_names
{
  const char * send_goal;
  const char * cancel_goal;
  const char * get_result;
  const char * feedback;
  const char * status;
};
#define RCLRT_ACTION_NAMES(name)                                                       \
  {name "/_action/send_goal", name "/_action/cancel_goal", name "/_action/get_result", \
   name "/_action/feedback", name "/_action/status"}

/* The types on the wire, and of what you write and read. generate_messages.py makes it from a .action
 * file, `my_msgs__action__Fibonacci__type`; by hand it is RCLRT_ACTION_TYPE("my_msgs", "Fibonacci", &goal,
 * &result, &feedback). */
struct rclrt_action_type
{
  struct rclrt_type goal_request, goal_response, result_request, result_response, feedback_message;
  const struct rclrt_type * goal;
  const struct rclrt_type * result;
  const struct rclrt_type * feedback;
};
#define RCLRT_ACTION_TYPE(package, name, goal_type, result_type, feedback_type)           \
  {{package "::action::dds_::" name "_SendGoal_Request_", rclrt_action_write_body,        \
    rclrt_action_read_body},                                                              \
   {package "::action::dds_::" name "_SendGoal_Response_", rclrt_action_write_acceptance, \
    rclrt_action_read_acceptance},                                                        \
   {package "::action::dds_::" name "_GetResult_Request_", rclrt_action_write_id,         \
    rclrt_action_read_id},                                                                \
   {package "::action::dds_::" name "_GetResult_Response_", rclrt_action_write_result,    \
    rclrt_action_read_result},                                                            \
   {package "::action::dds_::" name "_FeedbackMessage_", rclrt_action_write_body,         \
    rclrt_action_read_body},                                                              \
   goal_type,                                                                             \
   result_type,                                                                           \
   feedback_type}

/* For the library: what is around a goal, a result or feedback. */
struct rclrt_action_message
{
  const struct rclrt_type * type; /* of the body */
  const void * from;              /* the body, to write */
  void * to;                      /* where it is read to; null: it is not wanted */
  void (*find)(struct rclrt_action_message * message); /* sets `to` when the id is known */
  uint8_t id[RCLRT_GOAL_ID];
  int64_t stamp_ns;
  uint8_t status; /* enum rclrt_goal_status, or enum rclrt_cancel_code */
  bool accepted;
};
void rclrt_action_write_body(const void * message, struct rclrt_writer * writer);
void rclrt_action_read_body(void * message, struct rclrt_reader * reader);
void rclrt_action_write_acceptance(const void * message, struct rclrt_writer * writer);
void rclrt_action_read_acceptance(void * message, struct rclrt_reader * reader);
void rclrt_action_write_id(const void * message, struct rclrt_writer * writer);
void rclrt_action_read_id(void * message, struct rclrt_reader * reader);
void rclrt_action_write_result(const void * message, struct rclrt_writer * writer);
void rclrt_action_read_result(void * message, struct rclrt_reader * reader);

/* What an end could not send is sent when the timer expires. */
struct rclrt_action_owed
{
  struct rclrt_timer timer;
  bool (*settle)(void * end); /* sends what is owed; false: some still is */
  void * end;
};

/* ---- Server */

struct rclrt_action_server;

/* A goal of a server. Fill in the first three; all else is zero at first. */
struct rclrt_goal
{
  void * request; /* storage of the goal's message: when on_goal is called, it is there */
  void * result;  /* storage of its result, which you write before rclrt_goal_finish() */
  void * context; /* yours */

  struct rclrt_action_server * server;
  uint8_t id[RCLRT_GOAL_ID];
  uint8_t status; /* enum rclrt_goal_status */
  bool owes_acceptance;
  bool fetched; /* its result was sent */
  bool reported;
  uint8_t asker_count;
  struct rclrt_request_id asker; /* the client that has sent the goal */
  struct rclrt_request_id askers[RCLRT_GOAL_ASKERS];
  int64_t accepted_ns;
  uint64_t finished_ns;
};

enum rclrt_goal_answer
{
  RCLRT_GOAL_REFUSE,
  RCLRT_GOAL_EXECUTE, /* it is being executed from now on */
  RCLRT_GOAL_DEFER,   /* later: rclrt_goal_begin() */
};

struct rclrt_action_server_config
{
  struct rclrt_goal * goals; /* as many as there may be at once */
  uint8_t goal_count;
  uint8_t priority;
  /* How long the result of a finished goal is kept if nobody has asked for it; 0: 10 s. Then, or when
   * it was sent, a new goal may take its place. If there is no place, goals are refused. */
  uint64_t keep_ns;
  enum rclrt_goal_answer (*on_goal)(void * context, struct rclrt_goal * goal);
  /* Returns whether the goal may be cancelled; if so, finish it as soon as you can. Null: it may not. */
  bool (*on_cancel)(void * context, struct rclrt_goal * goal);
  void * context;
};

struct rclrt_action_server
{
  struct rclrt_service send_goal, cancel_goal, get_result;
  struct rclrt_publisher feedback, status;
  struct rclrt_action_owed owed;
  const struct rclrt_action_type * type;
  struct rclrt_action_server_config config;
  struct rclrt_goal * candidate; /* where the goal that is being read goes */
  struct rclrt_action_message request;
  uint32_t forgotten; /* requests for results whose place was taken */
  bool owes_status;
};

/* Makes the services and topics and adds them to `executor`. `type` and `names` stay. Errors: ARGUMENT,
 * UNSUPPORTED (LET), STORAGE (a timer, streams), those of rclrt_service_init(). After an error nothing is
 * left of it. */
enum rclrt_ret rclrt_action_server_init(
  struct rclrt_action_server * server, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, const struct rclrt_action_type * type,
  const struct rclrt_action_names * names, const struct rclrt_action_server_config * config);
enum rclrt_ret rclrt_action_server_fini(struct rclrt_action_server * server);
/* A goal that was deferred is being executed. Errors: ARGUMENT, STATE (not accepted, or no longer). */
enum rclrt_ret rclrt_goal_begin(struct rclrt_goal * goal);
/* Errors: ARGUMENT, STATE (it is not active), those of rclrt_publish(): then it was not sent. */
enum rclrt_ret rclrt_goal_feedback(struct rclrt_goal * goal, const void * feedback);
/* `status`: SUCCEEDED or ABORTED of a goal that is executed or being cancelled, CANCELED of one that is
 * being cancelled. goal->result is sent to the client that asks for it; leave it and goal->request alone until
 * on_goal is called with the goal again. Errors: ARGUMENT, STATE. */
enum rclrt_ret rclrt_goal_finish(struct rclrt_goal * goal, enum rclrt_goal_status status);

/* ---- Client */

struct rclrt_action_client;

/* A goal of a client: storage while it is under way, from rclrt_action_send_goal() until it was refused,
 * its result came, or rclrt_action_forget(). */
struct rclrt_client_goal
{
  void * context; /* yours */

  struct rclrt_client_goal * next;
  struct rclrt_action_client * client;
  uint8_t id[RCLRT_GOAL_ID];
  uint8_t state;                  /* of the library */
  uint16_t number, cancel_number; /* of requests under way */
};

struct rclrt_action_client_config
{
  uint8_t priority;
  uint64_t random; /* another one at each start: goals are told apart by it */
  void * feedback; /* storage of one message */
  void * result;   /* storage of one result */
  /* Any may be null. After on_response with false, and after on_result, `goal` may be used again. */
  void (*on_response)(void * context, struct rclrt_client_goal * goal, bool accepted);
  void (*on_feedback)(void * context, struct rclrt_client_goal * goal, const void * feedback);
  void (*on_result)(
    void * context, struct rclrt_client_goal * goal, enum rclrt_goal_status status,
    const void * result);
  void (*on_cancel)(void * context, struct rclrt_client_goal * goal, enum rclrt_cancel_code code);
  void * context;
};

/* Reads feedback and results; of the status topic it has no need. */
struct rclrt_action_client
{
  struct rclrt_client send_goal, cancel_goal, get_result;
  struct rclrt_subscription feedback;
  struct rclrt_action_owed owed;
  const struct rclrt_action_type * type;
  struct rclrt_action_client_config config;
  struct rclrt_client_goal * goals;
  struct rclrt_client_goal * of_feedback;
  struct rclrt_action_message message;  /* of the feedback */
  struct rclrt_action_message response; /* of the three services */
  uint32_t next;
};

/* As the server. For a server that may never answer: rclrt_client_set_timeout(&client->send_goal, ...),
 * and rclrt_action_forget(). */
enum rclrt_ret rclrt_action_client_init(
  struct rclrt_action_client * client, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, const struct rclrt_action_type * type,
  const struct rclrt_action_names * names, const struct rclrt_action_client_config * config);
enum rclrt_ret rclrt_action_client_fini(struct rclrt_action_client * client);
/* Errors: ARGUMENT (also: `goal` is under way), those of rclrt_client_request(): then it was not sent. */
enum rclrt_ret rclrt_action_send_goal(
  struct rclrt_action_client * client, struct rclrt_client_goal * goal, const void * message);
/* Asks the server to cancel it: on_cancel gets the answer, on_result the end. Errors as above. */
enum rclrt_ret rclrt_action_cancel_goal(struct rclrt_client_goal * goal);
/* No callback comes for it any more; the server is not told. Errors: ARGUMENT (it is not under way). */
enum rclrt_ret rclrt_action_forget(struct rclrt_client_goal * goal);

#ifdef __cplusplus
}
#endif
