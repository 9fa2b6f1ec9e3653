// SPDX-License-Identifier: Apache-2.0
//
// The API callback: who launched what, from where, and whether a step begins.
//
// Context:  callback
// Owns:     four bytes of each thread: the correlation id it last saw
// Promises: outermost call only; our own threads never count; nothing but hot and sample is called
// Not here: which ids are switched on (activity_kinds.cpp)
#pragma once

#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {

void CUPTIAPI api_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                           const void* data);

}  // namespace gpuprof::cupti
