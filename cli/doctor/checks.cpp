// SPDX-License-Identifier: Apache-2.0
//
// gpuprof doctor: what this machine can and cannot do, and why.
//
// Context:  cli
#include "cli/doctor/checks.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "cli/command_table.hpp"
#include "cli/output/stdout_writer.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/json.hpp"

namespace gpuprof::cli {
namespace {

const char* word(Health health) {
  switch (health) {
    case Health::kGood:
      return "ok";
    case Health::kLimited:
      return "limited";
    case Health::kMissing:
      return "missing";
    case Health::kBlocking:
      return "blocking";
  }
  return "";
}

bool any_blocking(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.health == Health::kBlocking; });
}

}  // namespace

std::string findings_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8} {:<13} {}\n", word(finding.health), finding.topic, finding.sentence);
  }
  return text + (any_blocking(findings)
                     ? "Runs cannot be recorded here; the lines marked blocking say why.\n"
                     : "Runs can be recorded here.\n");
}

std::string findings_json(const Findings& findings) {
  support::JsonWriter json;
  json.begin_object().member("can_record", !any_blocking(findings)).key("findings").begin_array();
  for (const Finding& finding : findings) {
    json.begin_object();
    json.member("health", word(finding.health)).member("topic", finding.topic);
    json.member("sentence", finding.sentence).end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

support::Result<int> doctor_command(Options& options) {
  if (!options.words.empty()) {
    return support::error(fmt::format("doctor takes no word such as {}; a process is named with -p",
                                      support::in_quotes(options.words[0])));
  }
  // The others' processes answer EPERM.
  if (options.pid != 0 && kill(static_cast<pid_t>(options.pid), 0) != 0 && errno == ESRCH) {
    return support::error(fmt::format(
        "--pid {}: there is no such process; name the number of one that runs", options.pid));
  }
  const std::vector<std::string> environment = support::environment_words();
  Findings findings;
  look_at_installation(findings);
  look_at_glibc(findings);
  look_at_driver(findings);
  look_at_cupti(environment, findings);
  look_at_sampling(findings);
  look_at_second_thread(findings);
  look_at_tracing_of_others(findings);
  look_at_python(environment, findings);
  look_at_preloads(environment, findings);
  look_at_memory(findings);
  look_at_output(findings);
  if (options.pid != 0) look_at_process(options.pid, findings);
  Findings tried;
  if (options.try_it) try_recordings(tried);
  const bool all_came = std::none_of(tried.begin(), tried.end(), [](const Finding& one) {
    return one.health == Health::kMissing;
  });
  findings.insert(findings.end(), tried.begin(), tried.end());
  std::string text = options.json ? findings_json(findings) : findings_text(findings);
  if (!options.json && !all_came) text += "Not all that was tried arrived: `missing` says what.\n";
  GPUPROF_CHECK(write_answer(text, "what was found"));
  return any_blocking(findings) || !all_came ? 1 : 0;
}

}  // namespace gpuprof::cli
