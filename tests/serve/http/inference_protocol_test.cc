#include "serve/http/inference_protocol.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/files/safetensors.h"
#include "tests/testing/comma_locale.h"
#include "tests/train/testing/files.h"

namespace tessera::serve {
namespace {

using tessera::testing::ErrorOf;

// One dense feature, features "u" and "v".
ModelSpec Small() {
  ModelSpec spec;
  spec.net = {.dense_in = 1, .dense_arch = {4}, .over_arch = {4, 1}};
  spec.tables = {{.name = "t", .rows = 9, .dim = 4, .features = {"u", "v"}}};
  return spec;
}

ModelSpec WithTasks() {
  ModelSpec spec = Small();
  for (const char* name : {"click", "buy"}) {
    spec.net.tasks.emplace_back();
    spec.net.tasks.back().name = name;
  }
  return spec;
}

std::string Json(const std::string& inputs) { return R"({"id": "x", "inputs": [)" + inputs + "]}"; }
std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}
constexpr char kDense[] =
    R"({"name": "dense", "shape": [2, 1], "datatype": "FP32", "data": [0.5, -1]}, )";
constexpr char kU[] = R"({"name": "u", "shape": [2], "datatype": "INT64", "data": [3, 4]}, )";
constexpr char kV[] =
    R"({"name": "v", "shape": [2, 2], "datatype": "INT32", "data": [[5, 6], [7, 8]]})";

InferRequest Parse(const std::string& body) { return ParseInferJson(body, std::nullopt, Small()); }

void ExpectExamples(const InferRequest& infer, std::vector<int64_t> ids,
                    std::vector<int64_t> lengths) {
  Context ctx({.threads = 1});
  EXPECT_EQ(infer.id, "x");
  EXPECT_EQ(infer.predict.dense.ToVector<float>(), (std::vector<float>{0.5, -1}));
  EXPECT_EQ(infer.predict.features.keys(), (std::vector<std::string>{"u", "v"}));
  EXPECT_EQ(infer.predict.features.values().ToVector<int64_t>(), ids);
  EXPECT_EQ(infer.predict.features.lengths(ctx).ToVector<int64_t>(), lengths);
}

TEST(InferJson, DataMayBeFlatOrNested) {
  ExpectExamples(Parse(Json(std::string(kDense) + kU + kV)), {3, 4, 5, 6, 7, 8}, {1, 1, 2, 2});
}

TEST(InferJson, AModelWithoutDenseValuesNeedsNone) {
  ModelSpec spec = Small();
  spec.net = {.type = RankingModelType::kTwoTower, .dense_in = 0, .tower_layers = {4}};
  const auto size = [&](const std::string& inputs) {
    return ParseInferJson(Json(inputs), std::nullopt, spec).predict.size();
  };
  const std::string empty =
      R"({"name": "dense", "shape": [2, 0], "datatype": "FP32", "data": []}, )";
  EXPECT_EQ(size(std::string(kU) + kV), 2);
  EXPECT_EQ(size(empty + kU + kV), 2);
  EXPECT_EQ(size(R"({"name": "u", "shape": [3], "datatype": "INT64", "data": [5, 6, 7]},
                    {"name": "u.lengths", "shape": [2], "datatype": "INT32", "data": [0, 3]}, )" +
                 std::string(kV)),
            2);
  EXPECT_EQ(ModelMetadataJson("m", spec, {}, {}).find("dense"), std::string::npos);
  EXPECT_NE(ModelMetadataJson("m", Small(), {}, {}).find("dense"), std::string::npos);
}

TEST(InferJson, BagsOfAnyLength) {
  const std::string bags =
      R"({"name": "v", "shape": [3], "datatype": "INT64", "data": [5, 6, 7]},
         {"name": "v.lengths", "shape": [2], "datatype": "INT32", "data": [0, 3]})";
  ExpectExamples(Parse(Json(std::string(kDense) + kU + bags)), {3, 4, 5, 6, 7}, {1, 1, 0, 3});
}

