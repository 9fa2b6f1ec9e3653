// SPDX-License-Identifier: Apache-2.0
//
// gpusim-run: starts a program so that it finds the simulated GPU's libraries.
//
// Context:  tools
// Owns:     a folder of links below the temporary folder, one for each combination of libraries,
// reused Promises: what LD_LIBRARY_PATH and LD_PRELOAD held before is still there, behind and
// before ours;
//           exit codes 125, 126, 127 as env(1) has them, else the program's own
// Not here: options (run_options.cpp)
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/elf_hide.hpp"
#include "tools/run_options.hpp"

namespace fs = std::filesystem;
using gpusim::RunOptions;

namespace {

/// Symbols that did not exist yet in an older release.
struct Since {
  const char* symbol;
  int layout;  ///< index of the first layout that has it
};
constexpr const char* kLayouts[] = {"11.8", "12.4", "12.9", "13.0", "13.2", "future"};
constexpr Since kSince[] = {
    {"cuptiGetErrorMessage", 1},
    {"cuptiGetGraphExecId", 1},
    {"cuptiActivityEnableDeviceGraph", 1},
    {"cuptiActivityEnableDriverApi", 2},
    {"cuptiActivityEnableRuntimeApi", 2},
    {"cuptiActivityEnableAllocationSource", 2},
    {"cuptiActivityEnableHWTrace", 2},
    {"cuptiActivityEnableAllSyncRecords", 2},
    {"cuptiSubscribe_v2", 3},
    {"cuptiActivityEnableCudaEventDeviceTimestamps", 3},
    {"cuptiActivityGetStructSize", 4},
    {"cuptiIsTracingSessionRunning", 4},
    {"cuptiActivityGetEnabledKinds", 4},
};

struct Cupti {
  std::string file, soname;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "gpusim-run: %s\n", what.c_str());
  std::exit(125);
}

int layout_index(const std::string& layout) {
  for (int i = 0; i < 6; ++i)
    if (layout == kLayouts[i]) return i;
  return 3;
}

Cupti cupti_for(int layout) {
  if (layout == 0) return {"gpusim_cupti11.so", "libcupti.so.11.8"};
  if (layout <= 2) return {"gpusim_cupti12.so", "libcupti.so.12"};
  return {"gpusim_cupti.so", "libcupti.so.13"};
}

fs::path library_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = self.parent_path().parent_path() / "lib";
  if (error || !fs::exists(folder / "gpusim_core.so"))
    fail("libraries not found in " + folder.string());
  return folder;
}

/// Symbols to hide: those asked for and those newer than the layout.
std::vector<std::string> hidden_symbols(const RunOptions& o, int layout) {
  std::vector<std::string> hidden = o.missing;
  for (const Since& s : kSince) {
    bool asked = false;
    for (const std::string& m : o.missing) asked = asked || m == s.symbol;
    if (s.layout > layout && !asked) hidden.emplace_back(s.symbol);
  }
  return hidden;
}

/// A folder name that changes with the libraries and with what is wanted from them.
std::string folder_key(const RunOptions& o, const std::vector<std::string>& hidden,
                       const fs::path& library) {
  std::string text = "2" + library.string() + o.layout + (o.stub ? "s" : "") +
                     (o.no_driver ? "d" : "") + (o.no_cupti ? "c" : "") +
                     std::to_string(fs::last_write_time(library).time_since_epoch().count());
  for (const std::string& h : hidden) text += "," + h;
  char key[32];
  std::snprintf(key, sizeof key, "%zx", std::hash<std::string>{}(text));
  return key;
}

void link_to(const fs::path& target, const fs::path& link) {
  std::error_code ignored;
  fs::create_symlink(target, link, ignored);
}

/// A toolkit's own libraries may be on the loader's path. A file that cannot be loaded, found
/// first, hides them.
void block(const fs::path& folder, const char* soname) {
  if (!fs::exists(fs::symlink_status(folder / soname))) std::ofstream(folder / soname).close();
}

