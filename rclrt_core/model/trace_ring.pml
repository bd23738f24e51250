/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ring of job records (src/trace_ring.hpp): one writer, one reader, no lock, checked in every
 * interleaving. A record is two halves here, so that a torn one can be told.
 *
 * Promises: what is read was written, whole, in order, once; what is missing was counted.
 *
 * The model is sequentially consistent: it checks the order of the steps. That release and acquire
 * keep this order on the machine is argued beside the stores.
 *
 * Each macro plants one mistake, and the checker must find it:
 *   PUBLISH_BEFORE_WRITE  the writer moves the head before the record is in its slot
 *   FREE_BEFORE_COPY      the reader moves the tail before it has copied the record
 *   OVERWRITE             the writer does not look for room
 */

#define SIZE 2
#define RECORDS 6

byte first_half[SIZE];
byte second_half[SIZE];
byte head;    /* stored by the writer only */
byte tail;    /* stored by the reader only */
byte dropped; /* stored by the writer only */
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
    if
#ifndef OVERWRITE
    :: head_now - tail > SIZE - 1 -> dropped++
#endif
    :: else ->
#ifdef PUBLISH_BEFORE_WRITE
      head = head_now + 1;
      write_record(value)
#else
      write_record(value);
      head = head_now + 1
#endif
    fi
  }
  writer_done = true
}

active proctype reader()
{
  byte head_seen;
  byte at;
  byte first;
  byte second;
  byte last;
  byte count;
  bool last_round;
  do
  :: !last_round ->
    last_round = writer_done;
    head_seen = head;
    do
    :: at != head_seen ->
#ifdef FREE_BEFORE_COPY
      tail = at + 1;
#endif
      first = first_half[at % SIZE];
      second = second_half[at % SIZE];
#ifndef FREE_BEFORE_COPY
      tail = at + 1;
#endif
      at++;
      count++;
      assert(first == second);
      assert(first > last);
      last = first
    :: else -> break
    od
  :: else -> break
  od;
  assert(count + dropped == RECORDS)
}
