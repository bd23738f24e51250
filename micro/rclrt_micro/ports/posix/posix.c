/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE /* sem_clockwait() */
#include "rclrt_micro/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define LONGEST_WAIT_NS (60U * NS_PER_S)
/* Longest wait for a line that takes no bytes; the message is then lost and counted. */
#define WRITE_TIMEOUT_MS 1000

static struct rclrt_posix * posix_of(void * context) { return context; }

static uint64_t now_ns(void * context)
{
  (void)context;
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* A mutex with priority inheritance is a word with the number of the thread that has it; one that finds it
 * taken asks the kernel. As pthread_mutex_lock() does, in a tenth of its instructions: there are 30 critical
 * sections in a round trip. Acquired and released once more around a call of the kernel, for tools that look
 * at threads and do not know what it does. */
static long futex(uint32_t * word, int operation)
{
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
}

static uint32_t thread_number(void)
{
  static _Thread_local uint32_t number;
  if (number == 0) {
    number = (uint32_t)gettid();
  }
  return number;
}

static uint32_t enter(void * context)
{
  uint32_t * word = &posix_of(context)->lock;
  uint32_t nobody = 0;
  if (!__atomic_compare_exchange_n(
        word, &nobody, thread_number(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    while (futex(word, FUTEX_LOCK_PI) != 0 && (errno == EINTR || errno == EAGAIN)) {
    } /* ends: a signal came, or its holder is about to go */
    (void)__atomic_fetch_add(word, 0, __ATOMIC_ACQUIRE);
  }
  return 0;
}

static void leave(void * context, uint32_t token)
{
  (void)token;
  uint32_t * word = &posix_of(context)->lock;
  uint32_t mine = thread_number();
  if (!__atomic_compare_exchange_n(word, &mine, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    (void)__atomic_fetch_add(word, 0, __ATOMIC_RELEASE);
    (void)futex(word, FUTEX_UNLOCK_PI);
  }
}

static void pend(void * context, unsigned level) { sem_post(&posix_of(context)->pended[level]); }

/* Whether or not somebody waits now: what is written stays until a read_line() has seen it. */
static void wake(void * context) { (void)eventfd_write(posix_of(context)->woken, 1); }

/* Bytes in the kernel's buffer, up to a piece more: what the line sends while the thread that reads it is
 * busy. */
#define AHEAD_BYTES 128U

static uint64_t time_of(const struct rclrt_posix * posix, size_t bytes)
{
  return (uint64_t)bytes * 10U * NS_PER_S / posix->baud;
}

/* So many bytes more are in the buffer. False: enough of them, time has to pass. */
static bool add_behind(struct rclrt_posix * posix, size_t bytes)
{
  const uint64_t now = now_ns(NULL);
  const uint64_t ahead = time_of(posix, AHEAD_BYTES);
  const uint32_t token = enter(posix);
  posix->free_ns = (posix->free_ns > now ? posix->free_ns : now) + time_of(posix, bytes);
  posix->behind = posix->free_ns > now + ahead;
  const bool behind = posix->behind;
  leave(posix, token);
  return !behind;
}

/* How long until more bytes are to be given to the line; 0: now, UINT64_MAX: none wait for it. */
static uint64_t behind_for(struct rclrt_posix * posix)
{
  const uint64_t until = now_ns(NULL) + time_of(posix, AHEAD_BYTES);
  const uint32_t token = enter(posix);
  const uint64_t left = posix->free_ns > until ? posix->free_ns - until : 0;
  const uint64_t wait = posix->behind ? left : UINT64_MAX;
  leave(posix, token);
  return wait;
}

static void catch_up(struct rclrt_posix * posix)
{
  const uint32_t token = enter(posix);
  const bool behind = posix->behind;
  posix->behind = false;
  leave(posix, token);
  if (behind) {
    rclrt_daemon_transmitted(posix->daemon);
  }
}

static bool speed_of(unsigned long baud, speed_t * speed)
{
  static const struct
  {
    unsigned long baud;
    speed_t speed;
  } known[] = {{9600, B9600},     {19200, B19200},   {38400, B38400},   {57600, B57600},
               {115200, B115200}, {230400, B230400}, {460800, B460800}, {921600, B921600}};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    if (known[i].baud == baud) {
      *speed = known[i].speed;
      return true;
    }
  }
  return false;
}

static int open_serial(const struct rclrt_posix * posix)
{
  const int fd = open(posix->device, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  struct termios settings;
  speed_t speed = B115200;
  if (fd < 0) {
    return -1;
  }
  if (tcgetattr(fd, &settings) != 0) {
    close(fd);
    return -1;
  }
  (void)speed_of(posix->baud, &speed);
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  if (
    cfsetispeed(&settings, speed) != 0 || cfsetospeed(&settings, speed) != 0 ||
    tcsetattr(fd, TCSANOW, &settings) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static int open_socket(const struct rclrt_posix * posix, int type)
{
  struct addrinfo hints;
  struct addrinfo * found = NULL;
  char port[8];
  memset(&hints, 0, sizeof(hints));
  hints.ai_family = AF_INET;
  hints.ai_socktype = type;
  (void)snprintf(port, sizeof(port), "%u", (unsigned)posix->tcp_udp_port);
  if (getaddrinfo(posix->host, port, &hints, &found) != 0) {
    errno = EHOSTUNREACH;
    return -1;
  }
  int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
    const int error = errno;
    close(fd);
    fd = -1;
    errno = error;
  }
  freeaddrinfo(found);
  if (fd >= 0) {
    const int on = 1;
    if (type == SOCK_STREAM) {
      /* Messages are small and urgent: not collected into larger packets. */
      (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  return fd;
}

static bool open_line(void * context)
{
  struct rclrt_posix * posix = context;
  if (posix->fd >= 0) {
    return true;
  }
  switch (posix->line) {
    case RCLRT_POSIX_SERIAL:
      posix->fd = open_serial(posix);
      break;
    case RCLRT_POSIX_UDP:
      posix->fd = open_socket(posix, SOCK_DGRAM);
      break;
    case RCLRT_POSIX_TCP:
      posix->fd = open_socket(posix, SOCK_STREAM);
      break;
  }
  if (posix->fd < 0) {
    posix->error = errno;
  }
  return posix->fd >= 0;
}

static void close_line(void * context)
{
  struct rclrt_posix * posix = context;
  if (posix->fd >= 0) {
    close(posix->fd);
    posix->fd = -1;
  }
  if (posix->daemon != NULL) {
    catch_up(posix); /* without a line the rest is refused */
  }
}

static ptrdiff_t write_line(void * context, const uint8_t * bytes, size_t size)
{
  struct rclrt_posix * posix = context;
  size_t done = 0;
  while (done < size) { /* ends: bytes go, or poll() gives up */
    ssize_t written;
    if (posix->line == RCLRT_POSIX_SERIAL) {
      written = write(posix->fd, bytes + done, size - done);
    } else {
      written = send(posix->fd, bytes + done, size - done, MSG_NOSIGNAL);
    }
    if (written > 0) {
      done += (size_t)written;
      continue;
    }
    struct pollfd ready = {posix->fd, POLLOUT, 0};
    const bool full = written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if ((!full && errno != EINTR) || (full && poll(&ready, 1, WRITE_TIMEOUT_MS) == 0)) {
      posix->error = full ? ETIMEDOUT : errno;
      if (posix->line == RCLRT_POSIX_TCP) {
        /* After half a message nothing makes sense to the agent: the reader is told that it is
         * over. */
        (void)shutdown(posix->fd, SHUT_RDWR);
      }
      return -1;
    }
  }
  const bool paced = posix->line == RCLRT_POSIX_SERIAL && posix->daemon != NULL;
  if (paced && !add_behind(posix, size)) {
    wake(posix); /* the reader waits no longer than until then */
    return 0;
  }
  return (ptrdiff_t)size;
}

static ptrdiff_t read_line(void * context, uint8_t * bytes, size_t capacity, uint64_t timeout_ns)
{
  struct rclrt_posix * posix = context;
  struct pollfd ready[2] = {{posix->fd, POLLIN, 0}, {posix->woken, POLLIN, 0}};
  eventfd_t times;
  const uint64_t behind = posix->daemon == NULL ? UINT64_MAX : behind_for(posix);
  uint64_t wait = behind < timeout_ns ? behind : timeout_ns;
  wait = wait < LONGEST_WAIT_NS ? wait : LONGEST_WAIT_NS;
  const struct timespec time = {(time_t)(wait / NS_PER_S), (long)(wait % NS_PER_S)};
  /* Without a line (its number is negative, poll() passes it over) the time goes by all the same. */
  const int count = ppoll(ready, 2, &time, NULL);
  if (behind != UINT64_MAX && behind_for(posix) == 0) {
    catch_up(posix);
  }
  if (count > 0 && ready[1].revents != 0) {
    (void)eventfd_read(posix->woken, &times);
  }
  if (posix->fd < 0) {
    return -1;
  }
  if (count <= 0 || ready[0].revents == 0) {
    return 0;
  }
  /* recv() tells the whole length of a datagram, also when it does not fit. */
  const ssize_t got = posix->line == RCLRT_POSIX_UDP ? recv(posix->fd, bytes, capacity, MSG_TRUNC)
                                                     : read(posix->fd, bytes, capacity);
  const bool nothing = got < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED);
  if (nothing) {
    return 0; /* an agent that is not there yet refuses datagrams */
  }
  if (got > (ssize_t)capacity) {
    posix->oversized++;
    return 0;
  }
  /* A serial device that has been unplugged, a connection that is closed: no bytes ever again. */
  const bool ended = got == 0 && posix->line != RCLRT_POSIX_UDP;
  if (got < 0 || ended) {
    posix->error = ended ? ECONNRESET : errno;
    return -1;
  }
  return got;
}

static enum rclrt_ret init(struct rclrt_posix * posix)
{
  posix->fd = -1;
  posix->lock = 0;
  const bool made =
    futex(&posix->lock, FUTEX_UNLOCK_PI) != 0 && errno == EPERM; /* not ours, but known */
  posix->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const struct rclrt_port port = {posix, now_ns, enter, leave, pend, wake};
  const struct rclrt_transport transport = {posix, open_line, close_line, write_line, read_line};
  posix->port = port;
  posix->transport = transport;
  for (unsigned i = 0; i < RCLRT_LEVELS_MAX; ++i) {
    (void)sem_init(&posix->pended[i], 0, 0);
  }
  return made && posix->woken >= 0 ? RCLRT_OK : RCLRT_ERR_STATE;
}

enum rclrt_ret rclrt_posix_serial(
  struct rclrt_posix * posix, const char * device, unsigned long baud)
{
  speed_t speed;
  if (posix == NULL || device == NULL || !speed_of(baud, &speed)) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(posix, 0, sizeof(*posix));
  posix->line = RCLRT_POSIX_SERIAL;
  posix->device = device;
  posix->baud = baud;
  return init(posix);
}

static enum rclrt_ret init_socket(
  struct rclrt_posix * posix, enum rclrt_posix_line line, const char * host, uint16_t port)
{
  if (posix == NULL || host == NULL || port == 0) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(posix, 0, sizeof(*posix));
  posix->line = line;
  posix->host = host;
  posix->tcp_udp_port = port;
  return init(posix);
}

enum rclrt_ret rclrt_posix_udp(struct rclrt_posix * posix, const char * host, uint16_t port)
{
  return init_socket(posix, RCLRT_POSIX_UDP, host, port);
}

enum rclrt_ret rclrt_posix_tcp(struct rclrt_posix * posix, const char * host, uint16_t port)
{
  return init_socket(posix, RCLRT_POSIX_TCP, host, port);
}

void rclrt_posix_fini(struct rclrt_posix * posix)
{
  if (posix == NULL) {
    return;
  }
  close_line(posix);
  if (posix->woken >= 0) {
    close(posix->woken);
  }
  for (unsigned i = 0; i < RCLRT_LEVELS_MAX; ++i) {
    (void)sem_destroy(&posix->pended[i]);
  }
}

struct level
{
  struct rclrt_posix * posix;
  unsigned number;
  sem_t started;
};

/* Until the level is pended, or until `until_ns`. */
static void wait_pended(struct rclrt_posix * posix, unsigned number, uint64_t until_ns)
{
  const struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
  int error;
  do {
    error = until_ns == UINT64_MAX ? sem_wait(&posix->pended[number])
                                   : sem_clockwait(&posix->pended[number], CLOCK_MONOTONIC, &until);
  } while (error != 0 && errno == EINTR);
}

static void * run_level(void * argument)
{
  struct level * level = argument;
  struct rclrt_posix * posix = level->posix;
  const unsigned number = level->number;
  sem_post(&level->started); /* from here on `level` may be gone */
  while (!__atomic_load_n(&posix->stop, __ATOMIC_ACQUIRE)) {
    wait_pended(posix, number, rclrt_executor_run_level(posix->executor, number));
  }
  return NULL;
}

static int start_level(struct rclrt_posix * posix, unsigned number, const int * priority)
{
  struct level level;
  pthread_attr_t attributes;
  level.posix = posix;
  level.number = number;
  (void)sem_init(&level.started, 0, 0);
  (void)pthread_attr_init(&attributes);
  if (priority != NULL) {
    struct sched_param parameters;
    memset(&parameters, 0, sizeof(parameters));
    parameters.sched_priority = *priority;
    (void)pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    (void)pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    (void)pthread_attr_setschedparam(&attributes, &parameters);
  }
  const int error = pthread_create(&posix->threads[number], &attributes, run_level, &level);
  (void)pthread_attr_destroy(&attributes);
  while (error == 0 && sem_wait(&level.started) != 0) {
  }
  (void)sem_destroy(&level.started);
  return error;
}

enum rclrt_ret rclrt_posix_run(
  struct rclrt_posix * posix, struct rclrt_executor * executor, const int * fifo_priorities,
  const volatile bool * stop)
{
  if (posix == NULL || executor == NULL || stop == NULL || executor->levels < 2) {
    return RCLRT_ERR_ARGUMENT;
  }
  posix->executor = executor;
  __atomic_store_n(&posix->stop, false, __ATOMIC_RELEASE);
  unsigned started = 0;
  enum rclrt_ret ret = RCLRT_OK;
  for (; started < executor->levels && ret == RCLRT_OK; ++started) {
    const int * priority = fifo_priorities == NULL ? NULL : &fifo_priorities[started];
    posix->error = start_level(posix, started, priority);
    if (posix->error != 0) {
      ret = RCLRT_ERR_STATE;
      break;
    }
  }
  while (ret == RCLRT_OK && !__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
    const uint64_t next = rclrt_executor_collect(executor);
    const uint64_t now = now_ns(NULL);
    const uint64_t most = NS_PER_S / 10; /* how soon `stop` is seen */
    const uint64_t wait = next <= now ? 0 : next - now;
    ret = rclrt_executor_serve(executor, wait < most ? wait : most);
  }
  __atomic_store_n(&posix->stop, true, __ATOMIC_RELEASE);
  for (unsigned i = 0; i < started; ++i) {
    sem_post(&posix->pended[i]);
    (void)pthread_join(posix->threads[i], NULL);
  }
  return ret;
}

/* Below: a line of this port and a system on it, in one call. */
enum rclrt_ret rclrt_posix_start_serial(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * device,
  unsigned long baud, uint32_t key, const char * node_name, uint64_t timeout_ns)
{
  const enum rclrt_ret ret = rclrt_posix_serial(posix, device, baud);
  if (ret == RCLRT_OK && system != NULL) {
    posix->daemon = system->daemon;
  }
  return ret == RCLRT_OK ? rclrt_system_start_serial(
                             system, &posix->port, &posix->transport, key, node_name, timeout_ns)
                         : ret;
}

enum rclrt_ret rclrt_posix_start_udp(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * host, uint16_t port,
  uint32_t key, const char * node_name, uint64_t timeout_ns)
{
  const enum rclrt_ret ret = rclrt_posix_udp(posix, host, port);
  return ret == RCLRT_OK ? rclrt_system_start_datagram(
                             system, &posix->port, &posix->transport, key, node_name, timeout_ns)
                         : ret;
}

enum rclrt_ret rclrt_posix_start_tcp(
  struct rclrt_posix * posix, const struct rclrt_system * system, const char * host, uint16_t port,
  uint32_t key, const char * node_name, uint64_t timeout_ns)
{
  const enum rclrt_ret ret = rclrt_posix_tcp(posix, host, port);
  return ret == RCLRT_OK ? rclrt_system_start_length(
                             system, &posix->port, &posix->transport, key, node_name, timeout_ns)
                         : ret;
}
