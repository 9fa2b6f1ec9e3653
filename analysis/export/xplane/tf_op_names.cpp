// SPDX-License-Identifier: Apache-2.0
//
// Names of operators in xprof's tables.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/xplane/tf_op_names.hpp"

#include <algorithm>
#include <array>

namespace gpuprof::exporter {
namespace {

constexpr std::string_view kEvaluatePrefix = "autograd::engine::evaluate_function: ";
/// An operator that runs kernels of two kinds.
constexpr std::string_view kConvolutionBackward = "aten::convolution_backward";

/// Names by which the tables know what tensor cores could do.
constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kKnown = {{
    {"aten::mm", "MatMul"},
    {"aten::addmm", "MatMul"},
    {"aten::_addmm_activation", "MatMul"},
    {"aten::matmul", "MatMul"},
    {"aten::linear", "MatMul"},
    {"aten::mv", "MatMul"},
    {"aten::addmv", "MatMul"},
    {"aten::_scaled_mm", "MatMul"},
    {"aten::_int_mm", "MatMul"},
    {"aten::bmm", "BatchMatMul"},
    {"aten::baddbmm", "BatchMatMul"},
    {"aten::convolution", "Conv2D"},
    {"aten::_convolution", "Conv2D"},
    {"aten::conv1d", "Conv2D"},
    {"aten::conv2d", "Conv2D"},
    {"aten::conv3d", "Conv3D"},
    {"aten::cudnn_convolution", "Conv2D"},
    {"aten::cudnn_convolution_relu", "Conv2D"},
    {"aten::cudnn_convolution_add_relu", "Conv2D"},
    {"aten::cudnn_convolution_transpose", "Conv2DBackpropInput"},
    {"aten::_slow_conv2d_forward", "Conv2D"},
    {"aten::_conv_depthwise2d", "DepthwiseConv2dNative"},
    {"aten::cudnn_convolution_backward", "Conv2DBackpropInput"},
    {"aten::cudnn_convolution_backward_input", "Conv2DBackpropInput"},
    {"aten::cudnn_convolution_backward_weight", "Conv2DBackpropFilter"},
    {kConvolutionBackward, "Conv2DBackpropInput"},
}};

std::string_view known_name(std::string_view op) {
  const auto found =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const auto& row) { return row.first == op; });
  return found == kKnown.end() ? std::string_view() : found->second;
}

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A part of an operator's path: what xprof's grammar does not take becomes '_'.
std::string as_part(std::string_view text, bool with_slashes = false) {
  std::string part(text.substr(0, 200));
  for (char& c : part)
    if (!is_letter(c) && !is_digit(c) && c != '_' && c != '.' && c != '-' &&
        !(with_slashes && c == '/'))
      c = '_';
  while (part.starts_with('/') || part.starts_with('_')) part.erase(0, 1);
  while (part.ends_with('/')) part.pop_back();
  return part.empty() ? "unnamed" : part;
}

/// A type: lower case, beginning with a letter.
std::string as_type(std::string_view text) {
  std::string type;
  for (const char c : text.substr(0, 100)) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fits = is_letter(lower) || is_digit(lower);
    if (fits || (!type.empty() && type.back() != '_')) type += fits ? lower : '_';
  }
  return type.empty() || is_digit(type[0]) ? "op_" + type : type;
}

/// What follows the last namespace: "mm" of "aten::mm", "all_reduce" of "nccl:all_reduce".
std::string_view last_of(std::string_view op) {
  const std::size_t colon = op.rfind(':');
  return colon == std::string_view::npos || colon + 1 == op.size() ? op : op.substr(colon + 1);
}

std::string_view node_name(std::string_view name) {
  if (name.starts_with(kEvaluatePrefix)) name.remove_prefix(kEvaluatePrefix.size());
  return last_of(name);
}

enum class Pass : std::uint8_t { kAny, kInput, kFilter };
Pass pass_of(std::string_view op, std::string_view kernel) {
  if (kernel.empty() || op != kConvolutionBackward) return Pass::kAny;
  if (kernel.find("wgrad") != std::string_view::npos) return Pass::kFilter;
  return kernel.find("dgrad") != std::string_view::npos ? Pass::kInput : Pass::kAny;
}

}  // namespace

void TfOpNames::add(const ResolvedOperator& op) {
  EntryKind what = EntryKind::kOperator;
  if (op.kind == OpKind::kEvaluateFunction || op.event.scope == model::kScopeBackward)
    what = EntryKind::kNode;
  // Loaders and optimizers are scopes as well as operators; a step is not.
  else if (op.event.scope == model::kScopeUser)
    what = EntryKind::kRange;
  if (op.nesting == Nesting::kEnclosing) what = EntryKind::kHidden;
  add(Entry{op.event.id, op.parent, op.event.name, op.module, kUnknown, what});
}

void TfOpNames::add(const ResolvedRange& range) {
  if (range.event.kind != model::RangeKind::kPushPop) return;
  const bool hidden = range.nesting == Nesting::kEnclosing;
  add(Entry{range.event.id, range.parent, range.event.name, 0, kUnknown,
            hidden ? EntryKind::kHidden : EntryKind::kRange});
}

