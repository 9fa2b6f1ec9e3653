// SPDX-License-Identifier: Apache-2.0
//
// Collectives in the file: the names viewers know, and what the records of their arguments say.
#include "analysis/export/prescan/collectives.hpp"

#include <cstring>

#include "gpuprof/wire/operator_inputs.hpp"
#include "tests/unit/export/export_fixture.hpp"

namespace gpuprof::exporter {
namespace {

using wire::InputForm;
using wire::InputHead;
using Words = std::vector<std::uint64_t>;

Words number(std::int64_t value) {
  return {InputHead{InputForm::kInt}.word(), static_cast<std::uint64_t>(value)};
}
Words boolean(bool value) { return {InputHead{InputForm::kBool}.word(), value ? 1u : 0u}; }
Words other() { return {InputHead{InputForm::kOther}.word()}; }
Words text(const std::string& value, std::uint32_t total = 0) {
  Words words((value.size() + 7) / 8 + 1);
  std::memcpy(words.data() + 1, value.data(), value.size());
  words[0] = InputHead{InputForm::kText, 0, static_cast<std::uint16_t>(words.size() - 1),
                       total != 0 ? total : static_cast<std::uint32_t>(value.size())}
                 .word();
  return words;
}
Words together(const std::vector<Words>& parts) {
  Words words;
  for (const Words& part : parts) words.insert(words.end(), part.begin(), part.end());
  return words;
}
Words tuple(const std::vector<Words>& parts) {
  const auto count = static_cast<std::uint16_t>(parts.size());
  return together({{InputHead{InputForm::kTuple, 0, count, count}.word()}, together(parts)});
}
Words list(const Words& values) {
  const auto count = static_cast<std::uint16_t>(values.size());
  return together({{InputHead{InputForm::kIntList, 0, count, count}.word()}, values});
}
/// A list of tensors of 32-bit floating point with so many elements each.
Words tensors(const Words& sizes) {
  const auto count = static_cast<std::uint16_t>(sizes.size());
  Words words = {InputHead{InputForm::kTensorList, 0, count, count}.word()};
  for (const std::uint64_t size : sizes) {
    words.push_back(InputHead{InputForm::kTensor, 6, 1, 0}.word());
    words.push_back(size);
  }
  return words;
}

class Collective : public test::ExportTest {
 protected:
  /// A range of the program's own inside the record of its arguments.
  void record_one(const std::string& name) {
    record([&](model::EventSink& sink) {
      sink.on(model::StringDef{1, name});
      sink.on(model::StringDef{2, "record_param_comms"});
      const Words words = tensors({64});
      sink.on(model::Inputs{5, 0, words});
      auto inner = op(2, 1, 20, 30);
      inner.scope = model::kScopeUser;
      inner.parent = 1;
      sink.on(inner);
      auto outer = op(1, 2, 10, 40);
      outer.inputs = 5;
      sink.on(outer);
      sink.on(op(3, 1, 50, 60));  // somebody else's of that name
    });
    trace();
  }
  const rapidjson::Value& annotation() {
    static const rapidjson::Value kNone(rapidjson::kObjectType);
    const auto found = events("user_annotation");
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? kNone : *found[0];
  }
};

TEST_F(Collective, IsAnAnnotationWhereThePluginKnowsIt) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "nccl:all_reduce"});
    sink.on(model::StringDef{2, "nccl:all_to_all"});
    sink.on(model::StringDef{3, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"});
    for (std::uint32_t i = 1; i <= 3; ++i) sink.on(op(i, i, 10 * i, 10 * i + 5));
  });
  trace();
  EXPECT_STREQ(annotation()["name"].GetString(), "nccl:all_reduce");
  EXPECT_FALSE(annotation()["args"].HasMember("PyTorch name"));
  EXPECT_EQ(events("cpu_op").size(), 2u);
}

TEST_F(Collective, OfShardedParametersHasTheNameThePluginKnows) {
  record([](model::EventSink& sink) {
    sink.on(model::StringDef{1, "nccl:_all_gather_base"});
    sink.on(op(1, 1, 10, 15));
  });
  trace();
  EXPECT_STREQ(annotation()["name"].GetString(), "nccl:all_gather");
  EXPECT_STREQ(annotation()["args"]["PyTorch name"].GetString(), "nccl:_all_gather_base");
  session_.options.formats = {"kineto"};
  trace();
  EXPECT_STREQ(annotation()["name"].GetString(), "nccl:_all_gather_base");
  EXPECT_FALSE(annotation()["args"].HasMember("PyTorch name"));
}

// Newer PyTorch names the range all_reduce; the record of its arguments is around it.
TEST_F(Collective, WithoutItsLibrarysNameGetsOne) {
  record_one("all_reduce");
  EXPECT_STREQ(annotation()["name"].GetString(), "nccl:all_reduce");
  ASSERT_EQ(events("cpu_op").size(), 2u);
  EXPECT_STREQ((*events("cpu_op")[0])["args"]["Collective name"].GetString(), "all_reduce");
  EXPECT_STREQ((*events("cpu_op")[1])["name"].GetString(), "all_reduce");
}

