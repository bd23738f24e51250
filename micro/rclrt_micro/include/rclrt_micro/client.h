/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes, publishers, subscriptions, services and clients, in the shape that users of rclc know.
 *
 * All storage is the caller's. _init functions accept it whatever it holds; all others refuse an
 * object that is zero. Names and types are the caller's texts and must stay. A name is that of ROS:
 * "chatter" is in the namespace of its node, "/add" is not, and "~/state" is below the node's own name.
 * The name in DDS is derived from it. Functions called _init ask the agent and
 * wait for it; rclrt_publish() and the like never wait (but see rclrt_publisher_set_blocking()).
 */
#pragma once

#include "rclrt_micro/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A message type: its DDS name, "std_msgs::msg::dds_::Int32_", and how its fields are written and
 * read. decode() sets `reader->failed` if it cannot accept the message. */
struct rclrt_type
{
  const char * name;
  void (*encode)(const void * message, struct rclrt_writer * writer);
  void (*decode)(void * message, struct rclrt_reader * reader);
};

static inline struct rclrt_qos rclrt_qos_reliable(void)
{
  const struct rclrt_qos qos = {true, false, 10};
  return qos;
}

static inline struct rclrt_qos rclrt_qos_best_effort(void)
{
  const struct rclrt_qos qos = {false, false, 10};
  return qos;
}

/* With another depth than 10: how many messages the agent's side keeps for a reader. What comes from ROS
 * faster than the line takes it is lost there beyond the depth, also if it is reliable, and nobody counts
 * it: reliable on this line means that what the agent has taken arrives. */
static inline struct rclrt_qos rclrt_qos_depth(struct rclrt_qos qos, uint16_t depth)
{
  qos.depth = depth;
  return qos;
}

struct rclrt_node_handle
{
  struct rclrt_session * session;
  struct rclrt_entity participant;
  struct rclrt_naming naming;
};

struct rclrt_publisher
{
  struct rclrt_output_stream own_stream;
  struct rclrt_session * session;
  const struct rclrt_type * type;
  struct rclrt_entity writer;          /* and its topic and publisher */
  struct rclrt_output_stream * stream; /* own, or in paper mode the session's */
  uint8_t priority;                    /* of its messages on the line */
  enum rclrt_ret (*wait)(struct rclrt_publisher * publisher); /* blocking; else null */
};

struct rclrt_subscription
{
  struct rclrt_callback callback;
  struct rclrt_session * session;
  const struct rclrt_type * type;
  struct rclrt_entity reader; /* and its topic and subscriber */
  struct rclrt_input_stream stream;
  struct rclrt_sink sink;
  void * message;
  void (*run)(void * context, const void * message);
  void * context;
  uint32_t undecodable; /* messages that decode() refused */
};

/* Identifies a request, in order to answer it. Opaque. */
struct rclrt_request_id
{
  uint8_t bytes[RCLRT_SAMPLE_IDENTITY];
};

/* The common part of a service and its client: each is one end of two streams. */
struct rclrt_service_end
{
  struct rclrt_callback callback;
  struct rclrt_session * session;
  const struct rclrt_type * request_type;
  const struct rclrt_type * response_type;
  struct rclrt_entity entity; /* replier or requester */
  struct rclrt_input_stream in;
  struct rclrt_output_stream out;
  struct rclrt_sink sink;
  void * response;
  void * context;
};

struct rclrt_service
{
  struct rclrt_service_end end;
  void * request;
  struct rclrt_request_id id; /* of the request being handled */
  /* True: the response is sent when it returns. False: later, by rclrt_service_respond(). */
  bool (*run)(void * context, const void * request, void * response);
  uint32_t unsent;      /* responses for which there was no buffer */
  uint32_t undecodable; /* requests that decode() refused */
};

struct rclrt_client;

enum rclrt_client_news
{
  RCLRT_CLIENT_ASKS,
  RCLRT_CLIENT_ANSWERED,
  RCLRT_CLIENT_FINISHED,
};

/* See rclrt_client_set_timeout(). */
struct rclrt_client_timeout
{
  struct rclrt_timer timer;
  uint64_t after_ns;
  uint16_t number; /* of the request that is waited for */
  bool waits;
  void (*run)(void * context, uint16_t number);
  void * context;
};

