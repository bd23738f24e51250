/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Communication Daemon [PoDS §5.3]: everything between messages and the line, for any number of
 * publishers and readers of different urgency on one link to an agent.
 *
 * Sending. A message is written straight into a node of the pool (Data_Pool) and committed; it then
 * waits by priority (Execution_Buffer), is sent while callbacks go on, and, when reliable, waits
 * for its acknowledgement (Pending_Buffer):
 *
 *      acquire        commit          [line free]        [transmitted]
 *   FREE ----> FILLING ----> QUEUED ------------> SENDING -----------> FREE       best effort
 *    ^                         ^                     |
 *    |                         '--- NACK --- PENDING <'                           reliable
 *    '------------------ ACK, given up ---------'
 *
 * Receiving, and what is lost: docs/concepts/micro.md. Numbers of a stream must go out in order, so
 * messages that may overtake have a stream of their own: at least one per priority.
 *
 * Acknowledgements. One takes as long on the line as a short message. Of a message that came alone it
 * waits for what is published in answer: until something has been sent, the callback has ended, or
 * rclrt_daemon_tick() is called. If that was later than 10 ms, the next 255 of its stream do not
 * wait, for agents ask after 25 ms. If more has come, or is known to be missing, or the agent asks, it
 * does not wait either: the agent's window may be full.
 *
 * Storage. An object may hold anything before it is initialised or added, except members that must
 * be set first; their comments say so.
 *
 * Contexts. rclrt_daemon_transmitted() and rclrt_daemon_received() may be called from interrupts,
 * at any point of any other function here. Nothing waits or allocates.
 *
 * Worst case of a critical section, in steps of a few instructions. S: streams of one direction, R:
 * sinks, N: nodes, L: slots, W: RCLRT_WINDOW.
 *   - next message on the line: 2 (S in + S out) + W, and one per queued message without budget (N); each
 *     further ACKNACK and HEARTBEAT of it: S in + S out + W
 *   - end of its transmission: N if it is older than all that are pending, as a rule 1
 *   - ACKNACK received: S + W for each 4 messages acknowledged, and for each one to be sent again;
 *     HEARTBEAT received: S + W
 *   - frame received: S + R, with no slot free R + S + W S more
 *   - acquire, a piece of a long message: N if the pool is empty, else 1; commit: 1; fragments: W
 *   - take: 2 S, with several submessages in the message R more; as much for each frame passed
 *     over, at most L
 *   - tick: S for each stream that waits for an acknowledgement; for each message given up W
 *   - remove: N (output), W (input), L + W S (sink); new session: N for each output, then L + S W
 */
#pragma once

#include "rclrt_micro/budget.h"
#include "rclrt_micro/frame.h"
#include "rclrt_micro/port.h"
#include "rclrt_micro/queue.h"
#include "rclrt_micro/xrce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Messages of a reliable stream on their way at once: what deployed agents keep. */
#define RCLRT_WINDOW 16U
/* Longest message handled at reception: a header with key, an ACKNACK, a HEARTBEAT. */
#define RCLRT_CONTROL_MAX 32U

enum rclrt_framing
{
  RCLRT_FRAMING_SERIAL,   /* see frame.h */
  RCLRT_FRAMING_DATAGRAM, /* a message a datagram: UDP */
  RCLRT_FRAMING_LENGTH,   /* u16 length, then the message: TCP */
};

enum rclrt_mode
{
  RCLRT_MODE_OWN,
  /* As published [PoDS §5.3]: a heartbeat after every reliable message, nothing else sent until its
   * acknowledgement; a reliable message that is not acknowledged in time gives its node back to the
   * pool when that is empty; no eviction, no reserve. */
  RCLRT_MODE_PAPER,
};

struct rclrt_output_stream
{
  uint64_t quiet_since_ns; /* last transmission or progress */
  uint8_t id;              /* 0, 01..7F best effort, 80..FF reliable */
  bool heartbeat_due;
  bool open;                    /* a message is being cut: nothing else goes here */
  uint8_t heartbeats;           /* since the last progress */
  uint16_t next;                /* number of the next message committed */
  uint16_t sent;                /* number after the highest one transmitted */
  uint16_t first_unacked;       /* reliable: all before it are done with */
  struct rclrt_budget * budget; /* of bytes, or null: see budget.h */
  struct rclrt_node * first;    /* reliable: of number first_unacked, or null; ... */
  struct rclrt_node * last;     /* ... they are linked by `later` up to this one */
  struct rclrt_link link;
};

