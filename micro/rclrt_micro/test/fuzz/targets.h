/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is fuzzed: each takes any bytes at all, and must neither crash, hang, nor lose a buffer.
 * Returns false when a promise was broken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a line: what is found in them, and framed again. */
bool fuzz_frame(const uint8_t * data, size_t size);
/* Bytes of a line, received by a client with readers. The first byte chooses framing and pieces. */
bool fuzz_line(const uint8_t * data, size_t size);
/* A message: read, written, read again. */
bool fuzz_message(const uint8_t * data, size_t size);
/* CDR: the first bytes say what is read from the rest. */
bool fuzz_cdr(const uint8_t * data, size_t size);

#ifdef __cplusplus
}
#endif
