// SPDX-License-Identifier: Apache-2.0
//
// Alternate signal stacks for threads that run code below whose stack pointer no signal's frame may
// be written, or that run on stacks too small for one (Go).
//
// Context:  boundary (give…, reserve…, forget…), signal (is_on_own_alt_stack), worker (the rest)
// Owns:     one mapping, made with the first stack; it stays for good: the kernel knows its
//           addresses. Pages are touched by signals
// Promises: no lock and no allocation where threads are made; a stack that the program has chosen
//           for a thread is left alone
//
// Why: gpuprof/base/red_zone_code.hpp. The kernel writes a signal's frame before any handler runs.
// Go (with cgo) uses the alternate stack that a thread already has for its own handlers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::sample {

inline constexpr std::size_t kAltStackBytes = 64u << 10;
inline constexpr std::uint32_t kMaxAltStacks = 512;

/// Enables them, for code of Go or, if `fragile`, for such code. True: it was not so before.
bool enable_alt_stacks(bool fragile);

/// Whether handlers run on alternate stacks. Threads that are created, and those that create them,
/// get one of ours, where the library is in a position to do that (LD_PRELOAD).
bool alt_stacks_enabled();
/// Whether no thread without a stack of ours may be sent a signal. (Go's have one of their own
/// wherever they run code of Go, in which there is room for a frame.) Implies the former.
bool alt_stacks_required();

/// Whether the thread `tid` runs our handler on a stack of ours.
bool has_alt_stack(std::uint32_t tid);

/// Whether a signal may be handled on this thread, as far as its stack goes. Boundary.
bool may_signal_this_thread();

/// Takes back those of threads that have ended.
void reclaim_alt_stacks();

/// What a new thread does first of all, on a stack of ours.
struct ThreadStart {
  void* (*routine)(void*) = nullptr;
  void* argument = nullptr;
};

/// Keeps a stack for a thread that is about to be made. @return null: none is wanted, or none left.
void* reserve_alt_stack(const ThreadStart& start);
/// The thread could not be made.
void cancel_alt_stack(void* reserved);
/// On the new thread: makes it the thread's. @return what the thread is to do next.
ThreadStart activate_alt_stack(void* reserved);

/// Gives the calling thread one, if it has none of its own.
void ensure_alt_stack();

/// In the child of a fork: only the calling thread's is in use.
void reset_alt_stacks_after_fork();

/// Whether `address` is on a stack of ours.
bool is_on_own_alt_stack(const void* address);

}  // namespace gpuprof::sample
