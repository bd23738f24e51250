/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of a node, as ROS knows them: `ros2 param list`, `get`, `set`, `describe`, `dump`.
 *
 * The table is the caller's: which parameters there are, their types and what they hold. Nothing is
 * declared or deleted while it runs. Optional: a program that does not use it does not link it.
 *
 * Services: get_parameters, get_parameter_types, set_parameters, set_parameters_atomically,
 * describe_parameters, list_parameters; all callbacks have one priority. Nothing is published on
 * /parameter_events. A request names at most RCLRT_PARAMETERS_AT_ONCE parameters, or the whole
 * request is refused (`undecodable`). Requests longer than a frame need storage:
 * rclrt_service_accept_long(&parameters->services[i].end, ...). An answer longer than a frame goes
 * in fragments, if it fits the session's buffer; otherwise it is not sent (`unsent`).
 *
 * The six share one request, so the executor must not have LET semantics, and its level runs them
 * one after the other. Linear in the parameters for each name in a request; without waiting or
 * allocation.
 */
#pragma once

#include "rclrt_micro/client.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RCLRT_PARAMETERS_AT_ONCE
#define RCLRT_PARAMETERS_AT_ONCE 8U
#endif
/* Longest text that may be given to a parameter, with its zero. */
#ifndef RCLRT_PARAMETER_TEXT
#define RCLRT_PARAMETER_TEXT 64U
#endif
/* Longest name, with its zero. */
#define RCLRT_PARAMETER_NAME 64U

enum rclrt_parameter_type /* numbers of rcl_interfaces/ParameterType */
{
  RCLRT_PARAMETER_NOT_SET,
  RCLRT_PARAMETER_BOOL,
  RCLRT_PARAMETER_INTEGER,
  RCLRT_PARAMETER_DOUBLE,
  RCLRT_PARAMETER_STRING,
};

union rclrt_parameter_value
{
  bool boolean;
  int64_t integer;
  double real;
  struct rclrt_string string; /* the caller's storage */
};

struct rclrt_parameter
{
  const char * name;
  const char * description; /* or null */
  uint8_t type;             /* enum rclrt_parameter_type */
  bool read_only;
  union rclrt_parameter_value value;
  int64_t from, to; /* of an integer, both inclusive; no limits if both are 0 */
};

/* A new value for one parameter, before it is taken over. A string's `text` is valid during the call. */
struct rclrt_parameter_change
{
  struct rclrt_parameter * parameter; /* null: there is none of this name */
  uint8_t type;                       /* as it came: enum rclrt_parameter_type, or more */
  union rclrt_parameter_value value;
  const char * refused; /* why; null: it is taken over */
};

struct rclrt_parameters
{
  struct rclrt_parameter * table;
  uint16_t count;
  /* May be null. Asked for each change that fits its parameter; returns why it is refused, or null. It
   * may look at the other parameters, which are as they were. */
  const char * (*may_change)(
    void * context, const struct rclrt_parameter * parameter,
    const union rclrt_parameter_value * value);
  /* May be null. Called after a parameter has got its new value. */
  void (*on_change)(void * context, const struct rclrt_parameter * parameter);
  void * context;

  struct rclrt_service services[6];
  struct rclrt_parameter_request
  {
    struct rclrt_parameters * of;
    uint16_t count;
    struct rclrt_parameter_change changes[RCLRT_PARAMETERS_AT_ONCE];
    char texts[RCLRT_PARAMETERS_AT_ONCE][RCLRT_PARAMETER_TEXT];
    char name[RCLRT_PARAMETER_NAME];
    uint64_t depth;
    /* For the list: prefixes that were asked for. */
    char prefixes[2][RCLRT_PARAMETER_NAME];
  } request;
};

/* Makes the six services and adds them to `executor`. `table` stays the caller's, and is read and
 * written by the callbacks: programs with preemption levels read it at that priority, or above their
 * own. Set `may_change`, `on_change` and `context` afterwards. Errors: ARGUMENT (also: a parameter
 * without name, or with another type than the four), UNSUPPORTED (LET), those of rclrt_service_init().
 * After an error nothing is left of it. */
enum rclrt_ret rclrt_parameters_init(
  struct rclrt_parameters * parameters, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, struct rclrt_parameter * table, uint16_t count,
  uint8_t priority);
enum rclrt_ret rclrt_parameters_fini(struct rclrt_parameters * parameters);

/* Messages for people, on /rosout: `ros2 topic echo /rosout`, rqt_console. Not linked if not used. */
enum rclrt_log_level /* numbers of rcl_interfaces/Log */
{
  RCLRT_LOG_DEBUG = 10,
  RCLRT_LOG_INFO = 20,
  RCLRT_LOG_WARN = 30,
  RCLRT_LOG_ERROR = 40,
  RCLRT_LOG_FATAL = 50,
};

struct rclrt_rosout
{
  struct rclrt_publisher publisher;
  const char * node;
  uint8_t least; /* less urgent ones are not sent; RCLRT_LOG_INFO */
  uint32_t lost; /* for which there was no room */
};

/* Errors: those of rclrt_publisher_init(). */
enum rclrt_ret rclrt_rosout_init(
  struct rclrt_rosout * rosout, struct rclrt_node_handle * node, uint8_t priority);
enum rclrt_ret rclrt_rosout_fini(struct rclrt_rosout * rosout);
/* From any callback; never waits. The time is the agent's after rclrt_session_synchronize(), before
 * that the board's. What finds no room is lost and counted, and an error is returned as well: those of
 * rclrt_publish(). */
enum rclrt_ret rclrt_log(
  struct rclrt_rosout * rosout, enum rclrt_log_level level, const char * text, const char * file,
  const char * function, uint32_t line);

/* RCLRT_LOG(&rosout, WARN, "too hot"): with the place where it stands. */
#define RCLRT_LOG(rosout, level, text) \
  rclrt_log(rosout, RCLRT_LOG_##level, text, __FILE__, __func__, __LINE__)

#ifdef __cplusplus
}
#endif
