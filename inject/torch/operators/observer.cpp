// SPDX-License-Identifier: Apache-2.0
//
// What happens when an operator begins and ends.
//
// Context:  callback
#include "inject/torch/operators/observer.hpp"

#include <string.h>

#include <atomic>

#include "gpuprof/base/bytes.hpp"
#include "inject/hot/recorder.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/torch/loops/loop_steps.hpp"
#include "inject/torch/operators/inputs.hpp"
#include "inject/torch/operators/thread_state.hpp"

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

/// A name and its length.
struct Name {
  const char* text;
  std::uint32_t bytes;

  template <std::size_t N>
  bool starts_with(const char (&prefix)[N]) const {
    return bytes >= N - 1 && text[0] == prefix[0] && memcmp(text, prefix, N - 1) == 0;
  }
  template <std::size_t N>
  bool is(const char (&other)[N]) const {
    return bytes == N - 1 && starts_with(other);
  }
};

// Ranges of the program's own are looked through; PyTorch's own two kinds of ranges are not.
bool is_transparent(const Name& name) {
  return !name.starts_with("Optimizer.") && !name.starts_with("enumerate(DataLoader)");
}

// The number of a ProfilerStep#K, of as many digits as fit; false for another name.
bool read_step(const Name& name, std::uint64_t* k) {
  constexpr char kStep[] = "ProfilerStep#";
  if (!name.starts_with(kStep)) return false;
  const char* const digits = name.text + sizeof kStep - 1;
  const char* at = digits;
  std::uint64_t number = 0;
  for (; *at >= '0' && *at <= '9'; ++at)
    number = number * 10 + static_cast<std::uint64_t>(*at - '0');
  *k = number;
  return *at == '\0' && at != digits && at - digits <= 18;
}

std::uint64_t define_inputs(const hot::Guard& guard, ThreadOperators& state, Library& library,
                            const std::byte* object, bool texts, std::uint64_t now_ns) {
  hot::RingProducer& producer = guard.producer();
  static_assert(sizeof producer.scratch >= wire::kMaxInputWords * 8);
  auto* words = reinterpret_cast<std::uint64_t*>(producer.scratch);
  const Inputs inputs = read_inputs(library, object, words, texts);
  if (inputs.words == 0) return 0;
  std::uint64_t id = base::hash_words(words, inputs.words, inputs.flags);
  if (id == 0) id = 1;  // 0: none
  if (state.inputs.contains(id, producer.ring.epoch())) return id;
  const wire::InputsDef def{id, inputs.words, inputs.flags};
  if (hot::record(guard, def, now_ns, words, inputs.words * 8)) state.inputs.insert(id);
  return id;
}

/// Whether Python may run on in the same frame while a range of this kind is open. Python opens
/// ranges of the first kind, too (_RecordFunctionFast), but none that is named as an operator is.
bool may_resume_python(std::uint16_t scope, const Name& name) {
  if (scope == static_cast<std::uint16_t>(Scope::kFunction)) return !name.starts_with("aten::");
  return scope != static_cast<std::uint16_t>(Scope::kBackward);
}

/// One operator that begins, with what it takes to tell of it.
class OperatorBegin {
 public:
  OperatorBegin(const hot::Guard& guard, ThreadOperators& state, Library& library,
                const std::byte* object)
      : guard_(guard),
        state_(state),
        library_(library),
        object_(object),
        function_(library, object) {}

  void run() {
    const bool recording = hot::on(hot::kOnOperators);
    const std::uint16_t scope = function_.scope();
    OpenOp op{};
    op.top_level = state_.open.at_top();
    op.encloses = true;
    if (++state_.last_op_id == wire::kOpUnknown) state_.last_op_id = 1;
    op.op_id = state_.last_op_id;
    // Counting, all that is inside another one is only kept count of.
    if (recording || op.top_level || scope == static_cast<std::uint16_t>(Scope::kUser))
      look(recording, scope, &op);
    state_.open.push(function_.address(), op);
    guard_.block().open_op = op.op_id;
  }

