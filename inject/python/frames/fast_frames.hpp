// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's Python frames as addresses only: cheap enough for every operator.
//
// Context:  callback (the thread is inside a C call, so its own frames stand still)
// Owns:     whether the layout has proved right
// Promises: plain loads; the first stacks of a process are read only where the kernel confirms that
//           they can be, and nothing is read once one of them made no sense, nor of unknown
//           versions
// Not here: comparing frames with those of the operator before (frame_compare.hpp), other threads
//           and signals (frames.hpp), loops of code objects (code_loops.hpp)
#pragma once

#include <cstdint>

#include "inject/hot/recorder.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {

/// One frame of a running evaluation.
struct FastFrame {
  std::uint64_t frame;        // address of the interpreter's frame
  std::uint64_t code;         // address of its code object; 0: an interpreter-entry shim
  std::int32_t instr_offset;  // bytes from the start of the byte code, as wire::PyFrame has it
  std::uint32_t flags;        // wire::kPyShim, kPyEntry
  std::uint64_t code_id;      // PyCodeDef::id; 0: of a shim, or not requested (read_fast_frames)
};

/// Frames of the calling thread, innermost first; 0 for a thread without Python state.
std::uint32_t read_fast_frames(std::uint32_t tid, FastFrame* frames, std::uint32_t room);

/// Whether stacks were given up, because one made no sense. Any context.
bool fast_frames_disabled();

/// Stacks have to prove anew that they can be read. No thread is reading one. Worker.
void reset_layout_validation();

/// The interpreter whose frames have proved to be laid out as is known; null: use
/// read_fast_frames().
const Runtime* validated_runtime();

/// Reads one frame of validated_runtime(). False: it is not as this version has it.
bool read_fast_frame(const Runtime& runtime, std::uint64_t frame, FastFrame* out);

/// What is known of a code object.
struct CodeInfo {
  std::uint64_t code, mark;  // CodeFingerprint
  std::uint64_t id;          // PyCodeDef::id
  bool module_call;          // the function through which PyTorch calls a module:
                             // `_wrapped_call_impl` of torch/nn/modules/module.py
};

/// Makes `facts` those of the code object with this mark, which they may be already; else its texts
/// are read.
void load_code_info(const Runtime& runtime, std::uint64_t code, std::uint64_t mark,
                    CodeInfo* facts);

/// Sends the code object's PyCodeDef if this ring buffer has not seen this id of it.
void send_code(const hot::Guard& guard, std::uint64_t code, std::uint64_t id, std::uint64_t ts_ns);

/// An object and its type.
struct Object {
  std::uint64_t address, type;
  bool operator==(const Object&) const = default;
};

/// Name of a type, without a module for those made by a class statement. Valid while it lives.
const char* type_name(std::uint64_t type);

}  // namespace gpuprof::python
