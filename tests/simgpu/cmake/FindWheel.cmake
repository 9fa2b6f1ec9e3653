# SPDX-License-Identifier: Apache-2.0
# Finds an installed PyTorch whose CUDA libraries are to be stood in for. Sets
#   GPUSIM_WHEEL          its site-packages folder, or empty
#   GPUSIM_BUILT_WHEEL    the same if its libraries are stood in for, or empty
#   GPUSIM_WHEEL_VERSION  its version, for example 2.15.0+cu132
#   GPUSIM_WHEEL_CUDA     its CUDA version, for example 13.2, or empty
#   GPUSIM_REAL_<name>    path of the real cudart, cublas, cublasLt, cudnn, cupti, nccl, or empty
#   GPUSIM_WHEEL_INCLUDE  its header folders
# Looked for: the cache variable GPUSIM_WHEEL; else what the interpreter in $GPUPROF_TORCH_PYTHON would
# import, which is remembered for the builds that configure by themselves; else .venvs/torch.

set(GPUSIM_WHEEL "" CACHE PATH "site-packages folder of a PyTorch with CUDA, for the simulated GPU's libraries")
if(DEFINED ENV{GPUPROF_TORCH_PYTHON})
  set(GPUSIM_TORCH_PYTHON "$ENV{GPUPROF_TORCH_PYTHON}" CACHE INTERNAL "interpreter that has PyTorch")
endif()

# The folder that `import torch` would read from. PyTorch itself is not imported: that takes seconds.
function(gpusim_site_packages python out)
  execute_process(
    COMMAND "${python}" -c
            "import importlib.util, os; print(os.path.dirname(os.path.dirname(importlib.util.find_spec('torch').origin)))"
    WORKING_DIRECTORY / OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(folder AND EXISTS "${folder}/torch/version.py")
    set(${out} "${folder}" PARENT_SCOPE)
  endif()
endfunction()

if(NOT GPUSIM_WHEEL)
  foreach(python "${GPUSIM_TORCH_PYTHON}" "${CMAKE_SOURCE_DIR}/.venvs/torch/bin/python")
    if(python AND EXISTS "${python}" AND NOT GPUSIM_WHEEL)
      gpusim_site_packages("${python}" GPUSIM_WHEEL)
    endif()
  endforeach()
endif()

set(GPUSIM_WHEEL_CUDA "")
set(GPUSIM_WHEEL_VERSION "")
if(GPUSIM_WHEEL AND EXISTS "${GPUSIM_WHEEL}/torch/version.py")
  file(STRINGS "${GPUSIM_WHEEL}/torch/version.py" line REGEX "^cuda(:.*)? *= *'[0-9.]+'")
  string(REGEX REPLACE ".*'([0-9.]+)'.*" "\\1" GPUSIM_WHEEL_CUDA "${line}")
  file(STRINGS "${GPUSIM_WHEEL}/torch/version.py" line REGEX "^__version__ *= *'")
  string(REGEX REPLACE ".*'([^']+)'.*" "\\1" GPUSIM_WHEEL_VERSION "${line}")
  # A PyTorch that is exchanged in place is seen by the next build.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${GPUSIM_WHEEL}/torch/version.py")
endif()
if(GPUSIM_WHEEL_CUDA AND NOT GPUSIM_WHEEL_CUDA MATCHES "^13")
  message(STATUS "simulated GPU: PyTorch for CUDA ${GPUSIM_WHEEL_CUDA} found, only CUDA 13 can be stood in for")
  set(GPUSIM_WHEEL_CUDA "")
endif()

foreach(library cudart cublas cublasLt cudnn cupti nccl)
  set(GPUSIM_REAL_${library} "")
  if(GPUSIM_WHEEL_CUDA)
    file(GLOB found "${GPUSIM_WHEEL}/nvidia/*/lib/lib${library}.so.*")
    if(found)
      list(GET found 0 GPUSIM_REAL_${library})
    else()
      message(STATUS "simulated GPU: ${GPUSIM_WHEEL}/nvidia has no lib${library}, PyTorch's libraries are left out")
      set(GPUSIM_WHEEL_CUDA "")
    endif()
  endif()
endforeach()

set(GPUSIM_WHEEL_INCLUDE "")
set(GPUSIM_BUILT_WHEEL "")
if(GPUSIM_WHEEL_CUDA)
  set(GPUSIM_BUILT_WHEEL "${GPUSIM_WHEEL}")
  file(GLOB GPUSIM_WHEEL_INCLUDE "${GPUSIM_WHEEL}/nvidia/*/include")
  message(STATUS "simulated GPU: stands in for the CUDA ${GPUSIM_WHEEL_CUDA} libraries of ${GPUSIM_WHEEL}")
else()
  message(STATUS "simulated GPU: no PyTorch with CUDA 13 found, its libraries are left out")
endif()