struct rclrt_client
{
  struct rclrt_service_end end;
  uint16_t number; /* of the request the response belongs to */
  uint8_t priority;
  void (*run)(void * context, const void * response, uint16_t number);
  uint32_t undecodable;                  /* responses that decode() refused */
  struct rclrt_client_timeout * timeout; /* or null, as what looks after it */
  void (*follow)(struct rclrt_client * client, enum rclrt_client_news news, uint16_t number);
};

/* Errors of all _init: ARGUMENT (also: a type without the function that is needed), those of
 * rclrt_session_create(), STORAGE (more than 126 publishers, subscriptions and ends of services in
 * a session, ever). After an error nothing is left of it: the agent is asked to delete the entities
 * that it had created, without waiting. It can be tried again. All other functions refuse an object
 * that is not initialised, or finished: ARGUMENT. */
/* As a domain: that of the agent. eProsima's takes it from its environment, XRCE_DOMAIN_ID_OVERRIDE,
 * and rclrt_agent from ROS_DOMAIN_ID. */
#define RCLRT_DOMAIN_OF_AGENT 255
/* `name`: with its namespace, if it has one: "arm", "board/arm"; a name of ROS (ARGUMENT). `domain`: of
 * ROS, ROS_DOMAIN_ID; or RCLRT_DOMAIN_OF_AGENT. */
enum rclrt_ret rclrt_node_init(
  struct rclrt_node_handle * node, struct rclrt_session * session, const char * name,
  int16_t domain);
/* Makes a node for which the agent gets XML, as for all that belongs to it: see
 * enum rclrt_representation. */
enum rclrt_ret rclrt_node_init_by_xml(
  struct rclrt_node_handle * node, struct rclrt_session * session, const char * name,
  int16_t domain);
/* For names of what is initialised from now on: the first rule whose `from` is the same full name
 * counts. `remaps` stays the caller's. Errors: ARGUMENT. */
enum rclrt_ret rclrt_node_set_remaps(
  struct rclrt_node_handle * node, const struct rclrt_remap * remaps, uint8_t count);
enum rclrt_ret rclrt_publisher_init(
  struct rclrt_publisher * publisher, struct rclrt_node_handle * node,
  const struct rclrt_type * type, const char * name, struct rclrt_qos qos, uint8_t priority);
enum rclrt_ret rclrt_subscription_init(
  struct rclrt_subscription * subscription, struct rclrt_node_handle * node,
  const struct rclrt_type * type, const char * name, struct rclrt_qos qos);
/* Messages longer than a frame come in fragments and are put together in `storage`: as long as the
 * message and 8 bytes. While it is in no executor. Without, they are dropped and counted
 * (`unassembled`), as is a message of which a part is in storage given before. Errors: ARGUMENT,
 * UNSUPPORTED (best effort). */
enum rclrt_ret rclrt_subscription_accept_long(
  struct rclrt_subscription * subscription, uint8_t * storage, uint16_t size);
/* Storage for long requests or responses: 32 bytes more than the message. */
enum rclrt_ret rclrt_service_accept_long(
  struct rclrt_service_end * end, uint8_t * storage, uint16_t size);
enum rclrt_ret rclrt_service_init(
  struct rclrt_service * service, struct rclrt_node_handle * node,
  const struct rclrt_type * request_type, const struct rclrt_type * response_type,
  const char * name);
enum rclrt_ret rclrt_client_init(
  struct rclrt_client * client, struct rclrt_node_handle * node,
  const struct rclrt_type * request_type, const struct rclrt_type * response_type,
  const char * name, uint8_t priority);
/* Delete the entities at the agent, waiting for it; readers leave their executor. First, messages
 * that were not sent or not acknowledged are dropped, the reliable ones counted and reported
 * (on_abandoned), although some may have arrived. To know that all have arrived, wait for
 * rclrt_daemon_confirmed() before. Afterwards the storage is the caller's again, also when an error
 * is returned: those of rclrt_session_delete(), ARGUMENT (not initialised). Not while a callback of
 * it runs. */
enum rclrt_ret rclrt_publisher_fini(struct rclrt_publisher * publisher);
enum rclrt_ret rclrt_subscription_fini(struct rclrt_subscription * subscription);
enum rclrt_ret rclrt_service_fini(struct rclrt_service * service);
enum rclrt_ret rclrt_client_fini(struct rclrt_client * client);