void block_others(const fs::path& folder, const RunOptions& o) {
  if (o.no_driver) block(folder, "libcuda.so.1");
  for (const char* soname : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"})
    block(folder, soname);
}

/// Puts one set of libraries into `folder`.
void fill_folder(const fs::path& folder, const RunOptions& o, const fs::path& lib,
                 const Cupti& cupti, const std::vector<std::string>& hidden) {
  fs::create_directories(folder / "stubs");
  link_to(lib / "gpusim_core.so", folder / "gpusim_core.so");
  if (o.stub)
    link_to(lib / "stubs" / "libcuda.so.1", folder / "stubs" / "libcuda.so.1");
  else if (!o.no_driver)
    link_to(lib / "gpusim_cuda.so", folder / "libcuda.so.1");
  if (o.no_cupti) return;
  const std::string error =
      gpusim::hide_symbols((lib / cupti.file).string(), (folder / cupti.file).string(), hidden);
  if (!error.empty()) {
    fs::remove_all(folder);
    fail(error);
  }
}

/// Makes the folder under a private name and renames it, so that concurrent starts do not see half
/// of it.
fs::path make_folder(const RunOptions& o, const fs::path& lib) {
  const int layout = layout_index(o.layout);
  const Cupti cupti = cupti_for(layout);
  const std::vector<std::string> hidden = hidden_symbols(o, layout);
  const fs::path base = fs::temp_directory_path() / ("gpusim-" + std::to_string(getuid()));
  fs::create_directories(base);
  struct stat owner {};
  if (stat(base.c_str(), &owner) != 0 || owner.st_uid != getuid())
    fail("'" + base.string() + "' is not ours");
  chmod(base.c_str(), 0700);
  const fs::path final = base / folder_key(o, hidden, lib / cupti.file);
  if (fs::exists(final)) return final;
  const fs::path draft = final.string() + "." + std::to_string(getpid());
  fill_folder(draft, o, lib, cupti, hidden);
  if (!o.no_cupti) link_to(cupti.file, draft / cupti.soname);
  block_others(draft, o);
  std::error_code error;
  fs::rename(draft, final, error);
  if (error) fs::remove_all(draft);
  return final;
}

void put(const char* name, const std::string& value, bool print) {
  setenv(name, value.c_str(), 1);
  if (print) std::printf("%s=%s\n", name, value.c_str());
}

std::string joined(const std::string& first, const char* second) {
  if (second == nullptr || *second == '\0') return first;
  return first.empty() ? second : first + ":" + second;
}

std::string preload_list(const fs::path& folder, const RunOptions& o) {
  std::string list;
  if (!o.no_driver && !o.stub) list = (folder / "libcuda.so.1").string();
  const Cupti cupti = cupti_for(layout_index(o.layout));
  if (!o.no_cupti) list = joined(list, (folder / cupti.file).c_str());
  return list;
}

void set_environment(const RunOptions& o, const fs::path& folder) {
  const bool print = o.print_environment;
  for (const auto& [name, value] : o.environment) put(name.c_str(), value, print);
  std::string path = folder.string();
  if (o.stub) path = (folder / "stubs").string() + ":" + path;
  put("LD_LIBRARY_PATH", joined(path, std::getenv("LD_LIBRARY_PATH")), print);
  if (!o.preload) return;
  const char* before = std::getenv("LD_PRELOAD");
  const std::string ours = preload_list(folder, o);
  put("LD_PRELOAD", before != nullptr && *before != '\0' ? std::string(before) + ":" + ours : ours,
      print);
}

}  // namespace

int main(int argc, char** argv) {
  const RunOptions options = gpusim::parse_run_options(argc, argv);
  try {
    set_environment(options, make_folder(options, library_folder()));
  } catch (const std::exception& e) {
    fail(e.what());
  }
  if (options.print_environment) return 0;
  execvp(options.command[0], options.command);
  std::fprintf(stderr, "gpusim-run: cannot start '%s': %s\n", options.command[0],
               std::strerror(errno));
  return errno == ENOENT ? 127 : 126;
}
