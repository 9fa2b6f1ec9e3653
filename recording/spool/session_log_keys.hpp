// SPDX-License-Identifier: Apache-2.0
//
// Words of session.jsonl that its writer and its reader share.
//
// Context:  daemon | cli
#pragma once

#include <cstdint>

namespace gpuprof::spool::lines {

inline constexpr char kFileName[] = "session.jsonl";
inline constexpr std::uint64_t kVersion = 1;
inline constexpr char kKind[] = "line";
inline constexpr char kSession[] = "session";
inline constexpr char kProcess[] = "process";
inline constexpr char kWindow[] = "window";
inline constexpr char kRemark[] = "remark";
inline constexpr char kSelected[] = "chosen";
inline constexpr char kEnded[] = "ended";

}  // namespace gpuprof::spool::lines
