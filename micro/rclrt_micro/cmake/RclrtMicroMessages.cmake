# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# rclrt_micro_messages(<target> PACKAGES <package>... [STRING <n>] [SEQUENCE <n>]
#                      [CAPACITY <package>/<type>.<field>=<n>...])
# A static library of C types made from .msg, .srv and .action files: tools/generate_messages.py says what they are.
# A package is the name of one that is installed, or a folder. Link it, and include "<package>.h". Needs the
# Python package rosidl_adapter, in Python3_EXECUTABLE if that is set.

include_guard(GLOBAL)
set(RCLRT_MICRO_GENERATOR "${CMAKE_CURRENT_LIST_DIR}/../tools/generate_messages.py" CACHE INTERNAL "")

function(rclrt_micro_messages target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "STRING;SEQUENCE" "PACKAGES;CAPACITY")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_PACKAGES)
    message(FATAL_ERROR "rclrt_micro_messages(${target}): PACKAGES, and no ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT Python3_EXECUTABLE)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(options --output "${folder}")
  foreach(name IN ITEMS STRING SEQUENCE)
    if(arg_${name})
      string(TOLOWER "${name}" option)
      list(APPEND options --${option} ${arg_${name}})
    endif()
  endforeach()
  foreach(capacity IN LISTS arg_CAPACITY)
    list(APPEND options --capacity ${capacity})
  endforeach()
  set(sources "")
  set(used "")
  foreach(package IN LISTS arg_PACKAGES)
    get_filename_component(name "${package}" NAME)
    list(APPEND sources "${folder}/${name}.c" "${folder}/${name}.h")
    file(GLOB definitions CONFIGURE_DEPENDS "${package}/msg/*.msg" "${package}/srv/*.srv"
      "${package}/action/*.action")
    list(APPEND used ${definitions})
  endforeach()
  add_custom_command(OUTPUT ${sources}
    COMMAND "${Python3_EXECUTABLE}" "${RCLRT_MICRO_GENERATOR}" ${options} ${arg_PACKAGES}
    DEPENDS "${RCLRT_MICRO_GENERATOR}" ${used} VERBATIM)
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC "${folder}")
  target_link_libraries(${target} PUBLIC rclrt_micro::rclrt_micro)
endfunction()