// A large request's ids of a few digits are read as i32; if one of them is wide, as i64.
TEST(InferJson, LargeRequestsOfShortIdsTakeNoMoreThanTheyMust) {
  constexpr int kIds = 80'000;
  for (const std::string last : {"7", "4000000000"}) {
    const std::string v =
        R"({"name": "v", "shape": [)" + std::to_string(kIds + 1) +
        R"(], "datatype": "INT64", "data": [)" + Repeated("5,", kIds) + last +
        R"(]}, {"name": "v.lengths", "shape": [2], "datatype": "INT64", "data": [)" +
        std::to_string(kIds) + ", 1]}";
    const KeyedJaggedTensor features = Parse(Json(std::string(kDense) + kU + v)).predict.features;
    EXPECT_EQ(features.values().dtype(), last == "7" ? DType::kI32 : DType::kI64);
    Context ctx({.threads = 1});
    const std::vector<int64_t> ids = features.values().To(ctx, DType::kI64).ToVector<int64_t>();
    EXPECT_EQ(ids[0], 3);
    EXPECT_EQ(ids[2], 5);
    EXPECT_EQ(ids.back(), std::stoll(last));
    EXPECT_EQ(features.offsets(ctx).To(ctx, DType::kI64).ToVector<int64_t>(),
              (std::vector<int64_t>{0, 1, 2, kIds + 2, kIds + 3}));
  }
}

TEST(InferJson, TensorsMayFollowAsBytes) {
  const int64_t v[] = {5, 6};
  const float dense[] = {0.5, -1};
  const std::string json = Json(
      std::string(
          R"({"name": "dense", "shape": [2, 1], "datatype": "FP32", "parameters": {"binary_data_size": 8}}, )") +
      kU +
      R"({"name": "v", "shape": [2], "datatype": "INT64", "parameters": {"binary_data_size": 16}})");
  std::string body = json;
  body.append(reinterpret_cast<const char*>(dense), sizeof dense);
  body.append(reinterpret_cast<const char*>(v), sizeof v);
  ExpectExamples(ParseInferJson(body, json.size(), Small()), {3, 4, 5, 6}, {1, 1, 1, 1});
  EXPECT_NE(ErrorOf([&] {
              ParseInferJson(body + "1", json.size(), Small());
            }).find("1 bytes behind the last input"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] {
              ParseInferJson(body.substr(0, body.size() - 1), json.size(), Small());
            }).find("expected 16 bytes for the shape [2], got 16; 15 are left"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ParseInferJson(body, body.size() + 1, Small()); }).find("JSON of"),
            std::string::npos);
}

