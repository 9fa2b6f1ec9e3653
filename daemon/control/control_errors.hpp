// SPDX-License-Identifier: Apache-2.0
//
// Why a process's control socket does not accept a connection or does not respond.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <cstdint>
#include <string>

namespace gpuprof::control {

/// Nobody listens there: its file is left, or has been removed by whoever found nobody behind it.
///
/// @param failure  errno of connect(2).
bool is_not_listening(int failure);

/// Whoever listened there went away before it read what was asked.
///
/// @param failure  errno of send(2) or recv(2).
bool was_reset(int failure);

/// Why a control socket did not respond, and, where nobody listens or listened, what that may mean:
/// "(…): …".
std::string not_listening_reason(int failure);

/// Why a process that exists does not respond.
std::string no_reply_reason(std::uint32_t pid);

/// "" while the program that is meant runs in the process; else that it has ended or gone on as
/// another one.
///
/// @param program  support::exec_fingerprint(); 0: any.
std::string process_gone_reason(std::uint32_t pid, std::uint32_t program);

}  // namespace gpuprof::control
