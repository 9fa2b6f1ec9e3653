// SPDX-License-Identifier: Apache-2.0
//
// The page put together from the files CMake embedded and its data, and written.
//
// Context:  cli
#include <fmt/format.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <new>
#include <random>
#include <span>
#include <string_view>

#include "analysis/messages/page.hpp"
#include "analysis/report/page/page_file.hpp"
#include "support/io/files.hpp"
#include "support/io/signal_cleanup.hpp"
#include "support/process/write_error_signals.hpp"
#include "support/text/text.hpp"

namespace {
/// As cmake/GpuprofEmbed.cmake lays them out.
struct EmbeddedFile {
  const char* name;
  const char* data;
  std::uint64_t bytes;
};
}  // namespace
extern "C" const EmbeddedFile gpuprof_page_files[];
extern "C" const std::uint64_t gpuprof_page_files_count;

namespace gpuprof::report::page {
namespace {

/// Longer data are packed: what is short can be read in the file.
constexpr std::size_t kPackFrom = 128 * 1024;

/// In the order they run: core.js is what the others use, main.js starts the page.
constexpr std::array<std::string_view, 17> kReportScripts{
    "d3.min.js",   "core.js",      "texts.js",    "load_data.js", "table.js", "chart.js",
    "tabs.js",     "wall_time.js", "overview.js", "tables.js",    "flame.js", "timeline_draw.js",
    "timeline.js", "memory.js",    "modules.js",  "theme.js",     "main.js"};
constexpr std::array<std::string_view, 11> kDiffScripts{
    "d3.min.js", "core.js",         "texts.js",       "load_data.js", "table.js", "chart.js",
    "tabs.js",   "diff_changes.js", "diff_tables.js", "theme.js",     "main.js"};

std::span<const std::string_view> scripts_of(PageKind kind) {
  if (kind == PageKind::kDiff) return kDiffScripts;
  return kReportScripts;
}
std::string_view title_of(PageKind kind) {
  return kind == PageKind::kDiff ? "gpuprof diff" : "gpuprof report";
}

std::string_view embedded(std::string_view name) {
  for (std::uint64_t i = 0; i < gpuprof_page_files_count; ++i)
    if (gpuprof_page_files[i].name == name)
      return {gpuprof_page_files[i].data, static_cast<std::size_t>(gpuprof_page_files[i].bytes)};
  return {};
}

/// One gzip member.
std::string packed(std::string_view text) {
  constexpr int kGzip = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= have ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// JSON has '<' only inside strings: written as an escape nothing in it can end the element.
std::string data_element(std::string_view json) {
  if (json.size() > kPackFrom)
    return fmt::format("<script type=\"application/gzip\" id=\"data\">{}</script>",
                       base64(packed(json)));
  std::string out = "<script type=\"application/json\" id=\"data\">";
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out + "</script>";
}

/// Scripts with this word run, no other.
std::string nonce() {
  std::random_device device;
  std::string out;
  for (int i = 0; i < 4; ++i) out += fmt::format("{:08x}", device());
  return out;
}

std::string scripts(PageKind kind, std::string_view word) {
  std::string out;
  for (const std::string_view name : scripts_of(kind)) {
    const std::string_view licence = name.starts_with("d3") ? embedded("d3.licence") : "";
    out += fmt::format("<script nonce=\"{}\">{}{}</script>\n", word, licence, embedded(name));
  }
  return out;
}

support::Error cannot_write(const std::string& path, int failure) {
  const std::string quoted = support::in_quotes(path);
  const char* reason = strerror(failure);
  if (failure == ENOENT)
    return support::error(fmt::format(messages::page::kCannotWriteNoFolder, quoted, reason));
  if (failure == EACCES)
    return support::error(fmt::format(messages::page::kCannotWriteNoAccess, quoted, reason));
  return support::error(fmt::format(messages::page::kCannotWrite, quoted, reason,
                                    support::write_error_hint(failure)));
}

/// Whole, under a name of its own, then in place.
support::Result<void> write_beside(const std::string& path, bool force, std::string_view text) {
  const std::string beside = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = nullptr;
  int failure = 0;
  support::create_with_cleanup([&] {
    file = std::fopen(beside.c_str(), "wxe");
    failure = errno;
    return file == nullptr ? std::string() : beside;
  });
  if (file == nullptr) return cannot_write(path, failure);
  failure = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fclose(file) != 0 && failure == 0) failure = errno;
  // A link refuses to replace what somebody made in the meantime; a rename does not.
  if (failure == 0 && force && rename(beside.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0 && !force && link(beside.c_str(), path.c_str()) != 0) failure = errno;
  if (failure != 0 || !force) unlink(beside.c_str());
  support::cancel_cleanup(beside);
  if (failure != 0) return cannot_write(path, failure);
  return {};
}

}  // namespace

std::string page_text(PageKind kind, std::string_view data) {
  const std::string word = nonce();
  std::string out;
  std::string_view rest = embedded("page.html");
  for (std::size_t at = rest.find('@'); at != std::string_view::npos; at = rest.find('@')) {
    out += rest.substr(0, at);
    const std::size_t end = rest.find('@', at + 1);
    const std::string_view mark = rest.substr(at + 1, end - at - 1);
    if (mark == "NONCE")
      out += word;
    else if (mark == "TITLE")
      out += title_of(kind);
    else if (mark == "STYLE")
      out += embedded("style.css");
    else if (mark == "DATA")
      out += data_element(data);
    else if (mark == "SCRIPTS")
      out += scripts(kind, word);
    rest.remove_prefix(end + 1);
  }
  return out += rest;
}

support::Result<void> check_page_path(const std::string& path, bool force) {
  const std::string quoted = support::in_quotes(path);
  if (support::is_folder(path))
    return support::error(fmt::format(messages::page::kIsFolder, quoted));
  GPUPROF_CHECK(support::check_replaceable(path));
  if (!force && support::file_exists(path))
    return support::error(fmt::format(messages::page::kExists, quoted));
  const std::string folder = support::parent_folder(path);
  if (!support::is_folder(folder)) return cannot_write(path, ENOENT);
  if (access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(path, errno);
  return {};
}

support::Result<std::uint64_t> write_page_file(const std::string& path, bool force, PageKind kind,
                                               std::string_view data) {
  GPUPROF_CHECK(check_page_path(path, force));
  const std::string text = page_text(kind, data);
  GPUPROF_CHECK(write_beside(path, force, text));
  return static_cast<std::uint64_t>(text.size());
}

}  // namespace gpuprof::report::page
