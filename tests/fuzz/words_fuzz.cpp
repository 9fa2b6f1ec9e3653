// SPDX-License-Identifier: Apache-2.0
//
// What people type and what is carried as text: command lines, steps, conditions, output patterns,
// options of a session with the schedule they make, numbers, texts for terminals.
//
// Context:  tests
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "analysis/export/export.hpp"
#include "analysis/report/diff/condition.hpp"
#include "cli/options/parse.hpp"
#include "cli/output/output_location.hpp"
#include "daemon/session/agent_config.hpp"
#include "daemon/session/schedule/schedule.hpp"
#include "recording/session/session_options.hpp"
#include "recording/session/step_spec.hpp"
#include "support/text/text.hpp"
#include "support/text/utf8.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace gpuprof;
using test::FuzzInput;
using test::require;

template <typename T>
bool understood(const support::Result<T>& result) {
  if (!result.ok())
    require(!result.error().message.empty() && result.error().exit_status != 0, "no sentence");
  return result.ok();
}

void same_when_carried(const recording::SessionOptions& options) {
  const std::string text = recording::to_text(options);
  const auto again = recording::from_text(text);
  require(again.ok() && recording::to_text(again.value()) == text, "options change on their way");
}

/// Words of a command line, each behind the other with a NUL between.
void command_line(FuzzInput& in) {
  std::vector<std::string> words;
  while (!in.empty() && words.size() < 64) words.emplace_back(in.until('\0'));
  const auto parsed = cli::parse(words);
  if (!understood(parsed) || parsed.value().command == nullptr) return;
  same_when_carried(parsed.value().options.session);
}

void step(FuzzInput& in) {
  const auto parsed = recording::parse_step(std::string(in.rest()));
  if (!understood(parsed)) return;
  using Source = recording::StepSpec::Source;
  const recording::StepSpec& spec = parsed.value();
  require(!spec.text.empty() || (spec.source != Source::kNvtx && spec.source != Source::kKernel),
          "a step without its name");
}

void condition(FuzzInput& in) {
  const auto parsed = report::diff::parse_condition(in.rest());
  if (!understood(parsed)) return;
  const double value = parsed.value().value;
  require(value == value, "a bound that is no number");
  require(!parsed.value().metric.empty(), "a condition without a metric");
}

bool has_control(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0xff;
    if (byte < ' ' || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0)) return true;
  }
  return false;
}

std::size_t folders_in(const std::string& path) {
  std::size_t count = 0;
  for (const char c : path) count += c == '/' ? 1 : 0;
  return count;
}

/// What comes from elsewhere into a name (host, rank, variables) opens no folder and reaches no
/// terminal.
void pattern(FuzzInput& in) {
  const std::string text(in.text()), host(in.text()), rank(in.text());
  const std::string value(in.text());
  ::setenv("GPUPROF_FUZZ_VALUE", value.c_str(), 1);
  const auto made = exporter::expand_pattern(text, host, in.number<std::uint32_t>(),
                                             in.number<std::uint32_t>(), rank);
  if (understood(made)) {
    require(folders_in(made.value()) <= folders_in(text), "a name opens a folder");
    require(has_control(text) || !has_control(made.value()), "a name obeys no terminal");
  }
  cli::RunContext around;
  around.environment = {"GPUPROF_FUZZ_VALUE=" + value, "RANK=" + rank};
  around.working_folder = "/nowhere";
  around.host = "host";
  const auto place = cli::resolve_output(text, around);
  if (text.empty() || !understood(place)) return;
  require(place.value().output.starts_with('/'), "an output that is no absolute path");
  require(folders_in(place.value().output) <= folders_in(text) + 2, "a variable opens a folder");
}

/// Whatever happens in whatever order, windows end after they begin and the schedule goes on.
void run_schedule(FuzzInput& in, const recording::SessionOptions& options) {
  const auto config = session::agent_config(options);
  if (!understood(config)) return;
  session::Schedule schedule(options, config.value().search.has_step_source(),
                             config.value().search.among_operators());
  std::uint64_t now_ns = 1'000'000'000, number = 0;
  schedule.start(now_ns);
  for (int i = 0; i < 300 && !in.empty(); ++i) {
    const std::uint8_t what = in.byte();
    now_ns += std::uint64_t{in.byte()} << (what >> 3);
    const std::uint64_t ts_ns = now_ns - (what & 8 ? in.number<std::uint16_t>() : 0);
    switch (what % 8) {
      case 0:
        number += in.odd() ? 1 : in.byte();
        schedule.step_began(number, ts_ns, number);
        break;
      case 1:
        schedule.step_ended(number, ts_ns, in.odd());
        break;
      case 2:
        schedule.recording_on(ts_ns);
        break;
      case 3:
        schedule.recording_off(ts_ns);
        break;
      case 4:
        schedule.first_activity(ts_ns);
        break;
      case 5:
        schedule.extend_step_search(now_ns, in.odd());
        break;
      case 6:
        if (in.byte() == 0) schedule.finish(now_ns);
        break;
      default:
        break;
    }
    schedule.tick(now_ns);
    schedule.progress_text();
    for (const model::Window& window : schedule.take_windows()) {
      require(window.start_ns <= window.end_ns, "a window ends before it begins");
    }
    schedule.take_remarks();
  }
  schedule.finish(now_ns + 1);
  require(schedule.take_windows().size() <= 2, "the end makes many windows");
}

void session_options(FuzzInput& in) {
  const auto parsed = recording::from_text(std::string(in.until('\0')));
  if (!understood(parsed)) return;
  same_when_carried(parsed.value());
  run_schedule(in, parsed.value());
}

void numbers(FuzzInput& in) {
  const std::string_view word = in.rest();
  (void)support::parse_duration_ns(word), (void)support::parse_size_bytes(word);
  (void)support::parse_count(word), (void)support::parse_unsigned(word);
  if (const auto quantity = support::parse_quantity(word);
      understood(quantity) && quantity.value().is_time)
    require(quantity.value().value <= 1ULL << 53, "a time beyond all times");
}

void texts(FuzzInput& in) {
  const std::string text(in.rest());
  require(!has_control(support::escape_control_characters(text)), "a line that a terminal obeys");
  require(!has_control(support::in_quotes(text)), "a word that a terminal obeys");
  std::string shown = support::sanitize_for_terminal(text);
  for (char& c : shown) c = c == '\n' ? ' ' : c;
  require(!has_control(shown), "a text that a terminal obeys");
  const std::string repaired = support::to_utf8(text);
  require(support::is_utf8(repaired), "what was repaired is broken");
  require(!support::is_utf8(text) || repaired == text, "what was whole is changed");
  support::closest_match(text.substr(0, 64), {"step_time", "run", "--output"});
}

}  // namespace

// One byte chooses what the rest is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput in(data, size);
  switch (in.pick(8)) {
    case 0:
      step(in);
      break;
    case 1:
      condition(in);
      break;
    case 2:
      pattern(in);
      break;
    case 3:
      session_options(in);
      break;
    case 4:
      numbers(in);
      break;
    case 5:
      texts(in);
      break;
    default:
      command_line(in);
      break;
  }
  return 0;
}
