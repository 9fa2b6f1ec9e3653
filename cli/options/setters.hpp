// SPDX-License-Identifier: Apache-2.0
//
// One function for each option: a word in, a field of Options or a sentence out.
//
// Context:  cli
// Owns:     nothing
// Promises: a bad word leaves the options as they were; the sentence says what would be right
#pragma once

#include <string>

#include "cli/options/options.hpp"
#include "support/result.hpp"

namespace gpuprof::cli::set {

using SetResult = support::Result<void>;

SetResult output(Options& o, const std::string& value);
SetResult force(Options& o, const std::string& value);
SetResult format(Options& o, const std::string& value);
SetResult skip_first(Options& o, const std::string& value);
SetResult wait(Options& o, const std::string& value);
SetResult warmup(Options& o, const std::string& value);
SetResult active(Options& o, const std::string& value);
SetResult repeat(Options& o, const std::string& value);
SetResult delay(Options& o, const std::string& value);
SetResult duration(Options& o, const std::string& value);
SetResult step(Options& o, const std::string& value);
SetResult on_no_step(Options& o, const std::string& value);
SetResult step_timeout(Options& o, const std::string& value);
SetResult trace(Options& o, const std::string& value);
SetResult record_shapes(Options& o, const std::string& value);
SetResult with_stack(Options& o, const std::string& value);
SetResult with_modules(Options& o, const std::string& value);
SetResult profile_memory(Options& o, const std::string& value);
SetResult rate(Options& o, const std::string& value);
SetResult sampler(Options& o, const std::string& value);
SetResult cuda_graph(Options& o, const std::string& value);
SetResult span_size(Options& o, const std::string& value);
SetResult max_size(Options& o, const std::string& value);
SetResult keep(Options& o, const std::string& value);
SetResult buffer_size(Options& o, const std::string& value);
SetResult all_processes(Options& o, const std::string& value);
SetResult wait_for(Options& o, const std::string& value);
SetResult max_overhead(Options& o, const std::string& value);
SetResult name(Options& o, const std::string& value);
SetResult daemon(Options& o, const std::string& value);
SetResult summary_json(Options& o, const std::string& value);
SetResult strict(Options& o, const std::string& value);
SetResult quiet(Options& o, const std::string& value);
SetResult verbose(Options& o, const std::string& value);
SetResult json(Options& o, const std::string& value);
SetResult by(Options& o, const std::string& value);
SetResult sort_by(Options& o, const std::string& value);
SetResult by_input_shape(Options& o, const std::string& value);
SetResult by_stack(Options& o, const std::string& value);
SetResult columns(Options& o, const std::string& value);
SetResult advice_only(Options& o, const std::string& value);
SetResult fail_on(Options& o, const std::string& value);
SetResult row_limit(Options& o, const std::string& value);
SetResult rank(Options& o, const std::string& value);
SetResult report_steps(Options& o, const std::string& value);
SetResult csv(Options& o, const std::string& value);
SetResult html(Options& o, const std::string& value);
SetResult try_recording(Options& o, const std::string& value);
SetResult pid(Options& o, const std::string& value);
SetResult pids(Options& o, const std::string& value);
SetResult armed(Options& o, const std::string& value);
SetResult children(Options& o, const std::string& value);
SetResult all(Options& o, const std::string& value);
SetResult serve(Options& o, const std::string& value);
SetResult at(Options& o, const std::string& value);
SetResult serve_to_network(Options& o, const std::string& value);
SetResult stay(Options& o, const std::string& value);
SetResult ignore_seccomp(Options& o, const std::string& value);
SetResult fail_if(Options& o, const std::string& value);
SetResult min_change(Options& o, const std::string& value);
SetResult min_share(Options& o, const std::string& value);
SetResult shell(Options& o, const std::string& value);
SetResult help(Options& o, const std::string& value);

/// Whether `-t torch` and other words are known; for completions and the help.
std::string trace_source_names();

}  // namespace gpuprof::cli::set
