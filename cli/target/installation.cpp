// SPDX-License-Identifier: Apache-2.0
//
// gpuprof's own files: where the daemon and the library are, and how LD_PRELOAD names the library.
//
// Context:  cli
#include "cli/target/installation.hpp"

#include <dirent.h>
#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "cli/messages/target_installation.hpp"
#include "support/io/files.hpp"
#include "support/process/program_probe.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::error;
using support::file_exists;
using support::in_quotes;

std::string first_that_exists(const std::vector<std::string>& paths) {
  const auto at = std::find_if(paths.begin(), paths.end(), file_exists);
  return at == paths.end() ? "" : *at;
}

/// True if the value of --daemon names a daemon that listens, not a program to start.
bool is_daemon_address(const std::string& daemon) {
  return !daemon.empty() && (daemon[0] == '@' || support::is_socket(daemon));
}

bool needs_preload_link(const std::string& path) {
  return path.find_first_of(" \t\n:$") != std::string::npos;
}

/// True if any process of ours was started with `word` in its environment.
bool is_referenced_by_process(const std::string& word) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return false;
  while (const dirent* entry = readdir(proc.get())) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const std::string environment =
        support::read_small_file(fmt::format("/proc/{}/environ", entry->d_name));
    if (environment.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string real_folder(const std::string& file) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(file.c_str(), nullptr), free);
  return real == nullptr ? "" : support::parent_folder(real.get());
}

}  // namespace

support::Result<Installation> find_installation(const std::string& executable,
                                                const std::string& daemon_path) {
  if (executable.empty()) {
    return error(messages::target_installation::kNoProc);
  }
  const std::string bin = support::parent_folder(executable);
  const std::string root = support::parent_folder(bin);
  Installation found;
  found.daemon = daemon_path.empty()
                     ? first_that_exists({bin + "/gpuprofd", root + "/libexec/gpuprofd"})
                     : daemon_path;
  found.daemon_listens = is_daemon_address(daemon_path);
  if (support::is_folder(found.daemon)) {
    return error(
        fmt::format(messages::target_installation::kDaemonIsFolder, in_quotes(found.daemon)));
  }
  if (!found.daemon_listens && access(found.daemon.c_str(), X_OK) != 0) {
    return error(fmt::format(messages::target_installation::kNoDaemon,
                             in_quotes(found.daemon.empty() ? bin + "/gpuprofd" : found.daemon)));
  }
  found.library = first_that_exists({root + "/lib/gpuprof/" + kLibraryName,
                                     root + "/lib/" + kLibraryName, bin + "/" + kLibraryName});
  if (found.library.empty()) {
    return error(fmt::format(messages::target_installation::kNoLibrary,
                             in_quotes(root + "/lib/gpuprof/" + kLibraryName)));
  }
  const std::string by_lib = root + "/lib/gpuprof";
  for (const char* expansion : {"lib/x86_64-linux-gnu", "lib64"}) {
    if (file_exists(by_lib + "/" + expansion + "/" + kLibraryName)) found.lib_token_folder = by_lib;
  }
  for (const char* expansion : {"lib/i386-linux-gnu", "lib32", "lib"}) {
    const std::string path = by_lib + "/" + expansion + "/" + kLibraryName;
    if (file_exists(path)) {
      found.has_32bit_stub = support::probe_program(path, "").kind == support::ProgramKind::k32Bit;
    }
  }
  return found;
}

std::string expand_lib_token(const std::string& loader) {
  const std::string folder = real_folder(loader);
  const std::string last = support::base_name(folder);
  const bool triplet = last.find("-linux-gnu") != std::string::npos;
  return triplet ? support::base_name(support::parent_folder(folder)) + "/" + last : last;
}

support::Result<PreloadPath> PreloadPath::make(const Installation& installation,
                                               const std::string& loader,
                                               const std::string& runtime_folder) {
  PreloadPath name;
  const std::string expansion = expand_lib_token(loader);
  name.uses_lib_token_ =
      !installation.lib_token_folder.empty() && !expansion.empty() && expansion != "lib" &&
      file_exists(installation.lib_token_folder + "/" + expansion + "/" + kLibraryName);
  std::string folder = name.uses_lib_token_ ? installation.lib_token_folder
                                            : support::parent_folder(installation.library);
  if (needs_preload_link(folder)) {
    std::string pattern = runtime_folder + "/gpuprof-link-XXXXXX";
    if (needs_preload_link(pattern)) pattern = "/tmp/gpuprof-link-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      return error(fmt::format(messages::target_installation::kNoFolder, in_quotes(pattern),
                               strerror(errno)));
    }
    name.private_folder_ = pattern;
    name.link_ = pattern + "/lib";
    if (symlink(folder.c_str(), name.link_.c_str()) != 0) {
      const int failure = errno;
      rmdir(pattern.c_str());
      return error(fmt::format(messages::target_installation::kNoLink, in_quotes(name.link_),
                               strerror(failure)));
    }
    folder = name.link_;
  }
  name.word_ = folder + (name.uses_lib_token_ ? "/$LIB/" : "/") + kLibraryName;
  return name;
}

std::string PreloadPath::remove() {
  if (private_folder_.empty()) return "";
  if (is_referenced_by_process(private_folder_)) return private_folder_;
  unlink(link_.c_str());
  rmdir(private_folder_.c_str());
  private_folder_.clear();
  return "";
}

}  // namespace gpuprof::cli