TEST(InferJson, WhatMakesNoSenseIsRefused) {
  const std::string dense = kDense, u = kU, v = kV;
  const std::pair<std::string, std::string> cases[] = {
      {"", "parse error"},
      {Json(dense + u + v) + '\0', "unexpected NUL; expected end of input"},
      {Json(dense + u + v) + " \n" + '\0', "unexpected NUL; expected end of input"},
      {Json(dense + u + v) + '\0' + "x", "unexpected NUL; expected end of input"},
      {R"({"parameters": 5, )" + Json(dense + u + v).substr(1),
       "parameters: expected an object, got 5"},
      {R"({"parameters": null, )" + Json(dense + u + v).substr(1),
       "parameters: expected an object, got null"},
      {R"({"outputs": [{"name": "score", "parameters": []}], )" + Json(dense + u + v).substr(1),
       "outputs[0].parameters: expected an object"},
      {Json(
           dense + u +
           R"({"name": "v", "shape": [2], "datatype": "INT64", "parameters": "", "data": [1, 2]})"),
       "inputs[2].parameters: expected an object"},
      {"[]", "expected an object"},
      {"{}", "inputs: the key is missing"},
      {std::string(500, '['), "levels of nesting"},
      {Json(dense + u), "x"},
      {Json(dense + kU + R"({"name": "w", "shape": [2], "datatype": "INT64", "data": [1, 2]})"),
       "input 'w': the model has no such input"},
      {Json(dense + u + R"({"name": "v", "shape": [2], "datatype": "FP32", "data": [1, 2]})"),
       "input v: expected INT64 or INT32, got f32"},
      {Json(dense + u + R"({"name": "v", "shape": [2], "datatype": "BYTES", "data": ["", ""]})"),
       "inputs[2].datatype: expected FP32, INT64 or INT32, got 'BYTES'"},
      {Json(dense + u + R"({"name": "v", "shape": [3], "datatype": "INT64", "data": [1, 2, 3]})"),
       "input v: expected shape [2] or [2, L], got [3]"},
      {Json(dense + u + R"({"name": "v", "shape": [2], "datatype": "INT64", "data": [1]})"),
       "inputs[2].data: expected 2 elements, got 1"},
      {Json(dense + u + R"({"name": "v", "shape": [2], "datatype": "INT64", "data": [1, 1.5]})"),
       "inputs[2].data: expected an integer, got 1.5"},
      {Json(dense + u +
            R"({"name": "v", "shape": [2], "datatype": "INT32", "data": [1, 3000000000]})"),
       "inputs[2].data: 3000000000 is no INT32"},
      {Json(dense + u + R"({"name": "v", "shape": [4000000000], "datatype": "INT64", "data": []})"),
       "inputs[2].shape: more elements than there are in the body"},
      {Json(dense + u + R"({"name": "v", "shape": [-1], "datatype": "INT64", "data": []})"),
       "inputs[2].shape: expected extents of at least 0"},
      {Json(dense + u + v + "," + v), "inputs[3]: 'v' is there twice"},
      {Json(dense + u + v +
            R"(,{"name": "v.lengths", "shape": [2], "datatype": "INT64", "data": [1, 3]})"),
       "input v: expected ids [N] and lengths [2], got [2, 2] and [2]"},
      {Json(dense + u + R"({"name": "v", "shape": [3], "datatype": "INT64", "data": [1, 2, 3]},
            {"name": "v.lengths", "shape": [2], "datatype": "INT64", "data": [-1, 4]})"),
       "input v: the lengths don't add up to its 3 ids"},
      {Json(dense + u + R"({"name": "v", "shape": [2], "datatype": "INT64", "data": [1, "x"]})"),
       "inputs[2].data: expected an integer, got something else"},
      {Json(dense + u + R"({"name": "v", "shape": [2], "datatype": "INT64", "data": {"a": 1}})"),
       "inputs[2].data: expected a list"},
      {Json(dense + u + R"({"name": "v", "shape": [2], "datatype": "INT64", "data": [1e3, 1]})"),
       "inputs[2].data: expected an integer, got 1e3"},
      {Json(
           dense + u +
           R"({"name": "v", "shape": [2], "datatype": "INT64", "data": [1, 9223372036854775808]})"),
       "inputs[2].data: expected an integer, got 9223372036854775808"},
      {Json(R"({"name": "dense", "shape": [2, 1], "datatype": "FP32", "data": [1, 1e39]})"
            "," +
            u + v),
       "inputs[0].data: expected a number that a float can hold, got 1e39"},
      {Json(R"({"name": "dense", "shape": [2, 1], "datatype": "FP32", "data": [1, true]})"
            "," +
            u + v),
       "inputs[0].data: expected a number, got something else"},
      {Json(dense + u +
            R"({"name": "v", "shape": [2], "datatype": "INT64", "data": [[[[[[[[1]]]]]]]]})"),
       "inputs[2].data: lists in lists, too deep"},
      {Json(
           dense + u +
           R"({"name": "v", "shape": [2, 3], "datatype": "INT64", "data": [[1, 2], [3, 4], [5, 6]]})"),
       "inputs[2].data: expected lists of the shape [2, 3], or one list of all elements; got a "
       "list "
       "in it of 2 where the shape has 3"},
      {Json(Repeated("{},", 5000) + "{}"), "more than 1160 values in one document"},
      {R"({"inputs": [], "outputs": [{"name": "y"}]})", "outputs: expected the name \"score\""},
  };
  for (const auto& [body, what] : cases)
    EXPECT_NE(ErrorOf([&] { Parse(body); }).find(what), std::string::npos)
        << body << ": " << ErrorOf([&] { Parse(body); });
  EXPECT_EQ(ErrorOf([&] { Parse(Json(dense + u.substr(0, u.size() - 2))); }), "input v is missing");
}

void ExpectNumbersAsWritten() {
  const std::string dense =
      R"({"name": "dense", "shape": [2, 1], "datatype": "FP32", "data": [ [-1.5E+2] , [1.5e-400]]},)";
  const std::string u =
      R"({"data": [-9223372036854775808, 9223372036854775807], "datatype": "INT64", "shape": [2],
          "name": "u"},)";
  const std::string v = R"({"name": "v", "shape": [2, 0], "datatype": "INT32", "data": [[], []]})";
  const PredictRequest request = ParseInferJson(Json(dense + u + v), std::nullopt, Small()).predict;
  EXPECT_EQ(request.dense.ToVector<float>(), (std::vector<float>{-150, 0}));
  EXPECT_EQ(request.features.values().ToVector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, INT64_MAX}));
}

TEST(InferJson, NumbersAreReadAsTheyAreWritten) { ExpectNumbersAsWritten(); }

TEST(InferJson, NumbersKnowNoLocale) {
  const tessera::testing::CommaLocale comma(::testing::TempDir());
  ExpectNumbersAsWritten();
}

