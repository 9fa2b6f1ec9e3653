// SPDX-License-Identifier: Apache-2.0
//
// Detects whether PyTorch's profiler (Kineto) is recording: its session subscribes to nothing in
// CUPTI, and below 13.2 CUPTI itself cannot be asked.
//
// Context:  worker
// Owns:     nothing
// Promises: calls Kineto's own question only on an object whose class is proved by its table of
//           virtual functions; answers no where anything is not as expected
#pragma once

namespace gpuprof::cupti {

/// Kineto of any mapped libtorch_cpu is between start and stop of a session.
bool kineto_is_active();

}  // namespace gpuprof::cupti
