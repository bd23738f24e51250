# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# RCLRT_UNITY: the C++ files of a library or program are compiled together, ten at a time. Most of the time in the
# compiler goes into the headers, so this takes a third. Names of a file's own must then be unique in their namespace.
# clang-tidy wants each file's own command, so .ci/run configures another folder without it.
#
# rclrt_compile_options(<target> [TEST]): the language level, warnings, optimisation and sanitizer
# of our own code. They are private to the target: nothing of it reaches programs that link us, except the
# sanitizer's runtime.

include_guard(GLOBAL)

option(RCLRT_UNITY "Compile C++ files together" ON)

set(RCLRT_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(RCLRT_WERROR)
  list(APPEND RCLRT_WARNINGS -Werror)
endif()

# Most of a build is time in the compiler. -g1 has the lines of a stack trace but no variables and
# saves a third; for a debugger use CMAKE_BUILD_TYPE=Debug. A test is compiled more often than it
# runs: without optimisation it takes another third less. Under a sanitizer that holds for all C++; the
# C of the microcontroller is driven through millions of messages. These come after the flags of the
# build type, so they prevail.
if(RCLRT_SANITIZE STREQUAL "")
  set(RCLRT_COST_FLAGS $<$<CONFIG:RelWithDebInfo>:-g1>)
  set(RCLRT_TEST_COST_FLAGS $<$<CONFIG:RelWithDebInfo>:-O0>)
else()
  set(RCLRT_COST_FLAGS -g1 $<IF:$<COMPILE_LANGUAGE:C>,-O1,-O0>)
  set(RCLRT_TEST_COST_FLAGS -O0)
endif()

# The runtime is linked statically, so that its sched_yield() can be replaced: see sanitizer_defaults.c. Its interceptors
# are exported, for the middleware is loaded later.
set(RCLRT_SANITIZE_LINK_FLAGS -rdynamic "LINKER:--wrap=_ZN11__sanitizer20internal_sched_yieldEv")
if(RCLRT_SANITIZE STREQUAL "")
  set(RCLRT_SANITIZE_FLAGS "")
  set(RCLRT_SANITIZE_LINK_FLAGS "")
elseif(RCLRT_SANITIZE STREQUAL "address")
  set(RCLRT_SANITIZE_FLAGS
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(RCLRT_SANITIZE STREQUAL "thread")
  set(RCLRT_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
  # gcc has no model of a bare fence under this sanitizer and says so at every one.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND RCLRT_WARNINGS -Wno-tsan)
  endif()
else()
  message(FATAL_ERROR "RCLRT_SANITIZE is '${RCLRT_SANITIZE}': use '', 'address' or 'thread'")
endif()
if(RCLRT_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU")  # With clang it is static anyway.
  string(SUBSTRING ${RCLRT_SANITIZE} 0 1 first)
  list(APPEND RCLRT_SANITIZE_LINK_FLAGS -static-lib${first}san)
endif()

function(rclrt_compile_options target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TEST" "" "")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_compile_features(${target} INTERFACE cxx_std_17)
    return()
  endif()
  target_compile_features(${target} PUBLIC c_std_11)
  if(CMAKE_CXX_COMPILER_LOADED)
    target_compile_features(${target} PUBLIC cxx_std_17)
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(RCLRT_UNITY AND NOT arg_TEST)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.c$")
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  target_compile_options(${target}
    PRIVATE ${RCLRT_WARNINGS} ${RCLRT_SANITIZE_FLAGS} ${RCLRT_COST_FLAGS})
  if(arg_TEST)
    target_compile_options(${target} PRIVATE ${RCLRT_TEST_COST_FLAGS})
    # A quarter of the time in the compiler, for checks of the test's own code: the address sanitizer
    # sees what a null pointer leads to. Not so in rclrt_rcl, whose templates its tests instantiate.
    if(RCLRT_SANITIZE STREQUAL "address" AND NOT PROJECT_NAME STREQUAL "rclrt_rcl")
      target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment)
    endif()
  endif()
  target_link_options(${target} PUBLIC ${RCLRT_SANITIZE_FLAGS} ${RCLRT_SANITIZE_LINK_FLAGS})
  if(NOT RCLRT_SANITIZE STREQUAL "")
    # For the few tests that must know (a counting allocator cannot coexist with a sanitizer's).
    target_compile_definitions(${target} PRIVATE RCLRT_SANITIZE_${RCLRT_SANITIZE}=1)
    if(type STREQUAL "EXECUTABLE")
      target_sources(${target} PRIVATE "${RCLRT_CMAKE_DIR}/sanitizer_defaults.c")
    endif()
  endif()
endfunction()
