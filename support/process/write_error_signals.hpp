// SPDX-License-Identifier: Apache-2.0
//
// The two signals that a failed write raises: with them ignored, a reader that is gone and a limit
// on file sizes are errors to be reported.
//
// Context:  daemon | cli
// Owns:     the dispositions of SIGPIPE and SIGXFSZ from ignore_write_error_signals() on
// Promises: programs started through subprocess.hpp get the dispositions that we were started with
#pragma once

namespace gpuprof::support {

/// From now on such a write fails with EPIPE or EFBIG.
void ignore_write_error_signals();

/// In a child, before its exec: as they were. Does nothing unless they are ignored by us.
void restore_write_error_signals();

/// What to do about a failed write, to follow the system's own words: "; free some space". Empty:
/// nothing is known.
const char* write_error_hint(int failure);

}  // namespace gpuprof::support
