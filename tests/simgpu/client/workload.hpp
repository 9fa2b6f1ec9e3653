// SPDX-License-Identifier: Apache-2.0
//
// The device work of the test client.
//
// Context:  test program
// Owns:     what it created on the device
// Promises: the same calls for the same arguments
// Not here: tracing
#pragma once

namespace client {

/// Device work in pieces, so that the client can do things in between.
class Workload {
 public:
  /// cuInit, two contexts if there are two devices, streams, module.
  bool set_up();
  /// Makes the context current on another thread.
  bool enter();
  /// `count` kernels alternating over two streams.
  bool launch(int count);
  /// A copy of each kind, a memset, a peer copy where there are two devices.
  bool copies();
  /// Captures `nodes` kernels and launches the graph `times` times.
  bool graph(int nodes, int times);
  /// Waits for the device.
  bool synchronize();

 private:
  struct Parts;
  Parts* parts_ = nullptr;
};

}  // namespace client
