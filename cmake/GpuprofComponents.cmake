# SPDX-License-Identifier: Apache-2.0
#
# One function per kind of component, so that the flags of a context are stated once.
#
#   gpuprof_inject_component(NAME sources... [DEPS targets...])   static part of libgpuprof_inject.so
#   gpuprof_component(NAME sources... [DEPS targets...])          static library of daemon, cli or support
#   gpuprof_unit_test(NAME sources... [ONE_THREAD] [APART] [DEPS targets...])
#                                                            GoogleTest program, label "unit";
#                                                            ONE_THREAD: nothing for ThreadSanitizer;
#                                                            APART: each file compiled by itself

# Code that runs in someone else's process: no exceptions, no RTTI, hidden, no dynamic TLS.
# The unwind tables stay: our own frames are walked through.
set(GPUPROF_INJECT_FLAGS
    -fno-exceptions -fno-rtti -fvisibility=hidden -fvisibility-inlines-hidden
    -ftls-model=initial-exec -fno-threadsafe-statics -fasynchronous-unwind-tables
    -fno-stack-protector -U_FORTIFY_SOURCE)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Atomics in line, not by calls into libgcc that choose at run time; and frame records, which
  # the walk of unwind_frames.cpp goes along.
  list(APPEND GPUPROF_INJECT_FLAGS -mno-outline-atomics -fno-omit-frame-pointer)
endif()

# In a sanitizer build the components of inject are instrumented too, so that the unit tests see races
# and overruns in them; libgpuprof_inject.so is then not built (the end-to-end tests of that build
# use the one of the release build).
function(gpuprof_apply_sanitizers TARGET)
  if(GPUPROF_SANITIZE)
    string(REPLACE ";" "," kinds "${GPUPROF_SANITIZE}")
    target_compile_options(${TARGET} PRIVATE -fsanitize=${kinds} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${TARGET} PUBLIC -fsanitize=${kinds})
    # GCC says of every fence that it does not model it.
    if("${kinds}" STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${TARGET} PRIVATE -Wno-tsan)
    endif()
  endif()
  if(GPUPROF_FUZZ)
    target_compile_options(${TARGET} PRIVATE -fsanitize=fuzzer-no-link
                           "-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/fuzz_ignorelist.txt")
  endif()
endfunction()

