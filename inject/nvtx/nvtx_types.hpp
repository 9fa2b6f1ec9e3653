// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's types for tools, without the parts of the header that make this library an NVTX user.
//
// Context:  any (types)
#pragma once

// The implementation would drag in a loader of injection libraries: us, again.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
