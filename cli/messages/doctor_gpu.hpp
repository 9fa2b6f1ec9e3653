// SPDX-License-Identifier: Apache-2.0
//
// Messages of `gpuprof doctor`: the driver, CUPTI and who uses it.
// docs/messages.md has the rules of their wording.
//
// Context:  cli
#pragma once

namespace gpuprof::messages::doctor_gpu {

// Why a library tells no version. {}: function, library
inline constexpr char kNoVersionFunction[] = "{} of {} is missing or fails";
inline constexpr char kVersionTimeout[] = "the version query of {} took longer than 5 s";
inline constexpr char kVersionCrash[] = "the version query of {} crashed";

// The driver. {}: reason; major and minor version of CUDA, number of device files
inline constexpr char kNoDriver[] = "gpuprof cannot record GPU events: {}";
inline constexpr char kSimulated[] =
    "simulated GPU with CUDA {}.{}: it computes nothing and its times are not measured";
inline constexpr char kDriver[] = "libcuda supports CUDA {}.{}; /dev has {}";
inline constexpr char kNoDevice[] =
    "libcuda supports CUDA {}.{}, but /dev has no GPU device files: no GPU can be used here";

// CUPTI. {}: path, version or reason
inline constexpr char kNoCupti[] =
    "found no libcupti.so: only programs that bring their own CUPTI, such as PyTorch wheels, get "
    "GPU events";
inline constexpr char kCuptiVersion[] = "{} has API version {}";
inline constexpr char kCuptiSimulated[] = "{} has API version {} (simulated)";
inline constexpr char kCuptiUnusable[] = "cannot use {}: {}";

// A process. {}: tools
inline constexpr char kProcessUnreadable[] =
    "cannot read its memory map: it belongs to another user or is protected";
inline constexpr char kProcessGone[] = "no such process";
inline constexpr char kLibraryLoaded[] = "the gpuprof library is loaded";
inline constexpr char kSlotFree[] = "CUPTI is not loaded: its subscriber slot is free";
inline constexpr char kSlotUnknown[] =
    "CUPTI is loaded; whether its subscriber slot is free cannot be seen from outside";
inline constexpr char kSlotMayBeTaken[] = "CUPTI is loaded, and {} may hold its subscriber slot";

}  // namespace gpuprof::messages::doctor_gpu
