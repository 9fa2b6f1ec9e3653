// SPDX-License-Identifier: Apache-2.0
//
// Picks the libraries, links them together, hides what an older release lacks.
//
// Context:  tools
#include "tools/library_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/elf_hide.hpp"
#include "tools/option_values.hpp"
#include "tools/say.hpp"
#include "tools/static_cudart.hpp"

namespace fs = std::filesystem;

namespace gpusim {
namespace {

/// Symbols that did not exist yet in an older release.
struct Since {
  const char* symbol;
  int layout;  ///< index of the first layout that has it
};
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
    {"cuptiActivityDisable_v2", 4},
    {"cuptiActivityEnableAndDump_v2", 4},
    {"cuptiActivityEnableRawTimestamps_v2", 4},
    {"cuptiActivityEnable_v2", 4},
    {"cuptiActivityGetAttribute_v2", 4},
    {"cuptiActivityGetEnabledKinds", 4},
    {"cuptiActivityGetStructSize", 4},
    {"cuptiActivityRegisterCallbacks_v2", 4},
    {"cuptiActivitySetAttribute_v2", 4},
    {"cuptiGetEnabledCallbacks", 4},
    {"cuptiProfilerHostGetMetricsInSinglePassSet", 4},
    {"cuptiProfilerHostGetSinglePassSets", 4},
    {"cuptiIsTracingSessionRunning", 5},  // in the headers of 13.2, not in its library
};

struct Library {
  std::string file, soname;
};
constexpr const char* kSecondCopy = "second";
const Library kDriver = {"gpusim_cuda.so", "libcuda.so.1"};
const Library kCupti13 = {"gpusim_cupti.so", "libcupti.so.13"};

/// The libraries above the driver, in the order of LD_PRELOAD: before and behind CUPTI.
const Library kRuntime = {"gpusim_cudart.so", "libcudart.so.13"};
const Library kMath[] = {{"gpusim_cublasLt.so", "libcublasLt.so.13"},
                         {"gpusim_cublas.so", "libcublas.so.13"},
                         {"gpusim_cudnn.so", "libcudnn.so.9"}};
const Library kOther[] = {{"gpusim_nccl.so", "libnccl.so.2"},
                          {"gpusim_nvml.so", "libnvidia-ml.so.1"}};

/// One combination.
struct Plan {
  const RunOptions& options;
  fs::path lib;
  Library cupti;
  std::vector<std::string> hidden;
  std::vector<Library> above;  ///< what is built of the libraries above the driver
};

/// Whether a scenario is asked for that is about the files themselves.
bool asked_for(const RunOptions& o, const std::string& scenario) {
  const std::string list = "," + o.variable("GPUSIM_SCENARIO") + ",";
  return list.find("," + scenario + ",") != std::string::npos ||
         list.find("," + scenario + ":") != std::string::npos;
}

int layout_index(const RunOptions& o) {
  const std::string layout = o.variable("GPUSIM_LAYOUT");
  for (int i = 0; i < kLayoutCount; ++i)
    if (layout == kLayoutNames[i]) return i;
  return 3;
}

Library cupti_for(int layout, bool pytorch) {
  if (pytorch || layout > 2) return kCupti13;
  if (layout == 0) return {"gpusim_cupti11.so", "libcupti.so.11.8"};
  return {"gpusim_cupti12.so", "libcupti.so.12"};
}

fs::path built_libraries() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error)
    fail(
        "/proc/self/exe cannot be read: /proc is not mounted here; mount it (mount -t proc proc "
        "/proc)");
  const fs::path folder = self.parent_path().parent_path() / "lib";
  if (!fs::exists(folder / "gpusim_core.so"))
    fail("the simulated GPU's libraries are not in " + folder.string() +
         ": run scripts/build simulated_gpu");
  return folder;
}

/// Symbols to hide: those asked for and those newer than the layout. PyTorch is linked with the
/// newer ones and could not be loaded without them.
std::vector<std::string> hidden_symbols(const RunOptions& o, int layout, bool pytorch) {
  std::vector<std::string> hidden = o.missing;
  for (const Since& s : kSince) {
    bool asked = pytorch;
    for (const std::string& m : o.missing) asked = asked || m == s.symbol;
    if (s.layout > layout && !asked) hidden.emplace_back(s.symbol);
  }
  return hidden;
}

std::vector<Library> built_above(const fs::path& lib) {
  std::vector<Library> all{kRuntime};
  all.insert(all.end(), std::begin(kMath), std::end(kMath));
  all.insert(all.end(), std::begin(kOther), std::end(kOther));
  std::vector<Library> built;
  for (const Library& l : all)
    if (fs::exists(lib / l.file)) built.push_back(l);
  return built;
}

std::string stamp(const fs::path& file) {
  return std::to_string(fs::last_write_time(file).time_since_epoch().count()) + ";";
}

/// A folder name that changes with the libraries and with what is wanted from them.
std::string folder_key(const Plan& p) {
  const RunOptions& o = p.options;
  std::string text = "3" + p.lib.string() + p.cupti.file + (o.stub ? "s" : "") +
                     (o.no_driver ? "d" : "") + (o.no_cupti ? "c" : "") +
                     stamp(p.lib / p.cupti.file);
  if (asked_for(o, "two-copies")) text += "+";
  for (const std::string& h : p.hidden) text += "," + h;
  for (const Library& l : p.above) text += l.file;
  char key[32];
  std::snprintf(key, sizeof key, "%zx", std::hash<std::string>{}(text));
  return key;
}

