# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# The pattern of a package: a library or programs, tests, and an installed CMake config that exports
# `<package>::<library>`, the same name the library has inside the tree. See Rclrt.cmake for an example.

include_guard(GLOBAL)

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# rclrt_find(<package>...)
# One of our own packages: already in this build, or installed (colcon builds one after the other).
macro(rclrt_find)
  foreach(_rclrt_package ${ARGN})
    if(NOT TARGET ${_rclrt_package}::${_rclrt_package})
      find_package(${_rclrt_package} REQUIRED)
      if(NOT TARGET ${_rclrt_package}::${_rclrt_package})
        rclrt_message_target(${_rclrt_package})
      endif()
      if(RCLRT_ROS_FROM_PYPI)
        rclrt_heal_ros_wheels()  # it may have found more of ROS
      endif()
    endif()
  endforeach()
endmacro()

# rclrt_add_library(<name> [SOURCES <file>...] [PUBLIC <library>...] [PRIVATE <library>...])
# Public headers in include/, private ones in src/. Without SOURCES the library is headers only.
function(rclrt_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  _rclrt_reject_unparsed(rclrt_add_library)
  if(arg_SOURCES)
    add_library(${name} ${arg_SOURCES})
    target_include_directories(${name}
      PUBLIC
        $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/${PROJECT_NAME}>
      PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
    target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/${PROJECT_NAME}>)
    target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
  endif()
  rclrt_compile_options(${name})
  add_library(${PROJECT_NAME}::${name} ALIAS ${name})
  install(TARGETS ${name} EXPORT ${PROJECT_NAME}Targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set_property(DIRECTORY PROPERTY rclrt_exports TRUE)
endfunction()

# rclrt_add_executable(<name> [ON_PATH] SOURCES <file>... [LIBRARIES <library>...])
# Installed where ROS 2 looks for a package's programs (`ros2 run <package> <name>`), or ON_PATH. Part of rclrt_programs,
# the target of what experiments run.
function(rclrt_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ON_PATH" "" "SOURCES;LIBRARIES")
  _rclrt_reject_unparsed(rclrt_add_executable)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  rclrt_compile_options(${name})
  install(TARGETS ${name} RUNTIME DESTINATION $<IF:$<BOOL:${arg_ON_PATH}>,${CMAKE_INSTALL_BINDIR},lib/${PROJECT_NAME}>)
  set_property(GLOBAL APPEND PROPERTY rclrt_programs ${name})
endfunction()

# rclrt_install_package([DEPENDS <package>...])
# Last call of a package: headers, package.xml, the ament index entry and the CMake config with its version: before
# 1.0 another minor version is another interface.
# DEPENDS: what find_package() must find before our exported targets can be used.
function(rclrt_install_package)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "DEPENDS")
  _rclrt_reject_unparsed(rclrt_install_package)
  set(share share/${PROJECT_NAME})
  if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include")
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${PROJECT_NAME})
  endif()
  install(FILES package.xml DESTINATION ${share})
  set(marker "${CMAKE_CURRENT_BINARY_DIR}/ament_index_marker")
  file(WRITE "${marker}" "")
  install(FILES "${marker}" DESTINATION share/ament_index/resource_index/packages
    RENAME ${PROJECT_NAME})

  get_property(exports DIRECTORY PROPERTY rclrt_exports)
  if(NOT exports)
    return()
  endif()
  install(EXPORT ${PROJECT_NAME}Targets NAMESPACE ${PROJECT_NAME}:: DESTINATION ${share}/cmake)
  set(config "include(CMakeFindDependencyMacro)\n")
  if(_rclrt_uses_wheels)
    install(FILES "${RCLRT_CMAKE_DIR}/RclrtRosWheels.cmake" DESTINATION ${share}/cmake)
    install(DIRECTORY "${RCLRT_CMAKE_DIR}/pypi" DESTINATION ${share}/cmake)
    string(APPEND config "if(NOT DEFINED RCLRT_ROS_FROM_PYPI)  # Else it is a package of rclrt, which knows.\n"
      "  include(\"\${CMAKE_CURRENT_LIST_DIR}/RclrtRosWheels.cmake\")\n"
      "  rclrt_use_ros_wheels(\"${RCLRT_ROS_PREFIX}\")\n"
      "endif()\n")
  endif()
  foreach(package IN LISTS arg_DEPENDS)
    string(APPEND config "find_dependency(${package})\n"
      # A message package: give it the one target name that our own exports use.
      "if(DEFINED ${package}_IDL_FILES AND NOT TARGET ${package}::${package})\n"
      "  add_library(${package}::${package} INTERFACE IMPORTED)\n"
      "  set(_rclrt_messages \${${package}_TARGETS})\n"
      "  list(FILTER _rclrt_messages EXCLUDE REGEX __rosidl_generator_py\$)\n"
      "  target_link_libraries(${package}::${package} INTERFACE \${_rclrt_messages})\n"
      "endif()\n")
  endforeach()
  if(_rclrt_uses_wheels)
    string(APPEND config "if(NOT DEFINED RCLRT_ROS_FROM_PYPI AND TARGET rcl::rcl)\n"
      "  rclrt_heal_ros_wheels()\n"
      "endif()\n")
  endif()
  string(APPEND config "include(\"\${CMAKE_CURRENT_LIST_DIR}/${PROJECT_NAME}Targets.cmake\")\n")
  set(config_file "${CMAKE_CURRENT_BINARY_DIR}/${PROJECT_NAME}Config.cmake")
  file(WRITE "${config_file}" "${config}")
  set(version_file "${CMAKE_CURRENT_BINARY_DIR}/${PROJECT_NAME}ConfigVersion.cmake")
  write_basic_package_version_file("${version_file}" VERSION ${RCLRT_VERSION} COMPATIBILITY SameMinorVersion)
  install(FILES "${config_file}" "${version_file}" DESTINATION ${share}/cmake)
endfunction()

# rclrt_tell_version(<file>): RCLRT_VERSION is known there, and nowhere else: another one compiles little.
function(rclrt_tell_version file)
  set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS "RCLRT_VERSION=\"${RCLRT_VERSION}\"")
endfunction()

macro(_rclrt_reject_unparsed function_name)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function_name}(): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()
