// SPDX-License-Identifier: Apache-2.0
//
// Keeps our threads from being among those whose end the C library waits for before it ends the
// process, and those on account of which it takes locks in a fork or at the end of a program with
// one thread.
//
// Context:  boundary
// Promises: a program whose main thread calls pthread_exit ends when its last thread does, as
//           without us: that thread calls exit(0); a handler of a program with one thread may call
//           fork and exit wherever it has interrupted the program, as without us
//
// Why: glibc counts the threads that pthread_create made, ours too, and calls exit where the count
// reaches zero. The count is part of what it offers debuggers (__nptl_nthreads, exported by libc
// since 2.34); where it cannot be found, the worker notices later that only our threads are left.
// And from its first pthread_create on, it locks the heap, in fork, too: for ever, in a handler
// that has interrupted malloc. It learns from a byte whether to (__libc_single_threaded, since
// 2.32). That is not set for good: where the worker thread asks for the loader's lock the program
// has to take it, too.
#pragma once

#include <cstdint>

namespace gpuprof::hot {

/// Finds the count. Before the first thread of ours is made.
void find_glibc_thread_count();

/// On a thread of ours, once: it is not counted from now on. Calls exit(0) if no thread of the
/// program is left to do so.
void exclude_from_thread_count();

/// On a thread that was counted out and is about to return to the C library, which will count it
/// out itself. False: the process is ending, the thread must not return.
bool include_in_thread_count();

/// A thread of ours is about to be made or counted in (1), was counted out or has ended (-1).
void adjust_counted_threads(int more);
/// In a forked child.
void reset_counted_threads();

/// Whether the program has one thread of the C library. False: several, or unknown.
bool is_single_threaded();

/// Whether the C library takes locks although the program has one thread. Without a system call.
bool libc_locks_needlessly();

/// Makes it take none, if really no thread but the calling one runs; ours is paused or gone.
/// @param deadline_ms  How long to wait until the thread that glibc made for ours is gone.
/// @return false: it continues to take them.
bool set_single_threaded(std::uint32_t deadline_ms);
void clear_single_threaded();

}  // namespace gpuprof::hot
