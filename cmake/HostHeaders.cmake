# SPDX-License-Identifier: Apache-2.0
#
# gpuprof_host_headers: what the injector's files need to be compiled for another processor, from
# this machine's packages. Headers alone, and only those that are the same for every processor: a
# folder of links, since the rest of /usr/include is not.

set(links "${CMAKE_BINARY_DIR}/host_headers")
file(MAKE_DIRECTORY "${links}")
foreach(name IN ITEMS fmt elfutils dwarf.h libelf.h gelf.h)
  find_path(folder ${name} PATHS /usr/include NO_CACHE REQUIRED NO_CMAKE_FIND_ROOT_PATH NO_DEFAULT_PATH)
  file(CREATE_LINK "${folder}/${name}" "${links}/${name}" SYMBOLIC)
  unset(folder)
endforeach()
add_library(gpuprof_host_headers INTERFACE)
target_include_directories(gpuprof_host_headers SYSTEM INTERFACE "${links}")
