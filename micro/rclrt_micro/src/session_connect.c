/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A session's connection: greeting, entities created again, and whether the agent is still there. All
 * of it goes on step by step, whenever answers are handled; nothing here waits but what has a timeout.
 *
 *   OFF --connect--> GREETING --answered--> CREATING --all there--> ON --lost--> GREETING
 *                        ^                      |
 *                        '----- no answer ------'
 */
#include <string.h>

#include "session_internal.h"

#define LOGOUT_REQUEST 2U
/* Greetings are at last so far apart: session.h says what that costs the line. */
#define LONGEST_INSIST_NS (UINT64_C(500) * 1000000U)
/* Whoever was refused waits so long. */
#define REFUSED_NS (UINT64_C(2000) * 1000000U)
/* An agent takes a greeting that comes sooner after the one before for a late copy, and does not begin anew. */
#define APART_NS (UINT64_C(600) * 1000000U)
/* Whoever is kept alive waits so long for the answer about an entity. */
#define UNANSWERED_NS (UINT64_C(30000) * 1000000U)
/* So many times `keep_alive_ns` without anything from the agent, and it is gone. It is asked all the while: if
 * three of four questions or their answers are lost, one in a million silences lasts so long by chance. */
#define SILENCES 10U

static void set_greeting(struct rclrt_daemon * daemon, bool greeting)
{
  const uint32_t token = daemon_enter(daemon); /* reception looks at it */
  daemon->greeting = greeting;
  daemon_leave(daemon, token);
}

static void report(struct rclrt_session * session, enum rclrt_session_event event)
{
  if (session->on_event != NULL) {
    session->on_event(session->on_event_context, event);
  }
}

static void close_line(struct rclrt_session * session)
{
  const struct rclrt_transport * transport = session->daemon->transport;
  session->line_open = false;
  if (transport->close != NULL) {
    transport->close(transport->context);
  }
  daemon_line_closed(session->daemon);
}

static bool open_line(struct rclrt_session * session)
{
  const struct rclrt_transport * transport = session->daemon->transport;
  session->line_open = transport->open == NULL || transport->open(transport->context);
  return session->line_open;
}

static void begin_greeting(struct rclrt_session * session)
{
  session->connected = false;
  session->state = RCLRT_SESSION_GREETING;
  session->greetings = 0;
  session->greeted = 0;
  session->next_ns = 0;
  session->interval_ns = SESSION_INSIST_NS;
  set_greeting(session->daemon, true);
  rclrt_daemon_reset(session->daemon, session->id, session->key);
}

static void lose(struct rclrt_session * session, enum rclrt_session_loss by)
{
  session->lost_by = (uint8_t)by;
  report(session, RCLRT_SESSION_LOST);
  if (session->keep_alive_ns != 0) {
    begin_greeting(session);
    session->next_ns = time_after(session_now(session), APART_NS);
  } else {
    session->connected = false;
    session->state = RCLRT_SESSION_OFF;
  }
}

/* The next time, twice as long after this one. */
static void wait_longer(struct rclrt_session * session, uint64_t now)
{
  session->next_ns = time_after(now, session->interval_ns);
  session->interval_ns *= 2U;
  if (session->interval_ns > LONGEST_INSIST_NS) {
    session->interval_ns = LONGEST_INSIST_NS;
  }
}

/* The agent is there. */
static void hear(struct rclrt_session * session, uint64_t now)
{
  session->heard_ns = now;
  session->questions = 0;
}

/* CREATE_CLIENT again and again until it is answered. Each copy makes the agent forget its streams,
 * also the one that it gets last: so the answers to all copies are waited for. They come no farther apart than
 * the copies were sent: when none has come for longer, those that lack were sent while no agent was there. */
static bool greet(struct rclrt_session * session, uint64_t now)
{
  if (!session->line_open && now >= session->next_ns && !open_line(session)) {
    wait_longer(session, now);
  }
  if (session->greeted > 0 && (session->greeted >= session->greetings || now >= session->next_ns)) {
    set_greeting(session->daemon, false);
    session->state = RCLRT_SESSION_CREATING;
    session->cursor = rclrt_list_first(&session->entities);
    session->asked = false;
    session->part = 0;
    hear(session, now);
    return true;
  }
  if (!session->line_open || session->greeted > 0 || now < session->next_ns) {
    return false;
  }
  struct rclrt_submessage sub;
  session_prepare(&sub, RCLRT_CREATE_CLIENT, 0, 0);
  memcpy(sub.of.create_client.key, session->key, sizeof(session->key));
  sub.of.create_client.session = session->id;
  sub.of.create_client.mtu = (uint16_t)(session->daemon->config.message_capacity - 4U);
  if (session_send(session, &session->none, &sub, rclrt_payload_create_client, true) == RCLRT_OK) {
    session->greetings++;
  }
  wait_longer(session, now);
  return false;
}

