// SPDX-License-Identifier: Apache-2.0
//
// What one convolution launches, whichever API asked for it.
//
// Context:  application threads
// Owns:     nothing
// Promises: tensors that are not channels-last are converted around kernels that need it
// Not here: the two APIs (convolution_api.cpp, backend_execute.cpp)
#pragma once

#include <cudnn.h>

#include "cudnn/tensor.hpp"

namespace gpusim {

struct Stream;

enum class Direction : std::uint8_t { kForward, kData, kFilter };

/// The three tensors of a convolution; which one is the result follows from the direction.
struct Convolution {
  Direction direction = Direction::kForward;
  Tensor x, w, y;
  bool fma = false;  ///< no TF32

  /// 2·N·K·(C/groups)·R·S·P·Q, the same in every direction.
  double flops() const;
  int groups() const;
};

/// Whether the shapes can belong together: the same rank of 3 to 5, channels that divide.
bool plausible(const Convolution& convolution);

/// Launches layout conversions and the convolution.
cudnnStatus_t launch(Stream* stream, const Convolution& convolution);

/// Milliseconds that the convolution itself would take, for algorithm searches.
float estimate_ms(const Stream* stream, const Convolution& convolution);

}  // namespace gpusim
