#include "serve/http/body/plain_request.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "serve/http/inference_protocol.h"
#include "tests/testing/error_of.h"

namespace tessera::serve {
namespace {

using internal::PlainRequest;
using internal::ReadPlainRequest;
using tessera::testing::ErrorOf;

constexpr char kPlain[] =
    R"({"id": "x", "inputs": [
  {"name": "dense", "shape": [2, 1], "datatype": "FP32", "data": [0.5, -1e-3]},
  {"data": [[3], [4]] , "datatype": "INT64", "shape": [2], "name": "u"},
  {"name": "v", "shape": [3], "datatype": "INT32", "data": [5, 6, 7]},
  {"name": "v.lengths", "shape": [2], "datatype": "INT64", "data": [0, 3]}]})";

// kPlain with `to` in the place of `from`.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kPlain;
  const size_t at = text.find(from);
  if (at == text.npos) throw Error("there is no " + from);
  return text.replace(at, from.size(), to);
}

bool IsPlain(const std::string& text) { return ReadPlainRequest(text, 4).has_value(); }

TEST(PlainRequest, IsRead) {
  const std::optional<PlainRequest> request = ReadPlainRequest(kPlain, 4);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->id, "x");
  ASSERT_EQ(request->inputs.size(), 4u);
  const internal::RequestInput& u = request->inputs.at("u");
  EXPECT_EQ(u.dtype, DType::kI64);
  EXPECT_EQ(u.shape, Shape{2});
  int64_t ids[2];
  ReadElements(u, ids);
  EXPECT_EQ(ids[1], 4);
  EXPECT_TRUE(IsPlain(With(R"("id": "x", )", "")));
  EXPECT_TRUE(IsPlain(With("[5, 6, 7]", "[]")));  // that it is too short is seen later
}

TEST(PlainRequest, OthersAreLeftToTheReaderOfTrees) {
  for (const std::string& other : {With("\"x\"", R"("\u0041")"),
                                   With(R"("id": "x")", R"("parameters": {})"),
                                   With(R"("id": "x")", R"("inputs": [])"),
                                   With(R"("id": "x")", R"("id": 3)"),
                                   With(R"("name": "v",)", R"("name": "u",)"),
                                   With(R"("name": "v",)", ""),
                                   With(R"("name": "v",)", R"("name": "v", "name": "v",)"),
                                   With("[5,", "[05,"),
                                   With("[5,", "[5.,"),
                                   With("[5,", "[1e400,"),
                                   With("[5,", "[5 "),
                                   With("[5,", "[,"),
                                   With("[5,", "[\"5\","),
                                   With("[3],", "[[[[[[[3]]]]]]],"),
                                   With("[5,", "[0." + std::string(2000, '0') + "5,"),
                                   With("INT32", "INT8"),
                                   With("[2, 1]", "[2, -1]"),
                                   With("[2, 1]", "[4000000000, 4000000000]"),
                                   With("[2, 1]", "[2, 1.0]"),
                                   With("\"x\"", "\"\xff\""),
                                   With("\"x\"", "\"\n\""),
                                   std::string(kPlain) + " x",
                                   std::string(kPlain) + std::string(64 << 10, ' '),
                                   std::string(kPlain).substr(0, 100),
                                   std::string()})
    EXPECT_FALSE(IsPlain(other)) << other.substr(0, 500);
  EXPECT_FALSE(ReadPlainRequest(kPlain, 3).has_value());
}

// One dense feature, features "u" and "v".
ModelSpec Small() {
  ModelSpec spec;
  spec.net = {.dense_in = 1, .dense_arch = {4}, .over_arch = {4, 1}};
  spec.tables = {{.name = "t", .rows = 9, .dim = 4, .features = {"u", "v"}}};
  return spec;
}

// All that a body means, or its error. With `json_bytes` it is read as a tree.
std::string Meaning(const std::string& body, const ModelSpec& spec,
                    std::optional<size_t> json_bytes) {
  std::string meaning;
  const std::string error = ErrorOf([&] {
    const InferRequest infer = ParseInferJson(body, json_bytes, spec);
    Context ctx({.threads = 1});
    const KeyedJaggedTensor& features = infer.predict.features;
    meaning = infer.id + (infer.predict.strict ? " strict" : "");
    const auto add = [&](const Tensor& tensor) {
      meaning += ToString(tensor.shape()) + std::string(static_cast<const char*>(tensor.raw_data()),
                                                        static_cast<size_t>(tensor.nbytes()));
    };
    for (const Tensor& tensor : {infer.predict.dense, features.values(), features.offsets(ctx)})
      add(tensor);
  });
  return error.empty() ? meaning : "error: " + error;
}

// A text with a few changes of bytes that JSON and its numbers are made of.
std::string Changed(std::string text, std::mt19937& random) {
  static const std::vector<std::string> pieces = {"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "\"",
                                                  "\\",
                                                  " ",
                                                  "\n",
                                                  "0",
                                                  "9",
                                                  "-",
                                                  "+",
                                                  ".",
                                                  "e",
                                                  "E5",
                                                  "1e39",
                                                  "1e-400",
                                                  "9223372036854775808",
                                                  "18446744073709551616",
                                                  "null",
                                                  "true",
                                                  "u",
                                                  "\xc3",
                                                  std::string(1, '\0'),
                                                  "\"id\":\"y\",",
                                                  "\"data\":[1],",
                                                  "[2,1]",
                                                  "[]",
                                                  "\"parameters\":{},"};
  for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
    const size_t at = random() % text.size(), length = random() % 3;
    const std::string& piece = pieces[random() % pieces.size()];
    text.replace(at, std::min(length, text.size() - at), random() % 4 == 0 ? "" : piece);
  }
  return text;
}

TEST(PlainRequest, MeansWhatItsTreeMeans) {
  const ModelSpec spec = Small();
  std::mt19937 random(1);
  const int rounds = std::getenv("TESSERA_TEST_ALL") != nullptr ? 100'000 : 30'000;
  int plain = 0, refused = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string body = Changed(kPlain, random);
    const std::string tree = Meaning(body, spec, body.size());
    ASSERT_EQ(Meaning(body, spec, std::nullopt), tree) << body;
    plain += IsPlain(body) ? 1 : 0;
    refused += tree.starts_with("error: ") ? 1 : 0;
  }
  std::printf("%d of %d plain, %d refused\n", plain, rounds, refused);
  EXPECT_GT(plain, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tessera::serve
