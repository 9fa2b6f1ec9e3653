// SPDX-License-Identifier: Apache-2.0
//
// One check of a thread's signal mask.
//
// Context:  worker
#pragma once

#include <sys/types.h>

#include "inject/sample/signals/mask_history.hpp"
#include "inject/sample/threads/thread_status.hpp"

namespace gpuprof::sample {

/// What a thread is doing whose `syscall` file has this line, and whose status file shows the
/// sampling signal as blocked or not.
MaskCheck classify_mask(const char* line, bool blocked, int signal);

/// The same, of a thread of this process.
MaskCheck check_mask(pid_t tid, const ThreadStatus& status, int signal);

/// For a check that may have found the thread in our handler, or where libc blocks signals for a
/// moment: the handler ran since the last one, or the thread waits for a processor and has made no
/// progress.
MaskCheck discount_handler(MaskCheck look, bool was_handled, bool runnable, bool got_on);

}  // namespace gpuprof::sample
