// SPDX-License-Identifier: Apache-2.0
//
// gpuprof's own files: where the daemon and the library are, and how LD_PRELOAD names the library.
//
// Context:  cli
// Owns:     PreloadPath: a private folder with a link, where one was needed, until removed
#pragma once

#include <string>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::cli {

inline constexpr char kLibraryName[] = "libgpuprof_inject.so";

struct Installation {
  std::string daemon;  // gpuprofd, or the address of one that listens
  bool daemon_listens = false;
  std::string library;  // libgpuprof_inject.so, the file itself
  /// Folder with one copy for each expansion of the loader's $LIB; "" if there is none.
  std::string lib_token_folder;
  bool has_32bit_stub = false;  // an empty 32-bit library is there for 32-bit children
};

/// Looks beside `executable` (bin/), as installed and as built.
///
/// Errors: the daemon or the library is missing.
support::Result<Installation> find_installation(const std::string& executable,
                                                const std::string& daemon_path);

/// What the loader puts for $LIB, seen from where a loader's file is: "lib/x86_64-linux-gnu",
/// "lib64", "lib".
std::string expand_lib_token(const std::string& loader);

/// The word for LD_PRELOAD.
class PreloadPath {
 public:
  /// LD_PRELOAD splits at blanks and colons and expands $: such a path is reached over a link in a
  /// private folder (mode 0700) below `runtime_folder`.
  static support::Result<PreloadPath> make(const Installation& installation,
                                           const std::string& loader,
                                           const std::string& runtime_folder);

  const std::string& value() const { return word_; }
  bool uses_lib_token() const { return uses_lib_token_; }
  /// Removes the private folder, unless a process still running was started with its name: then
  /// the programs it starts would get a message from the loader. Returns the folder kept, or "".
  std::string remove();

 private:
  std::string word_, private_folder_, link_;
  bool uses_lib_token_ = false;
};

}  // namespace gpuprof::cli
