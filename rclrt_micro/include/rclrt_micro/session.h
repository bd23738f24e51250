/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's session with an agent: its entities, requests and their answers.
 *
 * Calls with a timeout wait for the agent by polling the daemon, and so belong to start-up and to a
 * background context, not to callbacks. One context at a time. After rclrt_session_connect() an
 * agent that was gone gets all entities again, in the order of their creation.
 */
#ifndef RCLRT_MICRO__SESSION_H_
#define RCLRT_MICRO__SESSION_H_

#include "rclrt_micro/daemon.h"
#include "rclrt_micro/entity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Longest name of a topic or service as DDS sees it, with its zero. */
#define RCLRT_NAME_MAX 96U

enum rclrt_session_event
{
  RCLRT_SESSION_CONNECTED,
  RCLRT_SESSION_LOST, /* no answer, or the agent does not know the session */
};

/* An entity: all that is needed to create it, and create it again. Texts are the caller's and
 * stay. */
struct rclrt_entity /* zero what is not used */
{
  struct rclrt_link link;
  uint16_t id;
  uint16_t parent;         /* all but participants */
  int16_t domain;          /* participants */
  uint8_t representation;  /* enum rclrt_representation */
  bool exists;             /* the agent has confirmed it in this session */
  const char * name;       /* participant, topic, service; for a reference the profile's name */
  const char * prefix;     /* put in front of a topic's name: "rt/", or "" */
  const char * type;       /* topic; service: of the request */
  const char * reply_type; /* service */
  uint16_t topic;          /* datawriter, datareader by BINARY: the topic's id */
  struct rclrt_qos qos;
  /* Readers, requesters, repliers: the stream asked for by READ_DATA, 0 for no reading. */
  uint8_t read_stream;
  uint16_t read_request;
  struct rclrt_delivery_control delivery;
};

struct rclrt_session
{
  struct rclrt_daemon * daemon;
  uint8_t id;
  uint8_t key[4];
  bool connected;
  uint8_t status; /* of the last STATUS or STATUS_AGENT: enum rclrt_status */
  uint16_t next_request;
  uint16_t next_number;       /* of an object identifier */
  uint8_t next_stream;        /* low seven bits, per publisher and reader */
  uint64_t answer_timeout_ns; /* how long a request waits; 1 s */
  int64_t clock_offset_ns;    /* agent's time minus ours, after rclrt_session_synchronize() */
  void (*on_event)(void * context, enum rclrt_session_event event);
  void * on_event_context;

  struct rclrt_output_stream best_effort; /* shared streams: 01 and 80, as the paper's client has */
  struct rclrt_output_stream reliable;
  struct rclrt_input_stream best_effort_in, reliable_in;
  struct rclrt_output_stream none;
  struct rclrt_list entities;
  /* For messages without a sink, and for messages longer than a node: one at a time. */
  uint8_t * buffer;
  uint16_t buffer_size;
  bool buffer_taken;
  /* The answer awaited. */
  uint8_t awaited; /* enum rclrt_submessage_id */
  uint16_t awaited_request;
  bool answered;
  struct rclrt_submessage answer;
  bool agent_known; /* of the last INFO: it was about an agent, and said ... */
  int16_t availability;
};

/* `buffer`: at least the daemon's message_capacity; a message longer than that can be published if
 * it fits here. `id` is 0x01..0x7F (every message carries the key) or 0x81..0xFF. Errors: ARGUMENT,
 * STORAGE (buffer). */
enum rclrt_ret rclrt_session_init(
  struct rclrt_session * session, struct rclrt_daemon * daemon, uint8_t id, const uint8_t key[4],
  uint8_t * buffer, uint16_t buffer_size);
/* Opens the transport if need be, greets the agent until it answers, and creates all known
 * entities. Errors: TRANSPORT, TIMEOUT, AGENT (`session->status`). */
enum rclrt_ret rclrt_session_connect(struct rclrt_session * session, uint64_t timeout_ns);
/* Tells the agent, and closes the transport. */
enum rclrt_ret rclrt_session_close(struct rclrt_session * session);
/* Is the agent there, and, when connected, does it know this session? Asks every 200 ms until it is
 * answered. Errors: TIMEOUT, STATE (it does not). */
enum rclrt_ret rclrt_session_ping(struct rclrt_session * session, uint64_t timeout_ns);
/* Ping; when that fails, report LOST and connect again. Call it every second or so. */
enum rclrt_ret rclrt_session_keep_alive(struct rclrt_session * session, uint64_t timeout_ns);
/* Sets `clock_offset_ns`. */
enum rclrt_ret rclrt_session_synchronize(struct rclrt_session * session, uint64_t timeout_ns);

/* Creates it at the agent and remembers it; `id` is chosen when it is 0. Errors: ARGUMENT
 * (also: a text is missing), STATE (not connected), TIMEOUT, AGENT, STORAGE (name or message too
 * long), AGAIN. */
enum rclrt_ret rclrt_session_create(
  struct rclrt_session * session, struct rclrt_entity * entity, enum rclrt_object_kind kind);
enum rclrt_ret rclrt_session_delete(struct rclrt_session * session, struct rclrt_entity * entity);
/* READ_DATA with what the entity says; `delivery.max_samples` 0 cancels. Sets `read_request`.
 * Does not wait: a refusal is seen in `session->status` only. */
enum rclrt_ret rclrt_session_read(struct rclrt_session * session, struct rclrt_entity * entity);
/* Handles answers that have come, and throws away data for which there is no reader. The waiting
 * functions and executors that spin call it. With preemption levels the context that reads the line
 * must call it, or a background loop, because messages that are not handled keep their slots. */
void rclrt_session_handle(struct rclrt_session * session);
/* Request identifiers, from 10 on. */
uint16_t rclrt_session_next_request(struct rclrt_session * session);

#ifdef __cplusplus
}
#endif

#endif /* RCLRT_MICRO__SESSION_H_ */