enum rclrt_node_state
{
  RCLRT_NODE_FREE,
  RCLRT_NODE_FILLING,
  RCLRT_NODE_QUEUED,
  RCLRT_NODE_SENDING,
  RCLRT_NODE_PENDING,
};

struct rclrt_node
{
  struct rclrt_link link;
  struct rclrt_output_stream * stream;
  struct rclrt_node * later; /* reliable: of the next number, or null */
  uint8_t * bytes;
  uint16_t length;
  uint16_t sequence;
  uint8_t priority;
  uint8_t state;         /* enum rclrt_node_state */
  uint8_t tries;         /* transmissions begun; stays at 255 */
  bool settled;          /* acknowledged or given up while being sent */
  bool more;             /* a fragment, and not the last of its message */
  uint64_t timestamp_ns; /* when its use began */
  uint64_t sent_ns;
};

/* A frame in the ring, not yet taken. */
struct rclrt_slot
{
  struct rclrt_link link;
  struct rclrt_sink * sink;
  uint32_t at; /* bytes received before it, ever */
  uint32_t wire;
  uint16_t length;
  uint16_t sequence;
  uint8_t stream;
  uint16_t taken; /* parts of its message taken before: see rclrt_daemon_take() */
};

/* The line of frames for one object (a reader, requester or replier). */
struct rclrt_sink
{
  struct rclrt_link link;
  struct rclrt_list slots;
  uint16_t object;  /* object identifier; 0 for everything that is for no other sink */
  uint8_t stream;   /* fragments on this stream are for this sink too; 0 for none */
  uint8_t priority; /* when slots run out, frames of the least urgent sink go first */
  /* Called when a frame has been lined up, from the context of rclrt_daemon_received() or, after a
   * gap was filled or for another part of a message, rclrt_daemon_take(). Null for none. Set before
   * rclrt_daemon_add_sink(), which leaves it as it is. */
  void (*notify)(struct rclrt_sink * sink);
};

/* A stream on which the agent sends. */
struct rclrt_input_stream
{
  struct rclrt_link link;
  uint8_t id;
  bool ack_due;
  bool assembly_broken; /* a piece is missing, or does not fit: nothing until the last one */
  uint8_t priority;     /* of its acknowledgements: that of its sink */
  uint16_t expected;    /* next number to deliver */
  uint16_t
    highest; /* number after the highest known to exist; best effort: 0 until `expected` is known */
  uint16_t waiting; /* bit i: expected + i is in the ring, unchecked */
  uint16_t asked;   /* bit i: expected + i was asked for since the last heartbeat */
  struct rclrt_link *
    held; /* checked slots ahead of `expected`, in order; `next` of the last is null */
  /* Storage for fragmented messages, or null: they are then dropped and counted. */
  uint8_t * assembly;
  uint16_t assembly_capacity;
  uint8_t prompt;         /* so many more ACKNACKs do not wait: one has waited too long */
  uint8_t back;           /* weight of what in a row is about what is settled, the first ... */
  uint32_t back_since_ms; /* ... at this time, nearly: 2^20 ns */
  uint16_t skips;         /* how often the agent has given messages up */
  uint16_t taken;         /* reliable: parts of message `expected` taken before */
  /* For the taker alone, as `assembly_broken`. */
  uint16_t assembly_skips; /* `skips` as it was for the pieces so far */
  uint16_t assembly_length;
};

/* Counters of traffic, and of errors that were survived. Read at any time; each counts up and
 * wraps. */
struct rclrt_daemon_counters
{
  uint32_t sent;     /* frames, control and repeats included */
  uint32_t received; /* frames found on the line */
  uint32_t retransmitted;
  uint32_t evicted;   /* best effort messages that made room for more urgent ones */
  uint32_t refused;   /* no node, or window full */
  uint32_t abandoned; /* reliable messages given up */
  uint32_t write_errors;
  uint32_t broken_frames; /* cut short, longer than the limit, or for another address */
  uint32_t bad_checksums;
  uint32_t malformed;      /* messages that make no sense, and data that no reader is for */
  uint32_t foreign;        /* of another session or key */
  uint32_t overwritten;    /* lost in the ring before they were taken */
  uint32_t dropped_frames; /* no slot */
  uint32_t duplicates;
  uint32_t late;        /* best effort, overtaken by a later one */
  uint32_t skipped;     /* reliable, given up by the agent */
  uint32_t unassembled; /* fragmented messages without (enough) storage */
};

