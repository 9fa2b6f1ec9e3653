// SPDX-License-Identifier: Apache-2.0
//
// gpusim-run: starts a program so that it finds the simulated GPU's libraries.
//
// Context:  tools
// Owns:     nothing
// Promises: what LD_LIBRARY_PATH and LD_PRELOAD held before is still there; exit codes 125, 126,
//           127 as env(1) has them, else the program's own
// Not here: options (run_options.cpp), the folder of libraries (library_folder.cpp)
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

#include "core/device_model.hpp"
#include "tools/find_program.hpp"
#include "tools/find_torch.hpp"
#include "tools/host_memory.hpp"
#include "tools/library_folder.hpp"
#include "tools/option_values.hpp"
#include "tools/run_options.hpp"
#include "tools/say.hpp"
#include "tools/static_cudart.hpp"

namespace {

using gpusim::fail;
using gpusim::LibraryFolder;
using gpusim::Pytorch;
using gpusim::RunOptions;
using gpusim::Torch;

/// What bound_memory worked out, so that a launcher inside this one does not take it for a wish.
constexpr const char* kWorkedOut = "GPUSIM_MEMORY_WORKED_OUT";
constexpr std::uint64_t kMemoryStep = 64ull << 20;

[[noreturn]] void cannot_start(const char* program, int error) {
  std::error_code ignored;
  if (std::filesystem::is_directory(program, ignored))
    fail("cannot start '" + std::string(program) + "': it is a folder; name the program in it",
         126);
  fail("cannot start '" + std::string(program) + "': " + std::strerror(error) +
           (error == ENOENT ? ": check its name, or give its path"
                            : ": name a program, made executable by chmod +x"),
       error == ENOENT ? 127 : 126);
}

/// Refuses programs that cannot run here, before anything is made for them.
void check_programs(const RunOptions& o) {
  if (o.command[0] == nullptr) return;
  if (gpusim::find_program(o.command[0]).empty()) cannot_start(o.command[0], errno);
  for (const std::string& word : gpusim::programs_of_command(o.command))
    if (gpusim::has_static_cudart(gpusim::find_program(word)))
      fail("'" + word +
           "' has the CUDA runtime linked into it, which does not work on the simulated GPU: "
           "build it with nvcc -cudart shared");
}

void check_fitness(const Torch& torch) {
  const std::string problem = torch.folder.empty() ? "" : gpusim::incompatibility_reason(torch);
  if (!problem.empty()) fail(problem);
}

/// Whether the fakes have to come before PyTorch's own libraries.
bool wants_pytorch(const RunOptions& o) {
  if (o.pytorch == Pytorch::kNo) return false;
  if (o.pytorch == Pytorch::kYes) {
    if (gpusim::torch_built_for().folder.empty())
      fail(
          "the simulated GPU was built without a wheel of PyTorch: build it again with "
          "GPUPROF_TORCH_PYTHON=PYTHON scripts/build, PYTHON being the one that has PyTorch "
          "(CMake alone: -DGPUSIM_WHEEL=SITE-PACKAGES)");
    // Behind a script it cannot be looked at.
    const std::string named = gpusim::python_of_command(o.command);
    if (!named.empty()) check_fitness(gpusim::torch_of(named));
    return true;
  }
  const std::string python = gpusim::python_of_command(o.command);
  if (python.empty()) return false;
  const Torch torch = gpusim::torch_of(python);
  if (torch.folder.empty()) return false;
  check_fitness(torch);
  return true;
}

/// The newest emulated release that is not newer than the wheel's: its CUPTI client reads that one.
std::string layout_for(const std::string& cuda) {
  std::string best = "13.0";
  for (const char* layout : gpusim::kLayoutNames)
    if (std::strtod(layout, nullptr) > 0 &&
        std::strtod(layout, nullptr) <= std::strtod(cuda.c_str(), nullptr))
      best = layout;
  return best;
}

void set_pytorch_defaults(RunOptions& o) {
  if (o.no_cupti)
    fail(
        "--no-cupti cannot be had with PyTorch, which is linked with CUPTI: leave it out, or give "
        "--pytorch no");
  if (o.variable("GPUSIM_DATA").empty()) o.set("GPUSIM_DATA", "zero");
  if (o.variable("GPUSIM_LAYOUT").empty())
    o.set("GPUSIM_LAYOUT", layout_for(gpusim::torch_built_for().cuda));
}

std::uint64_t model_memory(const RunOptions& o) {
  const std::string name = o.variable("GPUSIM_MODEL");
  const gpusim::Model model = name == "a100"   ? gpusim::Model::kA100
                              : name == "v100" ? gpusim::Model::kV100
                                               : gpusim::Model::kH100;
  return gpusim::device_model(model).memory_bytes;
}

/// What is stored on simulated devices is stored in this machine's memory.
void bound_memory(RunOptions& o) {
  const std::string devices = o.variable("GPUSIM_DEVICES"), asked = o.variable("GPUSIM_MEMORY");
  const int sharers =
      gpusim::count_memory_sharers(devices.empty() ? 2 : std::atoi(devices.c_str()), o.command);
  std::uint64_t bound = gpusim::usable_host_memory() / static_cast<std::uint64_t>(sharers);
  bound = std::max(bound / kMemoryStep * kMemoryStep, kMemoryStep);
  // An outer gpusim-run may have worked it out.
  const char* outer = std::getenv(kWorkedOut);
  const bool inherited = !o.sets("GPUSIM_MEMORY") && outer != nullptr && asked == outer;
  const bool explicitly = !asked.empty() && asked != "0" && !inherited;
  const std::uint64_t wanted =
      explicitly ? std::strtoull(asked.c_str(), nullptr, 0) : model_memory(o);
  if (wanted <= bound && !inherited) return;
  o.set("GPUSIM_MEMORY", std::to_string(std::min(bound, wanted)));
  o.set(kWorkedOut, std::to_string(std::min(bound, wanted)));
  if (explicitly)
    gpusim::print_message(
        "each simulated device gets " + gpusim::human_size(bound) + " instead of the " +
        gpusim::human_size(wanted) + " asked for: this machine cannot bear more for " +
        std::to_string(sharers) + (sharers == 1 ? " device" : " devices or ranks"));
}

void put(const std::string& name, const std::string& value, bool print) {
  setenv(name.c_str(), value.c_str(), 1);
  if (print) std::printf("%s=%s\n", name.c_str(), value.c_str());
}

std::string joined(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : first + ":" + second;
}

/// Entries of LD_PRELOAD that are not fakes: gpusim-run may run inside gpusim-run.
std::string foreign_preloads() {
  const char* list = std::getenv("LD_PRELOAD");
  std::string kept;
  for (const char* at = list; at != nullptr && *at != '\0'; at += std::strspn(at, " :")) {
    const std::string entry(at, std::strcspn(at, " :"));
    at += entry.size();
    if (entry.substr(entry.rfind('/') + 1).compare(0, 7, "gpusim_") != 0)
      kept = joined(kept, entry);
  }
  return kept;
}

void set_environment(const RunOptions& o, const LibraryFolder& folder, bool pytorch) {
  const bool print = o.print_environment;
  for (const auto& [name, value] : o.environment) put(name, value, print);
  std::string path = folder.path;
  if (o.stub) path = folder.path + "/stubs:" + path;
  const char* before = std::getenv("LD_LIBRARY_PATH");
  put("LD_LIBRARY_PATH", joined(path, before != nullptr ? before : ""), print);
  // Triton asks ldconfig, which does not know of a simulated driver.
  if (pytorch && !o.no_driver && !o.stub && std::getenv("TRITON_LIBCUDA_PATH") == nullptr)
    put("TRITON_LIBCUDA_PATH", folder.path, print);
  if (!pytorch && !o.preload) return;
  std::string ours;
  for (const std::string& file : folder.preload) ours = joined(ours, file);
  // Behind a profiler: its wrappers of CUPTI see the calls of others first.
  const bool in_front = o.variable("GPUSIM_CUPTI") == "per-client";
  const std::string list =
      in_front ? joined(ours, foreign_preloads()) : joined(foreign_preloads(), ours);
  if (!list.empty()) put("LD_PRELOAD", list, print);
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options = gpusim::parse_run_options(argc, argv);
  try {
    check_programs(options);
    gpusim::check_error_functions(options);
    const bool pytorch = wants_pytorch(options);
    if (pytorch) set_pytorch_defaults(options);
    bound_memory(options);
    set_environment(options, gpusim::library_folder(options, pytorch), pytorch);
  } catch (const std::exception& e) {
    fail(e.what());
  }
  if (options.print_environment) return 0;
  execvp(options.command[0], options.command);
  cannot_start(options.command[0], errno);
}
