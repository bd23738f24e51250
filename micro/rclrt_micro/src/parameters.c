/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The six services of a node's parameters. Requests are read into changes of the table's entries;
 * answers are written from the table.
 */
#include "rclrt_micro/parameters.h"

#include <string.h>

#define NO_LIMIT 100000U

static struct rclrt_parameter * find(struct rclrt_parameters * of, const char * name)
{
  for (uint16_t i = 0; i < of->count; ++i) {
    const size_t size = rclrt_text_length(name) + 1;
    if (
      rclrt_text_length(of->table[i].name) + 1 == size &&
      rclrt_same_bytes(of->table[i].name, name, size)) {
      return &of->table[i];
    }
  }
  return NULL;
}

/* ---- Values */

static void write_value(struct rclrt_writer * writer, const struct rclrt_parameter * parameter)
{
  const uint8_t type = parameter == NULL ? RCLRT_PARAMETER_NOT_SET : parameter->type;
  const double zero = 0;
  rclrt_write_u8(writer, type);
  rclrt_write_bool(writer, type == RCLRT_PARAMETER_BOOL && parameter->value.boolean);
  rclrt_write_i64(writer, type == RCLRT_PARAMETER_INTEGER ? parameter->value.integer : 0);
  rclrt_write_f64(writer, type == RCLRT_PARAMETER_DOUBLE ? &parameter->value.real : &zero);
  rclrt_write_string(writer, type == RCLRT_PARAMETER_STRING ? parameter->value.string.text : "");
  for (unsigned arrays = 0; arrays < 5; ++arrays) {
    rclrt_write_count(writer, 0);
  }
}

/* Elements of `size` bytes that nobody wants. */
static void skip_array(struct rclrt_reader * reader, size_t size)
{
  const size_t count = rclrt_read_count(reader, NO_LIMIT, size);
  if (count > 0) {
    rclrt_read_align(reader, size);
    (void)rclrt_read_reference(reader, count * size);
  }
}

/* A string that may be longer than there is room for; then it is empty. Whether it fits. */
static bool read_text(struct rclrt_reader * reader, char * text, size_t capacity)
{
  const size_t size = rclrt_read_count(reader, NO_LIMIT, 1);
  const struct rclrt_bytes bytes = rclrt_read_reference(reader, size);
  text[0] = 0;
  if (reader->failed || size == 0 || bytes.data[size - 1] != 0) {
    reader->failed = true;
    return false;
  }
  if (size > capacity) {
    return false;
  }
  memcpy(text, bytes.data, size);
  return true;
}

static void read_value(
  struct rclrt_reader * reader, struct rclrt_parameter_change * change, char * text)
{
  change->type = rclrt_read_u8(reader);
  const bool boolean = rclrt_read_bool(reader);
  const int64_t integer = rclrt_read_i64(reader);
  double real = 0;
  rclrt_read_f64(reader, &real);
  const bool fits = read_text(reader, text, RCLRT_PARAMETER_TEXT);
  skip_array(reader, 1);
  skip_array(reader, 1);
  skip_array(reader, 8);
  skip_array(reader, 8);
  const size_t strings = rclrt_read_count(reader, NO_LIMIT, 5);
  for (size_t i = 0; i < strings && !reader->failed; ++i) {
    char nothing[1];
    (void)read_text(reader, nothing, sizeof(nothing));
  }
  switch (change->type) {
    case RCLRT_PARAMETER_BOOL:
      change->value.boolean = boolean;
      break;
    case RCLRT_PARAMETER_INTEGER:
      change->value.integer = integer;
      break;
    case RCLRT_PARAMETER_DOUBLE:
      change->value.real = real;
      break;
    case RCLRT_PARAMETER_STRING:
      change->value.string.text = text;
      change->value.string.capacity = RCLRT_PARAMETER_TEXT;
      change->refused = fits ? NULL : "the text is too long";
      break;
    default:
      break;
  }
}

/* ---- Requests */

static void add_name(struct rclrt_parameter_request * request, struct rclrt_reader * reader)
{
  struct rclrt_parameter_change * change = &request->changes[request->count];
  memset(change, 0, sizeof(*change));
  const bool fits = read_text(reader, request->name, sizeof(request->name));
  change->parameter = fits && !reader->failed ? find(request->of, request->name) : NULL;
  request->count++;
}

