// SPDX-License-Identifier: Apache-2.0
//
// What is missing from several files, said once.
//
// Context:  daemon (export thread) | cli
// Not here: what is missing from one (prescan/missing_data.cpp)
#include <fmt/format.h>

#include <cstdlib>

#include "analysis/export/export.hpp"
#include "analysis/export/labels/counted_texts.hpp"
#include "analysis/export/labels/event_counters.hpp"

namespace gpuprof::exporter {
namespace {

/// A sentence that begins with a number and may end with a list in brackets.
struct CountedMessage {
  std::uint64_t number = 0;  // 0: it does not
  std::string text;          // in the plural, without either
  std::string list;
};

constexpr std::size_t kLongList = 200;

CountedMessage parse_counted_message(const std::string& message) {
  CountedMessage parts;
  std::size_t at = 0;
  while (at < message.size() && at < 18 && message[at] >= '0' && message[at] <= '9') ++at;
  if (at == 0 || at == message.size() || message[at] != ' ') return parts;
  parts.number = std::strtoull(message.c_str(), nullptr, 10);
  parts.text = message.substr(at);
  for (const auto& [one, many] : kCountedTexts)
    if (parts.text.starts_with(one)) parts.text = std::string(many) + parts.text.substr(one.size());
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(OmissionReason::kCount); ++i) {
    const auto kind = static_cast<OmissionReason>(i);
    if (parts.text.substr(1) == omission_message(kind, 1))
      parts.text = fmt::format(" {}", omission_message(kind, 2));
  }
  if (const std::size_t open = parts.text.rfind(" ("); parts.text.ends_with(")")) {
    parts.list = parts.text.substr(open + 2, parts.text.size() - open - 3);
    parts.text.resize(open);
  }
  return parts;
}

std::string format_counted_message(std::uint64_t number, std::string text,
                                   const std::string& list) {
  return fmt::format("{}{}{}", number, text, list.empty() ? "" : " (" + list + ")");
}

}  // namespace

void merge_message(std::vector<std::string>& all, const std::string& message) {
  const CountedMessage added = parse_counted_message(message);
  for (std::string& reported : all) {
    if (reported == message && added.number == 0) return;
    const CountedMessage before = parse_counted_message(reported);
    if (added.number == 0 || before.number == 0 || before.text != added.text) continue;
    std::string list = before.list;
    if (!added.list.empty() && list.size() < kLongList && list.find(added.list) == list.npos)
      list += (list.empty() ? "" : ", ") + added.list;
    reported = format_counted_message(before.number + added.number, added.text, list);
    return;
  }
  all.push_back(message);
}

}  // namespace gpuprof::exporter
