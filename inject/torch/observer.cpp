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
#include "inject/torch/loops.hpp"
#include "inject/torch/thread_state.hpp"

namespace gpuprof::torch {

namespace {

constexpr std::uint32_t kAnyUse = hot::kOnOperators | hot::kOnOpSteps;

// Its texts say which collective of which group it is.
constexpr char kCollective[] = "record_param_comms";

constinit std::atomic<bool> g_exiting{false};
constinit std::atomic<std::uint32_t> g_detail{0};

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
bool is_looked_through(const char* name) {
  return !starts_with(name, "Optimizer.") && !starts_with(name, "enumerate(DataLoader)");
}

// The number of a ProfilerStep#K; false for another name.
bool read_step(const char* name, std::uint64_t* k) {
  constexpr char kStep[] = "ProfilerStep#";
  if (!starts_with(name, kStep)) return false;
  const char* at = name + sizeof kStep - 1;
  std::uint64_t number = 0;
  for (; *at >= '0' && *at <= '9'; ++at)
    number = number * 10 + static_cast<std::uint64_t>(*at - '0');
  *k = number;
  return *at == '\0' && at != name + sizeof kStep - 1;
}

std::uint64_t define_inputs(const hot::Guard& guard, ThreadState& state, Library& library,
                            const std::byte* object, bool texts, std::uint64_t now_ns) {
  hot::Outlet& outlet = guard.outlet();
  static_assert(sizeof outlet.scratch >= wire::kMaxInputWords * 8);
  auto* words = reinterpret_cast<std::uint64_t*>(outlet.scratch);
  const Inputs inputs = read_inputs(library, object, words, texts);
  if (inputs.words == 0) return 0;
  const std::uint64_t id = base::hash_words(words, inputs.words, inputs.flags) | 1;
  if (state.inputs.sent(id, outlet.lane.epoch())) return id;
  const wire::InputsDef def{id, inputs.words, inputs.flags};
  if (hot::record(guard, def, now_ns, words, inputs.words * 8)) state.inputs.add(id);
  return id;
}

/// One operator that begins, with what it takes to tell of it.
class Beginning {
 public:
  Beginning(const hot::Guard& guard, ThreadState& state, Library& library, const std::byte* object)
      : guard_(guard),
        state_(state),
        library_(library),
        object_(object),
        function_(library, object) {}

  void run() {
    const bool recording = hot::on(hot::kOnOperators);
    op_.object = function_.address();
    op_.scope = function_.scope();
    op_.top_level = state_.open.at_top();
    op_.encloses = true;
    if (++state_.last_op_id == 0) ++state_.last_op_id;
    op_.op_id = state_.last_op_id;
    // Counting, all that is inside another one is only kept count of.
    if (recording || op_.top_level || op_.scope == static_cast<std::uint16_t>(Scope::kUser))
      look(recording);
    state_.open.push(op_);
    guard_.block().open_op = op_.op_id;
  }

 private:
  void look(bool recording) {
    now_ns_ = base::mono_ns();
    name_ = function_.name();
    if (op_.scope == static_cast<std::uint16_t>(Scope::kUser)) {
      op_.encloses = !is_looked_through(name_);
      op_.is_step = read_step(name_, &op_.step);
    }
    const auto bytes = static_cast<std::uint32_t>(strlen(name_));
    op_.name_id =
        recording ? hot::intern(guard_, name_, bytes, now_ns_) : base::hash_bytes(name_, bytes);
    const std::uint32_t detail = recording ? g_detail.load(std::memory_order_relaxed) : 0;
    const bool stack = (detail & (wire::kTorchStack | wire::kTorchModules)) != 0;
    const bool steps = hot::on(hot::kOnOpSteps) && op_.top_level && !op_.is_step;
    if (stack || steps) state_.stack.take(guard_.tid());
    const std::uint64_t stack_id = stack ? state_.stack.define(guard_, detail, now_ns_) : 0;
    if (op_.is_step) user_step_begins(guard_, op_.step, now_ns_);
    // An id made of modules alone says nothing of loops.
    if (steps) tell_loops((detail & wire::kTorchStack) != 0 ? stack_id : 0);
    if (recording) record(stack_id);
  }

  void tell_loops(std::uint64_t stack_id) {
    const Stack& stack = state_.stack;
    top_level_begins(guard_,
                     TopLevel{now_ns_, op_.name_id, stack_id, stack.frames(), stack.frame_count(),
                              stack.module_level(), starts_with(name_, "autograd::engine::"),
                              starts_with(name_, "enumerate(DataLoader)"),
                              starts_with(name_, "Optimizer.step#")});
  }

  void record(std::uint64_t stack_id) {
    wire::OpBegin begin{};
    begin.ts_ns = now_ns_;
    begin.name_id = op_.name_id;
    begin.stack_id = stack_id;
    if (library_.with_inputs.load(std::memory_order_relaxed))
      begin.inputs_id = define_inputs(guard_, state_, library_, object_,
                                      strcmp(name_, kCollective) == 0, now_ns_);
    begin.sequence = function_.sequence();
    begin.object = op_.object;
    begin.op_id = op_.op_id;
    begin.forward_thread = function_.forward_thread();
    begin.thread = function_.thread();
    begin.scope = op_.scope;
    begin.flags = op_.top_level ? wire::kOpTopLevel : 0;
    hot::record(guard_, begin, now_ns_);
  }

  const hot::Guard& guard_;
  ThreadState& state_;
  Library& library_;
  const std::byte* object_;
  Function function_;
  OpenOp op_{};
  const char* name_ = "";
  std::uint64_t now_ns_ = 0;
};

void begins(Library& library, const std::byte* object) {
  const hot::Guard guard(hot::Role::kCallback);
  if (!guard) return;
  ThreadState* state = state_of(guard);
  if (state != nullptr) Beginning(guard, *state, library, object).run();
}

// Reading the clock costs more than all else here.
bool counts_ends() {
  const wire::Plan* plan = hot::g_state.plan;
  return hot::on(hot::kOnOpSteps) && plan != nullptr &&
         plan->step_rule.load(std::memory_order_relaxed) ==
             static_cast<std::uint32_t>(wire::StepRule::kOpEnd);
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
  const bool recording = hot::on(hot::kOnOperators);
  const bool may_count = op.top_level && !op.is_step && counts_ends();
  if (!recording && !may_count && !op.is_step) return;
  const std::uint64_t now_ns = base::mono_ns();
  if (recording) hot::record(guard, wire::OpEnd{now_ns, address, op.op_id, 0}, now_ns);
  if (op.is_step) user_step_ends(guard, op.step, now_ns);
  if (may_count) top_level_ends(guard, op.name_id, now_ns);
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
  callback.inputs = g_libraries[copy].with_inputs.load(std::memory_order_relaxed);
  for (std::uint32_t scope = 0; scope < sizeof kObservedScopes; ++scope)
    callback.scopes[scope] = kObservedScopes[scope];
  return callback;
}

void set_detail(std::uint32_t detail) { g_detail.store(detail, std::memory_order_relaxed); }

void stop_observing_at_exit() { g_exiting.store(true, std::memory_order_relaxed); }

}  // namespace gpuprof::torch
