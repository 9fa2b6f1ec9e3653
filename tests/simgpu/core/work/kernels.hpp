// SPDX-License-Identifier: Apache-2.0
//
// Kernels a program can launch: their figures, the checks of a launch, the launch itself.
//
// Context:  application threads
// Owns:     nothing
// Promises: the same name without a known cubin always gets the same, invented figures
// Not here: how a cubin is read (fatbin.hpp), API entry points
#pragma once

#include "core/objects.hpp"
#include "core/work/fatbin.hpp"

namespace gpusim {

/// What a launch asks for.
struct LaunchShape {
  std::uint32_t grid[3], block[3], cluster[3];
  std::size_t dynamic_smem;
  bool cooperative;
};

/// A function named `name` (interned here) with the figures its cubin has, or invented ones if
/// `figures` is null or does not know it.
Function* create_function(Module* module, const char* name, const FigureTable* figures);

/// @return cudaError_t value: 0, cudaErrorInvalidConfiguration, cudaErrorInvalidValue,
/// cudaErrorLaunchOutOfResources or cudaErrorCooperativeLaunchTooLarge.
int check_launch(const Function& function, const DeviceModel& model, const LaunchShape& shape);

/// The operation that an already checked launch is.
DeviceOp describe_launch(const Function& function, const LaunchShape& shape);

/// Puts an already checked launch on the stream. @return CUresult value.
int launch_function(const Function& function, Stream* stream, const LaunchShape& shape);

/// Blocks of `threads` threads of the function that fit on one SM.
int resident_blocks(const Function& function, const DeviceModel& model, int threads,
                    std::size_t dynamic_smem);

}  // namespace gpusim
