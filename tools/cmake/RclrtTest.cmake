# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests, all run by ctest. A test that hangs is a failure: each has a time limit, in seconds.

include_guard(GLOBAL)

if(RCLRT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# RCLRT_PRECOMPILE: what almost every test includes is compiled once. That is two fifths of the time in the compiler.
option(RCLRT_PRECOMPILE "Compile the headers of tests once" ON)
function(_rclrt_precompile target)
  if(NOT RCLRT_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET rclrt_test_headers)
    file(WRITE "${CMAKE_BINARY_DIR}/test_headers.cpp" "")
    add_library(rclrt_test_headers OBJECT "${CMAKE_BINARY_DIR}/test_headers.cpp")
    target_link_libraries(rclrt_test_headers PRIVATE GTest::gmock)
    set_target_properties(rclrt_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(rclrt_test_headers PRIVATE -fPIE)  # As programs are compiled.
    rclrt_compile_options(rclrt_test_headers TEST)
    target_precompile_headers(rclrt_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <atomic> <chrono>
      <filesystem> <fstream> <functional> <future> <map> <memory> <mutex> <optional> <sstream> <string> <thread> <vector>)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_precompile_headers(${target} REUSE_FROM rclrt_test_headers)
endfunction()

# Two tiers. A PARALLEL test is of the first: `./rclrt test` runs it, on any machine, beside others. Every other test,
# and every one with MACHINE, is of the second, which has the label `machine` and needs `./rclrt test --machine`: it
# needs the processors, real-time scheduling, the middleware, a virtual machine, an emulator, a compiler for another
# processor or a browser. `rclrt_tests` is the target of what the first tier runs.

# _rclrt_join(<name> <variable>): puts files that include the C++ files of the list, five each, in their place. CMake's
# own unity files name absolute paths. gtest has the path of a test in the program, so ccache would know none of them in
# another clone.
function(_rclrt_join name variable)
  set(others ${${variable}})
  set(sources ${others})
  list(FILTER others EXCLUDE REGEX "\\.cpp$")
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(number 0)
  while(sources)
    list(SUBLIST sources 0 5 five)
    list(REMOVE_ITEM sources ${five})
    set(text "")
    foreach(source IN LISTS five)
      get_filename_component(source "${source}" ABSOLUTE)
      file(RELATIVE_PATH source "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    list(APPEND others "${CMAKE_CURRENT_BINARY_DIR}/${name}_${number}.cpp")
    file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}_${number}.cpp" CONTENT "${text}")
    math(EXPR number "${number} + 1")
  endwhile()
  set_source_files_properties(${others} PROPERTIES INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}")
  set(${variable} "${others}" PARENT_SCOPE)
endfunction()

# rclrt_add_gtest(<name> SOURCES <file>... [LIBRARIES <library>...] [TIMEOUT <s>] [PARALLEL] [MACHINE]
#                 [ONE_THREAD] [OPTIMIZED] [TOGETHER])
# One program, which ctest runs as one entry `<package>.<name>` in one process: to start a process for each
# TEST would take most of the time, to load and to start the middleware above all.
# Tests may include the package's private headers of src/.
# ONE_THREAD: nothing in it starts a thread (one_thread.c ends it otherwise), so the thread sanitizer is spared it.
# OPTIMIZED: it is compiled with -O2, for what it repeats many thousand times.
# TOGETHER: its files are compiled together, five at a time, as they instantiate the same templates (RCLRT_UNITY).
function(rclrt_add_gtest name)
  if(NOT RCLRT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "PARALLEL;MACHINE;ONE_THREAD;OPTIMIZED;TOGETHER" "TIMEOUT" "SOURCES;LIBRARIES")
  _rclrt_reject_unparsed(rclrt_add_gtest)
  if(arg_ONE_THREAD AND RCLRT_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(arg_TOGETHER AND RCLRT_UNITY)
    _rclrt_join(${name} arg_SOURCES)
  endif()
  # `extern "C" const char rclrt_test_folder[]`: an option of the compiler with this path would be another in each clone.
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/test_folder.c"
    CONTENT "const char rclrt_test_folder[] = \"${CMAKE_CURRENT_SOURCE_DIR}/test\";\n")
  add_executable(${name} ${arg_SOURCES} "${CMAKE_CURRENT_BINARY_DIR}/test_folder.c")
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  if(arg_ONE_THREAD AND RCLRT_SANITIZE STREQUAL "")
    target_sources(${name} PRIVATE "${RCLRT_CMAKE_DIR}/one_thread.c")
  endif()
  rclrt_compile_options(${name} TEST)
  if(arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O2)
  else()
    _rclrt_precompile(${name})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 150)
  endif()
  _rclrt_test_properties(${name})
  set(program ${name})  # With an emulator in front, where it was compiled for another processor.
  if(own_domain)
    set(program $<TARGET_FILE:${name}>)
  endif()
  add_test(NAME ${PROJECT_NAME}.${name} COMMAND ${own_domain} ${program})
  set_tests_properties(${PROJECT_NAME}.${name} PROPERTIES ${properties})
endfunction()

# rclrt_add_pytest(<name> <path> [TIMEOUT <s>] [PARALLEL] [MACHINE] [MESSAGES <package>...] [NEEDS <target>...]
#                  [IGNORE <pattern>...] [ENVIRONMENT <name=value>...])
# Runs pytest on a file or folder, without the paths (patterns) to ignore, with the Python of the ROS 2 in use, so that
# rclpy is there. The test finds the programs of this build under $RCLRT_BUILD_DIR, the tree under
# $RCLRT_SOURCE_DIR, what the programs are sanitized with (or nothing) in $RCLRT_SANITIZE, and can import the
# messages of our own packages named by MESSAGES. NEEDS: the programs that it starts, if it is of the first tier. Its /dev/shm is its own (tools/own_world.py).
function(rclrt_add_pytest name path)
  if(NOT RCLRT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "PARALLEL;MACHINE" "TIMEOUT" "MESSAGES;NEEDS;IGNORE;ENVIRONMENT")
  _rclrt_reject_unparsed(rclrt_add_pytest)
  rclrt_find_python()
  set(python_path "${RCLRT_ROOT}/prove/rclrt_analysis/src" "${RCLRT_ROOT}/see/rclrt_tools/src"
    "${RCLRT_ROOT}/try/rclrt_benchmarks/src" "${RCLRT_ROOT}/tools")
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
    "RCLRT_SANITIZE=${RCLRT_SANITIZE}" "PYTHONPATH=${python_path}" "LD_LIBRARY_PATH=${library_path}"
    ${RCLRT_ROS_ENVIRONMENT})
  list(TRANSFORM arg_IGNORE PREPEND "--ignore-glob=${CMAKE_CURRENT_SOURCE_DIR}/")
  _rclrt_test_properties(${arg_NEEDS})
  add_test(NAME ${PROJECT_NAME}.${name}
    COMMAND ${own_domain} "${Python3_EXECUTABLE}" -m pytest -q -rs -p no:cacheprovider -p own_world
      "${CMAKE_CURRENT_SOURCE_DIR}/${path}" ${arg_IGNORE}
    WORKING_DIRECTORY "${RCLRT_ROOT}")
  set_tests_properties(${PROJECT_NAME}.${name} PROPERTIES ${properties} ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

# rclrt_add_model(<name> holds|breaks <file> [<macro>...]): every interleaving of a model of the package, with these macros.
function(rclrt_add_model name expected)
  add_test(NAME ${PROJECT_NAME}.model.${name} COMMAND ${RCLRT_CMAKE_DIR}/check_model.sh ${expected} ${ARGN}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/model)
  set_tests_properties(${PROJECT_NAME}.model.${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  if(expected STREQUAL "holds")  # Searched whole, in half a minute. A mistake is found in less.
    set_tests_properties(${PROJECT_NAME}.model.${name} PROPERTIES LABELS machine)
  endif()
endfunction()

# _rclrt_test_properties(<target that the test needs>...): sets `properties`; and `own_domain`, which goes before the
# command of a test that runs beside others and may use the middleware: nobody else in this run has its domain.
macro(_rclrt_test_properties)
  set(own_domain "")
  if(arg_PARALLEL AND arg_MACHINE)
    get_property(domain GLOBAL PROPERTY rclrt_domain)
    math(EXPR domain "${domain} + 1")
    set_property(GLOBAL PROPERTY rclrt_domain ${domain})
    set(own_domain sh -c [[export ROS_DOMAIN_ID=$(((ROS_DOMAIN_ID + $0) % 101 + 1)) && exec "$@"]] ${domain})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT RCLRT_SANITIZE STREQUAL "")
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 3")  # Instrumented code is slower.
  endif()
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(arg_PARALLEL AND NOT arg_MACHINE)
    set_property(GLOBAL APPEND PROPERTY rclrt_tests ${ARGN})
  else()
    list(APPEND properties LABELS machine)
  endif()
  if(arg_PARALLEL)
    list(APPEND properties COST ${arg_TIMEOUT})  # The longest begins first, so that none is left alone at the end.
  elseif(RCLRT_SANITIZE STREQUAL "")
    list(APPEND properties RUN_SERIAL TRUE)
  else()
    # Instrumented code has no timing to keep: those that are PARALLEL may run beside the others.
    list(APPEND properties RESOURCE_LOCK machine)
  endif()
endmacro()
