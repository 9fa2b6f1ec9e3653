// SPDX-License-Identifier: Apache-2.0
//
// A few loads a frame.
//
// Context:  callback
#include "inject/python/frames/fast_frames.hpp"

#include <cstring>

#include "gpuprof/base/readable.hpp"
#include "inject/python/frames/frame_compare.hpp"
#include "inject/python/frames/frame_walk.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {

namespace {

// Of a type object: after count, type and size.
constexpr std::uint32_t kTypeNameAt = 24;
// What a file name is compared with is the end of it.
constexpr char kModuleFile[] = "torch/nn/modules/module.py";
constexpr char kModuleCall[] = "_wrapped_call_impl";
// Stacks of a process that are read with care, and of these how many may make no sense.
constexpr std::uint32_t kTrials = 32, kFailures = 32;

constinit std::atomic<std::uint32_t> g_good{0}, g_bad{0};

template <typename T>
T peek(std::uint64_t at) {
  return base::load<T>(reinterpret_cast<const std::byte*>(at));
}

/// Loads as they are, or after a question to the kernel.
template <bool kCareful>
class FastWalk {
 public:
  FastWalk(const Runtime& runtime, FastFrame* frames, std::uint32_t room)
      : runtime_(runtime), at_(runtime.offsets), frames_(frames), capacity_(room) {}

  /// False: something was not as this version has it; the frames inside of it are there.
  bool run(std::uint64_t state) {
    std::uint64_t frame = 0;
    if (!top_frame(state, &frame)) return false;
    while (frame != 0 && count_ < capacity_)
      if (!one(&frame)) return false;
    return true;
  }
  std::uint32_t count() const { return count_; }

  /// Reads the frame and goes to the one outside of it. False: as run().
  bool one(std::uint64_t* frame);

 private:
  bool may_read(std::uint64_t at, std::uint32_t bytes) const {
    return plausible(at) && (!kCareful || base::object_readable(at, bytes));
  }

  bool top_frame(std::uint64_t state, std::uint64_t* frame) const {
    if (!may_read(state + (at_.thread_frame & ~7u), 8)) return false;
    if (at_.cframe_frame != kNone &&
        !may_read(peek<std::uint64_t>(state + at_.thread_frame), at_.cframe_frame + 8))
      return false;
    *frame = own_top_frame(runtime_, state);
    return true;
  }

