// SPDX-License-Identifier: Apache-2.0
//
// What the files of a program tell about the toolchain that made them.
//
// Context:  worker | boundary
// Promises: reads only program headers, notes and the dynamic section
#pragma once

#include <link.h>

namespace gpuprof::modules {

/// Whether the Go toolchain made it: its stacks may be smaller than a signal's frame.
bool is_go_module(const dl_phdr_info& module);

/// Whether the program needs no library, though it was started by the loader. Its threads are not
/// the C library's then: something else may lie where our code expects thread-local storage.
bool program_has_no_needed();

}  // namespace gpuprof::modules
