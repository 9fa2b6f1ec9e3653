// SPDX-License-Identifier: Apache-2.0
//
// Injects the library into a process that has none active, until its control socket responds.
//
// Context:  cli
// Owns:     nothing
// Promises: each way to fail is one sentence; one that ends or starts another program meanwhile is
//           noticed at once
// Not here: how it gets in (daemon/attach), which processes (attach.cpp)
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/options/options.hpp"
#include "daemon/client/attach.hpp"
#include "daemon/control/control_sockets.hpp"
#include "support/result.hpp"

namespace gpuprof::cli {

/// @param library  Path of it.
/// @param attached Called after every attempt, with the result of gpuprof_attach in the process.
support::Result<control::ControlSocket> inject_library(
    std::uint32_t pid, const std::string& library, const Options& options,
    const std::function<void(const client::AttachResult&)>& attached);

/// Why recording did not start, from gpuprof_attach's return value; "" if it started.
std::string start_failure_reason(std::uint32_t pid, int answer);

/// Why a process that was attached to will not answer any more; "" if it may.
/// @param program  client::AttachResult::program
std::string process_gone_reason(std::uint32_t pid, std::uint32_t program);

}  // namespace gpuprof::cli
