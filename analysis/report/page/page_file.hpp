// SPDX-License-Identifier: Apache-2.0
//
// A page's file: frame, style, scripts and data in one, written whole.
//
// Context:  cli
// Owns:     a temporary file beside the page, until renamed
// Promises: the file appears whole or not at all; data are text in it, never markup
// Not here: the data (page.hpp, diff_page/diff_page.hpp), how the page looks (web/)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.hpp"

namespace gpuprof::report::page {

/// Which scripts are in it, and what it is called.
enum class PageKind : std::uint8_t { kReport, kDiff };

/// Before anything is read: may the page be written?
///
/// Errors: the file is there and not `force`; a folder that is none or cannot be written.
support::Result<void> check_page_path(const std::string& path, bool force);

/// The page with these data in it: as they are where they are short, packed otherwise.
std::string page_text(PageKind kind, std::string_view data);

/// Writes the page and returns its size in bytes.
///
/// Errors: those of check_page_path; a full disk.
support::Result<std::uint64_t> write_page_file(const std::string& path, bool force, PageKind kind,
                                               std::string_view data);

}  // namespace gpuprof::report::page