/* The agent refused: once more later, if anybody wants that. */
static void give_up(struct rclrt_session * session, enum rclrt_ret ret, uint64_t now)
{
  begin_greeting(session);
  session->failure = (uint8_t)ret;
  session->next_ns = time_after(now, REFUSED_NS);
}

/* One entity after the other. True: there was progress. */
static bool create_next(struct rclrt_session * session, uint64_t now)
{
  if (session->cursor == NULL) {
    session->state = RCLRT_SESSION_ON;
    session->connected = true;
    hear(session, now);
    report(session, RCLRT_SESSION_CONNECTED);
    return false;
  }
  struct rclrt_entity * entity = RCLRT_CONTAINER_OF(session->cursor, struct rclrt_entity, link);
  if (!session->asked) {
    const enum rclrt_ret ret = session_ask_to_create(session, entity, session->part);
    session->asked = ret == RCLRT_OK;
    session->interval_ns =
      time_after(now, session->keep_alive_ns == 0 ? session->answer_timeout_ns : UNANSWERED_NS);
    if (ret != RCLRT_OK && ret != RCLRT_ERR_AGAIN) {
      give_up(session, ret, now);
    }
    return false;
  }
  if (session->answered && session->answer.of.result.status > RCLRT_STATUS_OK_MATCHED) {
    give_up(session, RCLRT_ERR_AGENT, now);
    return false;
  }
  if (session->answered && session->part + 1U < session_parts(entity)) {
    session->part++;
    session->asked = false;
    return true;
  }
  if (session->answered) {
    entity->exists = true;
    if (entity->read_stream != RCLRT_STREAM_NONE && session->read_again != NULL) {
      const enum rclrt_ret ret = session->read_again(session, entity);
      if (ret != RCLRT_OK) {
        return false; /* no room now: again */
      }
    }
    session->asked = false;
    session->part = 0;
    session->cursor = rclrt_list_next(&session->entities, session->cursor);
    return true;
  }
  /* Where much is lost the answer may take long; whether the agent still knows us is asked meanwhile. */
  if (now >= session->interval_ns) {
    begin_greeting(session); /* not an agent that knows us any more */
  }
  return false;
}

/* What reception has for the session; one critical section, for this is asked in every round. */
struct news
{
  bool answers, astray;
  uint32_t frames; /* that are ours, ever */
};

static struct news look(struct rclrt_daemon * daemon)
{
  const uint32_t token = daemon_enter(daemon);
  const struct news news = {
    !rclrt_list_empty(&daemon->others.slots), daemon->astray,
    daemon->counters.received - daemon->counters.foreign};
  daemon_leave(daemon, token);
  return news;
}

static void look_after(struct rclrt_session * session, uint32_t frames, uint64_t now)
{
  if (frames != session->heard_frames) {
    session->heard_frames = frames;
    hear(session, now);
  }
  if (now < session_due(session)) {
    return;
  }
  if (time_since(now, session->heard_ns) >= SILENCES * session->keep_alive_ns) {
    lose(session, RCLRT_LOST_SILENCE);
    return;
  }
  struct rclrt_submessage sub;
  session_prepare(&sub, RCLRT_GET_INFO, rclrt_session_next_request(session), RCLRT_OBJECT_AGENT);
  sub.of.info_mask = 2;
  session->question = sub.request;
  /* As if there were no session: an agent that does not know it answers all the same. */
  (void)session_send(session, &session->none, &sub, rclrt_payload_get_info, true);
  session->questions = 1;
  session->next_ns = time_after(now, SESSION_INSIST_NS);
}

/* Nothing of this session has been acknowledged or received in order yet: if the agent counts its streams anew,
 * nothing is amiss. */
