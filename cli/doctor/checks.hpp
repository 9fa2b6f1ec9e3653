// SPDX-License-Identifier: Apache-2.0
//
// The checks of `gpuprof doctor`: one line each, with its consequence.
//
// Context:  cli
// Owns:     nothing
// Promises: looking changes nothing; code of the driver and of CUPTI runs in a child process only
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::cli {

enum class CheckStatus { kGood, kLimited, kMissing, kBlocking };

struct CheckResult {
  CheckStatus health = CheckStatus::kGood;
  std::string topic;    // "driver", "CUPTI", ...
  std::string message;  // what was found and what follows from it
};
using CheckResults = std::vector<CheckResult>;

// checks_gpu.cpp
void check_driver(CheckResults& out);
void check_cupti(const std::vector<std::string>& environment, CheckResults& out);
void check_process(std::uint32_t pid, CheckResults& out);

// checks_host.cpp
void check_installation(CheckResults& out);
void check_glibc(CheckResults& out);
void check_shared_memory(CheckResults& out);
void check_sampling(CheckResults& out);
/// What the kernel or its security modules refuse to a program that has the worker thread.
/// @param selinux  Where SELinux would be mounted.
void check_second_thread(CheckResults& out, const std::string& selinux = "/sys/fs/selinux");
void check_ptrace(CheckResults& out);
/// Whether a seccomp filter is in force for this process, and so for what it starts.
bool has_seccomp_filter();
void check_preloads(const std::vector<std::string>& environment, CheckResults& out);
void check_output(CheckResults& out);

// checks_python.cpp
void check_python(const std::vector<std::string>& environment, CheckResults& out);

// checks_trial.cpp
/// Records a small program with every source, and a training where python3 has a PyTorch.
void check_trial_recordings(CheckResults& out);

/// Samples a second that a timer of the given tick delivers when `rate_hz` is asked for.
double effective_timer_rate_hz(double rate_hz, double tick_hz);

/// "3.11.7" → whether the sampler reads its frames.
bool is_python_supported(std::string_view version);

std::string check_results_text(const CheckResults& findings);
std::string check_results_json(const CheckResults& findings);

}  // namespace gpuprof::cli
