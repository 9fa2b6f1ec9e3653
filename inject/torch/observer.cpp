// SPDX-License-Identifier: Apache-2.0
//
// What happens when an operator begins and ends.
//
// Context:  callback
#include "inject/torch/observer.hpp"

#include <string.h>

#include <atomic>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/clock.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/torch/inputs.hpp"
#include "inject/torch/thread_state.hpp"

namespace gpuprof::torch {

namespace {

constexpr std::uint32_t kAnyUse = hot::kOnOperators | hot::kOnOpSteps;

constinit std::atomic<bool> g_exiting{false};

bool wanted() { return hot::on(kAnyUse) && !g_exiting.load(std::memory_order_relaxed); }

/// A RecordFunction as far as its copy of libtorch is known.
class Function {
 public:
  Function(const Library& library, const std::byte* object) : library_(library), object_(object) {}

  const char* name() const {
    const char* name = library_.call.name(object_);
    return name != nullptr ? name : "";
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(object_); }
  std::int64_t sequence() const {
    return library_.at.sequence == 0 ? -1 : load<std::int64_t>(library_.at.sequence);
  }
  std::uint32_t forward_thread() const { return number(library_.at.forward_thread); }
  std::uint32_t thread() const { return number(library_.at.thread); }
  std::uint16_t scope() const {
    return library_.at.scope == 0 ? 0 : load<std::uint8_t>(library_.at.scope);
  }

 private:
  template <typename T>
  T load(std::uint32_t at) const {
    return base::load<T>(object_ + at);
  }
  // PyTorch counts threads from 1 in 64 bits.
  std::uint32_t number(std::uint32_t at) const {
    return at == 0 ? 0 : static_cast<std::uint32_t>(load<std::uint64_t>(at));
  }

  const Library& library_;
  const std::byte* object_;
};

bool starts_with(const char* text, const char* prefix, std::size_t bytes) {
  return strncmp(text, prefix, bytes) == 0;
}
template <std::size_t N>
bool starts_with(const char* text, const char (&prefix)[N]) {
  return starts_with(text, prefix, N - 1);
}

// Ranges of the program's own are looked through; PyTorch's own two kinds of ranges are not.
bool encloses(std::uint16_t scope, const char* name) {
  return scope != static_cast<std::uint16_t>(Scope::kUser) || starts_with(name, "Optimizer.") ||
         starts_with(name, "enumerate(DataLoader)");
}

std::uint64_t define_inputs(const hot::Guard& guard, ThreadState& state, Library& library,
                            const std::byte* object, std::uint64_t now_ns) {
  hot::Outlet& outlet = guard.outlet();
  static_assert(sizeof outlet.scratch >= wire::kMaxInputWords * 8);
  auto* words = reinterpret_cast<std::uint64_t*>(outlet.scratch);
  const Inputs inputs = read_inputs(library, object, words);
  if (inputs.words == 0) return 0;
  const std::uint64_t id = base::hash_words(words, inputs.words, inputs.flags) | 1;
  if (state.inputs.seen_or_add(id, outlet.lane.epoch())) return id;
  const wire::InputsDef def{id, inputs.words, inputs.flags};
  if (!hot::record(guard, def, now_ns, words, inputs.words * 8)) state.inputs.forget(id);
  return id;
}

void begins(Library& library, const std::byte* object) {
  const hot::Guard guard(hot::Role::kCallback);
  if (!guard) return;
  ThreadState* state = state_of(guard);
  if (state == nullptr) return;
  const Function function(library, object);
  const std::uint64_t now_ns = base::mono_ns();
  const char* name = function.name();
  OpenOp op{};
  op.object = function.address();
  op.scope = function.scope();
  op.top_level = state->open.at_top();
  op.encloses = encloses(op.scope, name);
  if (++state->last_op_id == 0) ++state->last_op_id;
  op.op_id = state->last_op_id;
  if (hot::on(hot::kOnOperators)) {
    wire::OpBegin begin{};
    begin.ts_ns = now_ns;
    begin.name_id = hot::intern(guard, name, static_cast<std::uint32_t>(strlen(name)), now_ns);
    if (library.with_inputs)
      begin.inputs_id = define_inputs(guard, *state, library, object, now_ns);
    begin.sequence = function.sequence();
    begin.object = op.object;
    begin.op_id = op.op_id;
    begin.forward_thread = function.forward_thread();
    begin.thread = function.thread();
    begin.scope = op.scope;
    begin.flags = op.top_level ? wire::kOpTopLevel : 0;
    op.name_id = begin.name_id;
    hot::record(guard, begin, now_ns);
  }
  state->open.push(op);
  guard.block().open_op = op.op_id;
}

void ends(const std::byte* object) {
  const hot::Guard guard(hot::Role::kCallback);
  if (!guard) return;
  ThreadState* state = state_of(guard);
  if (state == nullptr) return;
  OpenOp op{};
  const auto address = reinterpret_cast<std::uint64_t>(object);
  const bool began_here = state->open.take(address, &op);
  if (began_here) guard.block().open_op = state->open.innermost();
  if (!hot::on(hot::kOnOperators)) return;
  const std::uint64_t now_ns = base::mono_ns();
  hot::record(guard, wire::OpEnd{now_ns, address, op.op_id, 0}, now_ns);
}

// libtorch passes nothing of ours along: each copy has callbacks of its own.
template <std::uint32_t kCopy>
void* on_start(void** context, const std::byte* function) {
  *context = nullptr;
  if (wanted()) begins(g_libraries[kCopy], function);
  return context;
}

void on_end(const std::byte* function, void*) {
  if (!g_exiting.load(std::memory_order_relaxed)) ends(function);
}

constexpr decltype(RecordFunctionCallback::start) kStarts[kMaxLibraries] = {
    on_start<0>, on_start<1>, on_start<2>, on_start<3>};

}  // namespace

RecordFunctionCallback callbacks_of(std::uint32_t copy) {
  RecordFunctionCallback callback{kStarts[copy], on_end};
  callback.inputs = g_libraries[copy].with_inputs;
  for (std::uint32_t scope = 0; scope < sizeof kObservedScopes; ++scope)
    callback.scopes[scope] = kObservedScopes[scope];
  return callback;
}

void stop_observing_at_exit() { g_exiting.store(true, std::memory_order_relaxed); }

}  // namespace gpuprof::torch