static bool is_fresh(const struct rclrt_session * session)
{
  return session->reliable.first_unacked == 0 && session->reliable_in.expected == 0;
}

bool session_on_connection(struct rclrt_session * session, const struct rclrt_submessage * sub)
{
  if (sub->id == RCLRT_STATUS_AGENT) {
    if (session->state == RCLRT_SESSION_GREETING && sub->of.result.status == RCLRT_STATUS_OK) {
      session->greeted++;
      session->next_ns = time_after(session_now(session), APART_NS);
    } else if (session->state == RCLRT_SESSION_GREETING) {
      give_up(session, RCLRT_ERR_AGENT, session_now(session));
    } else if (session->state != RCLRT_SESSION_OFF && !is_fresh(session)) {
      /* It has greeted us again: a late copy of our greeting, and it began all streams anew. Or a copy of its
       * answer: that cannot be told. */
      lose(session, RCLRT_LOST_STREAMS);
    }
    return true;
  }
  if (
    sub->id == RCLRT_INFO && session->state >= RCLRT_SESSION_CREATING &&
    sub->request == session->question && session->question != 0) {
    session->question = 0;
    /* The agent says 1 when this line has a session. */
    if (sub->of.result.implementation != 1 || !session->agent_known || session->availability <= 0) {
      lose(session, RCLRT_LOST_UNKNOWN);
    }
    return true;
  }
  return false;
}

void session_line_broken(struct rclrt_session * session)
{
  close_line(session); /* opened anew by the next greeting */
  if (session->connected) {
    lose(session, RCLRT_LOST_LINE);
  }
}

uint64_t session_due(const struct rclrt_session * session)
{
  if (session->state == RCLRT_SESSION_GREETING) {
    return session->next_ns;
  }
  if (session->state == RCLRT_SESSION_CREATING && !session->asked) {
    return 0; /* the next one at once */
  }
  if (session->state == RCLRT_SESSION_OFF) {
    return UINT64_MAX;
  }
  if (session->keep_alive_ns == 0) {
    return session->state == RCLRT_SESSION_CREATING ? session->interval_ns : UINT64_MAX;
  }
  return session->questions == 0 ? time_after(session->heard_ns, session->keep_alive_ns)
                                 : session->next_ns;
}

void rclrt_session_handle(struct rclrt_session * session)
{
  if (!session_usable(session)) {
    return;
  }
  const struct news news = look(session->daemon);
  if (news.answers) {
    session_take_answers(session);
  }
  if (news.astray && session->state >= RCLRT_SESSION_CREATING) {
    lose(session, RCLRT_LOST_STREAMS);
  }
  if (session_due(session) == UINT64_MAX) {
    return;
  }
  const uint64_t now = session_now(session);
  if (session->state == RCLRT_SESSION_GREETING) {
    (void)greet(session, now);
  }
  while (session->state == RCLRT_SESSION_CREATING && create_next(session, now)) {
  }
  const bool waits = session->state == RCLRT_SESSION_ON ||
                     (session->state == RCLRT_SESSION_CREATING && session->asked);
  if (waits && session->keep_alive_ns != 0) {
    look_after(session, news.frames, now);
  }
}

static enum rclrt_ret wait_connected(struct rclrt_session * session, uint64_t deadline_ns)
{
  session->failure = RCLRT_OK;
  for (;;) { /* ends: time goes on, and poll() waits */
    rclrt_session_handle(session);
    if (session->connected) {
      return RCLRT_OK;
    }
    const uint64_t now = session_now(session);
    if (session->failure != RCLRT_OK) {
      return (enum rclrt_ret)session->failure;
    }
    if (now >= deadline_ns) {
      return RCLRT_ERR_TIMEOUT;
    }
    const uint64_t due = session_due(session);
    const uint64_t until = due < deadline_ns ? due : deadline_ns;
    const enum rclrt_ret ret = rclrt_daemon_poll(session->daemon, until > now ? until - now : 0);
    if (ret != RCLRT_OK) {
      close_line(session); /* broken: the next attempt opens it anew */
      return ret;
    }
  }
}

