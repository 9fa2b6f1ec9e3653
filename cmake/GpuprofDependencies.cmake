# SPDX-License-Identifier: Apache-2.0
#
# Finds what scripts/setup installed. docs/dependencies.md says what each one is for.

find_package(Threads REQUIRED)
find_package(Boost 1.71 REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
find_package(ZLIB REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)
if(GPUPROF_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

include(CudaHeaders)
include(Libunwind)