  const Runtime& runtime_;
  const Offsets& at_;
  FastFrame* frames_;
  std::uint32_t capacity_;
  std::uint32_t count_ = 0;
};

template <bool kCareful>
bool FastWalk<kCareful>::one(std::uint64_t* frame) {
  if (!may_read(*frame, runtime_.frame_bytes)) return false;
  FastFrame& out = frames_[count_];
  const auto* bytes = reinterpret_cast<const std::byte*>(*frame);
  out.frame = *frame;
  out.code_id = 0;
  *frame = base::load<std::uint64_t>(bytes + at_.frame_previous);
  if (is_shim(at_, bytes)) {
    out.code = 0;
    out.instr_offset = 0;
    out.flags = wire::kPyShim;
    ++count_;
    return true;
  }
  out.code = base::load<std::uint64_t>(bytes + at_.frame_code) & ~pointer_tag_mask(at_);
  if (!may_read(out.code, runtime_.code_bytes)) return false;
  const auto* code = reinterpret_cast<const std::byte*>(out.code);
  if (base::load<std::uint64_t>(code + at_.object_type) != runtime_.code_type) return false;
  out.instr_offset = instruction_offset(at_, out.code, code, bytes);
  const bool entry = at_.minor < 11 || (at_.frame_is_entry != kNone &&
                                        base::load<std::uint8_t>(bytes + at_.frame_is_entry) != 0);
  out.flags = entry ? wire::kPyEntry : 0;
  ++count_;
  return true;
}

std::uint32_t try_walk(const Runtime& runtime, std::uint64_t state, std::uint32_t tid,
                       FastFrame* frames, std::uint32_t room) {
  const std::uint32_t id_at = runtime.offsets.thread_native_id;
  if (id_at != kNone && (!base::object_readable(state + (id_at & ~7u), 8) ||
                         peek<std::uint64_t>(state + id_at) != tid)) {
    g_bad.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  FastWalk<true> quick(runtime, frames, room);
  auto& result = quick.run(state) ? g_good : g_bad;
  if (quick.count() != 0 || &result == &g_bad) result.fetch_add(1, std::memory_order_relaxed);
  return quick.count();
}

/// The characters of a plain ASCII str object.
struct Characters {
  const char* data;
  std::uint64_t bytes;

  bool ends_with(const char* end, std::uint64_t end_bytes) const {
    return bytes >= end_bytes && std::memcmp(data + bytes - end_bytes, end, end_bytes) == 0;
  }
};

Characters ascii(const Offsets& at, std::uint64_t text) {
  if (!plausible(text)) return {"", 0};
  const auto length = peek<std::uint64_t>(text + at.str_length);
  const StrLayout shape = str_layout(peek<std::uint32_t>(text + at.str_state), length, 1);
  // A folder with other letters has another width, but the file's end is then elsewhere.
  if (!shape.ascii) return {"", 0};
  return {reinterpret_cast<const char*>(text + at.str_ascii_data), length};
}

bool is_module_call(const Offsets& at, std::uint64_t code) {
  const Characters name = ascii(at, peek<std::uint64_t>(code + at.code_name));
  if (name.bytes != sizeof kModuleCall - 1 || !name.ends_with(kModuleCall, name.bytes))
    return false;
  // Not ASCII: a folder of the program's; the function's name has to do.
  const Characters path = ascii(at, peek<std::uint64_t>(code + at.code_file));
  return path.bytes == 0 || path.ends_with(kModuleFile, sizeof kModuleFile - 1);
}

}  // namespace

std::uint32_t read_fast_frames(std::uint32_t tid, FastFrame* frames, std::uint32_t room) {
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  if (runtime == nullptr || runtime->this_state == nullptr) return 0;
  const auto state = reinterpret_cast<std::uint64_t>(runtime->this_state());
  if (!plausible(state) || is_finalized_by_other(*runtime, state)) return 0;
  if (g_good.load(std::memory_order_relaxed) < kTrials)
    return fast_frames_disabled() ? 0 : try_walk(*runtime, state, tid, frames, room);
  FastWalk<false> quick(*runtime, frames, room);
  quick.run(state);
  return quick.count();
}

const Runtime* validated_runtime() {
  if (g_good.load(std::memory_order_relaxed) < kTrials) return nullptr;
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);  // pairs with find_runtime
  return runtime == nullptr || runtime->this_state == nullptr ? nullptr : runtime;
}

bool read_fast_frame(const Runtime& runtime, std::uint64_t frame, FastFrame* out) {
  return FastWalk<false>(runtime, out, 1).one(&frame);
}

void load_code_info(const Runtime& runtime, std::uint64_t code, std::uint64_t mark,
                    CodeInfo* facts) {
  if (facts->code == code && facts->mark == mark) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(code);
  *facts = CodeInfo{code, mark, code_id(LocalMemory{}, runtime.offsets, code, bytes),
                    is_module_call(runtime.offsets, code)};
}

void reset_layout_validation() {
  g_good.store(0, std::memory_order_relaxed);
  g_bad.store(0, std::memory_order_relaxed);
}

bool fast_frames_disabled() { return g_bad.load(std::memory_order_relaxed) >= kFailures; }

void send_code(const hot::Guard& guard, std::uint64_t code, std::uint64_t id, std::uint64_t ts_ns) {
  hot::RingProducer& producer = guard.producer();
  if (producer.codes.contains(id, producer.ring.epoch())) return;
  const Runtime* runtime = g_runtime.load(std::memory_order_acquire);
  if (runtime == nullptr) return;
  LocalMemory memory;
  FrameWalk<LocalMemory>(memory, *runtime, guard, ts_ns).send_code(code);
}

const char* type_name(std::uint64_t type) {
  const auto name = peek<std::uint64_t>(type + kTypeNameAt);
  return name >= 4096 ? reinterpret_cast<const char*>(name) : "";
}

}  // namespace gpuprof::python
