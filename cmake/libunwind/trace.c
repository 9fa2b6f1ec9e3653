/* SPDX-License-Identifier: MIT AND Apache-2.0
 *
 * Replaces libunwind's src/x86_64/Gtrace.c (Copyright (C) 2010, 2011 by FERMI NATIONAL
 * ACCELERATOR LABORATORY, MIT licence, see COPYING), whose frame recipes it keeps.
 *
 * The original keeps a cache per thread: 256 KiB mapped and written inside the first sample, a
 * pthread key (whose value is put into malloc'ed memory once the program has 32 keys), never
 * emptied after dlclose, and reallocated in place, under the feet of a signal that interrupts a
 * walk of the same thread. When it meets an unusual frame, unw_backtrace2 starts again from
 * registers that were changed meanwhile. Here one cache serves all threads without a lock, and
 * an unusual frame costs one unw_step.
 *
 * Context:  signal | callback
 * Promises: no lock of its own, no allocation of its own; unw_step takes libunwind's pool locks
 *           with all signals but SIGSEGV and SIGBUS masked, and reads no foreign memory there; one
 *           of these two that somebody sent does not end a walk
 *           (inject/sample/fault_guard/fault_guard.hpp)
 */
#include "libunwind_i.h"
#include "ucontext_i.h"
#include "unwind_i.h"

#include "gpuprof_unwind.h"

#ifdef UNW_LOCAL_ONLY

/* unw_tdep_frame_t: the address, then one word with everything learned about it. */
_Static_assert(sizeof(unw_tdep_frame_t) == 16, "recipe is one word");

/* Who links us may know code that is in no module. */
__attribute__((weak)) int gpuprof_code_at(uintptr_t address) {
  (void)address;
  return GPUPROF_CODE_MODULE;
}

__attribute__((weak)) int gpuprof_step_without_tables(struct gpuprof_bare_frame* frame,
                                                      gpuprof_read_word read, void* from) {
  (void)frame, (void)read, (void)from;
  return GPUPROF_STEP_LOST;
}

/* rsp_cfa_offset is not used by the walk: it tells a proper end from a lost one. */
enum { END_LOST = 0, END_COMPLETE = 1 };

/* No code lies below. */
enum { LOWEST_CODE = 0x4000 };

static uint64_t generation_of(struct gpuprof_frame_cache* cache) {
  return __atomic_load_n(&cache->generation, __ATOMIC_RELAXED) * 0xd6e8feb86659fd93ULL;
}

static struct gpuprof_frame_slot* slot_of(struct gpuprof_frame_cache* cache, unw_word_t rip) {
  uint64_t hash = rip * 0x9e3779b97f4a7c15ULL;
  return &cache->slots[(hash >> 32) & (cache->slot_count - 1) & ~1ULL];
}

static inline __attribute__((always_inline)) int recall_at(struct gpuprof_frame_cache* cache,
                                                           uint64_t generation, unw_word_t rip,
                                                           unw_tdep_frame_t* f) {
  const struct gpuprof_frame_slot* slot = slot_of(cache, rip);
  uint64_t key = __atomic_load_n(&slot[0].key, __ATOMIC_RELAXED);
  uint64_t recipe = __atomic_load_n(&slot[0].recipe, __ATOMIC_RELAXED);
  if (unlikely((key ^ recipe ^ generation) != rip || key == 0)) {
    key = __atomic_load_n(&slot[1].key, __ATOMIC_RELAXED);
    recipe = __atomic_load_n(&slot[1].recipe, __ATOMIC_RELAXED);
    if ((key ^ recipe ^ generation) != rip || key == 0) return 0;
  }
  f->virtual_address = rip;
  memcpy((char*)f + 8, &recipe, 8);
  return 1;
}

static int recall(struct gpuprof_frame_cache* cache, unw_word_t rip, unw_tdep_frame_t* f) {
  return recall_at(cache, generation_of(cache), rip, f);
}

