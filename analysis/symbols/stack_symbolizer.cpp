// SPDX-License-Identifier: Apache-2.0
//
// Definitions in, named frames out.
//
// Context:  daemon | cli
#include "analysis/symbols/stack_symbolizer.hpp"

#include <utility>

#include "analysis/symbols/merge_stack.hpp"
#include "analysis/symbols/python_lines.hpp"
#include "gpuprof/base/jit_code.hpp"

namespace gpuprof::symbols {
namespace {

constexpr std::uint16_t kTableCut = 1;

/// Innermost frames of a stack taken inside an API callback that say nothing about the program.
bool is_driver_or_own_module(std::string_view module) {
  for (const std::string_view prefix :
       {"libgpuprof_inject", "libcupti", "libcuda.so", "libnvidia-", "libcudadebugger"})
    if (module.starts_with(prefix)) return true;
  return false;
}

/// 3.12+ runs a constructor above a frame of its own that checks what __init__ returned; no
/// traceback shows it.
bool is_init_cleanup(const DisplayFrame& frame) {
  return frame.kind == FrameKind::kPython && frame.file == "__init__" && frame.name == "__init__";
}

bool is_trampoline(const NativeSymbol& callee, const NativeSymbol& code,
                   const NativeSymbol& caller) {
  return code.frame.name == base::kJitCodePath && callee.role == NativeRole::kEval &&
         (caller.role == NativeRole::kEval || caller.role == NativeRole::kInterpreter ||
          caller.role == NativeRole::kInterpreterUnnamed);
}

}  // namespace

StackSymbolizer::StackSymbolizer(SymbolizerOptions options)
    : options_(options), natives_(options) {}

StackSymbolizer::~StackSymbolizer() = default;

void StackSymbolizer::on(const model::StringDef& event) {
  strings_.try_emplace(event.id, event.text);
}

void StackSymbolizer::on(const model::StackDef& event) {
  const std::uint64_t bytes = sizeof(Stack) + event.native.size_bytes() + event.python.size_bytes();
  if (stack_bytes_ + bytes > options_.max_stack_bytes) return;
  const auto [at, added] =
      stacks_.try_emplace(event.id, Stack{event.flags,
                                          {event.native.begin(), event.native.end()},
                                          {event.python.begin(), event.python.end()}});
  if (!added) return;
  stack_bytes_ += bytes;
  std::erase_if(at->second.python, [](const model::PythonFrame& frame) {
    return (frame.flags & model::kPyModule) != 0;  // says what the call is of; is no frame
  });
}

void StackSymbolizer::on(const model::PythonCode& event) {
  codes_.try_emplace(
      event.id, Code{event.file == 0 ? std::string() : text(event.file), text(event.name),
                     std::string(event.line_table), event.first_line, event.py_minor, event.flags});
}

void StackSymbolizer::on(const model::Process& event) { natives_.set_pid(event.pid); }

void StackSymbolizer::on(const model::ProcessEnd& event) {
  // Its number may soon be another process's. 2: still alive at the end of the session.
  if (event.how != 2) natives_.set_pid(0);
}

void StackSymbolizer::on(const model::Module& event) { modules_.add(event); }

void StackSymbolizer::on(const model::ModuleUnload& event) { modules_.remove(event); }

const std::vector<DisplayFrame>& StackSymbolizer::symbolize(model::StackId id,
                                                            std::uint64_t ts_ns) {
  return get(id, ts_ns).frames;
}

bool StackSymbolizer::partial(model::StackId id, std::uint64_t ts_ns) {
  return get(id, ts_ns).partial;
}

bool StackSymbolizer::incomplete(model::StackId id, std::uint64_t ts_ns) {
  return get(id, ts_ns).incomplete;
}

const StackSymbolizer::SymbolizedStack& StackSymbolizer::get(model::StackId id,
                                                             std::uint64_t ts_ns) {
  if (const auto known = named_.find(id); known != named_.end()) return known->second;
  const auto stack = stacks_.find(id);
  if (stack == stacks_.end()) {
    if (counted_.try_emplace(id, true).second) ++counts_.lost;
    once_ = SymbolizedStack{
        {DisplayFrame{"[stack lost]", "", 0, FrameKind::kUnknown, ""}}, true, true, false};
    return once_;
  }
  SymbolizedStack made = make(stack->second, ts_ns);
  if (counted_.try_emplace(id, true).second) {
    ++counts_.symbolized;
    counts_.partial += made.partial ? 1 : 0;
  }
  if (made.ambiguous) {
    once_ = std::move(made);
    return once_;
  }
  if (frames_held_ + made.frames.size() > options_.max_frames) {
    named_.clear();
    frames_held_ = 0;
  }
  frames_held_ += made.frames.size();
  return named_.emplace(id, std::move(made)).first->second;
}

std::vector<NativeSymbol> StackSymbolizer::native_names(const Stack& stack, std::uint64_t ts_ns,
                                                        bool* ambiguous) {
  std::vector<NativeSymbol> names;
  names.reserve(stack.native.size());
  const bool interpreted = !stack.python.empty() && !options_.interpreter_frames;
  bool top = (stack.flags & model::kStackInCall) != 0;
  for (std::size_t i = 0; i < stack.native.size(); ++i) {
    // A return address may already belong to the next function; the call does not.
    const std::uint64_t pc = stack.native[i] - (i == 0 ? 0 : 1);
    const ModuleMap::Match hit = modules_.find(pc, ts_ns);
    *ambiguous = *ambiguous || hit.ambiguous;
    names.push_back(natives_.find(hit.module, pc));
    top = top && is_driver_or_own_module(names.back().frame.module);
    if (top) names.back().role = NativeRole::kHidden;
    // An opcode handler stands on the eval function that entered the loop: one evaluation.
    if (i > 0 && names[i - 1].tail_call && !names[i].tail_call &&
        names[i].role == NativeRole::kEval)
      names[i].role = NativeRole::kInterpreter;
    // Between the interpreter and its evaluation: a trampoline that no file names.
    if (i > 1 && interpreted && is_trampoline(names[i - 2], names[i - 1], names[i]))
      names[i - 1].role = NativeRole::kInterpreter;
  }
  return names;
}

StackSymbolizer::SymbolizedStack StackSymbolizer::make(const Stack& stack, std::uint64_t ts_ns) {
  SymbolizedStack symbolized;
  const std::vector<NativeSymbol> natives = native_names(stack, ts_ns, &symbolized.ambiguous);
  std::vector<NativeRole> roles;
  roles.reserve(natives.size());
  for (const NativeSymbol& native : natives) roles.push_back(native.role);
  const MergedStack merged = merge_stack(roles, stack.python, stack.flags);
  symbolized.incomplete =
      (stack.flags & (model::kStackNativeTruncated | model::kStackNativeDeep |
                      model::kStackPythonPartial | model::kStackPythonDeep)) != 0;
  symbolized.partial = merged.partial || symbolized.incomplete;
  symbolized.frames.reserve(merged.frames.size());
  for (const MergedFrame& frame : merged.frames) {
    DisplayFrame shown =
        frame.python ? python_frame(stack.python[frame.index]) : natives[frame.index].frame;
    if (!is_init_cleanup(shown)) symbolized.frames.push_back(std::move(shown));
  }
  return symbolized;
}

DisplayFrame StackSymbolizer::python_frame(const model::PythonFrame& frame) const {
  const auto found = codes_.find(frame.code);
  if (found == codes_.end()) return DisplayFrame{"[code lost]", "", 0, FrameKind::kPython, ""};
  const Code& code = found->second;
  // Its place is not known: what it is called says it all.
  if (code.file.empty() && code.first_line == 0)
    return DisplayFrame{code.name, "", 0, FrameKind::kUnknown, ""};
  const bool no_table = (code.flags & kTableCut) != 0 && frame.instr_offset >= 0;
  const int line =
      no_table ? 0
               : python_line(code.line_table, code.py_minor, code.first_line, frame.instr_offset);
  return DisplayFrame{code.name, code.file, line, FrameKind::kPython, ""};
}

std::string StackSymbolizer::text(model::StringId id) const {
  const auto found = strings_.find(id);
  return found == strings_.end() ? std::string("?") : found->second;
}

}  // namespace gpuprof::symbols
