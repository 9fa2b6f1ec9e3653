// SPDX-License-Identifier: Apache-2.0
//
// The frame around every driver API call: correlation id, cost, callbacks, truth line.
//
// Context:  application threads
// Owns:     nothing
// Promises: enter and exit are reported in pairs; nested calls get their own correlation id
// Not here: what the call does (cuda/)
#pragma once

#include "core/work/operations.hpp"

namespace gpusim {

/// Opens a call in its constructor, closes it in `finish`.
class ApiScope {
 public:
  /// @param symbol kernel name for launches, else null.
  ApiScope(ApiDomain domain, std::uint32_t cbid, const char* name, const void* params,
           const char* symbol = nullptr);
  ApiScope(const ApiScope&) = delete;
  ApiScope& operator=(const ApiScope&) = delete;

  /// Ends the call and hands `result` through.
  int finish(int result);

  std::uint32_t correlation() const { return call_.correlation; }

 private:
  ApiCall call_;
  std::uint32_t outer_;  ///< correlation id of the call this one is made in, or 0
};

/// Correlation id of the innermost call of this thread, 0 outside of calls.
std::uint32_t current_correlation();

}  // namespace gpusim