static void remember(struct gpuprof_frame_cache* cache, const unw_tdep_frame_t* f,
                     uint64_t generation) {
  struct gpuprof_frame_slot* slot = slot_of(cache, f->virtual_address);
  uint64_t recipe, first_key, first_recipe;
  memcpy(&recipe, (const char*)f + 8, 8);
  /* What was first moves to the second place; a torn copy of it matches nothing. */
  first_key = __atomic_load_n(&slot[0].key, __ATOMIC_RELAXED);
  first_recipe = __atomic_load_n(&slot[0].recipe, __ATOMIC_RELAXED);
  __atomic_store_n(&slot[1].key, first_key, __ATOMIC_RELAXED);
  __atomic_store_n(&slot[1].recipe, first_recipe, __ATOMIC_RELAXED);
  __atomic_store_n(&slot[0].key, f->virtual_address ^ recipe ^ generation, __ATOMIC_RELAXED);
  __atomic_store_n(&slot[0].recipe, recipe, __ATOMIC_RELAXED);
}

struct machine {
  unw_word_t rip, rsp, rbp, cfa;
};

/* How far a walk can be believed. */
struct belief {
  int complete; /* the outermost frame said that it is the last */
  int gaps;     /* frames may have been left out */
  int doubtful; /* frames up to the last one that was found by certain means; 0: all are */
  int tabled;   /* frames since then that tables led to */
};

/* Tables alone: what unw_step tries without them is for code of modules. */
static int step_by_tables(struct cursor* c) {
  int ret;
  c->sigcontext_format = X86_64_SCF_NONE;
  ret = dwarf_step(&c->dwarf);
  if (ret < 0 || !DWARF_IS_NULL_LOC(c->dwarf.loc[UNW_X86_64_RBP])) return ret;
  c->dwarf.ip = 0;
  return 0;
}

/* One unw_step from `m` (rip already adjusted): fills the recipe, leaves the result in the
   cursor. Beyond the first frame only rip, rsp and rbp are known; a frame whose rules need
   another saved register ends the walk. Where no table covers the address the recipe is
   FRAME_GUESSED, whatever unw_step made of it. */
static int explore(struct cursor* c, const struct machine* m, unw_tdep_frame_t* f, int first,
                   int code) {
  struct dwarf_cursor* d = &c->dwarf;
  int ret = -UNW_EINVAL;

  memset(f, 0, sizeof(*f));
  f->virtual_address = m->rip;
  f->frame_type = UNW_X86_64_FRAME_OTHER;
  f->cfa_reg_rsp = -1;
  f->rbp_cfa_offset = -1;
  f->rsp_cfa_offset = END_LOST;

  d->ip = m->rip + d->use_prev_instr;
  d->cfa = m->cfa;
  for (int i = 0; i < DWARF_NUM_PRESERVED_REGS && !first; i++) d->loc[i] = DWARF_NULL_LOC;
  d->loc[UNW_X86_64_RIP] = DWARF_REG_LOC(d, UNW_X86_64_RIP);
  d->loc[UNW_X86_64_RBP] = DWARF_REG_LOC(d, UNW_X86_64_RBP);
  d->loc[UNW_X86_64_RSP] = DWARF_REG_LOC(d, UNW_X86_64_RSP);
  memset(&d->pi, 0, sizeof(d->pi));
  c->frame_info = *f;

  if (dwarf_put(d, d->loc[UNW_X86_64_RIP], m->rip) >= 0 &&
      dwarf_put(d, d->loc[UNW_X86_64_RBP], m->rbp) >= 0 &&
      dwarf_put(d, d->loc[UNW_X86_64_RSP], m->rsp) >= 0 &&
      (ret = code == GPUPROF_CODE_MODULE ? unw_step((unw_cursor_t*)c) : step_by_tables(c)) >= 0)
    *f = c->frame_info;
  f->virtual_address = m->rip;
  f->rsp_cfa_offset = END_LOST;

  if (d->pi.start_ip == 0 && (ret <= 0 || f->frame_type == UNW_X86_64_FRAME_GUESSED)) {
    f->frame_type = UNW_X86_64_FRAME_GUESSED;
    f->last_frame = 0;
    return 1;
  }
  if (ret == 0) {
    f->last_frame = -1;
    /* The tables were found and say that there is no caller. */
    if (d->pi.start_ip != 0) f->rsp_cfa_offset = END_COMPLETE;
  }
  return ret;
}