TEST(InferSafetensors, SaysTheSame) {
  Context ctx({.threads = 1});
  const std::string body =
      SafetensorsBytes(ctx, {.tensors = {{"dense", Tensor::From<float>(ctx, {2, 1}, {0.5, -1})},
                                         {"u", Tensor::From<int64_t>(ctx, {3, 4})},
                                         {"v", Tensor::From<int32_t>(ctx, {5, 6, 7})},
                                         {"v.lengths", Tensor::From<int64_t>(ctx, {3, 0})}},
                             .metadata = {{"id", "x"}}});
  ExpectExamples(ParseInferSafetensors(body, Small()), {3, 4, 5, 6, 7}, {1, 1, 3, 0});
  EXPECT_NE(ErrorOf([&] { ParseInferSafetensors(body.substr(0, 100), Small()); }).find("body: "),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ParseInferSafetensors("", Small()); }).find("body: it is empty"),
            std::string::npos);
  uint64_t header = 100'000;  // an input costs 512 bytes at most
  std::string many(200'000, ' ');
  std::memcpy(many.data(), &header, sizeof header);
  EXPECT_NE(ErrorOf([&] {
              ParseInferSafetensors(many, Small());
            }).find("body: a header of 100000 bytes; that of this model's inputs has at most"),
            std::string::npos);
}

TEST(InferJson, OutputsAreThoseAskedForInTheirOrderAndForm) {
  const auto asked = [](const std::string& more) {
    std::string text;
    const std::string json = "{" + more + "\"inputs\": [" + kDense + kU + kV + "]}";
    for (const AskedOutput& output : ParseInferJson(json, std::nullopt, WithTasks()).outputs)
      text += output.name + (output.binary ? " binary," : ",");
    return text;
  };
  EXPECT_EQ(asked(""), "");
  EXPECT_EQ(asked(R"("outputs": [], )"), "");
  EXPECT_EQ(asked(R"("outputs": [{"name": "buy"}, {"name": "click"}], )"), "buy,click,");
  EXPECT_EQ(asked(R"("outputs": [{"name": "buy", "parameters": {"binary_data": true}}], )"),
            "buy binary,");
  EXPECT_EQ(asked(R"("parameters": {"binary_data_output": true}, )"), "click binary,buy binary,");
  EXPECT_EQ(asked(R"("parameters": {"binary_data_output": true}, "outputs": [{"name": "buy"},
                  {"name": "click", "parameters": {"binary_data": false}}], )"),
            "buy binary,click,");
  EXPECT_NE(ErrorOf([&] {
              asked(R"("outputs": [{"name": "buy", "parameters": {"classification": 2}}], )");
            }).find("outputs[0].parameters.classification: scores are answered, not classes"),
            std::string::npos);
}

TEST(InferResponse, HasTheOutputsAskedFor) {
  const ScoredRequest scored{
      .scores = {0.5, 2, 0.25, 3}, .outputs = {"click", "buy"}, .model_version = 3};
  const std::string head = R"({"model_name":"m","model_version":"3","outputs":[)",
                    buy = R"({"name":"buy","datatype":"FP32","shape":[2],)";
  EXPECT_EQ(AnswerInJson("m", scored, "", {{"buy"}}).body, head + buy + R"("data":[2,3]}]})");
  const InferAnswer answer = AnswerInJson("m", scored, "", {{"buy", true}});
  const std::string json = head + buy + R"("parameters":{"binary_data_size":8}}]})";
  ASSERT_EQ(answer.json_bytes, json.size());
  EXPECT_EQ(answer.body.substr(0, json.size()), json);
  const float numbers[] = {2, 3};
  EXPECT_EQ(answer.body.substr(json.size()),
            std::string(reinterpret_cast<const char*>(numbers), sizeof numbers));
  EXPECT_NE(ErrorOf([&] { AnswerInJson("m", scored, "", {{"gone"}}); }).find("has no 'gone'"),
            std::string::npos);
}

TEST(InferResponse, BothForms) {
  EXPECT_EQ(AnswerInJson("m", {.scores = {0.5, 0.25}, .model_version = 3}, "x").body,
            R"({"model_name":"m","model_version":"3","outputs":[{"name":"score","datatype":"FP32",)"
            R"("shape":[2],"data":[0.5,0.25]}],"id":"x"})");
  const std::string bytes = InferResponseSafetensors({.scores = {0.5, 0.25}});
  const SafetensorsFile file(bytes, "response");
  Context ctx({.threads = 1});
  EXPECT_EQ(file.Read(ctx, file.entries().at("score")).ToVector<float>(),
            (std::vector<float>{0.5, 0.25}));
  EXPECT_EQ(ErrorJson("a \"b\" \xff"), R"({"error":"a \"b\" \ufffd"})");
}

}  // namespace
}  // namespace tessera::serve
