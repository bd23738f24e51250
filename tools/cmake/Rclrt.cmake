# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# What every package's CMakeLists.txt includes. A whole package file reads:
#
#   cmake_minimum_required(VERSION 3.22)
#   project(rclrt_core LANGUAGES CXX)
#   include(${CMAKE_CURRENT_SOURCE_DIR}/../../tools/cmake/Rclrt.cmake)
#   rclrt_find(rclrt_trace)                       # beside us in the tree, or installed by colcon
#   rclrt_add_library(rclrt_core SOURCES src/a.cpp src/b.cpp PUBLIC rclrt_trace::rclrt_trace)
#   rclrt_add_gtest(test_policy SOURCES test/test_policy.cpp LIBRARIES rclrt_core::rclrt_core)
#   rclrt_install_package(DEPENDS rclrt_trace)
#
# A package that uses ROS calls rclrt_find_ros(<ros package>...) right after the include; see
# RclrtFindRos.cmake. Messages: RclrtMessages.cmake.

include_guard(GLOBAL)

set(RCLRT_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}" CACHE INTERNAL "")
get_filename_component(_rclrt_root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(RCLRT_ROOT "${_rclrt_root}" CACHE INTERNAL "The repository")
file(STRINGS "${RCLRT_ROOT}/tools/VERSION" RCLRT_VERSION LIMIT_COUNT 1)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${RCLRT_ROOT}/tools/VERSION")

option(RCLRT_BUILD_TESTS "Build the tests" ON)
option(RCLRT_WERROR "Treat warnings as errors" OFF)
set(RCLRT_SANITIZE "" CACHE STRING "Empty, 'address' (with undefined) or 'thread'")
set(RCLRT_VENV "${RCLRT_ROOT}/.rclrt/venv" CACHE PATH
  "Python environment that ./rclrt makes; also the ROS 2 prefix when none is sourced")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # For clang-tidy and editors.
# Static unless asked otherwise. Said here because ament would turn it on for the whole tree.
option(BUILD_SHARED_LIBS "Build our libraries shared" OFF)
# A static library of ours may end up inside somebody's shared one (a component, a plugin).
set(CMAKE_POSITION_INDEPENDENT_CODE ON CACHE BOOL "")

# ccache is used where it is installed; -DCMAKE_CXX_COMPILER_LAUNCHER= (another, or none) prevails.
find_program(RCLRT_CCACHE ccache)
if(RCLRT_CCACHE)
  foreach(language IN ITEMS C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      # Without these it takes no file that includes a compiled header.
      set(CMAKE_${language}_COMPILER_LAUNCHER
        "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${RCLRT_CCACHE}")
    endif()
  endforeach()
endif()

include(CTest)
include("${CMAKE_CURRENT_LIST_DIR}/RclrtCompile.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/RclrtFindRos.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/RclrtMessages.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/RclrtPackage.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/RclrtTest.cmake")
