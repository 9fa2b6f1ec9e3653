// SPDX-License-Identifier: Apache-2.0
//
// StackFormatter over symbols::StackSymbolizer.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/labels/stack_formatter.hpp"

#include <algorithm>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "gpuprof/base/bytes.hpp"
#include "recording/model/truncated_name.hpp"

namespace gpuprof::exporter {
namespace {

constexpr std::string_view kManyNames = "(more names than are kept)";
constexpr std::string_view kIncomplete = "(incomplete stack)";
constexpr std::string_view kMisfit = "(native and Python frames do not fit)";
/// "Call stack" is read by people: the frames next to the launch and those next to main.
constexpr std::size_t kLineFrames = 64;
/// Templates beyond this are cut; what follows tells them apart.
constexpr std::size_t kMaxFrameBytes = 1024;

}  // namespace

StackFormatter::StackFormatter(TextEncoding texts)
    : as_(texts), names_{kManyNames, kIncomplete, kMisfit}, locations_(names_.size()) {}

StackFormatter::~StackFormatter() = default;

StackFormatter::Frame StackFormatter::intern(const symbols::DisplayFrame& frame) {
  scratch_ = symbols::format_frame(frame);
  const auto found = by_name_.find(scratch_);
  if (found != by_name_.end()) return found->second;
  if (names_.size() >= kMaxNames) return 0;
  const auto index = static_cast<Frame>(names_.size());
  std::string shown = encode_text(as_, scratch_, kMaxFrameBytes);
  if (scratch_.size() > kMaxFrameBytes)
    shown += model::truncation_suffix(base::hash_bytes(scratch_.data(), scratch_.size()));
  names_.push_back(arena_.store(shown));
  if (as_ == TextEncoding::kUtf8) locations_.push_back(frame);
  by_name_.emplace(scratch_, index);
  return index;
}

const std::vector<StackFormatter::Frame>& StackFormatter::frames(model::StackId stack,
                                                                 std::uint64_t ts_ns) {
  static const std::vector<Frame> kNone;
  if (stack == 0) return kNone;
  if (const auto found = frames_.find(stack); found != frames_.end()) return found->second;
  if (frames_.size() >= kMaxStacks) frames_.clear();
  std::vector<Frame>& result = frames_[stack];
  for (const symbols::DisplayFrame& frame : namer_.symbolize(stack, ts_ns))
    result.push_back(intern(frame));
  // Outermost: what is unknown is where the stack began.
  if (!result.empty() && namer_.partial(stack, ts_ns))
    result.push_back(namer_.incomplete(stack, ts_ns) ? kIncompleteFrame : kMismatchedFrame);
  return result;
}

std::string_view StackFormatter::joined_frames(model::StackId stack, std::uint64_t ts_ns) {
  if (stack == 0) return {};
  if (const auto found = lines_.find(stack); found != lines_.end()) return found->second;
  if (lines_.size() >= kMaxLines) lines_.clear();
  std::string line;
  const std::vector<Frame>& all = frames(stack, ts_ns);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == kLineFrames / 2 && all.size() > kLineFrames) {
      line += ";…";
      i = all.size() - kLineFrames / 2;
    }
    if (!line.empty()) line += ';';
    line += name(all[i]);
  }
  return lines_[stack] = std::move(line);
}

}  // namespace gpuprof::exporter
