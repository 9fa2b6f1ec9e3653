/* SPDX-License-Identifier: Apache-2.0
 * The baseline of the dormant cost: a preloaded library that does nothing. */
int gpuprof_dormant_empty;