static void decode_names(void * message, struct rclrt_reader * reader)
{
  struct rclrt_parameter_request * request = message;
  request->count = 0;
  const size_t count = rclrt_read_count(reader, RCLRT_PARAMETERS_AT_ONCE, 5);
  for (size_t i = 0; i < count; ++i) {
    add_name(request, reader);
  }
}

static void decode_changes(void * message, struct rclrt_reader * reader)
{
  struct rclrt_parameter_request * request = message;
  request->count = 0;
  const size_t count = rclrt_read_count(reader, RCLRT_PARAMETERS_AT_ONCE, 5);
  for (size_t i = 0; i < count; ++i) {
    add_name(request, reader);
    read_value(reader, &request->changes[i], request->texts[i]);
  }
}

/* If there are more prefixes than there is room for, the list has all names. */
static void decode_list(void * message, struct rclrt_reader * reader)
{
  struct rclrt_parameter_request * request = message;
  const size_t room = sizeof(request->prefixes) / sizeof(request->prefixes[0]);
  const size_t count = rclrt_read_count(reader, NO_LIMIT, 5);
  char nothing[1];
  bool all = count > room;
  for (size_t i = 0; i < count && !reader->failed; ++i) {
    all = !read_text(
            reader, i < room ? request->prefixes[i] : nothing,
            i < room ? sizeof(request->prefixes[i]) : sizeof(nothing)) ||
          all;
  }
  request->count = (uint16_t)(all ? 0 : count);
  request->depth = rclrt_read_u64(reader);
}

/* ---- Setting */

/* Why it cannot be, or null. */
static const char * check(
  const struct rclrt_parameters * of, const struct rclrt_parameter_change * change)
{
  const struct rclrt_parameter * parameter = change->parameter;
  if (parameter == NULL) {
    return "there is no such parameter";
  }
  if (parameter->read_only) {
    return "the parameter is read-only";
  }
  if (change->type != parameter->type) {
    return "the parameter has another type";
  }
  if (change->refused != NULL) {
    return change->refused;
  }
  if (
    parameter->type == RCLRT_PARAMETER_STRING &&
    rclrt_text_length(change->value.string.text) >= parameter->value.string.capacity) {
    return "the text is too long";
  }
  if (
    parameter->type == RCLRT_PARAMETER_INTEGER && (parameter->from != 0 || parameter->to != 0) &&
    (change->value.integer < parameter->from || change->value.integer > parameter->to)) {
    return "the value is out of range";
  }
  return of->may_change == NULL ? NULL : of->may_change(of->context, parameter, &change->value);
}

static void take_over(
  const struct rclrt_parameters * of, const struct rclrt_parameter_change * change)
{
  struct rclrt_parameter * parameter = change->parameter;
  if (parameter->type == RCLRT_PARAMETER_STRING) {
    const char * text = change->value.string.text;
    memcpy(parameter->value.string.text, text, rclrt_text_length(text) + 1);
  } else {
    parameter->value = change->value;
  }
  if (of->on_change != NULL) {
    of->on_change(of->context, parameter);
  }
}

static bool set_each(void * context, const void * request, void * response)
{
  struct rclrt_parameter_request * changes = response;
  (void)context;
  (void)request;
  for (uint16_t i = 0; i < changes->count; ++i) {
    struct rclrt_parameter_change * change = &changes->changes[i];
    change->refused = check(changes->of, change);
    if (change->refused == NULL) {
      take_over(changes->of, change);
    }
  }
  return true;
}

static bool set_all(void * context, const void * request, void * response)
{
  struct rclrt_parameter_request * changes = response;
  const char * refused = NULL;
  (void)context;
  (void)request;
  for (uint16_t i = 0; i < changes->count && refused == NULL; ++i) {
    refused = check(changes->of, &changes->changes[i]);
  }
  for (uint16_t i = 0; i < changes->count && refused == NULL; ++i) {
    take_over(changes->of, &changes->changes[i]);
  }
  changes->changes[0].refused = refused;
  return true;
}

static bool answer(void * context, const void * request, void * response)
{
  (void)context;
  (void)request;
  (void)response;
  return true;
}

/* ---- Answers */

static void encode_values(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_parameter_request * request = message;
  rclrt_write_count(writer, request->count);
  for (uint16_t i = 0; i < request->count; ++i) {
    write_value(writer, request->changes[i].parameter);
  }
}

