// SPDX-License-Identifier: Apache-2.0
//
// Detects whether PyTorch's profiler (Kineto) is recording: its session subscribes to nothing in
// CUPTI, and CUPTI itself cannot be queried below 13.2.
//
// Context:  worker
// Promises: calls Kineto's own query only on an object whose class is proven by its table of
//           virtual functions; returns false where anything is not as expected
#pragma once

namespace gpuprof::cupti {

/// Whether Kineto of any mapped libtorch_cpu is between start and stop of a session.
bool kineto_is_active();

}  // namespace gpuprof::cupti
