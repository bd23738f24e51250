/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sessions and their publishers and readers share.
 */
#ifndef SESSION_INTERNAL_H_
#define SESSION_INTERNAL_H_

#include "daemon_internal.h"
#include "rclrt_micro/session.h"

/* The session's buffer is for one at a time, whatever the context. False: somebody has it. */
bool session_take_buffer(struct rclrt_session * session);
void session_give_buffer(struct rclrt_session * session);

/* Most that is put around a name: "rq/", "Request", a zero. */
#define SESSION_AFFIXES 11U
/* Are the texts there that its representation is made of? */
bool session_has_texts(const struct rclrt_entity * entity, enum rclrt_object_kind kind);
/* The body of its CREATE. False when a name is too long. */
bool session_write_body(struct rclrt_writer * writer, const struct rclrt_entity * entity);
/* Forgets an entity whether or not it was created: its owner may be used anew. */
void session_forget(struct rclrt_entity * entity);
/* The same, and asks the agent to delete it, without waiting: what is created afterwards under the
 * same identifier comes after it on the stream. */
void session_drop(struct rclrt_session * session, struct rclrt_entity * entity);

#endif /* SESSION_INTERNAL_H_ */
