# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# ROS 2 from PyPI as packages find it: in this tree, and installed beside the configs of packages that were built with
# it, so that a plain find_package() of theirs is enough.

set_property(GLOBAL PROPERTY rclrt_wheels_dir "${CMAKE_CURRENT_LIST_DIR}")

# rclrt_use_ros_wheels(<prefix>): before a find_package(). Sets RCLRT_WHEEL_LIBRARY_DIRS.
macro(rclrt_use_ros_wheels prefix)
  get_property(_rclrt_wheels_dir GLOBAL PROPERTY rclrt_wheels_dir)
  # Libraries that the wheels brought along (hashed names) lie beside the Python packages.
  file(GLOB RCLRT_WHEEL_LIBRARY_DIRS "${prefix}/lib/python3.*/site-packages/ros_*.libs")
  list(PREPEND RCLRT_WHEEL_LIBRARY_DIRS "${prefix}/lib")
  list(PREPEND CMAKE_PREFIX_PATH "${prefix}")
  list(PREPEND CMAKE_MODULE_PATH "${_rclrt_wheels_dir}/pypi")
  set(ENV{AMENT_PREFIX_PATH} "${prefix}")  # Without it messages find no type supports.
  if(NOT Python3_EXECUTABLE)
    set(Python3_EXECUTABLE "${prefix}/bin/python3")
  endif()
endmacro()

# Corrects what is particular to the machine that built the wheels.
macro(rclrt_heal_ros_wheels)
  get_directory_property(_rclrt_imported IMPORTED_TARGETS)
  foreach(_rclrt_target IN LISTS _rclrt_imported)
    if(_rclrt_target MATCHES "__rosidl_generator_py$")
      # They name the Python headers of that machine, and CMake stops at a missing directory.
      set_property(TARGET ${_rclrt_target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "")
    endif()
  endforeach()
  foreach(_rclrt_target IN ITEMS fastdds fastrtps)  # Jazzy's is called fastrtps
    if(TARGET ${_rclrt_target})
      # It names /usr/lib64/libtinyxml2.so; the wheel carries the one that Fast DDS really uses.
      get_target_property(_rclrt_libraries ${_rclrt_target} INTERFACE_LINK_LIBRARIES)
      list(FILTER _rclrt_libraries EXCLUDE REGEX "libtinyxml2")
      set_property(TARGET ${_rclrt_target}
        PROPERTY INTERFACE_LINK_LIBRARIES "${_rclrt_libraries}")
    endif()
  endforeach()
  if(TARGET tracetools::tracetools)
    # It names liblttng-ust, which the wheel's libtracetools.so does without.
    get_target_property(_rclrt_libraries tracetools::tracetools INTERFACE_LINK_LIBRARIES)
    list(FILTER _rclrt_libraries EXCLUDE REGEX "lttng")
    set_property(TARGET tracetools::tracetools
      PROPERTY INTERFACE_LINK_LIBRARIES "${_rclrt_libraries}")
  endif()
  # librcl.so and the message libraries need *__rosidl_generator_py.so, which expect the interpreter
  # to be in the process: "undefined symbol: PyExc_RuntimeError" otherwise. A linker that drops
  # unneeded libraries would drop it again, since our own code uses none of it.
  find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Embed)
  get_target_property(_rclrt_libraries rcl::rcl INTERFACE_LINK_LIBRARIES)
  list(GET Python3_LIBRARIES 0 _rclrt_libpython)
  if(NOT "rclrt_libpython" IN_LIST _rclrt_libraries)
    add_library(rclrt_libpython INTERFACE IMPORTED)
    target_link_libraries(rclrt_libpython INTERFACE
      "-Wl,--push-state,--no-as-needed ${_rclrt_libpython} -Wl,--pop-state")
    if(NOT DEFINED RCLRT_ROS_FROM_PYPI)
      # Programs of others start without any environment script, too (RclrtFindRos.cmake says how).
      list(TRANSFORM RCLRT_WHEEL_LIBRARY_DIRS PREPEND "-Wl,-rpath," OUTPUT_VARIABLE _rclrt_rpaths)
      target_link_options(rclrt_libpython INTERFACE -Wl,--disable-new-dtags ${_rclrt_rpaths})
    endif()
    set_property(TARGET rcl::rcl APPEND PROPERTY INTERFACE_LINK_LIBRARIES rclrt_libpython)
  endif()
endmacro()
