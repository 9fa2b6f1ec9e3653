// SPDX-License-Identifier: Apache-2.0
//
// Messages about missing data that begin with a count, as whoever reads them recognises them.
//
// Context:  daemon (export thread) | cli
// Promises: each stands in the form in which missing_data.cpp and the writers state it
// Not here: the messages (analysis/messages/missing.hpp), those of omissions (event_counters.hpp)
#pragma once

#include <cstddef>
#include <string_view>

#include "analysis/messages/missing.hpp"

namespace gpuprof::exporter {

/// What stands behind the count, from the blank on, up to the next placeholder.
struct CountedText {
  std::string_view one, many;
};

/// The fixed text behind the first placeholder of a message format.
constexpr std::string_view text_after_count(std::string_view format) {
  // Not find(): with -fsanitize=undefined GCC does not take it for a constant expression.
  std::size_t begin = 0;
  while (begin < format.size() && format[begin] != '}') ++begin;
  if (begin < format.size()) ++begin;
  std::size_t end = begin;
  while (end < format.size() && format[end] != '{') ++end;
  return format.substr(begin, end - begin);
}

constexpr CountedText counted_text(std::string_view one, std::string_view many) {
  return {text_after_count(one), text_after_count(many)};
}

inline constexpr CountedText kCountedTexts[] = {
    counted_text(messages::missing::kRecordOne, messages::missing::kRecordMany),
    counted_text(messages::missing::kActivityBufferOne, messages::missing::kActivityBufferMany),
    counted_text(messages::missing::kStackSampleOne, messages::missing::kStackSampleMany),
    counted_text(messages::missing::kThreadNotRecordedOne,
                 messages::missing::kThreadNotRecordedMany),
    counted_text(messages::missing::kThreadNotSampledOne, messages::missing::kThreadNotSampledMany),
    counted_text(messages::missing::kThreadMaskedOne, messages::missing::kThreadMaskedMany),
    counted_text(messages::missing::kThreadMaskedForAWhileOne,
                 messages::missing::kThreadMaskedForAWhileMany),
    counted_text(messages::missing::kStepOne, messages::missing::kStepMany),
    counted_text(messages::missing::kNameTruncatedOne, messages::missing::kNameTruncatedMany),
    counted_text(messages::missing::kActivityBufferCutOne,
                 messages::missing::kActivityBufferCutMany),
    counted_text(messages::missing::kClockImpreciseOne, messages::missing::kClockImpreciseMany),
    counted_text(messages::missing::kNotInXplaneOne, messages::missing::kNotInXplaneMany),
    counted_text(messages::missing::kNotInSpeedscopeOne, messages::missing::kNotInSpeedscopeMany),
};

}  // namespace gpuprof::exporter
