/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's session with an agent: its entities, requests and their answers.
 *
 * Calls with a timeout wait for the agent by polling the daemon, and so belong to start-up and to a
 * background context, not to callbacks. One context at a time. After rclrt_session_connect() an
 * agent that was gone gets all entities again, in the order of their creation.
 */
#pragma once

#include "rclrt_micro/daemon.h"
#include "rclrt_micro/xrce.h"

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

/* Why it was lost. */
enum rclrt_session_loss
{
  RCLRT_LOST_SILENCE, /* the agent did not answer */
  RCLRT_LOST_UNKNOWN, /* it does not know the session, or has no room for it */
  RCLRT_LOST_STREAMS, /* it counts its streams anew: a late copy of our greeting reached it */
  RCLRT_LOST_LINE,    /* the line broke */
};

enum rclrt_session_state
{
  RCLRT_SESSION_OFF,
  RCLRT_SESSION_GREETING,
  RCLRT_SESSION_CREATING, /* the entities, one after the other */
  RCLRT_SESSION_ON,
};

/* `from` is replaced by `to`; both as names are given: "chatter", "/a/b", "~/c". */
struct rclrt_remap
{
  const char * from;
  const char * to;
};

/* How the names of a node's topics and services become full ones. */
struct rclrt_naming
{
  const char * node; /* with its namespace, "board/arm" */
  const struct rclrt_remap * remaps;
  uint8_t remap_count;
};

/* An entity: all that is needed to create it, and create it again. Texts are the caller's and
 * stay. */
struct rclrt_entity /* zero what is not used */
{
  /* Writes the body of its CREATE, set when it is created: a program links the representations and
   * kinds that it uses. */
  bool (*describe)(
    struct rclrt_writer * writer, const struct rclrt_entity * entity, enum rclrt_object_kind kind);
  struct rclrt_link link;
  const char * name; /* participant, topic, service; for a reference the profile's name */
  const char * type; /* topic; service: of the request */
  union
  {
    const char * prefix;     /* topic: put in front of its name: "rt/", or "" */
    const char * reply_type; /* service */
  };
  const struct rclrt_naming * naming; /* of its name; null: as it is */
  uint16_t id;
  union
  {
    uint16_t parent; /* all but participants */
    int16_t domain;  /* participants */
  };
  uint16_t topic; /* datawriter, datareader by BINARY: the topic's id */
  /* Readers, requesters, repliers: of READ_DATA. 0 cancels, 0xFFFF is without end. */
  uint16_t max_samples;
  struct rclrt_qos qos;
  uint8_t read_stream;    /* asked for by READ_DATA, 0 for no reading */
  uint8_t representation; /* enum rclrt_representation */
  bool exists;            /* the agent has confirmed it in this session */
  /* For publishers and subscriptions: a topic, and a publisher or subscriber, of the same number
   * are created before it, from what is written here. */
  bool whole;
};

struct rclrt_outgoing; /* a message on its way to a frame: of the library */

struct rclrt_session
{
  struct rclrt_daemon * daemon;
  uint8_t id;
  uint8_t key[4];
  bool connected;
  uint8_t status; /* of the last STATUS or STATUS_AGENT: enum rclrt_status */
  /* The connection. What is small comes first: its offset fits a short instruction. */
  uint8_t state; /* enum rclrt_session_state */
  bool line_open;
  uint8_t greetings, greeted; /* copies of CREATE_CLIENT that were sent and answered */
  uint8_t failure;            /* enum rclrt_ret: why the agent does not take us */
  bool asked;                 /* for the entity at `cursor`, or ... */
  uint8_t part;               /* ... this part of it */
  uint8_t awaited;            /* the answer awaited: enum rclrt_submessage_id */
  bool answered;
  bool buffer_taken;
  uint16_t awaited_request;
  uint16_t next_request;
  uint16_t next_number;       /* of an object identifier */
  uint8_t next_stream;        /* low seven bits, per publisher and reader */
  uint64_t answer_timeout_ns; /* how long a request waits; 1 s. And how long for room to ask */
  /* After so long without anything from the agent the session asks it whether it is there. If it is not,
   * or does not know us, the session is lost; it is then connected again without further calls, whenever
   * rclrt_session_handle() is called: executors do. It greets an agent that is away, and tries a line that
   * does not open, after 0, 200 and 600 ms and every 500 ms from then on: at most 3 frames in a second,
   * each of 31 bytes on a serial line. When the agent is back, its entities are created within 1.2 s. 0:
   * none of this, you call rclrt_session_keep_alive(). rclrt_system_start_serial() and the like set 1 s. */
  uint64_t keep_alive_ns;
  uint8_t lost_by;         /* enum rclrt_session_loss, at RCLRT_SESSION_LOST */
  int64_t clock_offset_ns; /* agent's time minus ours, after rclrt_session_synchronize() */
  void (*on_event)(void * context, enum rclrt_session_event event);
  void * on_event_context;

