# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# rclrt_generate_messages(FILES <msg/A.msg>... [DEPENDENCIES <package>...])
#
# Generates the messages and services of a package named ${PROJECT_NAME}: C, C++ and Python, with type
# supports for Fast DDS and by introspection. Call it after rclrt_find_ros(). Inside the tree the
# target is <package>::<package>, as it is for an installed message package. Python tests name the
# package in rclrt_add_pytest(... MESSAGES <package>). Built alone (colcon), it is installed as an
# ordinary ROS 2 interface package, for which this call must be the last one of its CMakeLists.txt.

include_guard(GLOBAL)

function(rclrt_generate_messages)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILES;DEPENDENCIES")
  _rclrt_reject_unparsed(rclrt_generate_messages)

  find_package(ament_cmake REQUIRED)
  find_package(rosidl_default_generators REQUIRED)
  foreach(package IN LISTS arg_DEPENDENCIES)
    find_package(${package} REQUIRED)
  endforeach()
  if(RCLRT_ROS_FROM_PYPI)
    rclrt_heal_ros_wheels()
  endif()

  # The type supports are looked up by library name while a program runs, so they are always shared.
  set(BUILD_SHARED_LIBS ON)
  if(NOT PROJECT_IS_TOP_LEVEL)
    set(in_tree SKIP_INSTALL)  # Used where it is built; its installation would run at every build.
  endif()
  rosidl_generate_interfaces(${PROJECT_NAME} ${arg_FILES}
    DEPENDENCIES ${arg_DEPENDENCIES} ${in_tree})
  # It exports numpy's headers, which may lie in the source tree (the Python environment does): CMake
  # refuses to install that. Nobody compiles against the Python binding.
  if(TARGET ${PROJECT_NAME}__rosidl_generator_py)
    set_property(TARGET ${PROJECT_NAME}__rosidl_generator_py
      PROPERTY INTERFACE_INCLUDE_DIRECTORIES "")
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    ament_export_dependencies(rosidl_default_runtime)
    ament_package()
    return()
  endif()

  # Installed programs need these libraries.
  foreach(kind IN ITEMS generator_c typesupport_c typesupport_cpp typesupport_fastrtps_c typesupport_fastrtps_cpp
      typesupport_introspection_c typesupport_introspection_cpp)
    if(TARGET ${PROJECT_NAME}__rosidl_${kind})
      set_target_properties(${PROJECT_NAME}__rosidl_${kind} PROPERTIES INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}")
      install(TARGETS ${PROJECT_NAME}__rosidl_${kind} LIBRARY DESTINATION lib)
    endif()
  endforeach()

  # What find_package() would give, for the packages that are built after this one in the same build.
  set(libraries "")
  foreach(support IN ITEMS rosidl_typesupport_c rosidl_typesupport_cpp)
    rosidl_get_typesupport_target(library ${PROJECT_NAME} ${support})
    list(APPEND libraries ${library})
  endforeach()
  add_library(${PROJECT_NAME}::${PROJECT_NAME} INTERFACE IMPORTED GLOBAL)
  set_property(TARGET ${PROJECT_NAME}::${PROJECT_NAME}
    PROPERTY INTERFACE_LINK_LIBRARIES ${libraries})
  set(${PROJECT_NAME}_PYTHONPATH "${CMAKE_CURRENT_BINARY_DIR}/rosidl_generator_py"
    CACHE INTERNAL "Where Python finds the messages in the build tree")
  set(${PROJECT_NAME}_LIBRARY_PATH "${CMAKE_CURRENT_BINARY_DIR}"
    CACHE INTERNAL "Where Python finds the libraries of the messages")
endfunction()
