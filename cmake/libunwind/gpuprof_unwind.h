/* SPDX-License-Identifier: Apache-2.0
 *
 * What our libunwind offers beside libunwind.h: a frame walk without locks (trace.c).
 *
 * Context:  signal | callback
 * Owns:     nothing: the cache's memory is the caller's
 */
#ifndef GPUPROF_UNWIND_H
#define GPUPROF_UNWIND_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include <libunwind.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How to leave the frame at one address, as learned from its unwind tables. key holds address,
 * recipe and generation together, so that a slot torn by two writers matches nothing. */
struct gpuprof_frame_slot {
  uint64_t key;
  uint64_t recipe;
};

/* Shared by all threads. A new generation forgets everything at once. */
struct gpuprof_frame_cache {
  struct gpuprof_frame_slot* slots; /* zeroed at start */
  uint64_t slot_count;              /* power of two, at least 2 */
  uint64_t generation;              /* read and written atomically */
};

/* One word that a walk went by. */
struct gpuprof_trail_word {
  uintptr_t at;
  uint64_t value;
};

/* What a walk went by, innermost first: whoever starts from the same program counter and stack
 * pointer (and frame pointer, if needs_fp), and finds these words unchanged, walks the same way.
 * Each word lies where the ones before it say that a frame is. */
struct gpuprof_trail {
  struct gpuprof_trail_word* words;
  int capacity, count; /* count > capacity: there were more */
  int needs_fp;
  int whole; /* the walk was complete and went by nothing else */
};

/* Where a walk starts. With copy_bytes != 0 it is the walk of a copied stack: reads of
 * [copy_begin, copy_begin + copy_bytes) are answered from `copy`, all others are checked first. */
struct gpuprof_walk_context {
  unw_context_t registers; /* changed by the walk */
  uintptr_t copy_begin;
  size_t copy_bytes;
  const unsigned char* copy;
  struct gpuprof_trail* trail; /* null: nobody wants it */
};

enum gpuprof_walk_end {
  GPUPROF_WALK_COMPLETE = 0, /* the outermost frame said that it is the last */
  GPUPROF_WALK_FULL = 1,     /* no space for more frames */
  GPUPROF_WALK_LOST = 2      /* no unwind information, or none that made sense */
};

/* What an address lies in, as far as is known. */
enum gpuprof_code {
  GPUPROF_CODE_UNKNOWN = 0,
  GPUPROF_CODE_MODULE = 1,
  GPUPROF_CODE_GENERATED = 2 /* executable memory of no file */
};
int gpuprof_code_at(uintptr_t address);

/* A frame that no unwind table covers. `interrupted`: pc is about to run, no return address. */
struct gpuprof_bare_frame {
  uintptr_t pc, sp, fp;
  int interrupted;
};
/* Reads one aligned word of any address: 0 where that is not possible. */
typedef int (*gpuprof_read_word)(void* from, uintptr_t address, uint64_t* word);

enum gpuprof_step {
  GPUPROF_STEP_LOST = 0,
  GPUPROF_STEP_CERTAIN = 1, /* the instructions that come next say so */
  GPUPROF_STEP_LIKELY = 2,  /* by the frame pointer */
  GPUPROF_STEP_GAPS = 3     /* the same, and a caller may have been passed over */
};
/* Takes `frame` to its caller. Signal | callback. */
int gpuprof_step_without_tables(struct gpuprof_bare_frame* frame, gpuprof_read_word read,
                                void* from);

/* Writes the program counter and then return addresses, innermost first. `interrupted`: the
 * program counter is an instruction about to run (a signal), not a return address. */
int gpuprof_walk(struct gpuprof_walk_context* context, int interrupted,
                 struct gpuprof_frame_cache* cache, void** frames, int capacity, int* count);

/* What libunwind calls in place of sigprocmask(2) around its locks. Whoever links it may have one
 * that leaves the mask alone where all signals but those of faults are blocked anyway. */
int gpuprof_sigprocmask(int how, const sigset_t* set, sigset_t* old);

/* Whether the byte at `address` can be read: 1 or 0 by trying, -1 where that is not possible here
 * and the kernel is to be asked: so, too, where nobody has another one. */
int gpuprof_can_read(uintptr_t address);

#ifdef __cplusplus
}
#endif
#endif