static void encode_types(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_parameter_request * request = message;
  rclrt_write_count(writer, request->count);
  for (uint16_t i = 0; i < request->count; ++i) {
    const struct rclrt_parameter * parameter = request->changes[i].parameter;
    rclrt_write_u8(writer, parameter == NULL ? RCLRT_PARAMETER_NOT_SET : parameter->type);
  }
}

static void write_result(struct rclrt_writer * writer, const char * refused)
{
  rclrt_write_bool(writer, refused == NULL);
  rclrt_write_string(writer, refused == NULL ? "" : refused);
}

static void encode_results(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_parameter_request * request = message;
  rclrt_write_count(writer, request->count);
  for (uint16_t i = 0; i < request->count; ++i) {
    write_result(writer, request->changes[i].refused);
  }
}

static void encode_result(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_parameter_request * request = message;
  write_result(writer, request->changes[0].refused);
}

static void encode_descriptions(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_parameter_request * request = message;
  uint16_t known = 0;
  for (uint16_t i = 0; i < request->count; ++i) {
    known = (uint16_t)(known + (request->changes[i].parameter != NULL ? 1U : 0U));
  }
  rclrt_write_count(writer, known);
  for (uint16_t i = 0; i < request->count; ++i) {
    const struct rclrt_parameter * parameter = request->changes[i].parameter;
    if (parameter == NULL) {
      continue;
    }
    const bool limited =
      parameter->type == RCLRT_PARAMETER_INTEGER && (parameter->from != 0 || parameter->to != 0);
    rclrt_write_string(writer, parameter->name);
    rclrt_write_u8(writer, parameter->type);
    rclrt_write_string(writer, parameter->description == NULL ? "" : parameter->description);
    rclrt_write_string(writer, ""); /* additional constraints */
    rclrt_write_bool(writer, parameter->read_only);
    rclrt_write_bool(writer, false); /* the type never changes */
    rclrt_write_count(writer, 0);
    rclrt_write_count(writer, limited ? 1 : 0);
    if (limited) {
      rclrt_write_i64(writer, parameter->from);
      rclrt_write_i64(writer, parameter->to);
      rclrt_write_u64(writer, 1);
    }
  }
}

/* How long the part of a name is before its last dot. */
static size_t group_of(const char * name)
{
  size_t size = rclrt_text_length(name);
  while (size > 0 && name[size] != '.') {
    size--;
  }
  return size;
}

/* Whether it is below `prefix` (an empty one: any), at most `depth` dots deep (0: any). */
static bool is_below(const char * name, const char * prefix, uint64_t depth)
{
  const size_t size = rclrt_text_length(prefix);
  if (size > 0) {
    if (rclrt_text_length(name) < size || !rclrt_same_bytes(name, prefix, size)) {
      return false;
    }
    if (name[size] == 0) {
      return true;
    }
    if (name[size] != '.') {
      return false;
    }
    name += size + 1;
  }
  uint64_t levels = 1;
  for (; *name != 0; ++name) {
    levels += *name == '.' ? 1U : 0U;
  }
  return depth == 0 || levels <= depth;
}

static bool is_listed(
  const struct rclrt_parameter_request * request, const struct rclrt_parameter * parameter)
{
  bool listed = request->count == 0 && is_below(parameter->name, "", request->depth);
  for (uint16_t i = 0; i < request->count; ++i) {
    listed = listed || is_below(parameter->name, request->prefixes[i], request->depth);
  }
  return listed;
}

/* Whether a listed one before has the same group. */
static bool is_known_group(
  const struct rclrt_parameter_request * request, const struct rclrt_parameter * parameter)
{
  const size_t size = group_of(parameter->name);
  for (const struct rclrt_parameter * before = request->of->table; before < parameter; ++before) {
    if (
      is_listed(request, before) && group_of(before->name) == size &&
      rclrt_same_bytes(before->name, parameter->name, size)) {
      return true;
    }
  }
  return false;
}

static bool begins_group(
  const struct rclrt_parameter_request * request, const struct rclrt_parameter * parameter)
{
  return is_listed(request, parameter) && group_of(parameter->name) > 0 &&
         !is_known_group(request, parameter);
}

