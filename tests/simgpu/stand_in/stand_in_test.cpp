// SPDX-License-Identifier: Apache-2.0
//
// What holds for every fake: refusals by name, names and SONAME of the real library, nothing
// that runs at load or at exit.
//
// Context:  tests
// Owns:     nothing
// Promises: looks at the libraries that this build made; a library it left out is not missed
// Not here: what the libraries do
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "run_support.hpp"

namespace fs = std::filesystem;
using simtest::run_shell;

namespace {

struct Library {
  const char* name;
  const char* soname;
  int code;
  bool versioned;
  const char* real;  ///< path of the real library, or empty
};

const Library kLibraries[] = {
    {"cudart", "libcudart.so.13", 801, true, GPUSIM_REAL_CUDART},
    {"cuda", "libcuda.so.1", 801, false, ""},
    {"cublas", "libcublas.so.13", 15, true, GPUSIM_REAL_CUBLAS},
    {"cublasLt", "libcublasLt.so.13", 15, true, GPUSIM_REAL_CUBLASLT},
    {"cudnn", "libcudnn.so.9", 3000, true, GPUSIM_REAL_CUDNN},
    {"cupti", "libcupti.so.13", 27, true, GPUSIM_REAL_CUPTI},
    {"nccl", "libnccl.so.2", 5, false, GPUSIM_REAL_NCCL},
    {"nvml", "libnvidia-ml.so.1", 3, false, ""},
};

std::string file_of(const Library& l) {
  return simtest::library_folder() + "/gpusim_" + l.name + ".so";
}

std::vector<Library> built() {
  std::vector<Library> found;
  for (const Library& l : kLibraries)
    if (fs::exists(file_of(l))) found.push_back(l);
  return found;
}

/// Names that the generator wrote a refusal for.
std::vector<std::string> refused_by(const Library& l) {
  std::vector<std::string> names;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(GPUSIM_BUILD)) {
    if (e.path().filename() != std::string(l.name) + "_refusals.cpp") continue;
    std::ifstream file(e.path());
    for (std::string line; std::getline(file, line);)
      if (line.rfind("GPUSIM_REFUSE(", 0) == 0) names.push_back(line.substr(14, line.size() - 16));
  }
  return names;
}

/// Calls every name in this process. Returns how many did not answer with the library's code.
int call_all(const Library& l, const std::vector<std::string>& names) {
  void* library = dlopen(file_of(l).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 255;
  int wrong = 0;
  for (const std::string& name : names) {
    const auto function = reinterpret_cast<int (*)()>(dlsym(library, name.c_str()));
    if (function == nullptr || function() != l.code) ++wrong;
  }
  return wrong < 255 ? wrong : 254;
}

/// The same in a child whose standard error goes to `log`.
int call_all_in_child(const Library& l, const std::vector<std::string>& names,
                      const std::string& log) {
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen(log.c_str(), "w", stderr) == nullptr) _exit(253);
    const int wrong = call_all(l, names);
    std::fflush(stderr);
    _exit(wrong);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Exported functions as `name` or `name@@node`.
std::set<std::string> functions_of(const std::string& file) {
  std::set<std::string> names;
  std::istringstream lines(run_shell("nm -D --defined-only " + file).output);
  for (std::string address, kind, name; lines >> address >> kind >> name;)
    if (kind == "T" || kind == "W" || kind == "i") names.insert(name);
  return names;
}

std::string soname_of(const std::string& file) {
  const std::string text = run_shell("readelf -d " + file).output;
  std::smatch match;
  return std::regex_search(text, match, std::regex("soname: \\[([^\\]]+)\\]")) ? match[1].str()
                                                                               : "";
}

TEST(Refusals, EachGivesTheLibrarysCodeAndIsLoggedByName) {
  for (const Library& l : built()) {
    const std::vector<std::string> names = refused_by(l);
    // Without the real library only what was written by hand is known.
    if (names.empty() && *l.real == '\0') continue;
    ASSERT_FALSE(names.empty()) << l.name;
    const std::string log = simtest::scratch_path(std::string("refused-") + l.name + ".txt");
    EXPECT_EQ(call_all_in_child(l, names, log), 0) << l.name;
    const std::string said = text_of(log);
    for (const std::string& name : names) {
      // Every PyTorch asks for this one: it stands in the truth log alone.
      if (name == "cuLogsRegisterCallback") continue;
      EXPECT_NE(said.find(" " + name + " (" + l.name + "); refused with " + std::to_string(l.code)),
                std::string::npos)
          << name;
    }
  }
}

TEST(StandIns, AreFoundUnderTheRealSonameButNotFileName) {
  for (const Library& l : built()) {
    EXPECT_EQ(soname_of(file_of(l)), l.soname);
    if (*l.real != '\0') {
      EXPECT_EQ(soname_of(l.real), l.soname);
    }
  }
  // PyTorch opens the real libraries by path where this text occurs among its mapped files.
  for (const fs::directory_entry& e : fs::directory_iterator(simtest::library_folder()))
    if (e.is_regular_file()) {
      EXPECT_EQ(e.path().filename().string().find("libcudart.so"), std::string::npos) << e.path();
    }
}

TEST(StandIns, ExportAllFunctionsOfTheRealLibraryUnderItsVersionNode) {
  for (const Library& l : built()) {
    const std::set<std::string> ours = functions_of(file_of(l));
    EXPECT_GT(ours.size(), 40u) << l.name;
    for (const std::string& name : ours)
      EXPECT_EQ(name.find("@@") != std::string::npos, l.versioned) << name;
    if (*l.real == '\0') continue;
    const std::set<std::string> real = functions_of(l.real);
    EXPECT_GT(real.size(), 40u) << l.real;
    for (const std::string& name : real) EXPECT_EQ(ours.count(name), 1u) << name;
  }
}

TEST(StandIns, RunNothingAtLoadOrWhenAThreadOrTheProcessEnds) {
  for (const fs::directory_entry& e : fs::directory_iterator(simtest::library_folder())) {
    if (!e.is_regular_file() || e.path().extension() != ".so") continue;
    const std::string symbols = run_shell("nm " + e.path().string()).output;
    EXPECT_EQ(symbols.find("__cxa_thread_atexit"), std::string::npos) << e.path();
    EXPECT_EQ(symbols.find("__tls_init"), std::string::npos) << e.path();
    // Initialisers of libstdc++'s own files, which is linked in, end in `.cc`; ours would not.
    const std::regex initialiser("_GLOBAL__sub_\\S+");
    for (std::sregex_iterator i(symbols.begin(), symbols.end(), initialiser), end; i != end; ++i)
      EXPECT_TRUE(i->str().ends_with("eh_alloc.cc") || i->str().ends_with("system_error.cc"))
          << e.path() << " " << i->str();
  }
}

TEST(StandIns, CarryTheMark) {
  for (const Library& l : built())
    EXPECT_NE(run_shell("nm -D --defined-only " + file_of(l)).output.find("gpuprof_simulated_gpu"),
              std::string::npos)
        << l.name;
}

}  // namespace
