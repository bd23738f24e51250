/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The evaluation of PoDS [PoDS 6] on FreeRTOS: chains of a timer callback, an answer of the agent, and a
 * subscription callback, with work that takes instructions. The agent is inside (inner_agent.h), so all is in
 * the emulator's time, and the same in each run. Arguments:
 *
 *   batch|paper|own|levels CHAINS BYTES WORK_US SAMPLES RELIABLE LOSE_EVERY
 *
 * Prints, a line each: `latency CHAIN US` for each chain and sample; `begin NAME US` of the callbacks of the last
 * sample, after its release; `masked ADDRESS CYCLES`: the longest critical section, and who entered it;
 * `stack TASK BYTES`, of the interrupts, too; `static all BYTES`; `nodes OF USED`, `slots OF USED`.
 */
#include <stdlib.h>
#include <string.h>

#include "inner_agent.h"
#include "mps2.h"
#include "rclrt_micro/freertos.h"
#include "rclrt_micro/system.h"

#define STACK 512U /* words of each task */
#define CHAINS 5U
#define SAMPLES 8U
#define PERIOD_NS RCLRT_MS(250)
#define NODES 24U
#define SLOTS 48U
RCLRT_SYSTEM_WITH(
  client, message_bytes = 560, messages = 24, frames = 48, ring_bytes = 4096, timers = 5,
  long_bytes = 560, levels = 4, polled = 0);

enum who
{
  BATCH,
  PAPER,
  OWN,
  LEVELS
};

struct chain
{
  unsigned index;
  unsigned begun, ended; /* samples */
  struct rclrt_publisher publisher;
  struct rclrt_subscription subscription;
  struct rclrt_timer timer;
  uint32_t number;
  uint64_t timer_ns[SAMPLES], reply_ns[SAMPLES], end_ns[SAMPLES];
};

static struct
{
  enum who who;
  unsigned chains, bytes, work_us, samples, reliable, lose_every;
} setup;
static struct chain chains[CHAINS];
static struct rclrt_freertos kernel;
static StackType_t stacks[RCLRT_LEVELS_MAX + 1U][STACK];
static StaticTask_t tasks[RCLRT_LEVELS_MAX + 1U];
static TaskHandle_t line_task;
static uint32_t rounds_per_ms;
static uint64_t first_ns;
static volatile bool stop;

/* ---- Critical sections, measured between the end of enter() and the begin of leave() */

static struct rclrt_port inner_port;
static uint32_t section_begin, worst_cycles;
static void *section_place, *worst_place;
static uint16_t least_nodes = NODES;
static uint16_t most_slots;

static uint32_t enter(void * context)
{
  const uint32_t token = inner_port.enter(context);
  section_place = __builtin_return_address(0);
  section_begin = mps2_cycles();
  return token;
}

static void leave(void * context, uint32_t token)
{
  const uint32_t cycles = mps2_cycles() - section_begin;
  if (cycles > worst_cycles) {
    worst_cycles = cycles;
    worst_place = section_place;
  }
  const struct rclrt_daemon * daemon = client->daemon;
  if (daemon->port != NULL) {
    least_nodes = daemon->free_count < least_nodes ? daemon->free_count : least_nodes;
    uint16_t used = SLOTS;
    for (const struct rclrt_link * link = rclrt_list_first(&daemon->free_slots);
         link != NULL && used > 0; link = rclrt_list_next(&daemon->free_slots, link)) {
      used--;
    }
    most_slots = used > most_slots ? used : most_slots;
  }
  inner_port.leave(context, token);
}

/* ---- Output */

static void say(const char * what, const char * name, uint32_t value)
{
  char digits[12];
  char * at = digits + sizeof(digits) - 1;
  *at = 0;
  do {
    *--at = (char)('0' + value % 10U);
    value /= 10U;
  } while (value > 0);
  mps2_print(what);
  mps2_print(" ");
  mps2_print(name);
  mps2_print(" ");
  mps2_print(at);
  mps2_print("\n");
}

static const char * name_of(unsigned index)
{
  static const char * const names[] = {"0", "1", "2", "3", "4"};
  return names[index];
}

static void must(enum rclrt_ret ret)
{
  if (ret != RCLRT_OK) {
    mps2_print(rclrt_ret_text(ret));
    mps2_print("\n");
    mps2_exit(1);
  }
}

