// SPDX-License-Identifier: Apache-2.0
//
// Runs work that may run out of memory, which becomes an error message then.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: what the work had is given back when the sentence is made
#pragma once

#include <fmt/format.h>

#include <new>
#include <utility>

#include "support/messages/process.hpp"
#include "support/result.hpp"

namespace gpuprof::support {

/// What `work` returns, a Result; without memory for it an error that names `what`.
template <typename Work>
auto catch_out_of_memory(const char* what, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return error(fmt::format(messages::process::kOutOfMemory, what));
  }
}

}  // namespace gpuprof::support
