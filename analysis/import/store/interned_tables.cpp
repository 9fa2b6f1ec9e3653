// SPDX-License-Identifier: Apache-2.0
//
// The tables of the importer.
//
// Context:  cli through analysis/commands
#include "analysis/import/store/interned_tables.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "gpuprof/base/bytes.hpp"

namespace gpuprof::importer {
namespace {

constexpr std::string_view kManyTexts = "(more names than are kept)";
/// Stands for the outermost frame of a stack that was cut.
constexpr std::string_view kIncomplete = "(incomplete stack)";
constexpr std::string_view kModuleCall = "): _wrapped_call_impl";
constexpr std::string_view kOlderModuleCall = "): _call_impl";
constexpr std::size_t kChunkBytes = 1u << 18;
/// No stack of a file has more frames that are looked at.
constexpr std::size_t kMaxFrames = 512;

/// `file(line): function` taken apart; without a file where a text is no such thing.
struct Place {
  std::string_view file, function;
  std::int32_t line = 0;
};

Place place_of(std::string_view text) {
  const Place none{{}, text, 0};
  for (std::size_t close = text.find("): "); close != text.npos;
       close = text.find("): ", close + 1)) {
    const std::size_t open = text.rfind('(', close);
    if (open == text.npos || open == 0) continue;
    Place place{text.substr(0, open), text.substr(close + 3), 0};
    const auto [at, error] =
        std::from_chars(text.data() + open + 1, text.data() + close, place.line);
    if (error == std::errc() && at == text.data() + close) return place;
  }
  return none;
}

}  // namespace

std::size_t StringPool::Hash::operator()(std::string_view text) const {
  return base::hash_bytes(text.data(), text.size());
}

std::string_view StringPool::keep(std::string_view text) {
  if (text.size() > left_) {
    left_ = std::max(kChunkBytes, text.size());
    chunks_.emplace_back();
    chunks_.back().reserve(left_);
  }
  std::string& chunk = chunks_.back();
  const std::size_t at = chunk.size();
  chunk += text;
  left_ -= text.size();
  bytes_ += text.size() + 64;
  return std::string_view(chunk).substr(at);
}

std::uint32_t StringPool::intern(std::string_view text) {
  if (text.empty()) return 0;
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  if (bytes_ > kMaxBytes && text != kManyTexts) return intern(kManyTexts);
  const auto id = static_cast<std::uint32_t>(texts_.size());
  const std::string_view kept = keep(text);
  texts_.push_back(kept);
  ids_.emplace(kept, id);
  return id;
}

StackNode StackTrie::child(StackNode parent, const StackFrame& frame) {
  std::uint64_t hash =
      base::hash_pair(parent, frame.text, std::uint64_t{frame.module} << 32 | parent);
  for (;; ++hash) {
    const auto [at, added] = inner_.try_emplace(hash, static_cast<StackNode>(nodes_.size()));
    if (!added) {
      const Entry& there = nodes_[at->second];
      if (there.parent == parent && there.frame == frame) return at->second;
      continue;
    }
    if (nodes_.size() >= kMaxNodes) {
      inner_.erase(at);
      return parent;
    }
    nodes_.push_back({parent, frame});
    return at->second;
  }
}

StackNode StackTrie::intern_line(std::string_view line, StringPool& texts) {
  if (line.empty()) return 0;
  const std::uint64_t hash = base::hash_bytes(line.data(), line.size());
  if (const auto known = lines_.find(hash); known != lines_.end()) return known->second;
  if (lines_.size() >= kMaxCachedLines) lines_.clear();
  StackNode node = 0;
  std::string_view rest = line;
  for (std::size_t frames = 0; !rest.empty() && frames < kMaxFrames; ++frames) {
    const std::size_t at = rest.rfind(';');
    const std::string_view frame = at == rest.npos ? rest : rest.substr(at + 1);
    rest = at == rest.npos ? std::string_view() : rest.substr(0, at);
    if (!frame.empty()) node = child(node, {texts.intern(frame), 0});
  }
  lines_.emplace(hash, node);
  return node;
}

StackNode StackTrie::merge_modules(StackNode frames, StackNode modules, const StringPool& texts) {
  if (modules == 0) return frames;
  const std::uint64_t key = std::uint64_t{frames} << 32 | modules;
  if (const auto known = merged_.find(key); known != merged_.end()) return known->second;
  if (merged_.size() >= kMaxCachedLines) merged_.clear();
  std::vector<StackFrame> all, inside;
  for (StackNode at = frames; at != 0; at = parent(at)) all.push_back(frame(at));
  for (StackNode at = modules; at != 0; at = parent(at)) inside.push_back(frame(at));
  std::vector<bool> calls(all.size());
  for (const std::string_view called : {kModuleCall, kOlderModuleCall}) {
    for (std::size_t i = 0; i < all.size(); ++i)
      calls[i] = texts.text(all[i].text).ends_with(called);
    if (std::find(calls.begin(), calls.end(), true) != calls.end()) break;
  }
  const bool fits =
      static_cast<std::size_t>(std::count(calls.begin(), calls.end(), true)) == inside.size();
  StackNode node = 0;
  auto next = inside.rbegin();
  if (!fits)
    for (; next != inside.rend(); ++next) node = child(node, *next);
  for (std::size_t i = all.size(); i-- > 0;) {
    if (fits && calls[i]) node = child(node, *next++);
    node = child(node, all[i]);
  }
  merged_.emplace(key, node);
  return node;
}

model::TorchModuleId ModuleTable::take(std::vector<OneClass>& types, std::uint32_t class_name,
                                       std::size_t index, std::int64_t object) {
  for (std::size_t type = 0;; ++type) {
    if (type == types.size()) types.emplace_back();
    OneClass& one = types[type];
    // Readers count the objects of a class: those before this one are reported with it.
    while (one.size() <= index) {
      one.push_back({static_cast<model::TorchModuleId>(entries_.size()), 0, false});
      entries_.push_back({class_name, std::uint64_t{class_name} << 16 | (type & 0xffff),
                          std::uint64_t{entries_.size()},
                          one.size() > 1 ? one[one.size() - 2].id : 0});
    }
    Slot& slot = one[index];
    if (slot.taken && slot.object != object) continue;
    slot.taken = true;
    slot.object = object;
    return slot.id;
  }
}

model::TorchModuleId ModuleTable::find(std::string_view name, std::int64_t object,
                                       StringPool& texts) {
  const std::size_t underscore = name.rfind('_');
  std::int64_t index = 0;
  std::string_view class_name = name;
  if (underscore != name.npos) {
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + underscore + 1, end, index);
    if (error == std::errc() && at == end) class_name = name.substr(0, underscore);
  }
  const bool full =
      entries_.size() + static_cast<std::size_t>(std::max<std::int64_t>(index, 0)) > kMaxEntries;
  if (class_name.size() == name.size() || index < 0 || index > kMaxPerClass || full) {
    index = 0;
    class_name = name;
  }
  const std::uint32_t text = texts.intern(class_name);
  auto& types = classes_[text];
  if (types.size() > 256) return types[0].empty() ? 0 : types[0][0].id;
  return take(types, text, static_cast<std::size_t>(index), object);
}