static int peek(struct dwarf_cursor* d, unw_word_t addr, unw_word_t* val) {
  return (*d->as->acc.access_mem)(d->as, addr, val, 0, d->as_arg);
}

/* Takes the result of explore as it is: signal frames, PLT stubs, odd rules. */
static int follow_cursor(struct dwarf_cursor* d, struct machine* m) {
  m->rip = d->ip;
  m->cfa = m->rsp = d->cfa;
  return dwarf_get(d, d->loc[UNW_X86_64_RBP], &m->rbp);
}

static int follow_recipe(struct dwarf_cursor* d, const unw_tdep_frame_t* f, struct machine* m) {
  int ret;
  unw_word_t base = f->cfa_reg_rsp ? m->rsp : m->rbp;
  unw_word_t cfa = base + (unw_sword_t)f->cfa_reg_offset;

  if (f->frame_type == UNW_X86_64_FRAME_ALIGNED) {
    if ((ret = peek(d, cfa, &cfa)) < 0 || (ret = peek(d, cfa - 8, &m->rip)) < 0 ||
        (ret = peek(d, m->rbp, &m->rbp)) < 0)
      return ret;
  } else {
    if ((ret = peek(d, cfa - 8, &m->rip)) < 0) return ret;
    if (f->rbp_cfa_offset != -1 &&
        (ret = peek(d, cfa + (unw_sword_t)f->rbp_cfa_offset, &m->rbp)) < 0)
      return ret;
  }
  /* A caller's frame lies above; anything else is a loop. */
  if (cfa <= m->cfa) return -UNW_EBADFRAME;
  m->rsp = m->cfa = cfa;
  d->use_prev_instr = 1;
  return 1;
}

/* The frame pointer of a walk that leaves a trail. */
struct trailed_fp {
  uintptr_t at; /* 0: it is the one that the walk began with */
  int told;
};

static void add_word(struct gpuprof_trail* trail, uintptr_t at, uint64_t value) {
  if (trail->count < trail->capacity)
    trail->words[trail->count] = (struct gpuprof_trail_word){at, value};
  ++trail->count;
}

/* The next frame is found by it. */
static void needs_fp(struct gpuprof_trail* trail, struct trailed_fp* fp, uint64_t value) {
  if (fp->told) return;
  fp->told = 1;
  if (fp->at != 0)
    add_word(trail, fp->at, value);
  else
    trail->needs_fp = 1;
}

/* Passes frames whose recipes are known and usual, which nearly all are, as follow_recipe does, by
   plain loads. Stops at one that is not: `m` is at it, and it is not written yet. */
static inline __attribute__((always_inline)) int pass_frames(struct dwarf_cursor* d,
                                                             struct gpuprof_frame_cache* cache,
                                                             struct machine* m, void** frames,
                                                             int depth, int capacity,
                                                             struct gpuprof_trail* trail) {
  const uint64_t generation = generation_of(cache);
  unw_word_t rip = m->rip, rsp = m->rsp, rbp = m->rbp, lowest = m->cfa, back = d->use_prev_instr;
  struct trailed_fp fp = {0, 0};
  unw_tdep_frame_t f;

  while (depth < capacity && recall_at(cache, generation, rip - back, &f)) {
    const unw_word_t cfa = (f.cfa_reg_rsp ? rsp : rbp) + (unw_sword_t)f.cfa_reg_offset;
    unw_word_t caller;
    if (f.frame_type != UNW_X86_64_FRAME_STANDARD || f.last_frame || cfa <= lowest) break;
    caller = *(const unw_word_t*)(cfa - 8);
    if (caller < LOWEST_CODE) break;
    if (trail != NULL) {
      if (!f.cfa_reg_rsp) needs_fp(trail, &fp, rbp);
      add_word(trail, cfa - 8, caller);
    }
    if (f.rbp_cfa_offset != -1) {
      fp = (struct trailed_fp){cfa + (unw_sword_t)f.rbp_cfa_offset, 0};
      rbp = *(const unw_word_t*)fp.at;
    }
    frames[depth++] = (void*)rip;
    rip = caller;
    rsp = lowest = cfa;
    back = 1;
  }
  d->use_prev_instr = back;
  *m = (struct machine){rip, rsp, rbp, lowest};
  return depth;
}

