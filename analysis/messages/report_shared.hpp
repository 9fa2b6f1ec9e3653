// SPDX-License-Identifier: Apache-2.0
//
// Messages that text output, wall-time breakdown, advice and pages of a report share
// (docs/messages.md has the rules of their wording).
//
// Context:  any
#pragma once

namespace gpuprof::messages::report_shared {

// What a share of advice is a share of; compared, and in JSON ("of")
inline constexpr char kShareOfStep[] = "step";
inline constexpr char kShareOfFirstStep[] = "first step";
inline constexpr char kShareOfRecording[] = "recording";
inline constexpr char kShareOfGpuMemory[] = "GPU's memory";
inline constexpr char kShareOfAllSteps[] = "time from the first to the last step";
// The same behind a percentage. {}: one of the others above
inline constexpr char kOfAStep[] = "of a step";
inline constexpr char kOfThe[] = "of the {}";

// What a line was found by; compared, and in JSON ("line_by")
inline constexpr char kLineBySamples[] = "samples";
inline constexpr char kLineByOperators[] = "operators";
inline constexpr char kLineBySourceCode[] = "source code";
inline constexpr char kLineByNeighbours[] = "surrounding operators";
inline constexpr char kLineByOtherThread[] = "samples of another thread";

}  // namespace gpuprof::messages::report_shared