struct rclrt_daemon_config
{
  enum rclrt_framing framing;
  enum rclrt_check check;
  enum rclrt_mode mode;
  /* Storage, all the caller's, for as long as the daemon is used. */
  struct rclrt_node * nodes;
  uint16_t node_count;
  uint8_t * node_bytes;      /* node_count * message_capacity */
  uint16_t message_capacity; /* longest message sent or received, bytes, a multiple of 4, >= 64 */
  /* 16 for each reliable stream read and one for each best effort message that may wait: then none
   * is dropped. Any number makes progress: the frame that fills a gap takes the slot of one behind
   * it. */
  struct rclrt_slot * slots;
  uint16_t slot_count;
  uint8_t * ring;     /* raw bytes received */
  uint32_t ring_size; /* a power of two, > 2 * (message_capacity + 6): the longest frame, stuffed */
  uint8_t * piece;    /* what is handed to transport.write at once; not used for datagrams */
  uint16_t piece_size; /* >= 16 */
  uint8_t * input;     /* what transport.read gives; null when bytes come by interrupt */
  uint16_t input_size; /* of message_capacity or more for datagrams */
  /* Policy; 0 takes the default. */
  uint64_t heartbeat_ns; /* silence after which an unacknowledged stream is asked for; 100 ms. Two
                            round trips if that is more; twice as long each time without progress,
                            up to 2 s */
  uint64_t hold_off_ns;  /* after a reliable message, how long nothing less urgent is begun, so that
                            its repeat need not wait for a long frame; 0: no hold-off */
  uint64_t answer_ns;    /* a peer cannot have answered sooner: an earlier NACK of a message sent
                            again is about its last transmission and is ignored; 0: none ignored */
  uint64_t lifetime_ns;  /* reliable messages older than this are given up once they have been sent
                            and are not acknowledged; 0: never */
  uint16_t reserve;      /* the last nodes of the pool, fewer than all, kept for ... */
  uint8_t reserve_priority; /* ... this priority and above */
};

struct rclrt_daemon;
struct rclrt_message; /* below */

/* The message that is longer than the pool holds at once. It is cut while it is being sent. `stream` is
 * null if there is none. The context that sets `cutting` cuts, and nobody begins another meanwhile. All in
 * critical sections. */
struct rclrt_rest
{
  struct rclrt_output_stream * stream;
  const uint8_t * bytes;
  size_t size;
  size_t at; /* what is before has been copied into nodes */
  uint8_t priority;
  bool cutting;
  void (*cut)(struct rclrt_daemon * daemon); /* so that what few programs need is linked by those */
};

struct rclrt_daemon_framing; /* of the library: what config.framing stands for */
struct rclrt_daemon_policy;  /* of the library */

