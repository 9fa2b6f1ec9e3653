/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread of the program executes for us, on memory of ours: make the file, dlopen, call, back.
 *
 * Context:  data of ours; code of someone else's thread, all signals but faults blocked
 * Promises: position independent; ends alone, whether or not anybody traces it: everything it
 *           changes is put back by the frame or here (errno)
 *
 * In: rbx = StubData (stub_data.hpp names the offsets), rsp = 16-aligned top of the scratch stack.
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

#define SYS_CLOSE 3
#define SYS_MUNMAP 11
#define INTERRUPTED -4
#define SYS_SELECT 23
#define SYS_MEMFD_CREATE 319
#define CLOSE_ON_EXEC 1
#define RTLD_NOW 2
#define DEFAULT_MXCSR 0x1f80

	.section .rodata
	.globl gpuprof_attach_stub
	.globl gpuprof_attach_stub_end
	.hidden gpuprof_attach_stub
	.hidden gpuprof_attach_stub_end
	.balign 16
gpuprof_attach_stub:
	/* Functions may expect the state a program starts with. */
	fninit
	pushq $DEFAULT_MXCSR
	ldmxcsr (%rsp)
	popq %rax
	call *ERROR_NUMBER(%rbx)
	movq %rax, %r13
	movl (%rax), %r14d

	cmpq $0, MAKE_FILE(%rbx)
	je .Lopen
	movl $SYS_MEMFD_CREATE, %eax
	movq FILE_NAME(%rbx), %rdi
	movl $CLOSE_ON_EXEC, %esi
	syscall
	movq %rax, FILE(%rbx)
	/* We are stopped at the end of that call and write the file; if we died, go is 0. */
	cmpq $1, GO(%rbx)
	jne .Lend

.Lopen:
	movq OPEN_LIBRARY(%rbx), %rax
	testq %rax, %rax
	jz .Lcall
	movq PATH(%rbx), %rdi
	movl $RTLD_NOW, %esi
	call *%rax
	movq %rax, HANDLE(%rbx)
	testq %rax, %rax
	jnz .Lloaded
	call *LAST_ERROR(%rbx)
	movq %rax, ERROR_TEXT(%rbx)
	jmp .Lend
.Lloaded:
	/* link_map begins with the load address. */
	movq (%rax), %rax
	addq %rax, ENTRY(%rbx)

.Lcall:
	movq $1, ENTERED(%rbx)
	movq ARGUMENT(%rbx), %rdi
	call *ENTRY(%rbx)
	cltq
	movq %rax, ANSWER(%rbx)

.Lend:
	movq FILE(%rbx), %rdi
	testq %rdi, %rdi
	js .Lclosed
	movl $SYS_CLOSE, %eax
	syscall
.Lclosed:
	movl %r14d, (%r13)
	movq $2, STATE(%rbx)
	/* Not poll, futex or nanosleep: interrupted by us they would take the place in which the kernel
	 * remembers how the program's own interrupted call goes on. After a handler: what is left. */
.Lwait:
	movl $SYS_SELECT, %eax
	xorl %edi, %edi
	xorl %esi, %esi
	xorl %edx, %edx
	xorl %r10d, %r10d
	leaq WAIT(%rbx), %r8
	syscall
	cmpl $INTERRUPTED, %eax
	je .Lwait
	/* Nobody came: this memory goes, from code that stays, and the frame restores the rest. */
	movl $SYS_MUNMAP, %eax
	movq SCRATCH(%rbx), %rdi
	movq SCRATCH_BYTES(%rbx), %rsi
	movq CALL(%rbx), %rcx
	movq FRAME(%rbx), %rsp
	jmp *%rcx
gpuprof_attach_stub_end:

	.section .note.GNU-stack, "", @progbits