static void report(void)
{
  static const char * const timers[] = {"t0", "t1", "t2", "t3", "t4"};
  static const char * const replies[] = {"s0", "s1", "s2", "s3", "s4"};
  static const char * const levels[] = {"level0", "level1", "level2", "level3"};
  const unsigned last = setup.samples - 1U;
  const uint64_t release = first_ns + last * PERIOD_NS;
  for (unsigned i = 0; i < setup.chains; ++i) {
    for (unsigned sample = 0; sample < setup.samples; ++sample) {
      const uint64_t took = chains[i].end_ns[sample] - chains[i].timer_ns[sample];
      say("latency", name_of(i), (uint32_t)(took / 1000U));
    }
    say("begin", timers[i], (uint32_t)((chains[i].timer_ns[last] - release) / 1000U));
    say("begin", replies[i], (uint32_t)((chains[i].reply_ns[last] - release) / 1000U));
  }
  char address[16] = "0x";
  for (unsigned i = 0; i < 8; ++i) {
    address[2U + i] = "0123456789abcdef"[(uintptr_t)worst_place >> (28U - 4U * i) & 15U];
  }
  say("masked", address, worst_cycles);
  for (unsigned i = 0; setup.who == LEVELS && kernel.levels[i] != NULL; ++i) {
    const UBaseType_t left = uxTaskGetStackHighWaterMark(kernel.levels[i]);
    say("stack", levels[i], (uint32_t)((STACK - left) * sizeof(StackType_t)));
  }
  const UBaseType_t left = uxTaskGetStackHighWaterMark(line_task);
  say("stack", "line", (uint32_t)((STACK - left) * sizeof(StackType_t)));
  say("stack", "interrupts", mps2_stack_used());
  say("static", "all", mps2_static_memory());
  say("nodes", "24", (uint32_t)(NODES - least_nodes));
  say("slots", "48", most_slots);
}

/* ---- The workload */

static void burn(uint32_t rounds)
{
  __asm volatile("1: subs %0, %0, #1\n\tbne 1b" : "+r"(rounds) : : "cc");
}

static void calibrate(void)
{
  const uint32_t token = inner_port.enter(inner_port.context);
  const uint32_t begin = mps2_cycles();
  burn(10000);
  const uint32_t cycles = mps2_cycles() - begin;
  inner_port.leave(inner_port.context, token);
  rounds_per_ms = 10000U * (MPS2_HZ / 1000U) / cycles;
}

static void work(void) { burn(rounds_per_ms * setup.work_us / 1000U); }

static void encode(const void * message, struct rclrt_writer * writer)
{
  static const uint8_t zeros[512];
  rclrt_write_u32(writer, *(const uint32_t *)message);
  rclrt_write_bytes(writer, zeros, setup.bytes - 4U);
}
static void decode(void * message, struct rclrt_reader * reader)
{
  *(uint32_t *)message = rclrt_read_u32(reader);
}
static const struct rclrt_type blob = {"test_msgs::msg::dds_::Blob_", encode, decode};

static void on_timer(void * context, struct rclrt_timer * timer)
{
  struct chain * chain = context;
  (void)timer;
  if (chain->begun == setup.samples) {
    return;
  }
  chain->timer_ns[chain->begun++] = mps2_now_ns(NULL);
  work();
  must(rclrt_publish(&chain->publisher, &chain->number));
}

static void on_reply(void * context, const void * message)
{
  struct chain * chain = context;
  (void)message;
  if (chain->ended == setup.samples) {
    return;
  }
  chain->reply_ns[chain->ended] = mps2_now_ns(NULL);
  work();
  chain->end_ns[chain->ended++] = mps2_now_ns(NULL);
  bool all = true;
  for (unsigned i = 0; i < setup.chains; ++i) {
    all = all && chains[i].ended == setup.samples;
  }
  stop = all;
}

static void use_levels(void)
{
  uint8_t floors[RCLRT_LEVELS_MAX] = {0};
  const unsigned own = setup.chains < RCLRT_LEVELS_MAX ? setup.chains - 1U : RCLRT_LEVELS_MAX - 1U;
  const unsigned levels = own < 1U ? 2U : own + 1U;
  for (unsigned i = 1; i < levels; ++i) { /* the most important chains get a level each */
    floors[i] = own < 1U ? 1U : (uint8_t)((setup.chains - (levels - i)) * 2U);
  }
  must(rclrt_executor_use_levels(client->executor, floors, (uint8_t)levels));
  for (unsigned i = 0; i < levels; ++i) {
    must(rclrt_freertos_add_level(
      &kernel, client->executor, "level", 1U + i, stacks[i], STACK, &tasks[i]));
  }
}

