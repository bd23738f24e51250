/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/xrce.h"

void rclrt_binary_participant(struct rclrt_writer * writer, const char * name)
{
  writer->origin = writer->at;
  rclrt_write_bool(writer, false); /* no domain reference */
  rclrt_write_bool(
    writer, true); /* where a quality of service could be named, peers put the name */
  rclrt_write_string(writer, name);
}

void rclrt_binary_topic(struct rclrt_writer * writer, const char * name, const char * type)
{
  writer->origin = writer->at;
  rclrt_write_string(writer, name);
  rclrt_write_bool(writer, false); /* no type reference */
  rclrt_write_bool(writer, true);
  rclrt_write_string(writer, type);
}

void rclrt_binary_group(struct rclrt_writer * writer)
{
  writer->origin = writer->at;
  rclrt_write_bool(writer, false);
  rclrt_write_bool(writer, false);
}

void rclrt_binary_endpoint(
  struct rclrt_writer * writer, enum rclrt_object_kind kind, uint16_t topic,
  const struct rclrt_qos * qos)
{
  const bool keep_last = qos->depth > 0;
  writer->origin = writer->at;
  rclrt_write_u8(writer, (uint8_t)(topic >> 8));
  rclrt_write_u8(writer, (uint8_t)topic);
  rclrt_write_bool(writer, true);
  rclrt_write_u16(
    writer, (uint16_t)((qos->reliable ? 0x01U : 0U) | (keep_last ? 0x02U : 0U) |
                       (qos->transient_local ? 0x08U : 0U)));
  rclrt_write_bool(writer, keep_last);
  if (keep_last) {
    rclrt_write_u16(writer, qos->depth);
  }
  /* Absent: deadline, lifespan, user data; then ownership strength, or time and content filter. */
  for (int i = kind == RCLRT_DATAWRITER ? 4 : 5; i > 0; --i) {
    rclrt_write_bool(writer, false);
  }
}

void rclrt_binary_service(struct rclrt_writer * writer, const struct rclrt_service_names * names)
{
  writer->origin = writer->at;
  rclrt_write_string(writer, names->service);
  rclrt_write_string(writer, names->request_type);
  rclrt_write_string(writer, names->reply_type);
  rclrt_write_bool(writer, true);
  rclrt_write_string(writer, names->request_topic);
  rclrt_write_bool(writer, true);
  rclrt_write_string(writer, names->reply_topic);
}

static void put(struct rclrt_writer * writer, const char * text)
{
  rclrt_write_bytes(writer, text, rclrt_text_length(text));
}

void rclrt_text_body(struct rclrt_writer * writer, const char * text)
{
  rclrt_write_bytes(writer, text, rclrt_text_length(text) + 1);
}

static void put_topic(struct rclrt_writer * writer, const char * name, const char * type)
{
  put(writer, "<name>");
  put(writer, name);
  put(writer, "</name><dataType>");
  put(writer, type);
  put(writer, "</dataType></topic>");
}

void rclrt_xml_participant(struct rclrt_writer * writer, const char * name)
{
  put(writer, "<dds><participant><rtps><name>");
  put(writer, name);
  rclrt_text_body(writer, "</name></rtps></participant></dds>");
}

void rclrt_xml_topic(struct rclrt_writer * writer, const char * name, const char * type)
{
  put(writer, "<dds><topic>");
  put_topic(writer, name, type);
  rclrt_text_body(writer, "</dds>");
}

void rclrt_xml_endpoint(
  struct rclrt_writer * writer, enum rclrt_object_kind kind, const char * topic, const char * type)
{
  const bool writes = kind == RCLRT_DATAWRITER;
  put(writer, writes ? "<dds><data_writer>" : "<dds><data_reader>");
  put(writer, "<topic><kind>NO_KEY</kind>");
  put_topic(writer, topic, type);
  rclrt_text_body(writer, writes ? "</data_writer></dds>" : "</data_reader></dds>");
}

void rclrt_xml_service(
  struct rclrt_writer * writer, enum rclrt_object_kind kind,
  const struct rclrt_service_names * names)
{
  const bool requests = kind == RCLRT_REQUESTER;
  put(writer, requests ? "<dds><requester profile_name=\"" : "<dds><replier profile_name=\"");
  put(writer, names->service);
  put(writer, "\" service_name=\"");
  put(writer, names->service);
  put(writer, "\" request_type=\"");
  put(writer, names->request_type);
  put(writer, "\" reply_type=\"");
  put(writer, names->reply_type);
  put(writer, "\"><request_topic_name>");
  put(writer, names->request_topic);
  put(writer, "</request_topic_name><reply_topic_name>");
  put(writer, names->reply_topic);
  put(writer, "</reply_topic_name>");
  rclrt_text_body(writer, requests ? "</requester></dds>" : "</replier></dds>");
}
