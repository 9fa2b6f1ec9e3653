// SPDX-License-Identifier: Apache-2.0
//
// Fixed texts of the manual page, in man macros (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::options_manual {

// {}: version
inline constexpr char kBegin[] =
    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
    ".\\\" Made by gpuprof-docs from the tables in cli/; a test compares.\n"
    ".TH GPUPROF 1 \"\" \"gpuprof {}\" \"User Commands\"\n"
    ".SH NAME\n"
    "gpuprof \\- profile unmodified GPU programs\n"
    ".SH SYNOPSIS\n";

inline constexpr char kDescription[] =
    ".B gpuprof \\-\\-version\n"
    ".SH DESCRIPTION\n"
    "gpuprof records what an unmodified program does on the GPU (CUDA, NVTX) and on the CPU\n"
    "(PyTorch's operators, sampled stacks of Python and native code), and writes traces for\n"
    "TensorBoard's PyTorch plugin, Perfetto and other viewers. It also reports on, compares and\n"
    "converts its traces and those of PyTorch's own profiler.\n";

// Behind the commands
inline constexpr char kEnd[] =
    ".SH EXIT STATUS\n"
    ".B gpuprof run\n"
    "exits with the exit status of the program, or is ended by the signal that ended the program.\n"
    "Its own exit statuses are:\n"
    ".TP\n"
    "125\n"
    "gpuprof failed before the program started, or with \\fB\\-\\-strict\\fR at any time.\n"
    ".TP\n"
    "126\n"
    "The program was found but cannot be executed.\n"
    ".TP\n"
    "127\n"
    "The program was not found.\n"
    ".PP\n"
    "The other commands exit with 0, or with 125 after one sentence on stderr. In addition,\n"
    ".B gpuprof report\n"
    "exits with 1 if a rule of \\fB\\-\\-fail\\-on\\fR gives advice,\n"
    ".B gpuprof diff\n"
    "with 1 if a condition of \\fB\\-\\-fail\\-if\\fR holds, and with 2 if the recordings cannot\n"
    "be read or compared or a condition cannot be parsed or evaluated, and\n"
    ".B gpuprof doctor\n"
    "with 1 if runs cannot be recorded, or if \\fB\\-\\-try\\fR did not record all of its work.\n"
    ".SH SIGNALS\n"
    "Ctrl\\-C and Ctrl\\-\\e reach only the program; gpuprof still writes the trace.\n"
    "gpuprof forwards to the program signals that are sent to gpuprof alone, and the hang\\-up of\n"
    "a terminal that is closed. It stops and continues together with the program.\n"
    "After the program has ended, a second Ctrl\\-C ends gpuprof, and the daemon writes the\n"
    "remaining files.\n"
    ".SH FILES\n"
    ".TP\n"
    ".I .gpuprof\\-spool\\-*\n"
    "The spool, in the output folder while a session runs. It is kept if a file could not be\n"
    "written, for\n"
    ".BR \"gpuprof export\" .\n"
    ".SH ENVIRONMENT\n"
    "gpuprof sets these variables of the program: LD_PRELOAD (the gpuprof library in front of\n"
    "what was there), CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH (unless another tool has\n"
    "set them), GPUPROF_SOCKET, and verify_asan_link_order=0 in ASAN_OPTIONS.\n";

}  // namespace gpuprof::messages::options_manual
