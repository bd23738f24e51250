# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
#
# The BPF object (GPL-2.0), and the program `rclrt scx` with the object inside.

set(object "${CMAKE_CURRENT_BINARY_DIR}/rclrt_edf.bpf.o")
set(bpf_includes "-I${CMAKE_CURRENT_SOURCE_DIR}/include")
foreach(folder IN LISTS RCLRT_SCX_BPF_INCLUDE)
  list(APPEND bpf_includes "-I${folder}")
endforeach()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(bpf_machine arm64)
else()
  set(bpf_machine x86)
endif()
# rclrt_scx_object(<file> [definitions...])
function(rclrt_scx_object object)
  add_custom_command(OUTPUT "${object}"
    COMMAND ${RCLRT_SCX_CLANG} -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_${bpf_machine} -Wall -Werror
      ${ARGN} ${bpf_includes} -c "${CMAKE_CURRENT_SOURCE_DIR}/bpf/rclrt_edf.bpf.c" -o "${object}"
    DEPENDS bpf/rclrt_edf.bpf.c bpf/kernel.bpf.h bpf/tables.bpf.h bpf/queues.bpf.h bpf/budget.bpf.h
      bpf/bind.bpf.h bpf/choose.bpf.h bpf/reserve.bpf.h bpf/hotplug.bpf.h include/rclrt_scx/slots.h
    COMMENT "Compiling ${object}" VERBATIM)
endfunction()
rclrt_scx_object("${object}")

add_library(rclrt_scx_loader STATIC src/load.cpp src/status.cpp src/pins.cpp src/ext_server.cpp
  src/show.cpp src/export.cpp src/record.cpp src/cgroups.cpp src/foreground.cpp)
target_include_directories(rclrt_scx_loader PUBLIC src)
target_link_libraries(rclrt_scx_loader PUBLIC rclrt_scx rclrt_scx_order PRIVATE rclrt_scx_libbpf)
rclrt_compile_options(rclrt_scx_loader)
# Test programs have a load.cpp of their own: in the library it stays an object of its own.
set_source_files_properties(src/load.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_definitions(rclrt_scx_loader PRIVATE "RCLRT_SCX_OBJECT=\"${object}\"")
set_source_files_properties(src/load.cpp PROPERTIES OBJECT_DEPENDS "${object}")

rclrt_tell_version(src/main.cpp)
rclrt_add_executable(rclrt_scx_cli SOURCES src/main.cpp LIBRARIES rclrt_scx_loader)
set_target_properties(rclrt_scx_cli PROPERTIES OUTPUT_NAME scx)

if(RCLRT_BUILD_TESTS)
  add_executable(scx_guest test/guest/main.cpp test/guest/worker.cpp test/guest/order.cpp
    test/guest/sharing.cpp test/guest/life.cpp test/guest/claims.cpp test/guest/damage.cpp
    test/guest/mix.cpp test/guest/bounded.cpp)
  target_include_directories(scx_guest PRIVATE test/guest src)
  find_package(Threads REQUIRED)
  target_link_libraries(scx_guest PRIVATE rclrt_scx Threads::Threads)
  rclrt_compile_options(scx_guest TEST)

  # Programs with schedulers that are spoilt: one ignores deadlines, which the judge of the order
  # must find, and one loses kicks.
  foreach(spoilt wrong:IGNORES_DEADLINES deaf:LOSES_KICKS)
    string(REPLACE ":" ";" spoilt "${spoilt}")
    list(POP_FRONT spoilt name)
    set(spoilt_object "${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o")
    rclrt_scx_object("${spoilt_object}" -DRCLRT_SCX_${spoilt})
    add_custom_target(rclrt_scx_${name}_object DEPENDS "${spoilt_object}")
    add_executable(scx_${name} src/main.cpp src/load.cpp)
    add_dependencies(scx_${name} rclrt_scx_${name}_object)
    target_compile_definitions(scx_${name} PRIVATE "RCLRT_SCX_OBJECT=\"${spoilt_object}\"")
    target_link_libraries(scx_${name} PRIVATE rclrt_scx_loader rclrt_scx_libbpf)
    rclrt_compile_options(scx_${name} TEST)
  endforeach()
endif()