struct rclrt_daemon
{
  /* What is used most comes first: its offset fits a short instruction. */
  uint8_t session;
  uint8_t key[4];
  /* From the greeting until the agent answers it: messages that come on a stream meanwhile, and
   * ACKNACKs and HEARTBEATs, are of the session before, and count as foreign. */
  bool greeting;
  /* The agent counts a stream from the beginning again, we do not. Until the next reset. */
  bool astray;
  uint8_t beyond; /* ACKNACKs in a row of what was never sent */
  bool busy;      /* a context is transmitting: only it touches `current` to `message_at` */
  uint8_t passed; /* more urgent messages that went ahead of what is owed */
  bool owes;      /* some stream may owe an ACKNACK or a HEARTBEAT that goes now */
  bool defers;    /* an ACKNACK waits for what is published in answer */
  uint8_t late;   /* it has waited for too long: so many of its stream do not; or 0 */
  uint16_t free_count;
  uint16_t message_length;
  uint16_t message_at;
  const struct rclrt_port * port;
  const struct rclrt_transport * transport;
  const struct rclrt_daemon_framing * framing;
  /* Hold-off, lifetimes, mode; null if rclrt_system_start_serial() or its like did not link it. */
  const struct rclrt_daemon_policy * policy;
  struct rclrt_node * current;
  const uint8_t * message;
  struct rclrt_node * held_for; /* hold-off: the message whose acknowledgement is awaited */
  uint32_t defers_since;        /* ns, the low bits of the time */
  uint32_t head;                /* bytes received, ever; wraps */
  struct rclrt_list free;
  struct rclrt_list pending; /* oldest first */
  struct rclrt_list outputs, inputs;
  struct rclrt_list sinks, free_slots;
  struct rclrt_daemon_config config;
  struct rclrt_daemon_counters counters;
  struct rclrt_shortage shortage; /* of the last RCLRT_ERR_STORAGE, or what init() did not accept */
  /* Called outside critical sections when a reliable message is given up: after its lifetime, when
   * its stream is removed, and by a reset. Null for none. */
  void (*on_abandoned)(
    void * context, const struct rclrt_output_stream * stream, uint16_t sequence);
  void * on_abandoned_context;
  /* For messages without a sink. These are the agent's answers, which take the slot of any data if
   * no other slot is free, and reliable data for which there is no reader, which takes only free
   * slots. The context that takes from here throws such data away. Best effort data for which there
   * is no reader is dropped and counted at once. */
  struct rclrt_sink others;
  struct rclrt_queue execution;
  struct rclrt_frame_encoder encoder;
  uint8_t control[80];    /* a header with key, and six of them */
  uint64_t round_trip_ns; /* the longest of late, of messages sent once */
  struct rclrt_rest rest;
  uint64_t held_until_ns;
  /* How answers are taken, and how a slot is found when none is free: that of a less urgent frame. `gap`:
   * the stream whose next frame needs it, or null; its own frames behind that one, and those of readers
   * as urgent, go too. Set by the first reader: a program that reads nothing links less. */
  enum rclrt_ret (*take_answer)(
    struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
    struct rclrt_message * message);
  struct rclrt_slot * (*evict)(
    struct rclrt_daemon * daemon, uint8_t priority, const struct rclrt_input_stream * gap);
  /* Puts a fragment to those before it; false: no message yet. Set with the first storage for them. */
  bool (*assemble)(
    struct rclrt_daemon * daemon, struct rclrt_input_stream * input,
    struct rclrt_bytes * submessages);
  struct rclrt_scanner scanner;
};

/* Errors: ARGUMENT (a null pointer), STORAGE (a size below what is stated above; `shortage` names
 * it). Does not open the transport. */
enum rclrt_ret rclrt_daemon_init(
  struct rclrt_daemon * daemon, const struct rclrt_daemon_config * config,
  const struct rclrt_port * port, const struct rclrt_transport * transport);
/* All streams begin anew, everything queued or pending is dropped; reliable messages that were not
 * acknowledged are counted and reported as given up. For a new session. */
void rclrt_daemon_reset(struct rclrt_daemon * daemon, uint8_t session, const uint8_t key[4]);

/* As `hold_off_ns` and `lifetime_ns` of the configuration, from now on. */
void rclrt_daemon_set_hold_off(struct rclrt_daemon * daemon, uint64_t hold_off_ns);
void rclrt_daemon_set_lifetime(struct rclrt_daemon * daemon, uint64_t lifetime_ns);

/* Streams and sinks are the caller's, each added once, before use. */
enum rclrt_ret rclrt_daemon_add_output(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint8_t id);
enum rclrt_ret rclrt_daemon_add_input(
  struct rclrt_daemon * daemon, struct rclrt_input_stream * stream, uint8_t id, uint8_t * assembly,
  uint16_t assembly_capacity);
enum rclrt_ret rclrt_daemon_add_sink(
  struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint16_t object, uint8_t stream,
  uint8_t priority);

/* Their storage is the caller's again. Messages that an output has queued or pending are dropped,
 * and so are those that an input holds. Frames that wait or are held for a sink go to `others` from
 * now on, so that their streams go on. Not while another context uses them. One step per node,
 * slot, and RCLRT_WINDOW steps per input stream. */
