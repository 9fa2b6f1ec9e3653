// SPDX-License-Identifier: Apache-2.0
//
// What differs between processors for stacks and faults: registers, and how a fault is left.
//
// Context:  any
// Promises: the only place in this component that names a register
//
// One header per processor defines, inline:
//   Registers                        those that a walk starts from
//   registers_of(context, to)        of what a signal interrupted
//   registers_at(pc, sp, fp)         nothing else is known
//   current_registers(to)            of the caller, enough to walk from it
//   program_counter(registers)       addresses; fp is 0 where it is not known
//   stack_pointer(…), frame_pointer(…), also of a context
//   leaf_return_address(context)     where a function returns to that has not touched its stack
//   strip_pointer_auth(word)         a saved return address without its signature
//   RecoveryPoint, resume_at(recovery_point, context)  see recovery_point.hpp
//   kNeedsRestorer                   whether the kernel must be told how handlers return
#pragma once

#if defined(__x86_64__)
#include "inject/sample/unwind/arch_x86_64.hpp"
#elif defined(__aarch64__)
#include "inject/sample/unwind/arch_aarch64.hpp"
#else
#error "stacks are taken on x86-64 and aarch64"
#endif