enum rclrt_ret rclrt_session_connect(struct rclrt_session * session, uint64_t timeout_ns)
{
  if (!session_usable(session)) {
    return RCLRT_ERR_ARGUMENT;
  }
  enum rclrt_ret ret = RCLRT_ERR_TRANSPORT;
  if (open_line(session)) {
    begin_greeting(session);
    ret = wait_connected(session, session_deadline(session, timeout_ns));
  }
  if (ret != RCLRT_OK && session->keep_alive_ns == 0) {
    session->state = RCLRT_SESSION_OFF; /* otherwise it goes on trying */
  }
  return ret;
}

enum rclrt_ret rclrt_session_close(struct rclrt_session * session)
{
  if (!session_usable(session)) {
    return RCLRT_ERR_ARGUMENT;
  }
  enum rclrt_ret ret = RCLRT_OK;
  if (session->connected) {
    struct rclrt_submessage sub;
    session_prepare(&sub, RCLRT_DELETE, LOGOUT_REQUEST, RCLRT_OBJECT_CLIENT);
    session_expect(session, RCLRT_STATUS, LOGOUT_REQUEST);
    const uint64_t deadline = session_deadline(session, session->answer_timeout_ns);
    ret = session_insist(session, &sub, rclrt_payload_none, false, deadline);
  }
  session->connected = false;
  session->state = RCLRT_SESSION_OFF;
  close_line(session);
  return ret;
}

enum rclrt_ret rclrt_session_ping(struct rclrt_session * session, uint64_t timeout_ns)
{
  if (!session_usable(session)) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_submessage sub;
  session_prepare(&sub, RCLRT_GET_INFO, rclrt_session_next_request(session), RCLRT_OBJECT_AGENT);
  sub.of.info_mask = 2;
  session_expect(session, RCLRT_INFO, sub.request);
  const enum rclrt_ret ret = session_insist(
    session, &sub, rclrt_payload_get_info, !session->connected,
    session_deadline(session, timeout_ns));
  if (ret != RCLRT_OK) {
    return ret;
  }
  /* The agent says 1 when this line has a session. */
  const bool known = session->answer.of.result.implementation == 1;
  if (!session->agent_known) {
    return RCLRT_ERR_MALFORMED;
  }
  return session->availability > 0 && (known || !session->connected) ? RCLRT_OK : RCLRT_ERR_STATE;
}

enum rclrt_ret rclrt_session_keep_alive(struct rclrt_session * session, uint64_t timeout_ns)
{
  if (!session_usable(session)) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (session->connected) {
    const enum rclrt_ret ret = rclrt_session_ping(session, timeout_ns);
    if (ret == RCLRT_OK) {
      return ret;
    }
    session->connected = false;
    session->lost_by = (uint8_t)(ret == RCLRT_ERR_STATE ? RCLRT_LOST_UNKNOWN : RCLRT_LOST_SILENCE);
    report(session, RCLRT_SESSION_LOST);
    if (ret == RCLRT_ERR_TRANSPORT) {
      close_line(session); /* broken: opened anew below */
    }
  }
  return rclrt_session_connect(session, timeout_ns);
}

static int64_t to_ns(struct rclrt_time time)
{
  return (int64_t)time.s * 1000000000 + (int64_t)time.ns;
}

enum rclrt_ret rclrt_session_synchronize(struct rclrt_session * session, uint64_t timeout_ns)
{
  if (!session_usable(session)) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (!session->connected) {
    return RCLRT_ERR_STATE;
  }
  const uint64_t deadline = session_deadline(session, timeout_ns);
  struct rclrt_submessage sub;
  session_prepare(&sub, RCLRT_TIMESTAMP, 0, 0);
  session_expect(session, RCLRT_TIMESTAMP_REPLY, 0);
  enum rclrt_ret ret;
  do {
    const uint64_t begin = session_now(session);
    sub.of.timestamp.s = (int32_t)(begin / 1000000000U);
    sub.of.timestamp.ns = (uint32_t)(begin % 1000000000U);
    ret = session_send(session, &session->none, &sub, rclrt_payload_timestamp, false);
  } while (session_wait_room(session, &ret, deadline));
  if (ret == RCLRT_OK) {
    ret = session_wait(session, deadline);
  }
  if (ret == RCLRT_OK) {
    const struct rclrt_timestamp_reply * reply = &session->answer.of.timestamp_reply;
    const int64_t ours = to_ns(reply->originate) + (int64_t)session_now(session);
    session->clock_offset_ns = (to_ns(reply->receive) + to_ns(reply->transmit) - ours) / 2;
  }
  return ret;
}
