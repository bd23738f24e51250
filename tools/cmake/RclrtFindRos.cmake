# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# rclrt_find_ros(<ros package>...)
#
# Finds ROS 2 packages: in a ROS 2 installation that is sourced (AMENT_PREFIX_PATH), else in the
# Python environment that ./rclrt fills with the same libraries from PyPI. Afterwards the ordinary
# targets exist (rcl::rcl, rcutils::rcutils), every message package P among the arguments also has
# the target P::P, and programs linked to them start without any environment script:
#
# - the search path of libraries goes into the program, as DT_RPATH: unlike DT_RUNPATH it also
#   holds for what the libraries need in turn and for what they dlopen;
# - libpython is linked, because the PyPI build of librcl needs its symbols (see below).
#
# Sets RCLRT_ROS_PREFIX to the prefix in use, RCLRT_ROS_FROM_PYPI, and for child processes in Python
# (rclpy in tests) RCLRT_ROS_ENVIRONMENT and RCLRT_ROS_LIBRARY_PATH.

include_guard(GLOBAL)

include("${CMAKE_CURRENT_LIST_DIR}/RclrtRosWheels.cmake")

# Decides which ROS 2 it is, once; also which Python runs generators and tests.
macro(_rclrt_choose_ros)
  if(NOT DEFINED RCLRT_ROS_FROM_PYPI)
    set(_rclrt_sourced "")
    string(REPLACE ":" ";" _rclrt_ament "$ENV{AMENT_PREFIX_PATH}")
    foreach(_rclrt_prefix IN LISTS _rclrt_ament)
      if(EXISTS "${_rclrt_prefix}/share/rcl/cmake/rclConfig.cmake")
        set(_rclrt_sourced "${_rclrt_prefix}")
        break()
      endif()
    endforeach()
    if(_rclrt_sourced STREQUAL "" OR _rclrt_sourced STREQUAL RCLRT_VENV)
      if(NOT EXISTS "${RCLRT_VENV}/share/rcl/cmake/rclConfig.cmake")
        message(FATAL_ERROR
          "No ROS 2: AMENT_PREFIX_PATH names no prefix with rcl, and there is none in "
          "${RCLRT_VENV}. Source a ROS 2 installation, or let './rclrt build' make that "
          "environment.")
      endif()
      set(RCLRT_ROS_FROM_PYPI TRUE CACHE INTERNAL "ROS 2 is the one from PyPI")
      set(RCLRT_ROS_PREFIX "${RCLRT_VENV}" CACHE INTERNAL "Prefix of the ROS 2 in use")
    else()
      set(RCLRT_ROS_FROM_PYPI FALSE CACHE INTERNAL "ROS 2 is the one from PyPI")
      set(RCLRT_ROS_PREFIX "${_rclrt_sourced}" CACHE INTERNAL "Prefix of the ROS 2 in use")
      set(RCLRT_ROS_SOURCED "${_rclrt_ament}" CACHE INTERNAL "All sourced prefixes")
    endif()
    message(STATUS "ROS 2: ${RCLRT_ROS_PREFIX}")
  endif()
endmacro()

# The Python that runs generators, rclpy and pytest. Sets Python3_EXECUTABLE.
macro(rclrt_find_python)
  if(EXISTS "${RCLRT_VENV}/bin/python3" AND NOT Python3_EXECUTABLE)
    set(Python3_EXECUTABLE "${RCLRT_VENV}/bin/python3" CACHE FILEPATH "Python of the tree")
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endmacro()

macro(rclrt_find_ros)
  _rclrt_choose_ros()
  rclrt_find_python()
  if(RCLRT_ROS_FROM_PYPI)
    _rclrt_use_pypi_prefix()
  else()
    list(PREPEND CMAKE_PREFIX_PATH ${RCLRT_ROS_SOURCED})
    set(_rclrt_library_dirs "")
    foreach(_rclrt_prefix IN LISTS RCLRT_ROS_SOURCED)
      list(APPEND _rclrt_library_dirs "${_rclrt_prefix}/lib")
    endforeach()
    set(RCLRT_ROS_ENVIRONMENT "" CACHE INTERNAL "")
    set(RCLRT_ROS_LIBRARY_PATH "${_rclrt_library_dirs}" CACHE INTERNAL "")
  endif()
  list(APPEND CMAKE_BUILD_RPATH ${_rclrt_library_dirs})
  list(APPEND CMAKE_INSTALL_RPATH "$ORIGIN/.." ${_rclrt_library_dirs})
  list(REMOVE_DUPLICATES CMAKE_BUILD_RPATH)
  list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH TRUE)
  add_link_options(-Wl,--disable-new-dtags)

  foreach(_rclrt_package IN ITEMS rcl ${ARGN})
    find_package(${_rclrt_package} REQUIRED)
    if(DEFINED ${_rclrt_package}_IDL_FILES)
      rclrt_message_target(${_rclrt_package})
    endif()
  endforeach()
  if(RCLRT_ROS_FROM_PYPI)
    rclrt_heal_ros_wheels()
  endif()
endmacro()

# rclrt_message_target(<package>): the target <package>::<package> with the C and C++ messages.
function(rclrt_message_target package)
  if(TARGET ${package}::${package})
    return()
  endif()
  set(libraries ${${package}_TARGETS})
  # The Python binding is of no use to a C++ program.
  list(FILTER libraries EXCLUDE REGEX "__rosidl_generator_py$")
  add_library(${package}::${package} INTERFACE IMPORTED)
  set_property(TARGET ${package}::${package} PROPERTY INTERFACE_LINK_LIBRARIES ${libraries})
endfunction()

macro(_rclrt_use_pypi_prefix)
  set(_rclrt_uses_wheels TRUE)  # In this package: its config finds them, too.
  rclrt_use_ros_wheels("${RCLRT_ROS_PREFIX}")
  set(_rclrt_library_dirs "${RCLRT_WHEEL_LIBRARY_DIRS}")
  set(RCLRT_ROS_LIBRARY_PATH "${_rclrt_library_dirs}" CACHE INTERNAL "")
  # The wheels re-execute Python to set LD_LIBRARY_PATH unless told that it is done.
  set(RCLRT_ROS_ENVIRONMENT
    "AMENT_PREFIX_PATH=${RCLRT_ROS_PREFIX}" "_ROS_WHEELS_BOOTSTRAP_COMPLETE=1" CACHE INTERNAL "")
endmacro()

# rclrt_heal_ros(): after a find_package() that may have found more of ROS.
macro(rclrt_heal_ros)
  if(RCLRT_ROS_FROM_PYPI)
    rclrt_heal_ros_wheels()
  endif()
endmacro()

# rclrt_use_diagnostic_msgs(<library>): after find_package(diagnostic_msgs QUIET). With it, executors publish on
# /diagnostics; without it they say what is missing. Sets RCLRT_DIAGNOSTIC_MSGS for rclrt_install_package().
macro(rclrt_use_diagnostic_msgs library)
  set(RCLRT_DIAGNOSTIC_MSGS "")
  if(diagnostic_msgs_FOUND)
    rclrt_message_target(diagnostic_msgs)
    target_link_libraries(${library} PRIVATE diagnostic_msgs::diagnostic_msgs)
    target_compile_definitions(${library} PRIVATE RCLRT_HAS_DIAGNOSTIC_MSGS=1)
    set(RCLRT_DIAGNOSTIC_MSGS diagnostic_msgs)
  else()
    message(STATUS "${library}: no /diagnostics, because there is no diagnostic_msgs")
  endif()
endmacro()
