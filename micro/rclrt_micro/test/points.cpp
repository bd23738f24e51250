// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
#include "points.hpp"

#include <pthread.h>
#include <string.h>

namespace
{
Points * current = nullptr;

// Locals of a function are nobody else's.
const char * end_of_stack()
{
  pthread_attr_t attributes;
  void * begin = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<const char *>(begin) + size;
}
}  // namespace

Points::Points(rclrt_port & port, rclrt_transport & transport)
: port_(port),
  transport_(transport),
  real_port_(port),
  real_transport_(transport),
  stack_(end_of_stack())
{
  port.enter = enter;
  port.leave = leave;
  transport.write = write;
  current = this;
}

Points::~Points()
{
  current = nullptr;
  port_ = real_port_;
  transport_ = real_transport_;
}

void Points::access(const void * address, bool writes)
{
  const char here = 0;
  const bool local = address >= &here && address < stack_;
  if (!armed_ || local) {
    return;
  }
  if (watch) {
    const By alone = masked_ ? By::kCriticalSection : By::kOperation;
    watch(address, writes, inside_ > 0 ? By::kComeIn : alone);
  }
  point();
}

void Points::point()
{
  if (!armed_ || masked_ || inside_ > 0 || (unmasked != nullptr && !in_unmasked_)) {
    return;
  }
  if (matters && !matters()) {
    return;
  }
  ++count_;
  const bool again = onwards ? count_ > at : then != 0 && count_ == at + then;
  if (at != 0 && (count_ == at || again)) {
    handlers_begin();
    come_in();
    handlers_end();
  }
}

uint32_t Points::enter(void *)
{
  const void * place = __builtin_return_address(0);
  Points & self = *current;
  self.point();
  if (self.armed_ && self.inside_ == 0) {
    self.sections.insert(place);
    if (place == self.unmasked) {
      self.in_unmasked_ = true;
      return 1;
    }
  }
  self.nested += self.masked_ ? 1 : 0;
  self.masked_ = true;
  return 0;
}

void Points::leave(void *, uint32_t token)
{
  Points & self = *current;
  if (token == 1) {
    self.point();
    self.in_unmasked_ = false;
    return;
  }
  self.masked_ = false;
  self.point();
}

ptrdiff_t Points::write(void *, const uint8_t * bytes, size_t size)
{
  Points & self = *current;
  self.point();
  const ptrdiff_t written = self.real_transport_.write(self.real_transport_.context, bytes, size);
  self.point();
  return written;
}

#ifdef RCLRT_MICRO_SEES_ACCESSES
bool Points::sees_accesses() { return true; }

// What the compiler calls for -fsanitize=thread, here without the runtime library of that name.
extern "C" {
#define ACCESS(name, writes)            \
  void __tsan_##name(void * address);   \
  void __tsan_##name(void * address)    \
  {                                     \
    if (current != nullptr) {           \
      current->access(address, writes); \
    }                                   \
  }
#define RANGE(name, writes)                   \
  void __tsan_##name(void * address, size_t); \
  void __tsan_##name(void * address, size_t)  \
  {                                           \
    if (current != nullptr) {                 \
      current->access(address, writes);       \
    }                                         \
  }
#define NOTHING(name)         \
  void __tsan_##name(void *); \
  void __tsan_##name(void *) {}
ACCESS(read1, false)
ACCESS(read2, false)
ACCESS(read4, false)
ACCESS(read8, false)
ACCESS(read16, false)
ACCESS(write1, true)
ACCESS(write2, true)
ACCESS(write4, true)
ACCESS(write8, true)
ACCESS(write16, true)
ACCESS(unaligned_read2, false)
ACCESS(unaligned_read4, false)
ACCESS(unaligned_read8, false)
ACCESS(unaligned_read16, false)
ACCESS(unaligned_write2, true)
ACCESS(unaligned_write4, true)
ACCESS(unaligned_write8, true)
ACCESS(unaligned_write16, true)
RANGE(read_range, false)
RANGE(write_range, true)
NOTHING(func_entry)
// clang makes these of memcpy(), memmove() and memset().
void * __tsan_memcpy(void * to, const void * from, size_t size);
void * __tsan_memcpy(void * to, const void * from, size_t size)
{
  __tsan_read_range(const_cast<void *>(from), size);
  __tsan_write_range(to, size);
  return memcpy(to, from, size);
}
void * __tsan_memset(void * to, int value, size_t size);
void * __tsan_memset(void * to, int value, size_t size)
{
  __tsan_write_range(to, size);
  return memset(to, value, size);
}
void __tsan_func_exit();
void __tsan_func_exit() {}
void __tsan_init();
void __tsan_init() {}
}
#else
bool Points::sees_accesses() { return false; }
#endif
