# SPDX-License-Identifier: Apache-2.0
#
# Switches and flags that hold for the whole build.

option(GPUPROF_BUILD_TESTS "Build tests, benches and the simulated GPU" ON)
# With the compilers that this tree is tested with; another one may know warnings of its own.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^14\\."))
  set(strict ON)
else()
  set(strict OFF)
endif()
option(GPUPROF_WERROR "Treat warnings as errors" ${strict})
if(CMAKE_CROSSCOMPILING OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompile OFF)
else()
  set(precompile ON)
endif()
option(GPUPROF_PRECOMPILE "Parse common headers once for all components" ${precompile})
option(GPUPROF_TOGETHER "Compile several files of a component as one: a build of everything takes half the time" OFF)
option(GPUPROF_DAEMON_UNIT_TESTS "Unit tests of daemon and command line, not only of the library, and replays of the fuzz targets" ON)
option(GPUPROF_FUZZ "Build the libFuzzer targets (Clang only)" OFF)
set(GPUPROF_SANITIZE "" CACHE STRING
    "address;undefined or thread: sanitizers for the components and the unit tests")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/static")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

find_program(GPUPROF_CCACHE ccache)
if(GPUPROF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these it takes no file that uses a precompiled header.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${GPUPROF_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()

set(GPUPROF_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
                     -Wcast-qual -Wformat=2 -Wundef)
# For C sources of ours (CMake offers no per-language lists without generator expressions).
set(GPUPROF_C_WARNINGS ${GPUPROF_WARNINGS})
list(REMOVE_ITEM GPUPROF_C_WARNINGS -Wnon-virtual-dtor)
if(GPUPROF_WERROR)
  list(APPEND GPUPROF_WARNINGS -Werror)
  list(APPEND GPUPROF_C_WARNINGS -Werror)
  # These follow inlining and fortification, both of which differ between distributions.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(kind IN ITEMS stringop-overflow stringop-overread array-bounds restrict maybe-uninitialized)
      list(APPEND GPUPROF_WARNINGS -Wno-error=${kind})
      list(APPEND GPUPROF_C_WARNINGS -Wno-error=${kind})
    endforeach()
  endif()
endif()
