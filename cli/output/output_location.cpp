// SPDX-License-Identifier: Apache-2.0
//
// Where the files of a run go, settled before the program starts.
//
// Context:  cli
#include "cli/output/output_location.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/commands/formats.hpp"
#include "cli/messages/session_output.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/io/files.hpp"
#include "support/process/subprocess.hpp"
#include "support/text/text.hpp"

namespace gpuprof::cli {
namespace {

using support::environment_get;
using support::environment_has;
using support::error;
using support::in_quotes;

constexpr std::string_view kSafe =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr std::array kRankVariables = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                       "SLURM_PROCID"};

std::string safe_name(std::string text) {
  for (char& c : text) {
    if (kSafe.find(c) == std::string_view::npos) c = '_';
  }
  return text;
}

/// The job of a launcher that starts us once per rank, as a name all its ranks compute alike; "".
std::string job_name(const RunContext& around) {
  const auto& env = around.environment;
  // A batch script has a job but no step: there we run once.
  if (environment_has(env, "SLURM_STEP_ID") && environment_has(env, "SLURM_PROCID")) {
    return fmt::format("slurm-{}.{}", environment_get(env, "SLURM_JOB_ID"),
                       environment_get(env, "SLURM_STEP_ID"));
  }
  if (const std::string id = environment_get(env, "TORCHELASTIC_RUN_ID"); !id.empty()) {
    // Without --rdzv-id the launcher calls every run "none"; its pid tells them apart.
    return id == "none" ? fmt::format("torchrun-{}-{}", around.host, around.parent_pid)
                        : "torchrun-" + id;
  }
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"}) {
    if (const std::string id = environment_get(env, name); !id.empty()) return "mpi-" + id;
  }
  return "";
}

/// Calls visit(letter, variable) for each %x; stops at the first error.
template <typename Visit>
support::Result<void> each_placeholder(const std::string& text, Visit visit) {
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at)) {
    const char letter = at + 1 < text.size() ? text[at + 1] : '\0';
    std::string variable;
    std::size_t length = 2;
    if (letter == 'q') {
      const std::size_t close = text.find('}', at);
      if (text.compare(at, 3, "%q{") != 0 || close == std::string::npos || close == at + 3) {
        return error(fmt::format(messages::session_output::kVariableBraces, in_quotes(text)));
      }
      variable = text.substr(at + 3, close - at - 3);
      length = close - at + 1;
    } else if (letter == '\0') {
      return error(fmt::format(messages::session_output::kLonePercent, in_quotes(text)));
    } else if (std::string_view("hpnr%").find(letter) == std::string_view::npos) {
      return error(
          fmt::format(messages::session_output::kUnknownPlaceholder, in_quotes(text), letter));
    }
    GPUPROF_CHECK(visit(at, length, letter, variable));
    at += length;
  }
  return {};
}

/// Every placeholder is known and every %q{VAR} has a value: an unset one would leave a hole that
/// makes different runs share a name.
support::Result<void> check_placeholders(const std::string& text, const RunContext& around) {
  return each_placeholder(
      text,
      [&](std::size_t, std::size_t, char letter,
          const std::string& variable) -> support::Result<void> {
        if (letter != 'q' || !environment_get(around.environment, variable).empty()) return {};
        const std::string name = in_quotes(text);
        return error(environment_has(around.environment, variable)
                         ? fmt::format(messages::session_output::kVariableEmpty, name, variable)
                         : fmt::format(messages::session_output::kVariableNotSet, name, variable));
      });
}

/// Replaces what is already known in a folder's name (%p and %n never occur in one).
support::Result<std::string> expand_folder(const std::string& text, const RunContext& around) {
  std::string out;
  std::size_t done = 0;
  GPUPROF_CHECK(each_placeholder(
      text,
      [&](std::size_t at, std::size_t length, char letter,
          const std::string& variable) -> support::Result<void> {
        out += text.substr(done, at - done);
        done = at + length;
        if (letter == '%') out += '%';
        if (letter == 'h') out += around.host;
        if (letter == 'q') out += safe_name(environment_get(around.environment, variable));
        if (letter != 'r') return {};
        const std::string rank = launcher_rank(around.environment);
        if (rank.empty()) {
          return error(fmt::format(messages::session_output::kNoRank, in_quotes(text)));
        }
        out += safe_name(rank);
        return {};
      }));
  return out + text.substr(done);
}

/// A file's name with its variables: the daemon may have another environment.
std::string expand_variables(const std::string& name, const RunContext& around) {
  std::string out;
  std::size_t done = 0;
  const auto visit = [&](std::size_t at, std::size_t length, char letter,
                         const std::string& variable) -> support::Result<void> {
    out += name.substr(done, at - done);
    done = at + length;
    if (letter != 'q') {
      out += name.substr(at, length);
      return {};
    }
    for (const char c : environment_get(around.environment, variable)) {
      out += c == '/' ? "_" : c == '%' ? "%%" : std::string(1, c);
    }
    return {};
  };
  // Every placeholder was checked before.
  [[maybe_unused]] const auto checked = each_placeholder(name, visit);
  return out + name.substr(done);
}

}  // namespace

