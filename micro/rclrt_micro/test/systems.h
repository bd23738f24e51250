/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What RCLRT_SYSTEM makes: the macros are for C.
 */
#ifndef SYSTEMS_H_
#define SYSTEMS_H_

#include "rclrt_micro/system.h"

#ifdef __cplusplus
extern "C" {
#endif

const struct rclrt_system * system_without_long_messages(void);
const struct rclrt_system * system_with_long_messages(void);

#ifdef __cplusplus
}
#endif

#endif /* SYSTEMS_H_ */
