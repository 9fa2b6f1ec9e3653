// SPDX-License-Identifier: Apache-2.0
//
// describe_position(), guess_writer().
//
// Context:  cli through analysis/commands
#include "analysis/import/json/text_position.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/import/json/decompressor.hpp"
#include "analysis/messages/import_json.hpp"
#include "support/text/text.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::size_t kPlaceBlockBytes = 256 * 1024;
constexpr std::size_t kAround = 20;  // characters before, and from there on

Decompressor open_text(const std::string& path) {
  return {path, base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
}

/// Whole characters of UTF-8 at both ends, without controls.
std::string readable(std::string text) {
  const auto inner = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  std::size_t from = 0;
  while (from < text.size() && from < 4 && inner(text[from])) ++from;
  text.erase(0, from);
  std::size_t to = text.size();
  while (to > 0 && text.size() - to < 4 && inner(text[to - 1])) --to;
  if (to > 0 && static_cast<unsigned char>(text[to - 1]) >= 0xc0) text.erase(to - 1);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return support::sanitize_for_terminal(text);
}

}  // namespace

std::string describe_position(const std::string& path, std::uint64_t offset) {
  Decompressor text = open_text(path);
  std::vector<char> block(kPlaceBlockBytes);
  std::uint64_t at = 0, line = 1, line_from = 0;
  std::string around;
  while (at < offset + kAround) {
    const std::size_t n = text.read(block.data(), block.size());
    if (n == 0) break;
    for (std::size_t i = 0; i < n && at + i < offset; ++i)
      if (block[i] == '\n') ++line, line_from = at + i + 1;
    const std::uint64_t first = offset > kAround ? offset - kAround : 0;
    const std::uint64_t from = std::max(first, at), to = std::min(offset + kAround, at + n);
    if (from < to) around.append(block.data() + (from - at), to - from);
    at += n;
  }
  return fmt::format(messages::import_json::kPosition, line, offset - line_from + 1, offset,
                     readable(std::move(around)));
}

std::string guess_writer(const std::string& path) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"\"gpuprof\"", "gpuprof"},
      {"\"CPU functions\"", "PyTorch's legacy autograd profiler"},
      {"\"CPU Functions\"", "PyTorch's legacy autograd profiler"},
      {"\"deviceProperties\"", "torch.profiler (Kineto)"},
      {"\"schemaVersion\"", "torch.profiler (Kineto)"},
      {"\"cpu_op\"", "torch.profiler (Kineto)"},
      {"\"Operator\"", "torch.profiler (Kineto, before 2.0)"},
      {"\"displayTimeUnit\"", "another tool that writes Chrome's trace format"},
  };
  Decompressor text = open_text(path);
  std::string begin(kPlaceBlockBytes, '\0');
  begin.resize(text.read(begin.data(), begin.size()));
  for (const auto& [word, writer] : kWords)
    if (begin.find(word) != begin.npos) return std::string(writer);
  return {};
}

}  // namespace gpuprof::importer
