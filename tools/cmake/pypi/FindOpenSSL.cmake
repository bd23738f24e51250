# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# Fast DDS asks for OpenSSL's development files. The one from PyPI brings the libraries it uses itself,
# and no program of ours links OpenSSL: empty targets are what is right there. On the module path only
# when ROS 2 is the one from PyPI.

foreach(library SSL Crypto)
  if(NOT TARGET OpenSSL::${library})
    add_library(OpenSSL::${library} INTERFACE IMPORTED)
  endif()
endforeach()
set(OpenSSL_FOUND TRUE)
