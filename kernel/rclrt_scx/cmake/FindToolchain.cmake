# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# clang of 16 or newer (older ones do not describe all kernel functions), and libbpf of 1.5 or newer:
# its source as tools/fetch_kernels.sh brings it, or installed. Sets RCLRT_SCX_CLANG, the target
# rclrt_scx_libbpf and RCLRT_SCX_BPF_INCLUDE, or RCLRT_SCX_WHY_NOT if something is missing.

set(RCLRT_SCX_FETCHED "${RCLRT_ROOT}/.rclrt/scx" CACHE PATH "Where tools/fetch_kernels.sh was told to put things")
set(RCLRT_SCX_WHY_NOT "")

find_program(RCLRT_SCX_CLANG NAMES clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang)
if(RCLRT_SCX_CLANG)
  execute_process(COMMAND ${RCLRT_SCX_CLANG} -dumpversion OUTPUT_VARIABLE version
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT RCLRT_SCX_CLANG OR version VERSION_LESS 16)
  set(RCLRT_SCX_WHY_NOT "no clang of 16 or newer (apt: clang-16 or newer)")
  return()
endif()

find_path(RCLRT_SCX_ELF_INCLUDE libelf.h)
find_library(RCLRT_SCX_ELF elf)
find_library(RCLRT_SCX_Z z)
if(NOT RCLRT_SCX_ELF_INCLUDE OR NOT RCLRT_SCX_ELF OR NOT RCLRT_SCX_Z)
  set(RCLRT_SCX_WHY_NOT "no libelf or zlib to build with (apt: libelf-dev zlib1g-dev)")
  return()
endif()

set(source "${RCLRT_SCX_FETCHED}/libbpf/src")
if(EXISTS "${source}/libbpf.h")
  file(GLOB files "${source}/*.c")
  add_library(rclrt_scx_libbpf STATIC ${files})
  # Its headers call themselves <bpf/...>.
  set(RCLRT_SCX_BPF_INCLUDE "${CMAKE_CURRENT_BINARY_DIR}/libbpf")
  file(MAKE_DIRECTORY "${RCLRT_SCX_BPF_INCLUDE}")
  file(CREATE_LINK "${source}" "${RCLRT_SCX_BPF_INCLUDE}/bpf" SYMBOLIC)
  target_include_directories(rclrt_scx_libbpf SYSTEM
    PRIVATE "${source}" "${source}/../include" "${source}/../include/uapi"
    INTERFACE "${RCLRT_SCX_BPF_INCLUDE}" "${source}/../include/uapi")
  target_compile_definitions(rclrt_scx_libbpf PRIVATE _LARGEFILE64_SOURCE _FILE_OFFSET_BITS=64
    _GNU_SOURCE)
  target_compile_options(rclrt_scx_libbpf PRIVATE -O2 -w)
  target_link_libraries(rclrt_scx_libbpf INTERFACE "${RCLRT_SCX_ELF}" "${RCLRT_SCX_Z}")
else()
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(RCLRT_SCX_LIBBPF QUIET IMPORTED_TARGET "libbpf>=1.5")
  endif()
  if(NOT TARGET PkgConfig::RCLRT_SCX_LIBBPF)
    set(why "")
    if(EXISTS "${RCLRT_SCX_FETCHED}/why-not")
      file(STRINGS "${RCLRT_SCX_FETCHED}/why-not" why)
    endif()
    set(RCLRT_SCX_WHY_NOT "no libbpf of 1.5 or newer: run kernel/rclrt_scx/tools/fetch_kernels.sh .rclrt/scx; ${why}")
    return()
  endif()
  add_library(rclrt_scx_libbpf INTERFACE)
  target_link_libraries(rclrt_scx_libbpf INTERFACE PkgConfig::RCLRT_SCX_LIBBPF)
  set(RCLRT_SCX_BPF_INCLUDE "${RCLRT_SCX_LIBBPF_INCLUDE_DIRS}")
endif()
