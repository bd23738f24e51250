# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# For the package of a front end, after its library. The suite is compiled against its test/front_end.hpp.

include_directories("${CMAKE_CURRENT_SOURCE_DIR}/test" "${CMAKE_CURRENT_LIST_DIR}/..")
set(conformance "${CMAKE_CURRENT_LIST_DIR}")

function(rclrt_add_conformance prefix library)
  set(sources "")
  foreach(part IN ITEMS attributes deadlines groups message_stamps publications services spin timers trace)
    list(APPEND sources "${conformance}/${part}.cpp")
  endforeach()
  rclrt_add_gtest(${prefix}conformance TOGETHER SOURCES ${sources} LIBRARIES ${library})
  set(own "${CMAKE_CURRENT_SOURCE_DIR}/test/test_inline.cpp")
  if(NOT EXISTS "${own}")
    set(own "")
  endif()
  rclrt_add_gtest(${prefix}inline_dispatch SOURCES "${conformance}/inline.cpp" ${own} LIBRARIES ${library})
  if(diagnostic_msgs_FOUND)
    rclrt_add_gtest(${prefix}diagnostics PARALLEL MACHINE SOURCES "${conformance}/diagnostics.cpp"
      LIBRARIES ${library} diagnostic_msgs::diagnostic_msgs)
  endif()
  if(RCLRT_BUILD_TESTS)
    set(program ${PROJECT_NAME}_traced_nodes)
    add_executable(${program} "${conformance}/traced_nodes.cpp")
    set_target_properties(${program} PROPERTIES OUTPUT_NAME traced_nodes)
    target_include_directories(${program} PRIVATE src)
    target_link_libraries(${program} PRIVATE ${library} GTest::gtest)
    rclrt_compile_options(${program} TEST)
  endif()
endfunction()
