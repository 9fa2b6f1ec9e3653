/* SPDX-License-Identifier: Apache-2.0
 *
 * The 32-bit library that does nothing: 32-bit programs are not profiled, and say nothing.
 */
typedef int gpuprof_empty;
