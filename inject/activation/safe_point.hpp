// SPDX-License-Identifier: Apache-2.0
//
// Whether a thread was interrupted outside the C library, the loader and any allocator, so that
// they may be called on it.
//
// Context:  signal
// Promises: takes no lock; reads nothing of a module that could be unmapped meanwhile; answers no
//           if in doubt
#pragma once

#include <ucontext.h>

namespace gpuprof::wake {

/// True where the thread may call pthread_create, and with it malloc: it runs code of the program
/// or of a library that is none of those and replaces none of them, or is in a call of the C
/// library that is made with no lock held. Whether it runs a handler that interrupted such a call
/// is not known here.
bool is_safe_point(const ucontext_t* context);

}  // namespace gpuprof::wake
