# SPDX-License-Identifier: Apache-2.0
#
# Finds what scripts/setup installed. docs/dependencies.md says what each one is for.

# Where scripts/setup keeps what it built or unpacked (cache_dir in scripts/lib/common.sh).
if(DEFINED ENV{XDG_CACHE_HOME})
  set(cache "$ENV{XDG_CACHE_HOME}/gpuprof")
else()
  set(cache "$ENV{HOME}/.cache/gpuprof")
endif()
set(GPUPROF_CACHE_DIR "${cache}" CACHE PATH "Cache folder of scripts/setup")

# POLICY: with CMake 3.30 or later FindBoost is gone; the distributions' BoostConfig serves both.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()

if(CMAKE_CROSSCOMPILING)
  include(HostHeaders)
  include(CudaHeaders)
  return()
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.71 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)
find_library(GPUPROF_LIBIBERTY iberty REQUIRED)
if(GPUPROF_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# CLI11 is header-only; some packages of it carry no CMake file.
find_package(CLI11 QUIET)
if(NOT TARGET CLI11::CLI11)
  find_path(GPUPROF_CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
  add_library(CLI11::CLI11 INTERFACE IMPORTED GLOBAL)
  target_include_directories(CLI11::CLI11 SYSTEM INTERFACE "${GPUPROF_CLI11_INCLUDE_DIR}")
endif()

include(GpuprofProto)
include(CudaHeaders)
include(Libunwind)
