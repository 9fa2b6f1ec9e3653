// SPDX-License-Identifier: Apache-2.0
//
// Asks an interpreter, reads version.py.
//
// Context:  tools
// Owns:     nothing
// Promises: see find_torch.hpp
#include "tools/find_torch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/ask.hpp"

namespace gpusim {
namespace {

// The empty entry is the current folder, which a script would not search.
constexpr const char* kQuestion =
    "import sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"
    "import importlib.util\n"
    "found = importlib.util.find_spec('torch')\n"
    "print(sys.executable)\n"
    "print(found.origin if found and found.origin else '')\n";

/// 'TEXT' in the line that begins with `name`.
std::string quoted_after(const std::string& line, const std::string& name) {
  if (line.compare(0, name.size(), name) != 0) return {};
  const std::size_t equals = line.find('=');
  const std::size_t open = equals == std::string::npos ? equals : line.find('\'', equals);
  if (open == std::string::npos) return {};
  return line.substr(open + 1, line.find('\'', open + 1) - open - 1);
}

void read_version(Torch& torch) {
  std::ifstream file(torch.folder + "/version.py");
  for (std::string line; std::getline(file, line);) {
    const std::string version = quoted_after(line, "__version__"),
                      cuda = quoted_after(line, "cuda");
    if (!version.empty()) torch.version = version;
    if (!cuda.empty()) torch.cuda = cuda;
  }
}

std::string named(const Torch& torch) { return "PyTorch " + torch.version + " of " + torch.folder; }

}  // namespace

Torch torch_of(const std::string& python) {
  Torch torch;
  torch.python = python;
  std::istringstream answer(run_helper({python, "-c", kQuestion}));
  std::string itself, origin;
  std::getline(answer, itself);
  std::getline(answer, origin);
  if (!itself.empty()) torch.python = itself;
  if (origin.empty()) return torch;
  torch.folder = std::filesystem::path(origin).parent_path();
  read_version(torch);
  return torch;
}

Torch torch_built_for() {
  Torch torch;
  if (*GPUSIM_BUILT_WHEEL == '\0') return torch;
  torch.folder = GPUSIM_BUILT_WHEEL "/torch";
  torch.version = GPUSIM_BUILT_VERSION;
  torch.cuda = GPUSIM_BUILT_CUDA;
  return torch;
}

std::string incompatibility_reason(const Torch& torch) {
  const Torch built = torch_built_for();
  const std::string build = "GPUPROF_TORCH_PYTHON=" + torch.python +
                            " scripts/build (CMake alone: -DGPUSIM_WHEEL=" +
                            std::filesystem::path(torch.folder).parent_path().string() + ")";
  if (torch.cuda.empty())
    return named(torch) +
           " is built without CUDA and cannot use a GPU, simulated or not: install "
           "PyTorch's CUDA wheel, or give --pytorch no if the program does not use it";
  if (std::atoi(torch.cuda.c_str()) != 13)
    return named(torch) + " is for CUDA " + torch.cuda +
           ", the simulated GPU has the libraries of "
           "CUDA 13 only: install a PyTorch for CUDA 13";
  if (built.folder.empty())
    return "the simulated GPU was built without a wheel of PyTorch and lacks the libraries that " +
           named(torch) + " needs: build it again with " + build;
  std::error_code error;
  if (std::filesystem::equivalent(built.folder, torch.folder, error) ||
      (built.version == torch.version && built.cuda == torch.cuda))
    return {};
  return named(torch) + " is not the one that the simulated GPU was built for, " + named(built) +
         ": use that one, or build again with " + build;
}

}  // namespace gpusim