TEST_F(Collective, HasTheSizesOfItsRecordWhereItHasNoneItself) {
  record_one("reduceScatterSingleImpl");
  EXPECT_STREQ(annotation()["name"].GetString(), "nccl:reduce_scatter");
  EXPECT_EQ(annotation()["args"]["Input Dims"][0][0].GetInt(), 64);
  EXPECT_STREQ(annotation()["args"]["Input type"][0].GetString(), "float");
  EXPECT_STREQ((*events("cpu_op")[1])["name"].GetString(), "reduceScatterSingleImpl");
}

bool has(const std::string& told, const std::string& part) {
  return told.find(part) != std::string::npos;
}

TEST(CollectiveArgs, TellWhatComesOutByNameGroupOrSplits) {
  const auto args = [](std::string_view range, const Words& in, const Words& out,
                       std::int64_t stride = 2) {
    return collective_args(together({tensors({24}), number(11), other(), number(1), other(),
                                     list(in), list(out), number(1), number(stride), number(3)}),
                           range);
  };
  EXPECT_TRUE(has(args("nccl:all_reduce", {}, {}), "\"Out msg nelems\":24"));
  EXPECT_TRUE(has(args("nccl:all_gather", {}, {}), "\"Out msg nelems\":72"));
  EXPECT_TRUE(has(args("nccl:_reduce_scatter_base", {}, {}), "\"Out msg nelems\":8"));
  EXPECT_FALSE(has(args("nccl:scatter", {}, {}), "Out msg"));
  EXPECT_TRUE(has(args("nccl:all_to_all", {1, 2}, {3, 3}), "\"Out msg nelems\":48")) << "rows of 8";
  EXPECT_FALSE(has(args("nccl:all_to_all", {3, 4}, {3, 3}), "Out msg")) << "no whole rows";
  EXPECT_TRUE(has(args("", {24}, {48}), "\"Out msg nelems\":48"));
  EXPECT_FALSE(has(args("", {24}, {48}), "Collective name"));
  EXPECT_TRUE(has(args("", {}, {}), "\"Seq\":11"));
  EXPECT_TRUE(has(args("", {}, {}), "\"Process Group Ranks\":\"[1, 3, 5]\""));
  EXPECT_TRUE(has(args("", {}, {}, 0), "\"Process Group Ranks\":\"[]\"")) << "as PyTorch says it";
  EXPECT_FALSE(has(args("", {}, {}, 0), "Global rank stride"));
}

TEST(CollectiveArgs, TellNameGroupAndSequenceNumberByTexts) {
  const Words behind =
      together({tuple({number(7), boolean(false)}), tuple({text("0"), text("the \"pair\"")}),
                number(1), text("_allgather_base"), list({}), list({}), number(-1), number(-1),
                number(2), boolean(true)});
  const std::string told = collective_args(together({tensors({6}), behind}), "all_gather");
  EXPECT_EQ(told, R"(,"Collective name":"_allgather_base","In msg nelems":6,"dtype":"Float",)"
                  R"("Out msg nelems":12,"Seq":7,"Rank":1,"Is asynchronized op":true,)"
                  R"("In split size":"[]","Out split size":"[]","Process Group Name":"0",)"
                  R"("Process Group Description":"the \"pair\"","Group size":2,)"
                  R"("Process Group Ranks":"[]")");
  const std::string no_tensors = collective_args(behind, "");
  EXPECT_TRUE(has(no_tensors, R"("In msg nelems":0,"dtype":"Byte","Out msg nelems":0,"Seq":7)"));
  const std::string lists_of_lists = collective_args(together({other(), behind}), "");
  EXPECT_TRUE(has(lists_of_lists, "\"Seq\":7"));
  EXPECT_FALSE(has(lists_of_lists, "msg nelems")) << "not known";
}

TEST(CollectiveArgs, EscapeAName) {
  // As the name of a range comes: escaped already.
  EXPECT_EQ(collective_args({}, R"(gloo:a\"b)"), R"(,"Collective name":"a\"b")");
  const Words words = together({number(0), text("0"), number(0), text("a\"b"), list({}), list({}),
                                number(0), number(1), number(1)});
  EXPECT_TRUE(has(collective_args(words, ""), R"("Collective name":"a\"b")"));
}

TEST(CollectiveArgs, SayThatATextWasCut) {
  const Words words = together({number(0), text(std::string(64, 'x'), 65), number(0), text("init"),
                                list({}), list({}), number(0), number(1), number(1)});
  EXPECT_TRUE(
      has(collective_args(words, ""), "\"Process Group Name\":\"" + std::string(64, 'x') + "…\""));
}

// Words come from a process nobody trusts.
TEST(CollectiveArgs, AreNeverReadBeyondTheirEnd) {
  const Words whole = together({tensors({6}), tuple({number(7), text("long enough for two words")}),
                                tuple({text("0"), other()}), number(1), text("send"), list({1}),
                                list({1}), number(0), number(1), number(2), boolean(true)});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Words cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i));
    collective_args(cut, "");
    for (const std::uint64_t bits : {0xffffffff0000ULL, 0xe0ULL, 0xfULL, ~0ULL}) {
      Words bent = whole;
      bent[i] ^= bits;
      collective_args(bent, "");
    }
  }
}

}  // namespace
}  // namespace gpuprof::exporter
