// SPDX-License-Identifier: Apache-2.0
//
// Words a person types become numbers, and numbers become words again.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: a bad word gives a sentence that names the word, the reason and what would be right
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace gpuprof::support {

/// A number of steps, or a time: what `--wait 10` and `--wait 10s` mean.
struct StepsOrTime {
  bool is_time = false;
  std::uint64_t value = 0;  // steps, or ns
};

/// `250us`, `5ms`, `1.5s`, `2m` in ns. A bare number is refused, zero is not.
Result<std::uint64_t> parse_duration_ns(std::string_view word);

/// A bare number counts steps; with a unit it is a time.
Result<StepsOrTime> parse_quantity(std::string_view word);

/// `4GiB`, `512M`, `1000` in bytes. KiB MiB GiB TiB and K M G T are powers of 1024, kB MB GB TB
/// of 1000.
Result<std::uint64_t> parse_size_bytes(std::string_view word);

/// `200000`, `200k`, `1M`: powers of 1000.
Result<std::uint64_t> parse_count(std::string_view word);

/// A whole number without sign or unit.
Result<std::uint64_t> parse_unsigned(std::string_view word);

/// With control characters, which a terminal would obey, as \xNN.
std::string escape_control_characters(std::string_view text);
/// For a terminal: control characters but the line's end become question marks.
std::string sanitize_for_terminal(std::string_view text);
/// 'word' for a sentence; control characters are shown as \xNN, long words are cut.
std::string in_quotes(std::string_view word);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& words, std::string_view separator);

/// `a, b and c`.
std::string join_with_and(const std::vector<std::string>& words);

/// The candidate nearest to a mistyped word, or "" if none is near.
std::string closest_match(std::string_view word, const std::vector<std::string>& candidates);

/// ` (did you mean …?)` behind such a word; "" if none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// `1.25 M`, `200 k`, `17`.
std::string human_count(std::uint64_t count);
/// `1 step`, `1.2 M steps`.
std::string count_with_unit(std::uint64_t count, std::string_view one, std::string_view many);
/// `3.4 MiB`.
std::string human_bytes(std::uint64_t bytes);
/// `signal 15 (SIGTERM)`; a number alone where it has no name.
std::string signal_name(int signal);
/// `1.50 s`, `320 us`.
std::string human_duration(std::uint64_t ns);

/// Words joined so that a shell would read them back.
std::string shell_join(const std::vector<std::string>& words);

}  // namespace gpuprof::support