  /* Set by what needs it, null where it is not linked: sends a message longer than a frame, and asks
   * for data again after the agent was away. */
  enum rclrt_ret (*send_long)(const struct rclrt_outgoing * out);
  enum rclrt_ret (*read_again)(struct rclrt_session * session, struct rclrt_entity * entity);

  struct rclrt_list entities;
  /* For messages without a sink, and for messages longer than a node: one at a time. */
  uint8_t * buffer;
  uint16_t buffer_size;
  /* The answer awaited. */
  struct rclrt_submessage answer;
  /* The connection. */
  struct rclrt_link * cursor;
  uint8_t questions; /* that wait for an answer, the last ... */
  uint16_t question; /* ... with this number */
  uint32_t heard_frames;
  uint64_t heard_ns, next_ns;
  uint64_t
    interval_ns; /* between greetings; while entities are created: until when an answer may come */
  bool agent_known; /* of the last INFO: it was about an agent, and said ... */
  int16_t availability;
  struct rclrt_output_stream best_effort; /* shared streams: 01 and 80, as the paper's client has */
  struct rclrt_output_stream reliable;
  struct rclrt_input_stream best_effort_in, reliable_in;
  struct rclrt_output_stream none;
};

/* `buffer`: at least the daemon's message_capacity; a message longer than that can be published if
 * it fits here. `id` is 0x01..0x7F (every message carries the key) or 0x81..0xFF. Errors: ARGUMENT,
 * STORAGE (buffer). */
enum rclrt_ret rclrt_session_init(
  struct rclrt_session * session, struct rclrt_daemon * daemon, uint8_t id, const uint8_t key[4],
  uint8_t * buffer, uint16_t buffer_size);
/* Opens the transport if need be, greets the agent until it answers, and creates all known
 * entities, all of it within `timeout_ns`. After an error it goes on trying if `keep_alive_ns` is set.
 * Errors: TRANSPORT, TIMEOUT, AGENT (`session->status`). */
enum rclrt_ret rclrt_session_connect(struct rclrt_session * session, uint64_t timeout_ns);
/* Tells the agent, waits for its answer for at most `answer_timeout_ns`, and closes the transport, also
 * after an error. Errors: ARGUMENT, TIMEOUT, AGENT. */
enum rclrt_ret rclrt_session_close(struct rclrt_session * session);
/* Is the agent there, and, when connected, does it know this session? Asks every 200 ms until it is
 * answered. Errors: TIMEOUT, STATE (it does not). */
enum rclrt_ret rclrt_session_ping(struct rclrt_session * session, uint64_t timeout_ns);
/* Ping; when that fails, report LOST and connect again. Call it every second or so. */
enum rclrt_ret rclrt_session_keep_alive(struct rclrt_session * session, uint64_t timeout_ns);
/* Asks for the agent's time, and sets `clock_offset_ns`. Errors: ARGUMENT, STATE (not connected), AGAIN, TIMEOUT. */
enum rclrt_ret rclrt_session_synchronize(struct rclrt_session * session, uint64_t timeout_ns);

/* Creates it at the agent and remembers it; `id` is chosen when it is 0. Errors: ARGUMENT
 * (also: a text is missing), STATE (not connected), TIMEOUT, AGENT, STORAGE (name or message too
 * long), AGAIN (no room to ask, for all of `answer_timeout_ns`). */
enum rclrt_ret rclrt_session_create(
  struct rclrt_session * session, struct rclrt_entity * entity, enum rclrt_object_kind kind);
enum rclrt_ret rclrt_session_delete(struct rclrt_session * session, struct rclrt_entity * entity);
/* READ_DATA with what the entity says. Does not wait: a refusal is seen in `session->status` only. */
enum rclrt_ret rclrt_session_read(struct rclrt_session * session, struct rclrt_entity * entity);
/* Handles answers that have come, keeps the session alive, and throws away data for which there is no
 * reader. Never waits. Executors that spin call it. With preemption levels the context that reads the line
 * must call it, or a background loop, because messages that are not handled keep their slots. */
void rclrt_session_handle(struct rclrt_session * session);
/* Request identifiers, from 10 on. */
uint16_t rclrt_session_next_request(struct rclrt_session * session);

#ifdef __cplusplus
}
#endif
