// SPDX-License-Identifier: Apache-2.0
//
// What `gpuprof doctor` finds: one finding a line, each with its consequence.
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

enum class Health { kGood, kLimited, kMissing, kBlocking };

struct Finding {
  Health health = Health::kGood;
  std::string topic;     // "driver", "CUPTI", ...
  std::string sentence;  // what was found and what follows from it
};
using Findings = std::vector<Finding>;

// checks_gpu.cpp
void look_at_driver(Findings& out);
void look_at_cupti(const std::vector<std::string>& environment, Findings& out);
void look_at_process(std::uint32_t pid, Findings& out);

// checks_host.cpp
void look_at_installation(Findings& out);
void look_at_glibc(Findings& out);
void look_at_memory(Findings& out);
void look_at_sampling(Findings& out);
/// What the kernel or its security modules refuse to a program that has our thread.
/// @param selinux  Where SELinux would be mounted.
void look_at_second_thread(Findings& out, const std::string& selinux = "/sys/fs/selinux");
void look_at_tracing_of_others(Findings& out);
/// Whether a seccomp filter is in force for this process, and so for what it starts.
bool is_filtered();
void look_at_preloads(const std::vector<std::string>& environment, Findings& out);
void look_at_output(Findings& out);

// checks_python.cpp
void look_at_python(const std::vector<std::string>& environment, Findings& out);

// checks_trial.cpp
/// Records a small program with every source, and a training where python3 has a PyTorch.
void try_recordings(Findings& out);

/// Samples a second that a timer of the given tick delivers when `rate_hz` is asked for.
double timer_rate_hz(double rate_hz, double tick_hz);

/// "3.11.7" → whether the sampler reads its frames.
bool python_is_read(std::string_view version);

std::string findings_text(const Findings& findings);
std::string findings_json(const Findings& findings);

}  // namespace gpuprof::cli