/* A budget of bytes on the line, from now on; null for no limit. Publishers that share a stream
 * share it. */
enum rclrt_ret rclrt_publisher_set_budget(
  struct rclrt_publisher * publisher, struct rclrt_budget * budget);

/* As today's client does: publish waits until the message has left (best effort) or is acknowledged
 * (reliable, for at most 1 s). Only outside interrupts. */
enum rclrt_ret rclrt_publisher_set_blocking(struct rclrt_publisher * publisher, bool blocking);

/* Queues `message`. It has arrived when the agent has it (rclrt_daemon_confirmed()), which says nothing
 * about readers in ROS. A message longer than a node is sent in fragments (reliable only), if it fits
 * the session's buffer with 8 bytes. One of more than 16 fragments, or of more than there are nodes, stays
 * in that buffer until the last fragment has been cut; other long messages are AGAIN meanwhile. Errors:
 * AGAIN (nothing was queued), STORAGE (too long), UNSUPPORTED (too long for best effort), TIMEOUT
 * (blocking). Linear in the message; real-time safe unless blocking. */
enum rclrt_ret rclrt_publish(struct rclrt_publisher * publisher, const void * message);
/* What sends a message longer than a frame: for struct rclrt_system, not to be called. */
enum rclrt_ret rclrt_send_long(const struct rclrt_outgoing * out);
/* Answers a request whose callback returned false; `id` is a copy of service->id from that callback.
 * Never waits. Errors: those of rclrt_publish(): then the response was not queued. */
enum rclrt_ret rclrt_service_respond(
  struct rclrt_service * service, const struct rclrt_request_id * id, const void * response);
/* `number` (may be null) is what `run` gets with the response. Never waits. Errors: those of
 * rclrt_publish(): then the request was not queued. */
enum rclrt_ret rclrt_client_request(
  struct rclrt_client * client, const void * request, uint16_t * number);

/* For a client that is in an executor: if no response comes within `after_ns`, `run` is called with the
 * request's number, at the priority of the client. `timeout` is storage, and one of the executor's timers.
 * Of several requests under way the latest counts. A response that comes later is delivered all the same;
 * its number tells. Ends with rclrt_client_fini(). Errors: ARGUMENT (also: it has one), STORAGE
 * (timer_count). */
enum rclrt_ret rclrt_client_set_timeout(
  struct rclrt_client * client, struct rclrt_client_timeout * timeout, uint64_t after_ns,
  void (*run)(void * context, uint16_t number), void * context);

/* `message`, `request`, `response`: where the callback finds messages. Reading begins here. */
enum rclrt_ret rclrt_executor_add_subscription_by(
  rclrt_adder * add, struct rclrt_executor * executor, struct rclrt_subscription * subscription,
  void * message, void (*run)(void * context, const void * message), void * context,
  uint8_t priority);
static inline enum rclrt_ret rclrt_executor_add_subscription(
  struct rclrt_executor * executor, struct rclrt_subscription * subscription, void * message,
  void (*run)(void * context, const void * message), void * context, uint8_t priority,
  enum rclrt_invocation invocation)
{
  return rclrt_executor_add_subscription_by(
    rclrt_adder_for(invocation), executor, subscription, message, run, context, priority);
}
enum rclrt_ret rclrt_executor_add_service(
  struct rclrt_executor * executor, struct rclrt_service * service, void * request, void * response,
  bool (*run)(void * context, const void * request, void * response), void * context,
  uint8_t priority);
enum rclrt_ret rclrt_executor_add_client(
  struct rclrt_executor * executor, struct rclrt_client * client, void * response,
  void (*run)(void * context, const void * response, uint16_t number), void * context,
  uint8_t priority);

/* Types of std_msgs, to begin with. A type of your own is a name and two functions: types.c shows how. */
/* The message of each is the C type named. */
extern const struct rclrt_type rclrt_type_bool;    /* bool */
extern const struct rclrt_type rclrt_type_int32;   /* int32_t */
extern const struct rclrt_type rclrt_type_float64; /* double */
extern const struct rclrt_type rclrt_type_string;  /* struct rclrt_string */

/* To send: `text`. To receive: `text` has room for `capacity` bytes; a longer one is refused. */
struct rclrt_string
{
  char * text;
  size_t capacity;
};

#ifdef __cplusplus
}
#endif
