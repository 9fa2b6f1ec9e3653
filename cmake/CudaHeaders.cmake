# SPDX-License-Identifier: Apache-2.0
#
# gpuprof::cuda_headers: cuda.h, cupti.h and nvtx3, never a library (the library looks CUPTI up
# in the program it is in). From an installed toolkit, else from the wheels that scripts/setup
# unpacked into the cache folder.

option(GPUPROF_CUDA_FROM_WHEELS "Ignore an installed CUDA toolkit" OFF)

set(GPUPROF_CUDA_INCLUDE_DIRS "")
set(source "")
if(NOT GPUPROF_CUDA_FROM_WHEELS)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    find_path(GPUPROF_CUPTI_INCLUDE_DIR cupti.h
              HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_ROOT}
                    "${CUDAToolkit_LIBRARY_ROOT}" "${CUDAToolkit_TARGET_DIR}"
              PATH_SUFFIXES include extras/CUPTI/include ../extras/CUPTI/include
              NO_DEFAULT_PATH)
    find_path(GPUPROF_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
              HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
    # Older toolkits lack what the code names; the wheels are then the better choice.
    if(GPUPROF_CUPTI_INCLUDE_DIR AND GPUPROF_NVTX_INCLUDE_DIR AND CUDAToolkit_VERSION_MAJOR GREATER_EQUAL 13)
      set(GPUPROF_CUDA_INCLUDE_DIRS ${CUDAToolkit_INCLUDE_DIRS} ${GPUPROF_CUPTI_INCLUDE_DIR}
                                    ${GPUPROF_NVTX_INCLUDE_DIR})
      set(source "toolkit ${CUDAToolkit_VERSION}")
    endif()
  endif()
endif()

if(NOT GPUPROF_CUDA_INCLUDE_DIRS)
  file(SHA256 "${PROJECT_SOURCE_DIR}/requirements/cuda-headers.txt" digest)
  string(SUBSTRING "${digest}" 0 12 digest)
  set(root "${GPUPROF_CACHE_DIR}/cuda-headers-${digest}")
  if(NOT EXISTS "${root}/include/cupti.h")
    message(FATAL_ERROR
      "No CUDA 13 toolkit with cupti.h was found and ${root} is missing: run scripts/setup "
      "(scripts/setup --cuda-wheels if a toolkit is installed).")
  endif()
  set(GPUPROF_CUDA_INCLUDE_DIRS "${root}/include")
  set(source "wheels ${root}")
endif()
list(REMOVE_DUPLICATES GPUPROF_CUDA_INCLUDE_DIRS)
message(STATUS "CUDA headers: ${source}")

add_library(gpuprof_cuda_headers INTERFACE)
target_include_directories(gpuprof_cuda_headers SYSTEM INTERFACE ${GPUPROF_CUDA_INCLUDE_DIRS})
add_library(gpuprof::cuda_headers ALIAS gpuprof_cuda_headers)