model::InputsId InputSets::add(std::span<const std::uint64_t> words, std::uint32_t flags) {
  if (words.empty()) return 0;
  if (words_.size() + words.size() > kMaxWords) {
    ++left_out_;
    return 0;
  }
  kept_.push_back({words_.size(), static_cast<std::uint32_t>(words.size()), flags});
  words_.insert(words_.end(), words.begin(), words.end());
  return static_cast<model::InputsId>(kept_.size() - 1);
}

model::InputsId InputSets::find_by_text(std::uint64_t hash) const {
  const auto found = by_text_.find(hash);
  return found == by_text_.end() ? 0 : found->second;
}

void InputSets::remember(std::uint64_t hash, model::InputsId id) { by_text_[hash] = id; }

std::uint32_t LaunchShapes::intern(const LaunchShape& shape) {
  static_assert(sizeof shape % 8 == 0);
  for (std::uint64_t hash = base::hash_bytes(&shape, sizeof shape);; ++hash) {
    const auto found = ids_.find(hash);
    if (found == ids_.end()) {
      if (shapes_.size() >= kMaxShapes) return 0;
      ids_.emplace(hash, static_cast<std::uint32_t>(shapes_.size()));
      shapes_.push_back(shape);
      return static_cast<std::uint32_t>(shapes_.size() - 1);
    }
    if (shapes_[found->second] == shape) return found->second;
  }
}

bool DefinitionWriter::mark_written(std::vector<bool>& reported, std::size_t id) {
  if (id >= reported.size()) reported.resize(std::max(id + 1, reported.size() * 2));
  if (reported[id]) return false;
  reported[id] = true;
  return true;
}

model::StringId DefinitionWriter::string(std::uint32_t text) {
  if (text != 0 && mark_written(strings_, text))
    sink_.on(model::StringDef{text, names_.texts.text(text)});
  return text;
}

model::CodeId DefinitionWriter::code(std::uint32_t text) {
  if (text >= codes_.size()) codes_.resize(std::max<std::size_t>(text + 1, codes_.size() * 2));
  if (codes_[text] != 0) return codes_[text];
  const Place place = place_of(names_.texts.text(text));
  // A line of its own and no table: the first line is the line.
  model::PythonCode code{};
  code.id = ++last_code_;
  code.file = string(names_.texts.intern(place.file));
  code.name = string(names_.texts.intern(place.function));
  code.first_line = place.line;
  sink_.on(code);
  if (text >= codes_.size()) codes_.resize(text + 1);
  return codes_[text] = code.id;
}

void DefinitionWriter::module(model::TorchModuleId id) {
  // Those of its type with lower numbers come first: readers count.
  unwritten_.clear();
  for (; id != 0 && mark_written(modules_, id); id = names_.modules.entry(id).previous)
    unwritten_.push_back(id);
  for (auto one = unwritten_.rbegin(); one != unwritten_.rend(); ++one) {
    const ModuleTable::Entry& entry = names_.modules.entry(*one);
    sink_.on(model::TorchModule{*one, string(entry.class_name), entry.object, entry.type});
  }
}

model::StackId DefinitionWriter::stack(StackNode node) {
  if (node == 0) return 0;
  if (node >= stacks_.size()) stacks_.resize(std::max<std::size_t>(node + 1, stacks_.size() * 2));
  if (stacks_[node] != 0) return stacks_[node];
  frames_.clear();
  std::uint32_t flags = 0;
  for (StackNode at = node; at != 0; at = names_.ways.parent(at)) {
    const StackFrame frame = names_.ways.frame(at);
    if (frame.module != 0) {
      module(frame.module);
      frames_.push_back({frame.module, -1, model::kPyModule});
    } else if (names_.texts.text(frame.text) == kIncomplete) {
      flags |= model::kStackPythonPartial;
    } else {
      frames_.push_back({code(frame.text), -1, 0});
    }
  }
  const model::StackId id = ++last_stack_;
  sink_.on(model::StackDef{id, flags, {}, frames_});
  return stacks_[node] = id;
}

model::InputsId DefinitionWriter::inputs(model::InputsId id) {
  if (id != 0 && mark_written(inputs_, id))
    sink_.on(model::Inputs{id, names_.inputs.flags(id), names_.inputs.words(id)});
  return id;
}

}  // namespace gpuprof::importer
