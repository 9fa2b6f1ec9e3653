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

using Answer = support::Result<void>;

Answer output(Options& o, const std::string& value);
Answer force(Options& o, const std::string& value);
Answer format(Options& o, const std::string& value);
Answer skip_first(Options& o, const std::string& value);
Answer wait(Options& o, const std::string& value);
Answer warmup(Options& o, const std::string& value);
Answer active(Options& o, const std::string& value);
Answer repeat(Options& o, const std::string& value);
Answer delay(Options& o, const std::string& value);
Answer duration(Options& o, const std::string& value);
Answer step(Options& o, const std::string& value);
Answer on_no_step(Options& o, const std::string& value);
Answer step_timeout(Options& o, const std::string& value);
Answer trace(Options& o, const std::string& value);
Answer record_shapes(Options& o, const std::string& value);
Answer with_stack(Options& o, const std::string& value);
Answer with_modules(Options& o, const std::string& value);
Answer profile_memory(Options& o, const std::string& value);
Answer rate(Options& o, const std::string& value);
Answer sampler(Options& o, const std::string& value);
Answer cuda_graph(Options& o, const std::string& value);
Answer span_size(Options& o, const std::string& value);
Answer max_size(Options& o, const std::string& value);
Answer keep(Options& o, const std::string& value);
Answer buffer_size(Options& o, const std::string& value);
Answer all_processes(Options& o, const std::string& value);
Answer wait_for(Options& o, const std::string& value);
Answer max_overhead(Options& o, const std::string& value);
Answer name(Options& o, const std::string& value);
Answer daemon(Options& o, const std::string& value);
Answer summary_json(Options& o, const std::string& value);
Answer strict(Options& o, const std::string& value);
Answer quiet(Options& o, const std::string& value);
Answer verbose(Options& o, const std::string& value);
Answer json(Options& o, const std::string& value);
Answer by(Options& o, const std::string& value);
Answer sort_by(Options& o, const std::string& value);
Answer by_input_shape(Options& o, const std::string& value);
Answer by_stack(Options& o, const std::string& value);
Answer columns(Options& o, const std::string& value);
Answer advice_only(Options& o, const std::string& value);
Answer fail_on(Options& o, const std::string& value);
Answer row_limit(Options& o, const std::string& value);
Answer rank(Options& o, const std::string& value);
Answer report_steps(Options& o, const std::string& value);
Answer csv(Options& o, const std::string& value);
Answer html(Options& o, const std::string& value);
Answer try_it(Options& o, const std::string& value);
Answer pid(Options& o, const std::string& value);
Answer pids(Options& o, const std::string& value);
Answer armed(Options& o, const std::string& value);
Answer children(Options& o, const std::string& value);
Answer all(Options& o, const std::string& value);
Answer serve(Options& o, const std::string& value);
Answer at(Options& o, const std::string& value);
Answer serve_to_network(Options& o, const std::string& value);
Answer stay(Options& o, const std::string& value);
Answer ignore_seccomp(Options& o, const std::string& value);
Answer fail_if(Options& o, const std::string& value);
Answer min_change(Options& o, const std::string& value);
Answer min_share(Options& o, const std::string& value);
Answer shell(Options& o, const std::string& value);
Answer help(Options& o, const std::string& value);

/// Whether `-t torch` and other words are known; for completions and the help.
std::string trace_words();

}  // namespace gpuprof::cli::set
