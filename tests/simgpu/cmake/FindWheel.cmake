# SPDX-License-Identifier: Apache-2.0
# Finds an installed PyTorch whose CUDA libraries are to be stood in for. Sets
#   GPUSIM_WHEEL          its site-packages folder, or empty
#   GPUSIM_REAL_<name>    path of the real cudart, cublas, cublasLt, cudnn, cupti, nccl, or empty
#   GPUSIM_WHEEL_CUDA     its CUDA version, for example 13.2
#   GPUSIM_WHEEL_INCLUDE  its header folders
# Looked for: the cache variable GPUSIM_WHEEL, the interpreter in $GPUPROF_TORCH_PYTHON, .venvs/torch.

set(GPUSIM_WHEEL "" CACHE PATH "site-packages folder of a PyTorch with CUDA, for the simulated GPU's libraries")

if(NOT GPUSIM_WHEEL)
  foreach(python "$ENV{GPUPROF_TORCH_PYTHON}" "${CMAKE_SOURCE_DIR}/.venvs/torch/bin/python")
    if(python AND EXISTS "${python}")
      execute_process(
        COMMAND "${python}" -c "import sysconfig; print(sysconfig.get_path('purelib'))"
        OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(EXISTS "${folder}/torch/version.py" AND EXISTS "${folder}/nvidia")
        set(GPUSIM_WHEEL "${folder}" CACHE PATH "" FORCE)
        break()
      endif()
    endif()
  endforeach()
endif()

set(GPUSIM_WHEEL_CUDA "")
if(GPUSIM_WHEEL AND EXISTS "${GPUSIM_WHEEL}/torch/version.py")
  file(STRINGS "${GPUSIM_WHEEL}/torch/version.py" line REGEX "^cuda: .*= *'[0-9.]+'")
  string(REGEX REPLACE ".*'([0-9.]+)'.*" "\\1" GPUSIM_WHEEL_CUDA "${line}")
endif()
foreach(library cudart cublas cublasLt cudnn cupti nccl)
  set(GPUSIM_REAL_${library} "")
  if(GPUSIM_WHEEL_CUDA)
    file(GLOB found "${GPUSIM_WHEEL}/nvidia/*/lib/lib${library}.so.*")
    if(found)
      list(GET found 0 GPUSIM_REAL_${library})
    endif()
  endif()
endforeach()
set(GPUSIM_WHEEL_INCLUDE "")
if(GPUSIM_WHEEL_CUDA)
  file(GLOB GPUSIM_WHEEL_INCLUDE "${GPUSIM_WHEEL}/nvidia/*/include")
  if(NOT GPUSIM_WHEEL_CUDA MATCHES "^13")
    message(STATUS "simulated GPU: PyTorch for CUDA ${GPUSIM_WHEEL_CUDA} found, only CUDA 13 can be stood in for")
    set(GPUSIM_WHEEL_CUDA "")
  else()
    message(STATUS "simulated GPU: stands in for the CUDA ${GPUSIM_WHEEL_CUDA} libraries of ${GPUSIM_WHEEL}")
  endif()
else()
  message(STATUS "simulated GPU: no PyTorch with CUDA found, its libraries are left out")
endif()