void link_to(const fs::path& target, const fs::path& link) {
  std::error_code ignored;
  fs::create_symlink(target, link, ignored);
}

/// Under the file's own name for LD_PRELOAD, and under its SONAME for the loader.
void link_library(const Plan& p, const fs::path& folder, const Library& l) {
  link_to(p.lib / l.file, folder / l.file);
  link_to(l.file, folder / l.soname);
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
void fill_folder(const Plan& p, const fs::path& folder) {
  const RunOptions& o = p.options;
  fs::create_directories(folder / "stubs");
  link_to(p.lib / "gpusim_core.so", folder / "gpusim_core.so");
  if (o.stub)
    link_to(p.lib / "stubs" / "libcuda.so.1", folder / "stubs" / "libcuda.so.1");
  else if (!o.no_driver)
    link_library(p, folder, kDriver);
  if (!o.stub && !o.no_driver)
    for (const Library& l : p.above) link_library(p, folder, l);
  if (o.no_cupti) return block_others(folder, o);
  const std::string error =
      hide_symbols((p.lib / p.cupti.file).string(), (folder / p.cupti.file).string(), p.hidden,
                   o.missing.size());
  if (!error.empty()) {
    fs::remove_all(folder);
    fail("--missing cannot be had: " + error);
  }
  link_to(p.cupti.file, folder / p.cupti.soname);
  if (asked_for(o, "two-copies")) {
    fs::create_directories(folder / kSecondCopy);
    fs::copy_file(folder / p.cupti.file, folder / kSecondCopy / p.cupti.file);
  }
  block_others(folder, o);
}

/// Ours alone, below the temporary folder.
fs::path base_folder() {
  std::error_code missing;
  const fs::path temporary = fs::temp_directory_path(missing);
  if (missing) {
    const char* named = std::getenv("TMPDIR");
    fail("the temporary folder '" + std::string(named != nullptr ? named : "/tmp") +
         "' is not there: make it, or set TMPDIR to another");
  }
  const fs::path base = temporary / ("gpusim-" + std::to_string(getuid()));
  // The loader splits LD_PRELOAD at blanks and colons.
  if (base.string().find_first_of(" :;") != std::string::npos)
    fail("the temporary folder '" + base.string() +
         "' has a blank or colon in its name, which LD_PRELOAD cannot hold: set TMPDIR to another");
  fs::create_directories(base);
  struct stat owner {};
  if (stat(base.c_str(), &owner) != 0 || owner.st_uid != getuid())
    fail("'" + base.string() + "' belongs to another user: remove it or set TMPDIR");
  chmod(base.c_str(), 0700);
  return base;
}

fs::path make_folder(const Plan& p) {
  const fs::path final = base_folder() / folder_key(p);
  if (fs::exists(final)) return final;
  const fs::path draft = final.string() + "." + std::to_string(getpid());
  fill_folder(p, draft);
  std::error_code error;
  fs::rename(draft, final, error);
  if (error) fs::remove_all(draft);
  return final;
}

std::vector<std::string> preload_order(const Plan& p, bool pytorch) {
  const RunOptions& o = p.options;
  std::vector<std::string> files;
  const auto add = [&](const Library& wanted) {
    for (const Library& built : p.above)
      if (built.file == wanted.file) files.push_back(wanted.file);
  };
  if (o.no_driver || o.stub) {
    if (!pytorch && !o.no_cupti) files.push_back(p.cupti.file);
    return files;
  }
  if (pytorch) add(kRuntime);
  files.push_back(kDriver.file);
  if (pytorch)
    for (const Library& l : kMath) add(l);
  if (!o.no_cupti) files.push_back(p.cupti.file);
  if (!o.no_cupti && asked_for(o, "two-copies"))
    files.push_back(std::string(kSecondCopy) + "/" + p.cupti.file);
  if (pytorch)
    for (const Library& l : kOther) add(l);
  return files;
}

}  // namespace

void check_error_functions(const RunOptions& options) {
  const std::string library = (built_libraries() / kCupti13.file).string();
  for (const std::string& item : comma_separated(options.variable("GPUSIM_ERRORS"))) {
    const std::string function = item.substr(0, item.find(':'));
    if (!holds_word(library, function))
      fail("--errors: CUPTI has no function '" + function +
           "'; give one that a client calls, for example cuptiSubscribe_v2 or cuptiActivityEnable");
  }
}

LibraryFolder library_folder(const RunOptions& options, bool pytorch) {
  if (asked_for(options, "two-copies") && !pytorch && !options.preload)
    fail("the scenario two-copies needs --preload: without it the second copy is not loaded");
  const int layout = layout_index(options);
  const fs::path lib = built_libraries();
  Library cupti = cupti_for(layout, pytorch);
  if (asked_for(options, "wrong-soname"))
    cupti.file = cupti.file == kCupti13.file ? "gpusim_cupti12.so" : kCupti13.file;
  const Plan plan{options, lib, cupti, hidden_symbols(options, layout, pytorch), built_above(lib)};
  LibraryFolder made;
  const fs::path folder = make_folder(plan);
  made.path = folder.string();
  for (const std::string& file : preload_order(plan, pytorch))
    made.preload.push_back((folder / file).string());
  return made;
}

}  // namespace gpusim