static void create(void)
{
  static const char * const out[] = {"c0", "c1", "c2", "c3", "c4"};
  static const char * const in[] = {"r0", "r1", "r2", "r3", "r4"};
  uint8_t priorities[2U * CHAINS];
  struct rclrt_qos qos = setup.reliable != 0 ? rclrt_qos_reliable() : rclrt_qos_best_effort();
  (void)rclrt_chain_priorities(setup.chains, 2, priorities);
  for (unsigned i = 0; i < setup.chains; ++i) {
    struct chain * chain = &chains[i];
    chain->index = i;
    must(rclrt_publisher_init(
      &chain->publisher, client->node, &blob, out[i], qos, priorities[2U * i]));
    must(rclrt_publisher_set_blocking(&chain->publisher, setup.who == BATCH));
    must(rclrt_subscription_init(&chain->subscription, client->node, &blob, in[i], qos));
  }
  for (unsigned i = 0; i < setup.chains; ++i) {
    must(rclrt_executor_add_subscription(
      client->executor, &chains[i].subscription, &chains[i].number, on_reply, &chains[i],
      priorities[2U * i + 1U], RCLRT_ON_NEW_DATA));
  }
  first_ns = mps2_now_ns(NULL) + RCLRT_MS(100);
  for (unsigned i = 0; i < setup.chains; ++i) {
    must(rclrt_executor_add_timer_at(
      client->executor, &chains[i].timer, first_ns, PERIOD_NS, priorities[2U * i], on_timer,
      &chains[i]));
  }
}

static void spin(void)
{
  const uint64_t end = first_ns + (setup.samples + 2U) * PERIOD_NS;
  while (!stop && mps2_now_ns(NULL) < end) {
    const enum rclrt_ret ret = setup.who == BATCH
                                 ? rclrt_batch_spin_some(client->executor, RCLRT_MS(10))
                                 : rclrt_executor_spin_some(client->executor, RCLRT_MS(10));
    must(ret == RCLRT_ERR_TIMEOUT ? RCLRT_OK : ret);
  }
}

static void transmitted(void) { rclrt_daemon_transmitted(client->daemon); }
static void received(const uint8_t * bytes, size_t size)
{
  rclrt_daemon_received(client->daemon, bytes, size);
}

static void run(void * context)
{
  const struct mps2_line line = {transmitted,      received,
                                 115200,           configMAX_SYSCALL_INTERRUPT_PRIORITY,
                                 inner_agent_take, inner_agent_next};
  const struct inner_agent agent = {
    MPS2_HZ / 10000U * 3U, MPS2_HZ / 1000U, setup.who == OWN || setup.who == LEVELS,
    setup.lose_every};
  (void)context;
  calibrate();
  inner_agent_start(&agent);
  mps2_line_start(&line);
  must(rclrt_system_start_serial(client, &kernel.port, &kernel.transport, 1, "pods", RCLRT_S(10)));
  client->session->keep_alive_ns = 0;
  client->daemon->config.mode =
    setup.who == BATCH || setup.who == PAPER ? RCLRT_MODE_PAPER : RCLRT_MODE_OWN;
  rclrt_daemon_set_hold_off(client->daemon, RCLRT_US(2500));
  if (setup.who == LEVELS) {
    use_levels();
  }
  create();
  if (setup.who == LEVELS) {
    must(rclrt_freertos_run(&kernel, client->executor, &stop));
  } else {
    spin();
  }
  report();
  mps2_exit(stop ? 0 : 1);
}

static bool read_arguments(void)
{
  static const char * const whos[] = {"batch", "paper", "own", "levels"};
  static char text[100];
  if (!mps2_arguments(text, sizeof(text))) {
    return false;
  }
  char * at = text;
  for (unsigned i = 0; i < 4; ++i) {
    const size_t size = strlen(whos[i]);
    if (memcmp(at, whos[i], size) == 0 && at[size] == ' ') {
      setup.who = (enum who)i;
      at += size;
      break;
    }
  }
  unsigned * const numbers[] = {&setup.chains,  &setup.bytes,    &setup.work_us,
                                &setup.samples, &setup.reliable, &setup.lose_every};
  for (unsigned i = 0; i < 6; ++i) {
    *numbers[i] = (unsigned)strtoul(at, &at, 10);
  }
  return setup.chains > 0 && setup.chains <= CHAINS && setup.bytes >= 4 && setup.bytes <= 512 &&
         setup.samples > 0 && setup.samples <= SAMPLES;
}

int main(void)
{
  const struct rclrt_freertos_config config = {.transmit = mps2_transmit, .now_ns = mps2_now_ns};
  if (!read_arguments()) {
    mps2_print("arguments: see main_pods.c\n");
    return 2;
  }
  if (rclrt_freertos_init(&kernel, &config) != RCLRT_OK) {
    return 2;
  }
  inner_port = kernel.port;
  kernel.port.enter = enter;
  kernel.port.leave = leave;
  line_task = xTaskCreateStatic(
    run, "line", STACK, NULL, 1U + RCLRT_LEVELS_MAX, stacks[RCLRT_LEVELS_MAX],
    &tasks[RCLRT_LEVELS_MAX]);
  vTaskStartScheduler();
  return 2;
}
