/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer's entry; FUZZ_TARGET is one of targets.h.
 */
#include <stdlib.h>

#include "targets.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size)
{
  if (!FUZZ_TARGET(data, size)) {
    abort();
  }
  return 0;
}