 private:
  void look(bool recording, std::uint16_t scope, OpenOp* op) {
    now_ns_ = guard_.block().clock.now_ns();
    const char* text = function_.name();
    const Name name{text, static_cast<std::uint32_t>(strlen(text))};
    if (scope == static_cast<std::uint16_t>(Scope::kUser)) {
      op->encloses = !is_transparent(name);
      op->is_step = read_step(name, &op->step);
    }
    op->name_id = recording ? hot::intern(guard_, name.text, name.bytes, now_ns_)
                            : base::hash_bytes(name.text, name.bytes);
    const std::uint32_t detail = recording ? g_detail.load(std::memory_order_relaxed) : 0;
    const bool stack = (detail & (wire::kTorchStack | wire::kTorchModules)) != 0;
    const bool steps = hot::on(hot::kOnOpSteps) && op->top_level && !op->is_step;
    if (stack || steps) {
      state_.stack.capture(guard_.tid(), state_.open.innermost_stack());
      if (!may_resume_python(scope, name)) op->stack = state_.stack.version();
    }
    const std::uint64_t stack_id = stack ? state_.stack.define(guard_, detail, now_ns_) : 0;
    if (op->is_step) on_user_step_begin(guard_, op->step, now_ns_);
    // An id made of modules alone says nothing of loops.
    if (steps) tell_loops(name, *op, (detail & wire::kTorchStack) != 0 ? stack_id : 0);
    if (recording) record(name, *op, scope, stack_id, stack || steps);
  }

  void tell_loops(const Name& name, const OpenOp& op, std::uint64_t stack_id) {
    const OperatorStack& stack = state_.stack;
    on_top_level_begin(
        guard_,
        TopLevelOp{now_ns_, op.name_id, stack_id, stack.frames(), stack.frame_count(),
                   stack.module_level(), name.starts_with("autograd::engine::"),
                   name.starts_with("enumerate(DataLoader)"), name.starts_with("Optimizer.step#")});
  }

  void record(const Name& name, const OpenOp& op, std::uint16_t scope, std::uint64_t stack_id,
              bool looked_at_stack) {
    const std::uint64_t inputs_id =
        library_.with_inputs.load(std::memory_order_relaxed)
            ? define_inputs(guard_, state_, library_, object_, name.is(kCollective), now_ns_)
            : 0;
    const std::uint16_t flags = op.top_level ? wire::kOpTopLevel : 0;
    const bool looked = looked_at_stack || inputs_id != 0;
    // What it took to look is no time of the operator's. A user's step begins when it is reported.
    const std::uint64_t begins_ns = looked && !op.is_step ? guard_.block().clock.now_ns() : now_ns_;
    hot::record(guard_,
                wire::OpBegin{begins_ns, op.name_id, stack_id, inputs_id, function_.sequence(),
                              function_.address(), op.op_id, function_.forward_thread(),
                              function_.thread(), scope, flags},
                begins_ns);
  }

  const hot::Guard& guard_;
  ThreadOperators& state_;
  Library& library_;
  const std::byte* object_;
  Function function_;
  std::uint64_t now_ns_ = 0;
};

void on_operator_begin(Library& library, const std::byte* object) {
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  hot::resume_after_fork();
  guard.producer().overhead.add_caller_cost(library.call_ns);
  ThreadOperators* state = state_of(guard);
  if (state != nullptr) OperatorBegin(guard, *state, library, object).run();
}

// What time it is costs more than all else here.
bool counts_ends() {
  const wire::Plan* plan = hot::g_state.plan;
  return hot::on(hot::kOnOpSteps) && plan != nullptr &&
         plan->step_rule.load(std::memory_order_relaxed) ==
             static_cast<std::uint32_t>(wire::StepRule::kOpEnd);
}

void on_operator_end(const std::byte* object) {
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  ThreadOperators* state = state_of(guard);
  if (state == nullptr) return;
  OpenOp op{};
  const auto address = reinterpret_cast<std::uint64_t>(object);
  state->open.close(address, &op);
  guard.block().open_op = state->open.innermost();
  const bool recording = hot::on(hot::kOnOperators);
  const bool may_count = op.top_level && !op.is_step && counts_ends();
  if (!recording && !may_count && !op.is_step) return;
  const std::uint64_t now_ns = guard.block().clock.now_ns();
  if (recording) {
    const wire::OpEnd end{now_ns, address, op.op_id, state->open.innermost()};
    hot::record(guard, end, now_ns);
  }
  if (op.is_step) on_user_step_end(guard, op.step, now_ns);
  if (may_count) on_top_level_end(guard, op.name_id, now_ns);
}

// libtorch passes nothing of ours along: each copy has callbacks of its own.
template <std::uint32_t kCopy>
NullObserverContext on_start(const std::byte* function) {
  NullObserverContext none;
  if (wanted()) on_operator_begin(g_libraries[kCopy], function);
  return none;
}

void on_end(const std::byte* function, void*) {
  if (!g_exiting.load(std::memory_order_relaxed)) on_operator_end(function);
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

void disable_callbacks_at_exit() { g_exiting.store(true, std::memory_order_relaxed); }

}  // namespace gpuprof::torch
