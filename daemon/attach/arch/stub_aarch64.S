/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread of the program executes for us, on memory of ours: make the file, dlopen, call, back.
 *
 * Context:  data of ours; code of someone else's thread, all signals but faults blocked
 * Promises: as stub_x86_64.S, whose remarks hold here; never run so far
 *
 * In: x19 = StubData (stub_data.hpp names the offsets), sp = 16-aligned top of the scratch stack.
 */
#define STATE 0
#define GO 8
#define FILE 16
#define MAKE_FILE 24
#define FILE_NAME 32
#define PATH 40
#define OPEN_LIBRARY 48
#define LAST_ERROR 56
#define ERROR_NUMBER 64
#define ENTRY 72
#define ARGUMENT 80
#define HANDLE 88
#define ERROR_TEXT 96
#define ANSWER 104
#define SCRATCH 112
#define SCRATCH_BYTES 120
#define FRAME 128
#define CALL 136
#define WAIT 144
#define ENTERED 160
#define RESTORE 168

#define SYS_CLOSE 57
#define SYS_PSELECT6 72
#define SYS_MUNMAP 215
#define SYS_MEMFD_CREATE 279
#define INTERRUPTED 4
#define CLOSE_ON_EXEC 1
#define RTLD_NOW 2

	.section .rodata
	.globl gpuprof_attach_stub
	.globl gpuprof_attach_stub_end
	.hidden gpuprof_attach_stub
	.hidden gpuprof_attach_stub_end
	.balign 16
gpuprof_attach_stub:
	msr fpcr, xzr
	ldr x9, [x19, #ERROR_NUMBER]
	blr x9
	mov x20, x0
	ldr w21, [x0]

	ldr x9, [x19, #MAKE_FILE]
	cbz x9, .Lopen
	ldr x0, [x19, #FILE_NAME]
	mov x1, #CLOSE_ON_EXEC
	mov x8, #SYS_MEMFD_CREATE
	svc #0
	str x0, [x19, #FILE]
	ldr x9, [x19, #GO]
	cmp x9, #1
	b.ne .Lend

.Lopen:
	ldr x9, [x19, #OPEN_LIBRARY]
	cbz x9, .Lcall
	ldr x0, [x19, #PATH]
	mov x1, #RTLD_NOW
	blr x9
	str x0, [x19, #HANDLE]
	cbnz x0, .Lloaded
	ldr x9, [x19, #LAST_ERROR]
	blr x9
	str x0, [x19, #ERROR_TEXT]
	b .Lend
.Lloaded:
	ldr x9, [x0]
	ldr x10, [x19, #ENTRY]
	add x10, x10, x9
	str x10, [x19, #ENTRY]

.Lcall:
	mov x9, #1
	str x9, [x19, #ENTERED]
	ldr x0, [x19, #ARGUMENT]
	ldr x9, [x19, #ENTRY]
	blr x9
	sxtw x0, w0
	str x0, [x19, #ANSWER]

.Lend:
	ldr x0, [x19, #FILE]
	tbnz x0, #63, .Lclosed
	mov x8, #SYS_CLOSE
	svc #0
.Lclosed:
	str w21, [x20]
	mov x9, #2
	str x9, [x19, #STATE]
.Lwait:
	mov x0, #0
	mov x1, #0
	mov x2, #0
	mov x3, #0
	add x4, x19, #WAIT
	mov x5, #0
	mov x8, #SYS_PSELECT6
	svc #0
	cmn x0, #INTERRUPTED
	b.eq .Lwait
	ldr x0, [x19, #SCRATCH]
	ldr x1, [x19, #SCRATCH_BYTES]
	ldr x9, [x19, #CALL]
	ldr x30, [x19, #RESTORE]
	ldr x10, [x19, #FRAME]
	mov sp, x10
	mov x8, #SYS_MUNMAP
	br x9
gpuprof_attach_stub_end:

	.section .note.GNU-stack, "", @progbits
