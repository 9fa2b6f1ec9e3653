// SPDX-License-Identifier: Apache-2.0
//
// NVTX as a program has it.
//
// Context:  tests
#pragma once

int late_push(const char* text);
int late_pop();
