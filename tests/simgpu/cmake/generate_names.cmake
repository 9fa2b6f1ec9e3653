# SPDX-License-Identifier: Apache-2.0
# Writes name tables from the enumerations of the installed toolkit's CUPTI headers.
#
#   cmake -DHEADERS=<include folder> -DOUTPUT=<file.cpp> -P generate_names.cmake
#
# Only names and numbers are taken; no header text is copied.

function(collect_rows header prefix out)
  file(STRINGS "${HEADERS}/${header}" lines REGEX "^ +${prefix}[A-Za-z0-9_]+ += *[0-9]+,?")
  set(rows "")
  foreach(line IN LISTS lines)
    if(line MATCHES "${prefix}([A-Za-z0-9_]+) += *([0-9]+)")
      set(name "${CMAKE_MATCH_1}")
      set(number "${CMAKE_MATCH_2}")
      if(NOT name MATCHES "^(INVALID|SIZE|FORCE_INT)$")
        string(APPEND rows "    {${number}, \"${ARGN}${name}\"},\n")
      endif()
    endif()
  endforeach()
  set(${out} "${rows}" PARENT_SCOPE)
endfunction()

collect_rows(cupti_driver_cbid.h CUPTI_DRIVER_TRACE_CBID_ driver_rows "")
collect_rows(cupti_runtime_cbid.h CUPTI_RUNTIME_TRACE_CBID_ runtime_rows "")
collect_rows(cupti_result.h CUPTI_ result_rows CUPTI_)

file(WRITE "${OUTPUT}" "// Generated when the simulated GPU is built. Do not edit.
#include \"cupti/names.hpp\"

namespace gpusim {
namespace {
struct Row {
  std::uint32_t number;
  const char* name;
};
constexpr Row kDriver[] = {
${driver_rows}};
constexpr Row kRuntime[] = {
${runtime_rows}};
constexpr Row kResults[] = {
${result_rows}};

template <int N>
const char* find(const Row (&rows)[N], std::uint32_t number) {
  for (const Row& row : rows)
    if (row.number == number) return row.name;
  return nullptr;
}
}  // namespace

const char* callback_name(int domain, std::uint32_t cbid) {
  if (domain == 1) return find(kDriver, cbid);
  if (domain == 2) return find(kRuntime, cbid);
  return nullptr;
}

const char* result_name(int result) { return find(kResults, static_cast<std::uint32_t>(result)); }
}  // namespace gpusim
")
