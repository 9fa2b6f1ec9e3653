// SPDX-License-Identifier: Apache-2.0
//
// Where the files of a run go, decided before the program starts.
//
// Context:  cli
// Owns:     nothing; names the folders it made so that an empty one can be removed
// Promises: a place that cannot be written, a bad pattern or a file in the way is found here
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::cli {

/// What the decision depends on; a test fills it by hand.
struct RunContext {
  std::vector<std::string> environment;
  std::string working_folder;
  std::string host;
  std::uint64_t now_real_ns = 0;
  std::uint32_t parent_pid = 0;
};
RunContext current_run_context();

struct OutputLocation {
  std::string output;  // absolute folder, or pattern
  bool is_pattern = false;
  std::string folder;  // the folder itself, or the one the pattern's files go to
  std::vector<std::string> created_folders;
};

/// True if `-o` means names of files, not a folder.
bool is_pattern(const std::string& output);
/// Ends like a file's name and is a folder's all the same.
bool looks_like_file_name(const std::string& output);

/// Settles the place, without touching the disk. Empty `output`: the default folder.
support::Result<OutputLocation> resolve_output(const std::string& output, const RunContext& around);

/// Makes the folder and checks that files can be created and, without `force`, that none is lost.
support::Result<void> create_output(OutputLocation* place, bool force);

/// Name of the default folder: host and time, or the launcher's job where it starts us per rank.
std::string default_folder_name(const RunContext& around);

/// The rank a launcher gave us, or "".
std::string launcher_rank(const std::vector<std::string>& environment);

}  // namespace gpuprof::cli
