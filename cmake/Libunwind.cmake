# SPDX-License-Identifier: Apache-2.0
#
# gpuprof::libunwind: the static libunwind of libgpuprof_inject.so, built by scripts/setup with
# cmake/libunwind/build.sh (which says why the distribution's own cannot be used).
# Header: <libunwind.h> with UNW_LOCAL_ONLY defined. Linking it exports nothing.

set(GPUPROF_LIBUNWIND_ROOT "" CACHE PATH "Prefix of our libunwind build (empty: the cache folder)")

# The same twelve digits as recipe_hash in scripts/lib/common.sh.
set(recipe "")
foreach(file IN ITEMS build.sh address_validator.c trace.c gpuprof_unwind.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/libunwind/${file}")
  file(SHA256 "${CMAKE_CURRENT_LIST_DIR}/libunwind/${file}" digest)
  string(APPEND recipe "${digest}")
endforeach()
string(SHA256 recipe "${recipe}")
string(SUBSTRING "${recipe}" 0 12 recipe)

if(GPUPROF_LIBUNWIND_ROOT)
  set(root "${GPUPROF_LIBUNWIND_ROOT}")
else()
  set(root "${GPUPROF_CACHE_DIR}/libunwind-1.8.1-${recipe}")
endif()
if(NOT EXISTS "${root}/lib/libunwind.a")
  message(FATAL_ERROR "${root}/lib/libunwind.a is missing: run scripts/setup, which builds it.")
endif()

# The archive is hidden already; --exclude-libs makes sure.
add_library(gpuprof_libunwind STATIC IMPORTED GLOBAL)
set_target_properties(gpuprof_libunwind PROPERTIES IMPORTED_LOCATION "${root}/lib/libunwind.a")
target_include_directories(gpuprof_libunwind SYSTEM INTERFACE "${root}/include")
target_compile_definitions(gpuprof_libunwind INTERFACE UNW_LOCAL_ONLY)
target_link_options(gpuprof_libunwind INTERFACE "LINKER:--exclude-libs,libunwind.a")
add_library(gpuprof::libunwind ALIAS gpuprof_libunwind)
