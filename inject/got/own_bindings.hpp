// SPDX-License-Identifier: Apache-2.0
//
// Our calls of the C library reach the C library, whatever functions the program defines.
//
// Context:  boundary (the library's first constructor)
//
// Why: a program that has a function `send` or `open` of its own exports it to the loader where it
// is linked with -rdynamic, or with the C library, which has one of that name. Nothing else in it
// may call the C library's; the worker thread does.
#pragma once

namespace gpuprof::got {

/// Binds our slots that lead into the program to the next definition of the name, except the
/// heap's: a program's own `malloc` is meant for us, too. Asks the loader only for these names.
void bind_own_calls_to_libc();

}  // namespace gpuprof::got
