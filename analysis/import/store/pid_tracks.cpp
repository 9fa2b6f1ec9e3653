// SPDX-License-Identifier: Apache-2.0
//
// Names of rows taken apart.
//
// Context:  cli through analysis/commands
#include "analysis/import/store/pid_tracks.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gpuprof::importer {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

/// Position of the number at the end; the size where there is none.
std::size_t last_number(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && is_decimal(text[at - 1])) --at;
  // `[TP0] -1`, but not `rank-1`.
  if (at < text.size() && at >= 2 && text[at - 1] == '-' && text[at - 2] == ' ') --at;
  return at;
}

std::int64_t decimal_of(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string_view without_separator(std::string_view text) {
  constexpr std::string_view kBetween = " _:-/.";
  while (!text.empty() && kBetween.find(text.back()) != text.npos) text.remove_suffix(1);
  return text;
}

char folded_char(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

bool begins_folded(std::string_view text, std::string_view with) {
  if (text.size() < with.size()) return false;
  for (std::size_t i = 0; i < with.size(); ++i)
    if (folded_char(text[i]) != with[i]) return false;
  return true;
}

/// `83_rank0`, `83 (rank 0)`: the row's number stands first.
std::optional<PidLabel> rank_behind_number(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::size_t word = text.find_first_not_of(" _:-./[(", std::min(digits, text.size()));
  if (digits == 0 || word == text.npos || word == digits) return std::nullopt;
  const std::string_view label = text.substr(word, text.find_last_not_of("])") + 1 - word);
  const std::size_t at = last_number(label);
  const std::string_view name = without_separator(label.substr(0, at));
  const bool is_rank = (name.size() == 4 && begins_folded(name, "rank")) ||
                       (name.size() == 6 && begins_folded(name, "worker"));
  if (!is_rank || at == label.size()) return std::nullopt;
  return PidLabel{label, decimal_of(text.substr(0, digits))};
}

}  // namespace

PidLabel parse_pid_label(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return {};
    // `[TP0 10]`: the number is inside, too.
    if (const std::size_t blank = text.find(' '); close + 1 == text.size() && blank < close)
      return {text.substr(1, blank - 1), decimal_of(text.substr(blank + 1, close - blank - 1))};
    const std::size_t at = last_number(text);
    return {text.substr(0, close + 1), at > close ? decimal_of(text.substr(at)) : 0};
  }
  // `rank0 GPU 1`, `rank_3 10`: what follows the rank's number is the row.
  for (const std::string_view word : {"rank", "worker"}) {
    if (!begins_folded(text, word)) continue;
    std::size_t at = word.size();
    while (at < text.size() && std::string_view(" _:-=").find(text[at]) != text.npos) ++at;
    const std::size_t from = at;
    while (at < text.size() && is_decimal(text[at])) ++at;
    if (at == from) break;
    const std::size_t row = last_number(text);
    return {text.substr(0, at), row > at ? decimal_of(text.substr(row)) : 0};
  }
  if (const auto behind = rank_behind_number(text)) return *behind;
  const std::size_t at = last_number(text);
  if (at == text.size() || at == 0) return {};
  // `2_1071532` is a row of that process.
  const std::string_view before = without_separator(text.substr(0, at));
  const bool digits = before.find_first_not_of("0123456789") == before.npos;
  return {digits ? std::string_view() : before, decimal_of(text.substr(at))};
}

TrackRole role_of_name(std::string_view name) {
  struct Named {
    std::string_view begin;
    TrackRole role;
  };
  // Of Kineto's labels, Ascend's trace_view.json, ROCm's tools and PyTorch before Kineto.
  static constexpr Named kNamed[] = {
      {"ascend hardware", TrackRole::kDevice},      {"cann", TrackRole::kApiCalls},
      {"overlap analysis", TrackRole::kDuplicate},  {"hccl", TrackRole::kCommunication},
      {"communication", TrackRole::kCommunication}, {"cuda functions", TrackRole::kDevice},
      {"cpu functions", TrackRole::kHost},          {"cpu hip api", TrackRole::kApiCalls},
      {"cpu hsa api", TrackRole::kApiCalls}};
  for (const Named& one : kNamed)
    if (begins_folded(name, one.begin)) return one.role;
  for (const std::string_view device : {"gpu", "xpu", "npu", "hpu", "mtia", "copy"}) {
    if (!begins_folded(name, device)) continue;
    const std::string_view rest = name.substr(device.size());
    if (rest.empty() || rest[0] == ' ' || is_decimal(rest[0])) return TrackRole::kDevice;
  }
  return begins_folded(name, "cpu") && name.size() == 3 ? TrackRole::kHost : TrackRole::kUnknown;
}

std::optional<std::int64_t> rank_of_label(std::string_view label) {
  std::optional<std::int64_t> rank;
  for (std::size_t at = 0; at < label.size();) {
    if (!is_decimal(label[at])) {
      ++at;
      continue;
    }
    if (rank) return std::nullopt;
    const std::size_t from = at;
    while (at < label.size() && is_decimal(label[at])) ++at;
    rank = decimal_of(label.substr(from, at - from));
  }
  return rank;
}

}  // namespace gpuprof::importer
