// SPDX-License-Identifier: Apache-2.0
//
// Writes a command's result to stdout as a whole.
//
// Context:  cli
#pragma once

#include <string>
#include <string_view>

#include "support/result.hpp"

namespace gpuprof::cli {

/// Where the reader is gone (`gpuprof report IN | head -1`) the program ends by SIGPIPE without a
/// word, as others do, unless it was started with that signal ignored.
///
/// `what` is the sentence's subject: "the report".
///
/// Errors: stdout takes no more.
support::Result<void> write_stdout(std::string_view text, const std::string& what,
                                   int exit_status = 125);

}  // namespace gpuprof::cli
