// SPDX-License-Identifier: Apache-2.0
//
// All settings of the simulated GPU, read once from GPUSIM_* environment variables.
//
// Context:  any
// Owns:     one leaked Config per process
// Promises: read once, at the first use; never changes afterwards; no destructor runs at exit
// Not here: the command line that sets these variables (tools/gpusim_run.cpp)
#pragma once

#include <cstdint>

#include "core/scenarios.hpp"

namespace gpusim {

/// CUDA release whose version numbers and record layouts are shown.
enum class Layout : std::uint8_t { k11_8, k12_4, k12_9, k13_0, k13_2, kFuture };

/// Which GPU the simulated devices resemble.
enum class Model : std::uint8_t { kH100, kA100, kV100 };

/// One "fail at the nth use" rule.
struct ErrorRule {
  char function[64];
  std::uint32_t nth;  ///< 1-based; 0 = every use
  bool and_later;     ///< also every use after the nth
  int code;
};

constexpr int kMaxDevices = 16;
constexpr int kMaxErrorRules = 32;

/// Everything GPUSIM_* can say.
struct Config {
  int devices;
  Model model;
  std::uint64_t memory_bytes;  ///< 0 = the model's own size
  double time_scale;           ///< multiplies every device duration
  std::uint64_t api_cost_ns;   ///< spun in each API call
  std::uint64_t kernel_ns;     ///< 0 = the timing model, else every kernel lasts this long
  std::uint32_t correlation_start;
  std::uint64_t device_buffers;  ///< what CUPTI says a context may have
  Layout layout;
  bool quiet;
  bool zero_data;         ///< drop device writes from 256 bytes up
  bool cupti_per_client;  ///< each calling shared object has a CUPTI state of its own
  const char* truth_path;
  const char* log_path;
  bool log_all;
  const char* slot_taken_by;  ///< nullptr = slot free
  bool scenario_on[static_cast<int>(Scenario::kCount)];
  std::int64_t scenario_argument[static_cast<int>(Scenario::kCount)];
  int error_rules;
  ErrorRule errors[kMaxErrorRules];
};

/// The settings of this process.
const Config& config();

/// Whether a scenario was asked for.
inline bool on(Scenario s) { return config().scenario_on[static_cast<int>(s)]; }

/// The scenario's argument, as given or by default.
inline std::int64_t argument(Scenario s) { return config().scenario_argument[static_cast<int>(s)]; }

}  // namespace gpusim
