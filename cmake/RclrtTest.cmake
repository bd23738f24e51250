# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests, all run by ctest. A test that hangs is a failure: each has a time limit, in seconds.

include_guard(GLOBAL)

if(RCLRT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# rclrt_add_gtest(<name> SOURCES <file>... [LIBRARIES <library>...] [TIMEOUT <s>] [SERIAL]
#                 [ARGS <arg>...] [ENVIRONMENT <name=value>...])
# One program, one ctest entry. Tests may include the package's private headers of src/.
# SERIAL: never beside another test (needs the processors, or real-time scheduling, for itself).
function(rclrt_add_gtest name)
  if(NOT RCLRT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT" "SOURCES;LIBRARIES;ARGS;ENVIRONMENT")
  _rclrt_reject_unparsed(rclrt_add_gtest)
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  rclrt_compile_options(${name})
  add_test(NAME ${PROJECT_NAME}.${name} COMMAND ${name} ${arg_ARGS})
  _rclrt_test_properties(${PROJECT_NAME}.${name})
endfunction()

# rclrt_add_pytest(<name> <path> [TIMEOUT <s>] [SERIAL] [MESSAGES <package>...]
#                  [ENVIRONMENT <name=value>...])
# Runs pytest on a file or folder with the Python of the ROS 2 in use, so that rclpy is there.
# The test finds the programs of this build under $RCLRT_BUILD_DIR, the tree under $RCLRT_SOURCE_DIR, and
# can import the messages of our own packages named by MESSAGES.
function(rclrt_add_pytest name path)
  if(NOT RCLRT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "SERIAL" "TIMEOUT" "MESSAGES;ENVIRONMENT")
  _rclrt_reject_unparsed(rclrt_add_pytest)
  rclrt_find_python()
  set(python_path "${RCLRT_ROOT}/rclrt_analysis/src")
  set(library_path "${RCLRT_ROS_LIBRARY_PATH}")
  foreach(package IN LISTS arg_MESSAGES)
    list(APPEND python_path "${${package}_PYTHONPATH}")
    list(APPEND library_path "${${package}_LIBRARY_PATH}")
  endforeach()
  list(APPEND python_path $ENV{PYTHONPATH})
  list(APPEND library_path $ENV{LD_LIBRARY_PATH})
  list(JOIN python_path ":" python_path)
  list(JOIN library_path ":" library_path)
  list(APPEND arg_ENVIRONMENT
    "RCLRT_BUILD_DIR=${CMAKE_BINARY_DIR}" "RCLRT_SOURCE_DIR=${RCLRT_ROOT}"
    "PYTHONPATH=${python_path}" "LD_LIBRARY_PATH=${library_path}" ${RCLRT_ROS_ENVIRONMENT})
  add_test(NAME ${PROJECT_NAME}.${name}
    COMMAND "${Python3_EXECUTABLE}" -m pytest -q -p no:cacheprovider "${CMAKE_CURRENT_SOURCE_DIR}/${path}"
    WORKING_DIRECTORY "${RCLRT_ROOT}")
  _rclrt_test_properties(${PROJECT_NAME}.${name})
endfunction()

# Third-party libraries are not built with sanitizers; the files say what is silenced and why.
if(RCLRT_SANITIZE STREQUAL "address")
  set(_rclrt_sanitizer_environment
    "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1"
    "LSAN_OPTIONS=suppressions=${RCLRT_CMAKE_DIR}/sanitizers/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
elseif(RCLRT_SANITIZE STREQUAL "thread")
  set(_rclrt_sanitizer_environment
    "TSAN_OPTIONS=suppressions=${RCLRT_CMAKE_DIR}/sanitizers/tsan.supp:second_deadlock_stack=1:ignore_noninstrumented_modules=1")
endif()

macro(_rclrt_test_properties test)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT RCLRT_SANITIZE STREQUAL "")
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 3")
  endif()
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${arg_ENVIRONMENT};${_rclrt_sanitizer_environment}")
  if(arg_SERIAL)
    set_tests_properties(${test} PROPERTIES RUN_SERIAL TRUE)
  endif()
endmacro()
