// SPDX-License-Identifier: Apache-2.0
//
// Paths: where we are installed, where a program is, whether a folder can be written.
//
// Context:  daemon | cli
// Owns:     nothing
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::support {

/// The running program's own file, links resolved.
std::string executable_path();

/// Makes a folder and its parents. Returns those that were made, outermost first.
Result<std::vector<std::string>> create_folders(const std::string& path);

/// Removes the folders again, as far as they are empty.
void remove_if_empty(const std::vector<std::string>& made);

/// An error in one sentence unless files can be created in the folder.
Result<void> check_writable(const std::string& folder);

/// `path` made absolute against `base`, without `.` and doubled slashes (`..` stays).
std::string absolute_path(const std::string& path, const std::string& base);

/// A small file's content (such as one in /proc); "" if it cannot be read.
std::string read_small_file(const std::string& path);

/// The outermost folder above the file that users other than its owner and group may not enter; ""
/// if they may enter all of them.
std::string inaccessible_parent(const std::string& path);

/// An error in one sentence where something stands that must not be replaced by a file: a device, a
/// pipe, a socket, also at the end of a link.
Result<void> check_replaceable(const std::string& path);

bool file_exists(const std::string& path);
bool is_folder(const std::string& path);
bool is_socket(const std::string& path);
std::string parent_folder(const std::string& path);
std::string base_name(const std::string& path);
/// Empty if the current folder no longer exists.
std::string current_folder();

}  // namespace gpuprof::support