RunContext current_run_context() {
  RunContext around;
  around.environment = support::current_environment();
  around.working_folder = support::current_folder();
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  around.host = safe_name(host.data());
  around.now_real_ns = base::real_ns();
  around.parent_pid = static_cast<std::uint32_t>(getppid());
  return around;
}

bool is_pattern(const std::string& output) {
  for (const std::string& suffix : commands::format_suffixes())
    if (output.ends_with(suffix)) return true;
  for (std::size_t at = 0; at + 1 < output.size(); ++at) {
    if (output[at] != '%') continue;
    if (output[at + 1] == 'n' || output[at + 1] == 'p') return true;
    ++at;
  }
  return false;
}

bool looks_like_file_name(const std::string& output) {
  const std::string_view text = output;
  return !is_pattern(output) && (text.ends_with(".json") || text.ends_with(".json.gz"));
}

std::string launcher_rank(const std::vector<std::string>& environment) {
  for (const char* name : kRankVariables) {
    if (const std::string rank = environment_get(environment, name); !rank.empty()) return rank;
  }
  return "";
}

std::string default_folder_name(const RunContext& around) {
  if (const std::string job = job_name(around); !job.empty()) return safe_name(job);
  const auto seconds = static_cast<time_t>(around.now_real_ns / 1'000'000'000);
  tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> stamp{};
  strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &local);
  return fmt::format("{}-{}", around.host, stamp.data());
}

namespace {

OutputLocation default_location(const RunContext& around) {
  OutputLocation place;
  place.output =
      support::absolute_path("gpuprof/" + default_folder_name(around), around.working_folder);
  // Two runs within a second must not share a folder; ranks of one job shall.
  if (job_name(around).empty()) {
    const std::string wanted = place.output;
    for (int i = 2; support::file_exists(place.output); ++i) {
      place.output = fmt::format("{}-{}", wanted, i);
    }
  }
  place.folder = place.output;
  return place;
}

support::Result<OutputLocation> locate_pattern(const std::string& output,
                                               const RunContext& around) {
  if (output.back() == '/') {
    return error(fmt::format(messages::session_output::kEndsInSlash, in_quotes(output)));
  }
  OutputLocation place;
  place.is_pattern = true;
  place.output = support::absolute_path(output, around.working_folder);
  place.folder = support::parent_folder(place.output);
  const std::string name = expand_variables(support::base_name(place.output), around);
  // What stands for a placeholder has one letter at least, or two placeholders are one.
  const auto percents = static_cast<std::size_t>(std::ranges::count(name, '%'));
  if (name.size() > NAME_MAX + percents)
    return error(fmt::format(messages::session_output::kNameTooLong, in_quotes(output), name.size(),
                             NAME_MAX));
  place.output = place.folder + "/" + name;
  if (place.folder.find('%') == std::string::npos) return place;
  if (is_pattern(place.folder)) {
    return error(fmt::format(messages::session_output::kOnlyInFileName, in_quotes(output)));
  }
  GPUPROF_TRY(folder, expand_folder(place.folder, around));
  // What stands before the file's name is fixed now; a percent sign in it must survive the second
  // expansion.
  std::string escaped;
  for (const char c : folder) escaped += c == '%' ? std::string("%%") : std::string(1, c);
  place.output = escaped + "/" + name;
  place.folder = folder;
  return place;
}

}  // namespace

support::Result<OutputLocation> resolve_output(const std::string& output,
                                               const RunContext& around) {
  if (around.working_folder.empty() && (output.empty() || output[0] != '/'))
    return error(messages::session_output::kFolderGone);
  if (output.empty()) return default_location(around);
  GPUPROF_CHECK(check_placeholders(output, around));
  if (is_pattern(output)) return locate_pattern(output, around);
  GPUPROF_TRY(name, expand_folder(output, around));
  OutputLocation place;
  place.output = place.folder = support::absolute_path(name, around.working_folder);
  return place;
}

support::Result<void> create_output(OutputLocation* place, bool force) {
  GPUPROF_TRY(made, support::create_folders(place->folder));
  place->created_folders = made;
  if (auto writable = support::check_writable(place->folder); !writable) {
    support::remove_if_empty(made);
    return writable.error();
  }
  const bool fixed = place->is_pattern && place->output.find('%') == std::string::npos;
  if (fixed && support::is_folder(place->output)) {
    return error(fmt::format(messages::session_output::kIsFolder, in_quotes(place->output)));
  }
  if (fixed) GPUPROF_CHECK(support::check_replaceable(place->output));
  if (fixed && !force && support::file_exists(place->output)) {
    return error(fmt::format(messages::session_output::kFileExists, in_quotes(place->output)));
  }
  return {};
}

}  // namespace gpuprof::cli
