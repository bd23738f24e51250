/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a process tells the others about its jobs (src/edf/edf_region.hpp): one writer, readers, two
 * buffers, no lock, in every interleaving. What is told is two halves here, so that a torn one can be told.
 *
 * Promises: what a reader takes is whole, and not older than what was told when it began. A writer that
 * stops anywhere makes no reader fail: a reader fails only if something was told meanwhile.
 *
 * The model is sequentially consistent: it checks the order of the steps. That release and acquire keep
 * this order on the machine is argued beside the words.
 *
 * Each macro plants one mistake, and the checker must find it:
 *   ONE_BUFFER   the writer writes where the readers are sent to
 *   NO_RECHECK   the reader does not look at the sequence again
 *   TELL_EARLY   the writer raises the sequence before the buffer is written
 */

#define TELLINGS 4

byte sequence;
byte first_half[2];
byte second_half[2];

#ifdef ONE_BUFFER
#define buffer_of(number) 0
#else
#define buffer_of(number) ((number) % 2)
#endif

active proctype writer()
{
  byte value;
  byte to;
  for (value : 1 .. TELLINGS) {
    if
    :: to = buffer_of(value)
    :: break /* stopped or killed, here or in between: the readers need not see the rest */
    fi;
#ifdef TELL_EARLY
    sequence = value;
#endif
    first_half[to] = value;
    second_half[to] = value;
#ifndef TELL_EARLY
    sequence = value
#endif
  }
}

active proctype reader()
{
  byte began;
  byte from;
  byte first;
  byte second;
  byte again;
  byte round;
  for (round : 1 .. 3) {
    began = sequence;
    from = buffer_of(began);
    first = first_half[from];
    second = second_half[from];
    again = sequence;
    if
#ifndef NO_RECHECK
    :: again != began -> assert(again > began)
#endif
    :: else ->
      assert(first == second);
      assert(first == began)
    fi
  }
}