void rclrt_daemon_remove_output(struct rclrt_daemon * daemon, struct rclrt_output_stream * stream);
void rclrt_daemon_remove_input(struct rclrt_daemon * daemon, struct rclrt_input_stream * stream);
void rclrt_daemon_remove_sink(struct rclrt_daemon * daemon, struct rclrt_sink * sink);

/* A node to write a message into. Never waits. Errors: AGAIN (the window of the stream is full, or
 * there is no node and none could be evicted). Time: one step per best effort node evicted, one. */
enum rclrt_ret rclrt_daemon_acquire(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint8_t priority,
  struct rclrt_node ** node);
/* A writer behind the message header of the node. */
struct rclrt_writer rclrt_daemon_writer(struct rclrt_daemon * daemon, struct rclrt_node * node);
/* Queue what the writer has written. Errors: STORAGE (the writer failed: `writer->at` is the size
 * needed), AGAIN (window full meanwhile); the node is then free again. */
enum rclrt_ret rclrt_daemon_commit(
  struct rclrt_daemon * daemon, struct rclrt_node * node, const struct rclrt_writer * writer);
/* Sends submessages that are longer than a node, of any length, as fragments on a reliable stream. What is
 * more than the window and the pool hold is cut whenever there is room, by whatever context makes some, and
 * takes half of the nodes at most. Until the last piece is cut or given up `submessages` stays as it is from
 * its byte message_capacity on, and nothing else goes on the stream: AGAIN; nor does another such message
 * begin. What the pool holds goes all or not at all. Errors: UNSUPPORTED (stream not reliable), STORAGE (two
 * nodes besides the reserve are needed), AGAIN. Linear in `size`. */
enum rclrt_ret rclrt_daemon_send_long(
  struct rclrt_daemon * daemon, struct rclrt_output_stream * stream, uint8_t priority,
  const uint8_t * submessages, size_t size);
/* Longest submessage sequence that fits a node. */
uint16_t rclrt_daemon_payload_capacity(const struct rclrt_daemon * daemon);

/* Completion handler: transport.write returned 0 before, and is now done. Sends the next piece, and
 * ends a read() that waits. */
void rclrt_daemon_transmitted(struct rclrt_daemon * daemon);
/* Reception handler: these bytes came, on a line of datagrams exactly one message. Linear in `size`;
 * ends a read() that waits. Interrupts of the line may be on before rclrt_daemon_init(), and during
 * it, if the daemon is zero until then (static storage is): the bytes are dropped. */
void rclrt_daemon_received(struct rclrt_daemon * daemon, const uint8_t * bytes, size_t size);

/* Heartbeats, lifetimes and hold-off that are due; begins sending if there is anything. Returns
 * when to call again, UINT64_MAX for no need, as of now: what is published afterwards needs another
 * call once it has been transmitted. One step per stream. */
uint64_t rclrt_daemon_tick(struct rclrt_daemon * daemon);
/* For programs without interrupts: sends, waits at most `timeout_ns` for bytes, handles them. */
enum rclrt_ret rclrt_daemon_poll(struct rclrt_daemon * daemon, uint64_t timeout_ns);
/* Nothing is queued, being sent or waiting for an acknowledgement. */
bool rclrt_daemon_idle(struct rclrt_daemon * daemon);
/* All messages of the stream have been acknowledged or given up. */
bool rclrt_daemon_confirmed(
  struct rclrt_daemon * daemon, const struct rclrt_output_stream * stream);

/* A message taken from a sink. */
struct rclrt_message
{
  struct rclrt_message_header header;
  struct rclrt_bytes submessages;
};

/* The next message for `sink`: copied to `buffer`, checked, in the order of its stream. Frames that
 * fail are counted and passed over. A message of several submessages is taken in parts, each
 * from the sink it is for (ACKNACKs and HEARTBEATs go with the part before); it is acknowledged
 * with the last, as said above. A message that came in fragments is one part. Errors: AGAIN (none), STORAGE
 * (a buffer below message_capacity: nothing is taken). Linear in the bytes copied; critical sections
 * as above. `message->submessages` is valid until the sink is taken from again. */
enum rclrt_ret rclrt_daemon_take(
  struct rclrt_daemon * daemon, struct rclrt_sink * sink, uint8_t * buffer, size_t capacity,
  struct rclrt_message * message);

#ifdef __cplusplus
}
#endif
