// SPDX-License-Identifier: Apache-2.0
//
// What `gpuprof` and the gpuprof-serve that it starts tell each other, over a socket whose closing
// means that the session is over.
//
// Context:  cli
// Owns:     nothing
#pragma once

#include <array>

namespace gpuprof::client {

/// The helper's first and only word: kServeReady, or a sentence that says why it cannot serve.
inline constexpr char kServeReady[] = "ready";
/// Longest message either of them sends.
inline constexpr unsigned kMaxServeMessageBytes = 4096;
/// The CLI's only word, followed by the number: the program whose processes are served.
inline constexpr char kServeProgram[] = "program ";

/// Descriptors gpuprof-serve is started with.
inline constexpr int kServeListenFd = 3;
inline constexpr int kServeControlFd = 4;

/// What Profile answers with, and how its files end.
inline constexpr char kServeFormat[] = "xplane";
inline constexpr char kServeSuffix[] = ".xplane.pb";

}  // namespace gpuprof::client
