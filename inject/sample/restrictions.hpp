// SPDX-License-Identifier: Apache-2.0
//
// What rules out sampling signals in a process: a tracer, a seccomp filter, a /proc that
// does not name them.
//
// Context:  worker
// Owns:     the number of filters the process had when the library was loaded
// Promises: what keeps threads from being sampled is reported once per session
#pragma once

#include "inject/sample/threads/thread_status.hpp"

namespace gpuprof::sample {

/// Filters that are there now were there before us; later calls change nothing, nor do they in a
/// forked child.
void save_initial_filters();

/// Whether the thread has filters, or the strict mode, that came after us: the system calls that
/// our handler or the program's own exit needs may end it.
bool has_new_filter(const ThreadStatus& status);

/// Whether somebody traces this process: the sampling signal would stop it again and again, or, in
/// a debugger without a user, end it.
bool is_traced();

/// Reports what was found since reset_restrictions(): `filtered`: some thread has a new filter;
/// `traced`: at this scan. And, once, that the scan did not find the process's first thread.
void report_restrictions(bool filtered, bool traced);
void reset_restrictions();

/// Reports once, if some lack one, that threads are not sampled without an alternate stack.
void report_missing_alt_stacks(bool some);

}  // namespace gpuprof::sample
