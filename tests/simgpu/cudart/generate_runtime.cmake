# SPDX-License-Identifier: Apache-2.0
# Writes, from the enumerations of the installed toolkit's headers, the newest callback id and parameter structure of
# each runtime function, and the names of the runtime's errors.
#
#   cmake -DHEADERS=<include folder> -DNAMES=<file_request.hpp> -DERRORS=<file.inc> -P generate_runtime.cmake
#
# Only names and numbers are taken; no header text is copied.

set(prefix CUPTI_RUNTIME_TRACE_CBID_)
file(STRINGS "${HEADERS}/cupti_runtime_cbid.h" lines REGEX "^ +${prefix}[A-Za-z0-9_]+_v[0-9]+ += *[0-9]+")
set(functions "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "${prefix}([A-Za-z0-9_]+)_v([0-9]+) " found "${line}")
  set(function "${CMAKE_MATCH_1}")
  set(version "${CMAKE_MATCH_2}")
  if(NOT DEFINED newest_${function})
    list(APPEND functions "${function}")
    set(newest_${function} ${version})
  elseif(version GREATER newest_${function})
    set(newest_${function} ${version})
  endif()
endforeach()

set(text "// Generated when the simulated GPU is built. Do not edit.\n#pragma once\n")
foreach(function IN LISTS functions)
  set(versioned "${function}_v${newest_${function}}")
  string(APPEND text "#define GPUSIM_CBID_${function} ${prefix}${versioned}\n"
         "#define GPUSIM_PARAMS_${function} ${versioned}_params\n")
endforeach()
file(WRITE "${NAMES}" "${text}")

file(STRINGS "${HEADERS}/driver_types.h" lines REGEX "^ +cuda(Error[A-Za-z0-9]+|Success) += *[0-9]+")
set(text "// Generated when the simulated GPU is built. Do not edit.\n")
foreach(line IN LISTS lines)
  string(REGEX MATCH "(cuda[A-Za-z0-9]+) += *([0-9]+)" found "${line}")
  string(APPEND text "{${CMAKE_MATCH_2}, \"${CMAKE_MATCH_1}\"},\n")
endforeach()
file(WRITE "${ERRORS}" "${text}")
