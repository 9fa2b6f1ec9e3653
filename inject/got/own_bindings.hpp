// SPDX-License-Identifier: Apache-2.0
//
// Our calls of the C library reach the C library, whatever functions the program has.
//
// Context:  boundary (the library's first constructor)
// Owns:     nothing
//
// Why: a program that has a function `send` or `open` of its own shows it to the loader where it
// is linked with -rdynamic, or with the C library that has one of that name. Nobody else in it may
// call the C library's; the worker thread does.
#pragma once

namespace gpuprof::got {

/// Binds our slots that lead into the program to the next definition of the name, but for the
/// heap's: a program that brings its own `malloc` means us, too. Asks the loader for these alone.
void bind_own_calls_to_libc();

}  // namespace gpuprof::got
