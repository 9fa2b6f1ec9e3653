// SPDX-License-Identifier: Apache-2.0
//
// Input words as text.
//
// Context:  cli
#include "analysis/report/timeline/input_shapes.hpp"

#include <array>
#include <string_view>

#include "analysis/export/labels/inputs_formatter.hpp"
#include "analysis/export/prescan/collectives.hpp"

namespace gpuprof::report {

std::string format_shapes(std::span<const std::uint64_t> words) {
  std::string text = "[";
  exporter::InputView input;
  for (bool first = true; exporter::decode_next_input(words, input); first = false) {
    if (!first) text += ", ";
    text += '[';
    if (input.form == exporter::InputView::Form::kTensor)
      for (std::size_t i = 0; i < input.values.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(static_cast<std::int64_t>(input.values[i]));
    text += ']';
  }
  return text + ']';
}

namespace {

using Form = exporter::InputView::Form;

std::uint64_t element_bytes(std::string_view dtype) {
  struct Row {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr std::array<Row, 11> kRows = {{{"float", 4},
                                          {"int", 4},
                                          {"long int", 8},
                                          {"double", 8},
                                          {"c10::Half", 2},
                                          {"c10::BFloat16", 2},
                                          {"short int", 2},
                                          {"unsigned char", 1},
                                          {"signed char", 1},
                                          {"bool", 1},
                                          {"c10::complex<float>", 8}}};
  for (const Row& row : kRows)
    if (row.name == dtype) return row.bytes;
  return dtype.find("Float8") != std::string_view::npos ? 1 : 0;
}

void add_tensor(const exporter::InputView& tensor, CollectiveInputs& sum) {
  const std::string_view dtype = exporter::dtype_name(tensor.dtype);
  std::uint64_t elements = 1;
  for (const std::uint64_t size : tensor.values) elements *= size;
  sum.bytes += elements * element_bytes(dtype);
  if (sum.dtype.empty()) sum.dtype = dtype;
}

}  // namespace

CollectiveInputs collective_inputs(std::span<const std::uint64_t> words) {
  CollectiveInputs sum;
  const std::string args = exporter::collective_args(words, "");
  constexpr std::string_view kGroup = "\"Process Group Name\":\"";
  if (const std::size_t at = args.find(kGroup); at != std::string::npos) {
    const std::size_t from = at + kGroup.size();
    sum.group = args.substr(from, args.find('"', from) - from);
  }
  exporter::InputView input;
  if (!exporter::decode_next_input(words, input)) return sum;
  if (input.form == Form::kTensor) add_tensor(input, sum);
  exporter::InputView tensor;
  auto rest = input.values;
  while (input.form == Form::kTensorList && exporter::decode_next_input(rest, tensor))
    add_tensor(tensor, sum);
  return sum;
}

}  // namespace gpuprof::report
