/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The header is C11 and needs no other: this file compiles.
 */
#include "rclrt_trace/record.h"

unsigned size_of_record_in_c(void);

unsigned size_of_record_in_c(void) { return (unsigned)sizeof(struct rclrt_job_record); }
