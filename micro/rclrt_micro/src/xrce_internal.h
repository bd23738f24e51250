/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is common to the submessages that clients need and all of them.
 */
#pragma once

#include "rclrt_micro/xrce.h"

/* Reads a payload behind its identifiers. */
typedef void xrce_payload_reader(struct rclrt_reader * payload, struct rclrt_submessage * sub);

bool xrce_read_by(
  struct rclrt_reader * reader, struct rclrt_submessage * sub, xrce_payload_reader * read_payload);
void xrce_read_answer_payload(struct rclrt_reader * payload, struct rclrt_submessage * sub);
void xrce_write_identifier(struct rclrt_writer * writer, uint16_t identifier);
uint16_t xrce_read_identifier(struct rclrt_reader * reader);
/* Cookie, version and vendor of an agent or client. */
void xrce_write_identity(struct rclrt_writer * writer);
void xrce_read_identity(struct rclrt_reader * reader);
void xrce_write_time(struct rclrt_writer * writer, const struct rclrt_time * time);
void xrce_read_time(struct rclrt_reader * reader, struct rclrt_time * time);