function(gpuprof_inject_component NAME)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_library(inject_${NAME} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(inject_${NAME} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_compile_options(inject_${NAME} PRIVATE ${GPUPROF_WARNINGS} ${GPUPROF_INJECT_FLAGS})
  target_link_libraries(inject_${NAME} PUBLIC gpuprof_headers ${ARG_DEPS})
  gpuprof_apply_sanitizers(inject_${NAME})
endfunction()

# Optimising what is instrumented doubles the build; a fuzz target runs far longer than that. Two checks
# of every access are a quarter of it: a null pointer ends a test all the same, and unaligned reads are
# looked for in the library and by the fuzz targets.
set(gpuprof_component_flags)
if(GPUPROF_SANITIZE AND NOT GPUPROF_FUZZ)
  list(APPEND gpuprof_component_flags -O0)
  if(GPUPROF_SANITIZE MATCHES "undefined")
    list(APPEND gpuprof_component_flags -fno-sanitize=null,alignment)
  endif()
endif()

# What many components of ours include is parsed once for all of them, a sixth of their build. The preset
# clang does without: it tells of headers that a file forgot.
if(GPUPROF_PRECOMPILE)
  add_library(gpuprof_std STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/headers.cpp")
  target_include_directories(gpuprof_std PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(gpuprof_std PUBLIC fmt::fmt spdlog::spdlog)
  set_target_properties(gpuprof_std PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(gpuprof_std PRIVATE ${gpuprof_component_flags})
  target_precompile_headers(gpuprof_std PRIVATE "${PROJECT_SOURCE_DIR}/cmake/component_pch.hpp")
  gpuprof_apply_sanitizers(gpuprof_std)
endif()

function(gpuprof_component NAME)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${NAME} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_compile_options(${NAME} PRIVATE ${GPUPROF_WARNINGS})
  target_link_libraries(${NAME} PUBLIC gpuprof_headers ${ARG_DEPS})
  gpuprof_apply_sanitizers(${NAME})
  target_compile_options(${NAME} PRIVATE ${gpuprof_component_flags})
  # The templates that its files share are instantiated once a batch. What is in a file's unnamed
  # namespace then needs a name that no other file of the component has.
  set_target_properties(${NAME} PROPERTIES UNITY_BUILD ${GPUPROF_TOGETHER} UNITY_BUILD_BATCH_SIZE 14)
  if(GPUPROF_PRECOMPILE)
    target_link_libraries(${NAME} PRIVATE fmt::fmt spdlog::spdlog)  # the same macros
    target_precompile_headers(${NAME} REUSE_FROM gpuprof_std)
  endif()
endfunction()

# Programs that gpuprof_unit_test made: what the sanitizer builds build.
add_custom_target(unit_tests)

# Undefined behaviour is looked for in the components: in tests it would be a third of the build.
if(GPUPROF_SANITIZE MATCHES "undefined")
  set(gpuprof_test_flags -O0 -fno-sanitize=undefined)
else()
  set(gpuprof_test_flags -O0)
endif()

# What all GoogleTest programs include is parsed once for all of them. Tests are not optimised: the
# components they look at are, and the build takes half the time.
if(GPUPROF_BUILD_TESTS)
  add_library(gpuprof_gtest STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/headers.cpp")
  target_link_libraries(gpuprof_gtest PUBLIC GTest::gtest GTest::gmock)
  target_include_directories(gpuprof_gtest PRIVATE "${PROJECT_SOURCE_DIR}")
  gpuprof_apply_sanitizers(gpuprof_gtest)
  target_compile_options(gpuprof_gtest PRIVATE -fPIE ${gpuprof_test_flags})  # as programs are
  set_target_properties(gpuprof_gtest PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(gpuprof_gtest PRIVATE "${PROJECT_SOURCE_DIR}/tests/gtest_headers.hpp")
endif()

# gpuprof_use_gtest(TARGET): its flags and precompiled headers, for one more program of tests.
function(gpuprof_use_gtest TARGET)
  target_link_libraries(${TARGET} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(${TARGET} PRIVATE ${gpuprof_test_flags})
  target_precompile_headers(${TARGET} REUSE_FROM gpuprof_gtest)
endfunction()

# The results file lets scripts/test count cases, not programs.
function(gpuprof_unit_test NAME)
  cmake_parse_arguments(ARG "ONE_THREAD;APART" "" "DEPS" ${ARGN})
  add_executable(${NAME} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${NAME} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_options(${NAME} PRIVATE ${GPUPROF_WARNINGS} -Wno-conversion)
  target_link_libraries(${NAME} PRIVATE gpuprof_headers ${ARG_DEPS})
  gpuprof_apply_sanitizers(${NAME})
  gpuprof_use_gtest(${NAME})
  if(GPUPROF_TOGETHER AND NOT ARG_APART AND NOT "${ARG_DEPS}" MATCHES "inject_")
    set_target_properties(${NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 14)
  endif()
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if((ARG_ONE_THREAD AND GPUPROF_SANITIZE STREQUAL "thread")
     OR NOT (GPUPROF_DAEMON_UNIT_TESTS OR "${ARG_DEPS}" MATCHES "inject_"))
    set_target_properties(${NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME} "--gtest_output=xml:${CMAKE_BINARY_DIR}/results/${NAME}.xml")
  # "sanitized": instrumented by the sanitizer builds; the target unit_tests builds it.
  set_tests_properties(${NAME} PROPERTIES LABELS "unit;sanitized" TIMEOUT 900)
  add_dependencies(unit_tests ${NAME})
endfunction()
