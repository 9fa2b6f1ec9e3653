// SPDX-License-Identifier: Apache-2.0
//
// Looks the functions up.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {

bool load_api(const modules::PinnedModule& library, Api* api, const char** missing) {
  const char* absent = nullptr;
#define X(name)                                             \
  api->name = library.function<decltype(api->name)>(#name); \
  if (api->name == nullptr && absent == nullptr) absent = #name;
  GPUPROF_CUPTI_REQUIRED(X)
#undef X
#define X(name) api->name = library.function<decltype(api->name)>(#name);
  GPUPROF_CUPTI_OPTIONAL(X)
#undef X
  if (missing != nullptr) *missing = absent;
  if (absent != nullptr) return false;
  return api->cuptiGetVersion(&api->version) == CUPTI_SUCCESS;
}

}  // namespace gpuprof::cupti
