/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "program.h"

#include "mps2.h"
#include "rclrt_micro/client.h"

#define KEY 0xB0A2D001U
#define LONG 200U /* bytes of a long message, at 115200 baud 19 ms */

RCLRT_SYSTEM_WITH(
  client, message_bytes = 256, messages = 16, frames = 48, ring_bytes = 4096, timers = 2,
  long_bytes = 256, levels = 3, polled = 0);
const struct rclrt_system * const program_system = &client_system;

enum command
{
  BURST = 1,      /* six long messages and then an urgent one, all at once */
  SPIN = 2,       /* takes the processor until /urgent has come, then says on /up whether it came */
  STATISTICS = 3, /* stacks, sections, counters: see on_command() */
};

/* A std_msgs/Header whose seconds are the number. */
static void encode_long(const void * message, struct rclrt_writer * writer)
{
  const size_t size = LONG - 12U;
  rclrt_write_i32(writer, *(const int32_t *)message);
  rclrt_write_u32(writer, 0);
  rclrt_write_count(writer, size);
  for (size_t i = 1; i < size; ++i) {
    rclrt_write_u8(writer, 'x');
  }
  rclrt_write_u8(writer, 0);
}
static const struct rclrt_type long_type = {"std_msgs::msg::dds_::Header_", encode_long, NULL};

static struct rclrt_publisher up, bulk, urgent_up, statistics;
static struct rclrt_subscription down, urgent, command;
static int32_t down_value, urgent_value, command_value;
static volatile bool urgent_came;
static uint32_t connections;

static void on_down(void * context, const void * message)
{
  (void)context;
  (void)rclrt_publish(&up, message);
}

static void on_urgent(void * context, const void * message)
{
  (void)context;
  urgent_came = true;
  (void)rclrt_publish(&urgent_up, message);
}

static void tell(int32_t what, uint32_t value)
{
  const int32_t pair = (int32_t)((uint32_t)what << 24U | (value & 0xFFFFFFU));
  (void)rclrt_publish(&statistics, &pair);
}

/* At least `ns`, with the processor. */
static void spin(uint64_t ns)
{
  const uint64_t begin = mps2_now_ns(NULL);
  while (!urgent_came && mps2_now_ns(NULL) - begin < ns) {
  }
}

static void on_command(void * context, const void * message)
{
  (void)context;
  const int32_t what = *(const int32_t *)message;
  if (what == BURST) {
    for (int32_t i = 0; i < 6; ++i) {
      (void)rclrt_publish(&bulk, &i);
    }
    const int32_t now = 100;
    (void)rclrt_publish(&urgent_up, &now);
  } else if (what == SPIN) {
    urgent_came = false;
    const int32_t begun = 1;
    (void)rclrt_publish(&urgent_up, &begun);
    spin(RCLRT_S(20));
    const int32_t came = urgent_came ? 2 : 3;
    (void)rclrt_publish(&up, &came);
  } else if (what == STATISTICS) {
    for (unsigned level = 0; level <= PROGRAM_LEVELS; ++level) {
      tell((int32_t)level, program_stack_used(level));
    }
    tell(10, connections);
  }
}

static void on_event(void * context, enum rclrt_session_event event)
{
  (void)context;
  connections += event == RCLRT_SESSION_CONNECTED ? 1U : 0U;
}

static enum rclrt_ret create(void)
{
  static const struct
  {
    struct rclrt_publisher * publisher;
    const struct rclrt_type * type;
    const char * name;
    uint8_t priority;
  } out[] = {
    {&up, &rclrt_type_int32, "up", 12},
    {&bulk, &long_type, "bulk", 1},
    {&urgent_up, &rclrt_type_int32, "urgent_up", 25},
    {&statistics, &rclrt_type_int32, "statistics", 2}};
  static const struct
  {
    struct rclrt_subscription * subscription;
    int32_t * value;
    void (*run)(void * context, const void * message);
    const char * name;
    uint8_t priority;
  } in[] = {
    {&down, &down_value, on_down, "down", 13},
    {&urgent, &urgent_value, on_urgent, "urgent", 26},
    {&command, &command_value, on_command, "command", 3}};
  const struct rclrt_qos qos = rclrt_qos_reliable();
  struct rclrt_node_handle * node = client->node;
  enum rclrt_ret ret = RCLRT_OK;
  for (unsigned i = 0; i < 4 && ret == RCLRT_OK; ++i) {
    ret =
      rclrt_publisher_init(out[i].publisher, node, out[i].type, out[i].name, qos, out[i].priority);
  }
  for (unsigned i = 0; i < 3 && ret == RCLRT_OK; ++i) {
    ret = rclrt_subscription_init(in[i].subscription, node, &rclrt_type_int32, in[i].name, qos);
  }
  for (unsigned i = 0; i < 3 && ret == RCLRT_OK; ++i) {
    ret = rclrt_executor_add_subscription(
      client->executor, in[i].subscription, in[i].value, in[i].run, NULL, in[i].priority,
      RCLRT_ON_NEW_DATA);
  }
  return ret;
}

enum rclrt_ret program_start(
  const struct rclrt_port * port, const struct rclrt_transport * transport,
  enum rclrt_ret (*use_levels)(struct rclrt_executor * executor))
{
  static const uint8_t floors[PROGRAM_LEVELS] = {0, 10, 20};
  enum rclrt_ret ret =
    rclrt_system_start_serial(client, port, transport, KEY, "firmware", RCLRT_S(60));
  if (ret == RCLRT_OK) {
    connections = 1;
    client->session->answer_timeout_ns = RCLRT_S(60); /* an emulator may stand still for seconds */
    client->session->on_event = on_event;
    ret = rclrt_executor_use_levels(client->executor, floors, PROGRAM_LEVELS);
  }
  if (ret == RCLRT_OK) {
    ret = use_levels(client->executor);
  }
  return ret == RCLRT_OK ? create() : ret;
}
