// SPDX-License-Identifier: Apache-2.0
//
// How advice is printed.
//
// Context:  cli
#include "analysis/report/advice/advice_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/messages/advice.hpp"
#include "analysis/messages/report_shared.hpp"
#include "analysis/report/advice/figure_text.hpp"

namespace gpuprof::report::advice {
namespace {

/// Breaks at blanks; lines after the first begin with `indent` blanks.
void append_wrapped(std::string& text, std::string_view message, std::size_t indent,
                    std::size_t width) {
  std::size_t column = indent;
  bool first = true;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find(' '), message.size());
    const std::string_view word = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    if (!first && column + 1 + word.size() > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
    first = false;
  }
  text += '\n';
}

std::string share_base_text(const Advice& advice) {
  return advice.share_base == messages::report_shared::kShareOfStep
             ? std::string(messages::report_shared::kOfAStep)
             : fmt::format(messages::report_shared::kOfThe, advice.share_base);
}

/// Nothing, where there is only one process.
std::string process_text(const Advice& advice, bool several) {
  const bool ranked = advice.rank >= 0;
  if (advice.processes > 1)
    return ranked ? fmt::format(messages::advice::kWorstRank, advice.processes, advice.rank)
                  : fmt::format(messages::advice::kWorstProcess, advice.processes, advice.pid);
  if (!several) return "";
  return ranked ? fmt::format(messages::advice::kRank, advice.rank)
                : fmt::format(messages::advice::kProcess, advice.pid);
}

void append_one(std::string& text, const Advice& advice, std::size_t number, bool several,
                std::size_t width) {
  text += fmt::format("{:2}. {}", number, advice.rule);
  if (advice.share > 0)
    text += fmt::format("  {} {}", format_share(advice.share), share_base_text(advice));
  if (advice.ns_per_step > 0) text += fmt::format(" ({})", format_time(advice.ns_per_step));
  text += process_text(advice, several) + '\n';
  if (advice.where.known()) {
    text += "    " + advice.where.text();
    if (!advice.where.function.empty()) text += "  " + advice.where.function;
    text += '\n';
  }
  text += "    ";
  append_wrapped(text, advice.finding, 4, width);
  text += fmt::format("    {}", messages::advice::kTry);
  append_wrapped(text, advice.suggestion, 9, width);
}

}  // namespace

std::string advice_text(std::span<const Advice> advice, std::size_t width) {
  if (advice.empty()) return std::string(messages::advice::kNoAdvice) + '\n';
  bool several = false;
  for (const Advice& one : advice) several = several || one.pid != advice[0].pid;
  const bool of_recording = std::ranges::all_of(advice, [](const Advice& one) {
    return one.share_base == messages::report_shared::kShareOfRecording;
  });
  std::string text =
      of_recording ? messages::advice::kByShareOfRecording : messages::advice::kByShareOfStep;
  text += '\n';
  std::size_t number = 0;
  for (const Advice& one : advice) append_one(text, one, ++number, several, width);
  return text;
}

void write_advice(std::span<const Advice> advice, support::JsonWriter& json) {
  json.begin_array();
  for (const Advice& one : advice) {
    const Rule* rule = find_rule(one.rule);
    json.begin_object().member("rule", one.rule);
    json.member("title", rule == nullptr ? std::string_view() : rule->title);
    json.member("what", std::string_view(one.finding))
        .member("change", std::string_view(one.suggestion));
    json.member("share_percent", 100 * one.share).member("of", one.share_base);
    json.member("ns_per_step", one.ns_per_step);
    json.member("file", std::string_view(one.where.file)).member("line", one.where.line);
    json.member("last_line", one.where.last_line);
    json.member("function", std::string_view(one.where.function))
        .member("line_by", one.line_source);
    json.member("pid", std::uint64_t{one.pid}).member("rank", one.rank);
    json.member("processes", std::uint64_t{one.processes});
    json.key("figures").begin_object();
    for (const Figure& figure : one.figures) json.member(figure.name, figure.value);
    json.end_object().end_object();
  }
  json.end_array();
}

}  // namespace gpuprof::report::advice