/* Functions of their own: their loops have registers enough. */
static __attribute__((noinline)) int pass_known(struct dwarf_cursor* d,
                                                struct gpuprof_frame_cache* cache,
                                                struct machine* m, void** frames, int depth,
                                                int capacity) {
  return pass_frames(d, cache, m, frames, depth, capacity, NULL);
}

static __attribute__((noinline)) int pass_with_trail(struct dwarf_cursor* d,
                                                     struct gpuprof_frame_cache* cache,
                                                     struct machine* m, void** frames, int capacity,
                                                     struct gpuprof_trail* trail) {
  return pass_frames(d, cache, m, frames, 0, capacity, trail);
}

/* Nothing has to be asked before the thread's own memory is read. */
static int reads_plainly(const struct dwarf_cursor* d) {
  return ((uintptr_t)d->as_arg & (AS_ARG_COPY_MASK | AS_ARG_VALIDATE_MASK)) == 0;
}

/* A gpuprof_read_word: any address, which is checked first. */
static int read_checked(void* from, uintptr_t address, uint64_t* word) {
  unw_word_t value;
  if (address % sizeof(value) != 0 || peek(from, address, &value) < 0) return 0;
  *word = value;
  return 1;
}

static int step_without_tables(struct dwarf_cursor* d, struct machine* m, struct belief* b,
                               int depth) {
  struct gpuprof_bare_frame frame = {m->rip + d->use_prev_instr, m->rsp, m->rbp,
                                     !d->use_prev_instr};
  int how;
  dwarf_set_validate(d, 1);
  how = gpuprof_step_without_tables(&frame, read_checked, d);
  if (how == GPUPROF_STEP_LOST || frame.sp <= m->cfa) return -UNW_EBADFRAME;
  if (how == GPUPROF_STEP_CERTAIN) {
    d->as_arg = (void*)((uintptr_t)d->as_arg & ~AS_ARG_VALIDATE_MASK);
  } else {
    if (b->doubtful == 0) b->doubtful = depth;
    b->tabled = 0;
  }
  b->gaps |= how == GPUPROF_STEP_GAPS;
  m->rip = frame.pc;
  m->rsp = m->cfa = frame.sp;
  m->rbp = frame.fp;
  d->use_prev_instr = 1;
  return 1;
}

static int step(struct cursor* c, struct gpuprof_frame_cache* cache, struct machine* m, int depth,
                struct belief* b) {
  struct dwarf_cursor* d = &c->dwarf;
  unw_tdep_frame_t f;
  int ret = 0, explored = 0, code = GPUPROF_CODE_MODULE;

  m->rip -= d->use_prev_instr;
  if (!recall(cache, m->rip, &f)) {
    uint64_t generation = generation_of(cache);
    code = gpuprof_code_at(m->rip);
    ret = explore(c, m, &f, depth == 1, code);
    explored = 1;
    /* Generated code may be freed, and other code made in its place. */
    if (code == GPUPROF_CODE_MODULE) remember(cache, &f, generation);
  }
  if (f.last_frame) {
    b->complete = f.rsp_cfa_offset == END_COMPLETE;
    return 0;
  }
  if (f.frame_type == UNW_X86_64_FRAME_GUESSED) return step_without_tables(d, m, b, depth);
  /* Wrong frames do not fit the tables for long. */
  if (b->doubtful != 0 && ++b->tabled >= 3) b->doubtful = 0;
  if (f.frame_type == UNW_X86_64_FRAME_STANDARD || f.frame_type == UNW_X86_64_FRAME_ALIGNED)
    return follow_recipe(d, &f, m);
  if (!explored) ret = explore(c, m, &f, depth == 1, code);
  if (ret <= 0) return ret;
  return follow_cursor(d, m) < 0 ? -UNW_EBADREG : 1;
}