static void encode_list(const void * message, struct rclrt_writer * writer)
{
  const struct rclrt_parameter_request * request = message;
  const struct rclrt_parameter * table = request->of->table;
  uint16_t names = 0;
  uint16_t groups = 0;
  for (uint16_t i = 0; i < request->of->count; ++i) {
    names = (uint16_t)(names + (is_listed(request, &table[i]) ? 1U : 0U));
    groups = (uint16_t)(groups + (begins_group(request, &table[i]) ? 1U : 0U));
  }
  rclrt_write_count(writer, names);
  for (uint16_t i = 0; i < request->of->count; ++i) {
    if (is_listed(request, &table[i])) {
      rclrt_write_string(writer, table[i].name);
    }
  }
  rclrt_write_count(writer, groups);
  for (uint16_t i = 0; i < request->of->count; ++i) {
    if (begins_group(request, &table[i])) {
      const size_t size = group_of(table[i].name);
      rclrt_write_count(writer, size + 1);
      rclrt_write_bytes(writer, table[i].name, size);
      rclrt_write_u8(writer, 0);
    }
  }
}

/* ---- Services */

#define TYPE(name, encode, decode)                                  \
  {                                                                 \
    {"rcl_interfaces::srv::dds_::" name "_Request_", NULL, decode}, \
    {                                                               \
      "rcl_interfaces::srv::dds_::" name "_Response_", encode, NULL \
    }                                                               \
  }

static const struct
{
  const char * name;
  bool (*run)(void * context, const void * request, void * response);
  struct rclrt_type types[2];
} kinds[6] = {
  {"~/get_parameters", answer, TYPE("GetParameters", encode_values, decode_names)},
  {"~/get_parameter_types", answer, TYPE("GetParameterTypes", encode_types, decode_names)},
  {"~/set_parameters", set_each, TYPE("SetParameters", encode_results, decode_changes)},
  {"~/set_parameters_atomically", set_all,
   TYPE("SetParametersAtomically", encode_result, decode_changes)},
  {"~/describe_parameters", answer, TYPE("DescribeParameters", encode_descriptions, decode_names)},
  {"~/list_parameters", answer, TYPE("ListParameters", encode_list, decode_list)},
};

static enum rclrt_ret make(
  struct rclrt_parameters * parameters, unsigned kind, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, uint8_t priority)
{
  struct rclrt_service * service = &parameters->services[kind];
  enum rclrt_ret ret = rclrt_service_init(
    service, node, &kinds[kind].types[0], &kinds[kind].types[1], kinds[kind].name);
  if (ret != RCLRT_OK) {
    return ret;
  }
  ret = rclrt_executor_add_service(
    executor, service, &parameters->request, &parameters->request, kinds[kind].run, NULL, priority);
  if (ret != RCLRT_OK) {
    (void)rclrt_service_fini(service);
  }
  return ret;
}

enum rclrt_ret rclrt_parameters_init(
  struct rclrt_parameters * parameters, struct rclrt_node_handle * node,
  struct rclrt_executor * executor, struct rclrt_parameter * table, uint16_t count,
  uint8_t priority)
{
  if (parameters == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(parameters, 0, sizeof(*parameters)); /* whatever the storage held */
  if (executor == NULL || (table == NULL && count > 0)) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (executor->semantics == RCLRT_SEMANTICS_LET) {
    return RCLRT_ERR_UNSUPPORTED;
  }
  for (uint16_t i = 0; i < count; ++i) {
    const bool text = table[i].type == RCLRT_PARAMETER_STRING;
    if (
      table[i].name == NULL || table[i].type == RCLRT_PARAMETER_NOT_SET ||
      table[i].type > RCLRT_PARAMETER_STRING ||
      (text && (table[i].value.string.text == NULL || table[i].value.string.capacity == 0))) {
      return RCLRT_ERR_ARGUMENT;
    }
  }
  parameters->table = table;
  parameters->count = count;
  parameters->request.of = parameters;
  for (unsigned kind = 0; kind < 6; ++kind) {
    const enum rclrt_ret ret = make(parameters, kind, node, executor, priority);
    if (ret != RCLRT_OK) {
      while (kind > 0) {
        (void)rclrt_service_fini(&parameters->services[--kind]);
      }
      return ret;
    }
  }
  return RCLRT_OK;
}

enum rclrt_ret rclrt_parameters_fini(struct rclrt_parameters * parameters)
{
  if (parameters == NULL || parameters->request.of == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  enum rclrt_ret ret = RCLRT_OK;
  for (unsigned kind = 0; kind < 6; ++kind) {
    const enum rclrt_ret one = rclrt_service_fini(&parameters->services[kind]);
    ret = ret == RCLRT_OK ? one : ret;
  }
  parameters->request.of = NULL;
  return ret;
}
