// SPDX-License-Identifier: Apache-2.0
//
// Our threads are none of those whose end the C library waits for before it ends the process.
//
// Context:  boundary
// Owns:     nothing
// Promises: a program whose main thread calls pthread_exit ends when its last thread does, as
//           without us: that thread calls exit(0)
//
// Why: glibc counts the threads that pthread_create made, ours too, and calls exit where the count
// reaches zero. The count is part of what it offers debuggers (__nptl_nthreads, exported by libc
// since 2.34); where it is not to be found the worker sees later that only we are left.
#pragma once

namespace gpuprof::hot {

/// Finds the count. Before the first thread of ours is made.
void find_thread_count();

/// On a thread of ours, once: it is not counted from now on. Calls exit(0) if by now no thread of
/// the program is left to do so.
void count_thread_out();

/// On a thread that was counted out and is about to return to the C library, which will count it
/// out itself. False: the process is ending, the thread must not return.
bool count_thread_in();

}  // namespace gpuprof::hot