static int ends_here(struct gpuprof_frame_cache* cache, const struct machine* m) {
  unw_tdep_frame_t f;
  return recall(cache, m->rip - 1, &f) && f.last_frame && f.rsp_cfa_offset == END_COMPLETE;
}

HIDDEN int gpuprof_walk(struct gpuprof_walk_context* context, int interrupted,
                        struct gpuprof_frame_cache* cache, void** frames, int capacity,
                        int* count) {
  unw_cursor_t cursor;
  struct cursor* c = (struct cursor*)&cursor;
  struct dwarf_cursor* d = &c->dwarf;
  struct machine m;
  struct belief b = {0, 0, 0, 0};
  int depth = 0;

  *count = 0;
  if (unw_init_local2(&cursor, &context->registers, interrupted ? UNW_INIT_SIGNAL_FRAME : 0) < 0)
    return GPUPROF_WALK_LOST;
  if (context->copy_bytes != 0) d->as_arg = (void*)((uintptr_t)d->as_arg | AS_ARG_COPY_MASK);
  d->stash_frames = 1;
  m.rip = d->ip;
  m.rsp = m.cfa = d->cfa;
  if (dwarf_get(d, d->loc[UNW_X86_64_RBP], &m.rbp) < 0) return GPUPROF_WALK_LOST;
  if (context->trail != NULL && reads_plainly(d)) {
    depth = pass_with_trail(d, cache, &m, frames, capacity, context->trail);
    /* What is left to say is that the last frame has no caller. */
    context->trail->whole = depth > 0 && depth < capacity && ends_here(cache, &m);
  }
  while (depth < capacity) {
    if (reads_plainly(d) && b.doubtful == 0) {
      depth = pass_known(d, cache, &m, frames, depth, capacity);
      *count = depth;
      if (depth == capacity) break;
    }
    frames[depth++] = (void*)m.rip;
    *count = depth;
    if (step(c, cache, &m, depth, &b) > 0 && m.rip >= LOWEST_CODE) continue;
    if (b.complete || m.rip == 0) return b.gaps ? GPUPROF_WALK_LOST : GPUPROF_WALK_COMPLETE;
    /* A false frame is worse than a missing one. */
    if (b.doubtful != 0) *count = b.doubtful;
    return GPUPROF_WALK_LOST;
  }
  *count = depth;
  return GPUPROF_WALK_FULL;
}

/* Called by access_mem (Ginit.c) for the walk of a copied stack. */
HIDDEN int gpuprof_access_copy(unw_word_t addr, unw_word_t* val, void* arg) {
  const struct gpuprof_walk_context* context = (void*)AS_ARG_GET_UC_PTR(arg);
  unw_word_t registers = (unw_word_t)context;

  if (addr - context->copy_begin <= context->copy_bytes - sizeof(*val) &&
      addr >= context->copy_begin)
    memcpy(val, context->copy + (addr - context->copy_begin), sizeof(*val));
  else if ((addr - registers < sizeof(context->registers) && addr >= registers) ||
           unw_address_is_valid(addr, sizeof(*val)))
    memcpy(val, (void*)addr, sizeof(*val));
  else
    return -1;
  return 0;
}

#endif /* UNW_LOCAL_ONLY */

/* unw_backtrace then steps slowly; we do not call it. */
HIDDEN int tdep_trace(unw_cursor_t* cursor UNUSED, void** buffer UNUSED, int* size) {
  *size = 0;
  return -UNW_ENOINFO;
}
