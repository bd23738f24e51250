/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ring of trace records (include/rclrt_core/trace_ring.hpp): one writer that never waits, one reader that stores nothing,
 * checked in every interleaving. A record is two halves here, so that a torn one can be told.
 *
 * Promises: what is read was written, whole, in order, once; what is missing was counted.
 *
 * The model is sequentially consistent: it checks the order of the steps. That release and acquire
 * keep this order on the machine is argued in the source.
 *
 * Each macro plants one mistake, and the checker must find it:
 *   PUBLISH_BEFORE_WRITE  the writer moves the head before the record is in its slot
 *   NO_SECOND_LOOK        the reader believes what it has copied
 *   READ_THE_OLDEST       the reader believes the slot that the writer may be writing
 */

#define SIZE 2
#define RECORDS 6

#ifdef READ_THE_OLDEST
#define KEPT SIZE
#else
#define KEPT (SIZE - 1)
#endif

byte first_half[SIZE];
byte second_half[SIZE];
byte head; /* stored by the writer only */
bool writer_done;

inline write_record(value)
{
  first_half[head_now % SIZE] = value;
  second_half[head_now % SIZE] = value
}

active proctype writer()
{
  byte value;
  byte head_now;
  for (value : 1 .. RECORDS) {
    head_now = head;
#ifdef PUBLISH_BEFORE_WRITE
    head = head_now + 1;
    write_record(value)
#else
    write_record(value);
    head = head_now + 1
#endif
  }
  writer_done = true
}

inline skip_overwritten()
{
  if
  :: head_seen > KEPT && at < head_seen - KEPT ->
    missed = missed + head_seen - KEPT - at;
    at = head_seen - KEPT;
    skipped = true
  :: else -> skipped = false
  fi
}

active proctype reader()
{
  byte head_seen;
  byte up_to;
  byte at;
  byte first;
  byte second;
  byte last;
  byte count;
  byte missed;
  bool skipped;
  bool last_round;
  do
  :: !last_round ->
    last_round = writer_done;
    head_seen = head;
    up_to = head_seen;
    skip_overwritten();
    do
    :: at < up_to ->
      first = first_half[at % SIZE];
      second = second_half[at % SIZE];
#ifndef NO_SECOND_LOOK
      head_seen = head;
#endif
      skip_overwritten();
      if
      :: skipped
      :: else ->
        at++;
        count++;
        assert(first == second);
        assert(first > last);
        last = first
      fi
    :: else -> break
    od
  :: else -> break
  od;
  assert(count + missed == RECORDS)
}
