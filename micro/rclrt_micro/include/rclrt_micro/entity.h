/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of CREATE: what an entity is, in each of the three representations of DDS-XRCE.
 *
 * A reference is just the profile's name. XML and binary bodies are written here; a body of either
 * kind begins at its own alignment origin. Linear in the names, no allocation, real-time safe.
 */
#ifndef RCLRT_MICRO__ENTITY_H_
#define RCLRT_MICRO__ENTITY_H_

#include "rclrt_micro/xrce.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rclrt_qos
{
  bool reliable;
  bool transient_local;
  uint16_t depth; /* history, samples; 0 keeps all */
};

/* A service and its types as DDS sees them, for example "rq/addRequest". */
struct rclrt_service_names
{
  const char * service;
  const char * request_type;
  const char * reply_type;
  const char * request_topic;
  const char * reply_topic;
};

void rclrt_binary_participant(struct rclrt_writer * writer, const char * name);
void rclrt_binary_topic(struct rclrt_writer * writer, const char * name, const char * type);
/* Publisher or subscriber: empty. */
void rclrt_binary_group(struct rclrt_writer * writer);
/* `kind` is RCLRT_DATAWRITER or RCLRT_DATAREADER, `topic` an object identifier. */
void rclrt_binary_endpoint(
  struct rclrt_writer * writer, enum rclrt_object_kind kind, uint16_t topic,
  const struct rclrt_qos * qos);
/* Requester or replier. */
void rclrt_binary_service(struct rclrt_writer * writer, const struct rclrt_service_names * names);

/* The text of a reference or of XML written elsewhere, with its zero. */
void rclrt_text_body(struct rclrt_writer * writer, const char * text);
void rclrt_xml_participant(struct rclrt_writer * writer, const char * name);
void rclrt_xml_topic(struct rclrt_writer * writer, const char * name, const char * type);
void rclrt_xml_endpoint(
  struct rclrt_writer * writer, enum rclrt_object_kind kind, const char * topic, const char * type);
void rclrt_xml_service(
  struct rclrt_writer * writer, enum rclrt_object_kind kind,
  const struct rclrt_service_names * names);

#ifdef __cplusplus
}
#endif

#endif /* RCLRT_MICRO__ENTITY_H_ */