void TfOpNames::add(Entry entry) {
  if (entry.parent == entry.id) entry.parent = 0;
  entries_.push_back(entry);
}

void TfOpNames::finish() {
  if (entries_.empty()) return;
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.id < b.id; });
  first_id_ = entries_.front().id;
  const std::uint64_t last = entries_.back().id - first_id_;
  if (last >= 8 * entries_.size() + 1024) return;
  slots_.resize(last + 1);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    slots_[entries_[i].id - first_id_] = static_cast<std::uint32_t>(i) + 1;
}

TfOpNames::Entry* TfOpNames::find(model::RangeId id) {
  if (id == 0 || entries_.empty() || id < first_id_ || id > entries_.back().id) return nullptr;
  if (!slots_.empty()) {
    const std::uint32_t slot = slots_[id - first_id_];
    return slot == 0 ? nullptr : &entries_[slot - 1];
  }
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), id,
                       [](const Entry& entry, model::RangeId wanted) { return entry.id < wanted; });
  return found->id == id ? &*found : nullptr;
}

/// The place of what lies directly in `entry`, which itself lies at `outer`.
std::uint32_t TfOpNames::scope_in(std::uint32_t outer, const Entry& entry) {
  Scope place = places_[outer];
  if (entry.module != 0) place.module = entry.module;
  if (entry.what == EntryKind::kNode) place.node = entry.name;
  if (entry.what == EntryKind::kRange) {
    const auto [found, fresh] = chain_ids_.try_emplace(Chain{place.ranges, entry.name},
                                                       static_cast<std::uint32_t>(chains_.size()));
    if (fresh) chains_.push_back(found->first);
    place.ranges = found->second;
  }
  const auto [found, fresh] =
      place_ids_.try_emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (fresh) places_.push_back(place);
  return found->second;
}

/// The place of an entry is that inside its parent.
std::uint32_t TfOpNames::place_of(Entry& entry) {
  constexpr std::size_t kMaxDepth = 1000;
  std::vector<Entry*> way;  // from the entry outwards, as far as places are not known
  Entry* at = &entry;
  while (at != nullptr && at->place == kUnknown && way.size() < kMaxDepth) {
    way.push_back(at);
    at = find(at->parent);
  }
  for (std::size_t i = way.size(); i > 0; --i) {
    Entry& one = *way[i - 1];
    Entry* const parent = i == way.size() ? at : way[i];
    const bool known = parent != nullptr && parent->place != kUnknown;
    one.place = known ? scope_in(parent->place, *parent) : 0;
  }
  return entry.place;
}

std::string TfOpNames::scope(const Scope& place) const {
  std::vector<std::string> parts;
  if (place.module != 0) {
    for (ModulePaths::Path at = place.module; at != 0; at = prescan_.modules.parent(at))
      parts.push_back(as_part(prescan_.modules.name(at, prescan_.names)));
  } else {
    for (std::uint32_t at = place.ranges; at != 0; at = chains_[at].first)
      parts.push_back(as_part(prescan_.names.text(chains_[at].second), true));
  }
  std::string text;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) text += *part + "/";
  return text;
}

std::string TfOpNames::format_op_name(const Entry& entry, const Scope& place,
                                      std::string_view kernel) const {
  const std::string_view name = prescan_.names.text(entry.name);
  Scope around = place;
  if (entry.module != 0) around.module = entry.module;
  std::string text = scope(around);
  if (entry.what == EntryKind::kRange && entry.module == 0 && around.module == 0)
    return text + as_part(name, true) + ":nvtx_range";
  if (entry.what == EntryKind::kNode) {
    const std::string_view node = node_name(name);
    return text + as_part(node) + ":" + as_type(node);
  }
  if (place.node != 0) text += as_part(node_name(prescan_.names.text(place.node))) + "/";
  std::string_view known = known_name(name);
  if (pass_of(name, kernel) == Pass::kFilter) known = "Conv2DBackpropFilter";
  return text + (known.empty() ? as_part(last_of(name)) : std::string(known)) + ":" + as_type(name);
}

TfOpNames::Text TfOpNames::op_name_of(model::RangeId owner, std::string_view kernel) {
  Entry* const entry = find(owner);
  if (entry == nullptr || entry->what == EntryKind::kHidden) return 0;
  const std::uint32_t place = place_of(*entry);
  const Pass pass = pass_of(prescan_.names.text(entry->name), kernel);
  // Of one name and place the module is mostly the same: the innermost one of its stack.
  const std::uint64_t own = entry->module == 0 ? place : scope_in(place, *entry);
  const std::uint64_t key = (std::uint64_t{entry->name} << 2 | static_cast<std::uint64_t>(pass)) ^
                            (own << 34) ^ (entry->module != 0 ? 1ULL << 63 : 0);
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  const bool room = texts_.size() < kMaxTexts;
  std::string text = format_op_name(*entry, room ? places_[place] : Scope{}, kernel);
  const auto [found, fresh] = by_text_.try_emplace(text, static_cast<Text>(texts_.size()));
  if (fresh) texts_.push_back(std::move(text));
  by_key_.emplace(key, found->second);
  return found->second;
}

}  // namespace gpuprof::exporter
