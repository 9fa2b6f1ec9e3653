# SPDX-License-Identifier: Apache-2.0
find_package(Python3 COMPONENTS Interpreter REQUIRED)

# gpusim_stand_in(NAME <n> SONAME <s> CODE <number> PREFIXES <p,p> SOURCES <files>
#                 [REAL <file>] [NAMES <file>])
# Builds gpusim_<n>: the hand-written sources, and for every other function of the real library (REAL, or a
# list of names) a refusal that returns CODE. Links gpusim_<n>.so; the SONAME is the real library's.
function(gpusim_stand_in)
  cmake_parse_arguments(S "" "NAME;SONAME;CODE;PREFIXES;REAL;NAMES" "SOURCES" ${ARGN})
  set(target gpusim_${S_NAME})
  set(refusals "${CMAKE_CURRENT_BINARY_DIR}/${S_NAME}_refusals.cpp")
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${S_NAME}.map")
  set(generator "${gpusim_source}/cmake/generate_refusals.py")
  add_library(${target}_objects OBJECT ${S_SOURCES})
  set_target_properties(${target}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target}_objects SYSTEM PRIVATE ${GPUSIM_WHEEL_INCLUDE})
  target_link_libraries(${target}_objects PRIVATE gpusim_settings)
  add_custom_command(
    OUTPUT "${refusals}" "${map}"
    COMMAND
      ${Python3_EXECUTABLE} "${generator}" --name ${S_NAME} --soname ${S_SONAME} "--real=${S_REAL}"
      "--names=${S_NAMES}" --prefixes ${S_PREFIXES} --refusals "${refusals}" --map "${map}"
      "$<TARGET_OBJECTS:${target}_objects>"
    DEPENDS "${generator}" "$<TARGET_OBJECTS:${target}_objects>" ${S_REAL} ${S_NAMES}
    COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${target} SHARED $<TARGET_OBJECTS:${target}_objects> "${gpusim_source}/stand_in/refuse.cpp" "${refusals}")
  gpusim_library(${target} ${S_SONAME} "${map}")
  target_compile_definitions(${target} PRIVATE GPUSIM_REFUSAL_CODE=${S_CODE})
  target_link_libraries(${target} PRIVATE gpusim_core)
endfunction()
