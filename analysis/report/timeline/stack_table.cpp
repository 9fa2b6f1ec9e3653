// SPDX-License-Identifier: Apache-2.0
//
// Which places are the program's own.
//
// Context:  cli
#include "analysis/report/timeline/stack_table.hpp"

#include <algorithm>
#include <array>

namespace gpuprof::report {
namespace {

/// `/lib/python3.11/`: the standard library, wherever it is installed.
bool in_standard_library(std::string_view file) {
  for (std::size_t at = file.find("/python"); at != std::string_view::npos;
       at = file.find("/python", at + 1)) {
    std::string_view rest = file.substr(at + 7);
    const std::size_t digits = rest.find_first_not_of("0123456789.");
    const bool whole = digits != std::string_view::npos && digits > 0 && rest[digits] == '/';
    const std::string_view before = file.substr(0, at);
    if (whole && (before.ends_with("lib") || before.ends_with("lib64"))) return true;
  }
  return false;
}

/// PyTorch's profiler leaves out the part of a path that is in sys.path: of installed packages and
/// of the standard library, but also of the program's folder. These are the ones often met.
bool is_shortened_foreign(std::string_view file) {
  constexpr std::array<std::string_view, 31> kFolders = {"PIL",
                                                         "accelerate",
                                                         "apex",
                                                         "asyncio",
                                                         "collections",
                                                         "concurrent",
                                                         "ctypes",
                                                         "datasets",
                                                         "deepspeed",
                                                         "einops",
                                                         "encodings",
                                                         "fsspec",
                                                         "functorch",
                                                         "importlib",
                                                         "ipykernel",
                                                         "json",
                                                         "lightning",
                                                         "logging",
                                                         "multiprocessing",
                                                         "numpy",
                                                         "pandas",
                                                         "pytorch_lightning",
                                                         "scipy",
                                                         "timm",
                                                         "torch",
                                                         "torchvision",
                                                         "tqdm",
                                                         "transformers",
                                                         "triton",
                                                         "unittest",
                                                         "xml"};
  constexpr std::array<std::string_view, 30> kFiles = {
      "_weakrefset.py", "abc.py",       "bdb.py",       "codecs.py",      "contextlib.py",
      "copy.py",        "copyreg.py",   "cProfile.py",  "dataclasses.py", "enum.py",
      "functools.py",   "gzip.py",      "inspect.py",   "ntpath.py",      "os.py",
      "pathlib.py",     "pickle.py",    "posixpath.py", "queue.py",       "random.py",
      "re.py",          "runpy.py",     "selectors.py", "socket.py",      "subprocess.py",
      "tempfile.py",    "threading.py", "traceback.py", "typing.py",      "weakref.py"};
  const std::size_t slash = file.find('/');
  if (slash == std::string_view::npos)
    return std::find(kFiles.begin(), kFiles.end(), file) != kFiles.end();
  return std::find(kFolders.begin(), kFolders.end(), file.substr(0, slash)) != kFolders.end();
}

}  // namespace

std::string StackFrame::location_text() const {
  if (file.empty()) return text;
  return line == 0 ? file : file + ":" + std::to_string(line);
}

bool is_user_code_file(std::string_view file) {
  if (file.empty() || file.front() == '<') return false;
  constexpr std::array<std::string_view, 4> kForeign = {"site-packages/", "dist-packages/",
                                                        "/torch/nn/", "/_pytest/"};
  const bool foreign = std::any_of(kForeign.begin(), kForeign.end(), [&](std::string_view part) {
    return file.find(part) != std::string_view::npos;
  });
  return !foreign && !in_standard_library(file) && !is_shortened_foreign(file) &&
         file.find('.') != std::string_view::npos;
}

FrameId StackTable::user_frame(StackRef stack) const {
  for (const FrameId frame : stacks[stack])
    if (frames[frame].is_user_code) return frame;
  return 0;
}

}  // namespace gpuprof::report
