# SPDX-License-Identifier: Apache-2.0
#
#   gpuprof_embed(TARGET SYMBOL files...)   puts the files, as they are, into the static library TARGET;
#                                           a source of its own declares what it finds there:
#
#     struct File { const char* name; const char* data; std::uint64_t bytes; };
#     extern "C" const File SYMBOL[];                 // in the order given; name without folders
#     extern "C" const std::uint64_t SYMBOL_count;
#
# The assembler reads the files: nothing is turned into numbers and parsed again.

function(gpuprof_embed TARGET SYMBOL)
  set(made "${CMAKE_CURRENT_BINARY_DIR}/${SYMBOL}.S")
  set(table "")
  set(content "")
  set(count 0)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND paths "${file}")
    cmake_path(GET file FILENAME name)
    string(APPEND content "name_${count}: .asciz \"${name}\"\n"
                          "data_${count}: .incbin \"${file}\"\nend_${count}: .byte 0\n")
    string(APPEND table ".quad name_${count}, data_${count}, end_${count} - data_${count}\n")
    math(EXPR count "${count} + 1")
  endforeach()
  file(CONFIGURE OUTPUT "${made}" CONTENT
"/* Made by cmake/GpuprofEmbed.cmake. */
.section .rodata
@content@
.balign 8
.global @SYMBOL@_count
@SYMBOL@_count: .quad @count@
.section .data.rel.ro,\"aw\"
.balign 8
.global @SYMBOL@
@SYMBOL@:
@table@
.section .note.GNU-stack,\"\",%progbits
" @ONLY)
  set_source_files_properties("${made}" PROPERTIES OBJECT_DEPENDS "${paths}" LANGUAGE ASM)
  target_sources(${TARGET} PRIVATE "${made}")
endfunction()
