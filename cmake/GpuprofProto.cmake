# SPDX-License-Identifier: Apache-2.0
#
#   gpuprof_protos(NAME files.proto... [GRPC])   static library of the messages (and services) in
#                                                protobuf files of ours; include them as
#                                                "path/from/the/root/file.pb.h"
#
# For the daemon, the CLI and their helpers only: nothing of it is linked into the library that
# enters a program.

find_package(Protobuf REQUIRED)

function(gpuprof_protos NAME)
  cmake_parse_arguments(ARG "GRPC" "" "" ${ARGN})
  set(root "${PROJECT_BINARY_DIR}/protos")
  file(MAKE_DIRECTORY "${root}")
  set(sources "")
  foreach(file IN LISTS ARG_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    string(REGEX REPLACE "\\.proto$" "" stem "${relative}")
    set(made "${root}/${stem}.pb.cc" "${root}/${stem}.pb.h")
    set(plugin "")
    if(ARG_GRPC)
      find_program(GPUPROF_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
      list(APPEND made "${root}/${stem}.grpc.pb.cc" "${root}/${stem}.grpc.pb.h")
      set(plugin --grpc_out "${root}" "--plugin=protoc-gen-grpc=${GPUPROF_GRPC_PLUGIN}")
    endif()
    add_custom_command(
      OUTPUT ${made}
      COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}" --cpp_out "${root}" ${plugin}
              "${relative}"
      DEPENDS "${file}" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" VERBATIM)
    list(APPEND sources ${made})
  endforeach()
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  add_library(${NAME} STATIC ${sources})
  target_include_directories(${NAME} SYSTEM PUBLIC "${root}")
  target_link_libraries(${NAME} PUBLIC protobuf::libprotobuf-lite)
  set_target_properties(${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Not ours, and not instrumented: that would take as long as a component.
  target_compile_options(${NAME} PRIVATE -w)
endfunction()
