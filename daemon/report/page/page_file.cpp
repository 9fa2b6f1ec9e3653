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

#include <cerrno>
#include <new>
#include <random>
#include <string_view>

#include "daemon/report/page/page.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/tidy.hpp"
#include "support/write_signals.hpp"

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

std::string_view content(const EmbeddedFile& file) {
  return {file.data, static_cast<std::size_t>(file.bytes)};
}

std::string_view embedded(std::string_view name) {
  for (std::uint64_t i = 0; i < gpuprof_page_files_count; ++i)
    if (gpuprof_page_files[i].name == name) return content(gpuprof_page_files[i]);
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

std::string scripts(std::string_view word) {
  std::string out;
  for (std::uint64_t i = 0; i < gpuprof_page_files_count; ++i) {
    const std::string_view name = gpuprof_page_files[i].name;
    if (!name.ends_with(".js")) continue;
    const std::string_view licence = name.starts_with("d3") ? embedded("d3.licence") : "";
    out += fmt::format("<script nonce=\"{}\">{}{}</script>\n", word, licence,
                       content(gpuprof_page_files[i]));
  }
  return out;
}

support::Error cannot_write(const std::string& path, int failure) {
  return support::error(
      fmt::format("cannot write the page {}: {}{}", support::in_quotes(path), strerror(failure),
                  failure == ENOENT   ? "; make its folder first, or name another"
                  : failure == EACCES ? "; name a file in a folder of yours"
                                      : support::advice_for_failed_write(failure)));
}

/// Whole, under a name of its own, then in place.
support::Result<void> write_beside(const std::string& path, bool force, std::string_view text) {
  const std::string beside = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = nullptr;
  int failure = 0;
  support::tidy([&] {
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
  support::forget_tidying(beside);
  if (failure != 0) return cannot_write(path, failure);
  return {};
}

}  // namespace

std::string page_text(std::string_view data) {
  const std::string word = nonce();
  std::string out;
  std::string_view rest = embedded("page.html");
  for (std::size_t at = rest.find('@'); at != std::string_view::npos; at = rest.find('@')) {
    out += rest.substr(0, at);
    const std::size_t end = rest.find('@', at + 1);
    const std::string_view mark = rest.substr(at + 1, end - at - 1);
    if (mark == "NONCE")
      out += word;
    else if (mark == "STYLE")
      out += embedded("style.css");
    else if (mark == "DATA")
      out += data_element(data);
    else if (mark == "SCRIPTS")
      out += scripts(word);
    rest.remove_prefix(end + 1);
  }
  return out += rest;
}

support::Result<void> check_page_path(const PageRequest& request) {
  const std::string quoted = support::in_quotes(request.path);
  if (support::is_folder(request.path))
    return support::error(
        fmt::format("{} is a folder; name the file the page is to become", quoted));
  if (!request.force && support::file_exists(request.path))
    return support::error(
        fmt::format("{} exists; name another file, or add --force to replace it", quoted));
  const std::string folder = support::parent_folder(request.path);
  if (!support::is_folder(folder)) return cannot_write(request.path, ENOENT);
  if (access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(request.path, errno);
  return {};
}

support::Result<std::uint64_t> write_page(const Report& report,
                                          const std::vector<PageAdvice>& advice,
                                          const std::vector<Timeline>& timelines,
                                          const PageRequest& request) {
  GPUPROF_CHECK(check_page_path(request));
  const std::string text = page_text(page_data(report, advice, timelines, request));
  GPUPROF_CHECK(write_beside(request.path, request.force, text));
  return static_cast<std::uint64_t>(text.size());
}

}  // namespace gpuprof::report::page
