/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a round trip costs the client: a number is published, acknowledged, comes back, is taken, and that is
 * acknowledged. Run it under callgrind, which counts instructions in trips() but not in peer_...(): test/test_cost.py
 * does. Critical sections are those of the port for POSIX; the line is serial, or that port's socket on
 * the loopback. The agent is that of the firmware of the tests: it answers when the client waits.
 *
 *   rclrt_micro_trips serial|udp ROUNDS
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../firmware/inner_agent.h"
#include "../firmware/mps2.h"
#include "rclrt_micro/client.h"
#include "rclrt_micro/posix.h"

#define LONGEST 600U /* wire bytes of a frame */

/* What the agent wants of its board. */
static uint64_t clock_ns = 1;
uint32_t mps2_cycles(void) { return (uint32_t)(clock_ns / (1000000000U / MPS2_HZ)); }
void mps2_print(const char * text) { (void)fputs(text, stderr); }
void mps2_exit(int status) { exit(status); }

void peer_take(const uint8_t * bytes, size_t size);
size_t peer_next(uint8_t * bytes, uint64_t timeout_ns);
void peer_serve(uint64_t timeout_ns);
void trips(int rounds);

__attribute__((noinline)) void peer_take(const uint8_t * bytes, size_t size)
{
  inner_agent_take(bytes, size);
}

/* The agent's next frame; 0 bytes if there will be none, and the time has passed. */
static size_t next_frame(uint8_t * bytes, uint64_t timeout_ns)
{
  struct rclrt_scanner scanner;
  rclrt_scanner_init(&scanner, LONGEST / 2U);
  size_t size = 0;
  for (;;) { /* ends: no frame is longer, and time goes on */
    const uint32_t wait = inner_agent_next(&bytes[size]);
    if (wait == UINT32_MAX) {
      clock_ns += timeout_ns;
      return 0;
    }
    clock_ns += (uint64_t)wait * (1000000000U / MPS2_HZ);
    if (wait == 0 && rclrt_scan_byte(&scanner, bytes[size++]) == RCLRT_SCAN_FRAME) {
      return size;
    }
  }
}

__attribute__((noinline)) size_t peer_next(uint8_t * bytes, uint64_t timeout_ns)
{
  return next_frame(bytes, timeout_ns);
}

static struct rclrt_posix posix;
static int agent = -1; /* its socket */

/* What the client has sent goes to the agent, and one message back. */
__attribute__((noinline)) void peer_serve(uint64_t timeout_ns)
{
  struct sockaddr_in from;
  socklen_t length = sizeof(from);
  uint8_t bytes[LONGEST / 2U], wire[LONGEST];
  ssize_t got;
  while ((got = recvfrom(
            agent, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &length)) > 0) {
    struct rclrt_frame_encoder encoder;
    rclrt_frame_encoder_init(
      &encoder, RCLRT_CHECK_ARC, RCLRT_FRAME_CLIENT, RCLRT_FRAME_AGENT, bytes, (uint16_t)got);
    inner_agent_take(wire, rclrt_frame_encode(&encoder, wire, sizeof(wire)));
    (void)connect(agent, (struct sockaddr *)&from, length);
  }
  const size_t size = next_frame(wire, timeout_ns);
  uint16_t whole = 0;
  if (size > 0) {
    (void)rclrt_frame_decode(RCLRT_CHECK_ARC, wire, size, NULL, 0, bytes, sizeof(bytes), &whole);
    (void)send(agent, bytes, whole, 0);
  }
}

static ptrdiff_t read_socket(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  if (timeout_ns > 0) {
    peer_serve(timeout_ns);
  }
  return posix.transport.read(context, bytes, capacity, 0);
}

static uint64_t now_ns(void * context)
{
  (void)context;
  return clock_ns;
}

static ptrdiff_t write_serial(void * context, const uint8_t * bytes, size_t size)
{
  (void)context;
  peer_take(bytes, size);
  return (ptrdiff_t)size;
}
static ptrdiff_t read_serial(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  (void)context;
  return timeout_ns > 0 && capacity >= LONGEST ? (ptrdiff_t)peer_next(bytes, timeout_ns) : 0;
}

/* A socket for the agent, and the port with one to it. */
static bool open_line(void)
{
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof(address);
  agent = socket(AF_INET, SOCK_DGRAM, 0);
  return bind(agent, (struct sockaddr *)&address, length) == 0 &&
         getsockname(agent, (struct sockaddr *)&address, &length) == 0 &&
         rclrt_posix_udp(&posix, "127.0.0.1", ntohs(address.sin_port)) == RCLRT_OK;
}

RCLRT_SYSTEM(client, message_bytes = 600, messages = 8, frames = 16, ring_bytes = 2048, timers = 1);
static struct rclrt_publisher publisher;
static struct rclrt_subscription subscription;
static int32_t number, came;

static void on_number(void * context, const void * message)
{
  (void)context, (void)message;
  came++;
}

__attribute__((noinline)) void trips(int rounds)
{
  for (int32_t i = 0; i < rounds; ++i) {
    (void)rclrt_publish(&publisher, &i);
    while (came == i) { /* ends: the agent loses nothing */
      (void)rclrt_executor_spin_some(client->executor, RCLRT_MS(100));
    }
  }
}

int main(int argc, char ** argv)
{
  const struct inner_agent with = {MPS2_HZ / 10000U * 3U, MPS2_HZ / 1000U, true, 0};
  const int rounds = argc == 3 ? atoi(argv[2]) : 0;
  const struct rclrt_qos qos = rclrt_qos_reliable();
  if (rounds < 1) {
    (void)fprintf(stderr, "usage: %s serial|udp ROUNDS\n", argv[0]);
    return 2;
  }
  const bool serial = strcmp(argv[1], "serial") == 0;
  inner_agent_start(&with);
  if (!open_line()) {
    return 1;
  }
  struct rclrt_port port = posix.port;
  struct rclrt_transport transport = posix.transport;
  port.now_ns = now_ns;
  transport.read = serial ? read_serial : read_socket;
  transport.write = serial ? write_serial : transport.write;
  if (
    (serial ? rclrt_system_start_serial : rclrt_system_start_datagram)(
      client, &port, &transport, 1, "trips", RCLRT_S(10)) != RCLRT_OK ||
    rclrt_publisher_init(&publisher, client->node, &rclrt_type_int32, "up", qos, 1) != RCLRT_OK ||
    rclrt_subscription_init(&subscription, client->node, &rclrt_type_int32, "down", qos) !=
      RCLRT_OK ||
    rclrt_executor_add_subscription(
      client->executor, &subscription, &number, on_number, NULL, 2, RCLRT_ON_NEW_DATA) !=
      RCLRT_OK) {
    return 1;
  }
  (void)rclrt_executor_spin_some(client->executor, RCLRT_MS(50)); /* READ_DATA has arrived */
  trips(rounds);
  printf("%d came back\n", (int)came);
  return came == rounds ? 0 : 1;
}
