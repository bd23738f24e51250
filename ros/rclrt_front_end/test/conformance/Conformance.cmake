# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# For the package of a front end, after its library: `conformance_sources`, compiled against its test/front_end.hpp.

foreach(part IN ITEMS attributes groups publications services spin timers)
  list(APPEND conformance_sources "${CMAKE_CURRENT_LIST_DIR}/${part}.cpp")
endforeach()
include_directories("${CMAKE_CURRENT_SOURCE_DIR}/test" "${CMAKE_CURRENT_LIST_DIR}/..")
