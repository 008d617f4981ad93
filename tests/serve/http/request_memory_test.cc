// If memory runs out while a request is read or an answer written, that request fails and nothing
// else: no destructor of a half-made object asks for more.
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <string>
#include <thread>

#include "runtime/files/safetensors.h"
#include "serve/http/inference_protocol.h"
#include "serve/http/repository_protocol.h"
#include "tests/serve/testing/failing_memory.h"

namespace tessera::serve {
namespace {

ModelSpec Small() {
  ModelSpec spec;
  spec.net = {.dense_in = 1, .dense_arch = {4}, .over_arch = {4, 1}};
  spec.tables = {{.name = "t", .rows = 9, .dim = 4, .features = {"u"}}};
  return spec;
}

// Lets each allocation of fn in turn be the first that fails, until fn meets none; returns how
// often it failed.
int TimesWithoutMemory(const std::function<void()>& fn) {
  testing::SpareThisThread();
  int times = 0;
  for (bool failed = true; failed && times < 5000; times += failed ? 1 : 0) {
    failed = false;
    std::thread([&] {
      testing::LetAllocationsSucceed(times);
      try {
        fn();
      } catch (const std::bad_alloc&) {
        failed = true;
      } catch (const Error&) {
      }
      testing::LetAllocationsSucceed(-1);
    }).join();
  }
  return times;
}

TEST(RequestMemory, JsonThatIsReadHalf) {
  const ModelSpec spec = Small();
  const std::string good =
      R"({"id": "a name too long to lie in the string itself", "parameters": {"x": [[1, {"y": [2]}], []]},
          "outputs": [{"name": "score", "parameters": {"z": [1, 2, 3]}}], "inputs": [
          {"name": "dense", "datatype": "FP32", "shape": [2, 1], "data": [0.5, 1]},
          {"name": "u", "datatype": "INT64", "shape": [2], "data": [[1], [2]], "parameters": {"a": [1]}}]})";
  EXPECT_GT(TimesWithoutMemory([&] { ParseInferJson(good, {}, spec); }), 50);
  for (const char* bad : {R"({"inputs": [[[{"a": [1, [2]]}, {"b": {}}]]], "x": {"y": [1]}})",
                          R"({"outputs": [{"name": [[1]]}], "inputs": [{}]})",
                          R"({"a": [[1]], "a": {"b": []}})", R"([[[{"a": [1, {"b": [)"})
    EXPECT_GT(TimesWithoutMemory([&] { ParseInferJson(bad, {}, spec); }), 10) << bad;
}

TEST(RequestMemory, PlainJsonThatIsReadHalf) {
  const ModelSpec spec = Small();
  const std::string plain =
      R"({"id": "a name too long to lie in the string itself", "inputs": [
          {"name": "dense", "datatype": "FP32", "shape": [2, 1], "data": [0.5, 1]},
          {"name": "u", "datatype": "INT64", "shape": [2], "data": [[1], [2]]}]})";
  EXPECT_GT(TimesWithoutMemory([&] { ParseInferJson(plain, {}, spec); }), 20);
}

TEST(RequestMemory, HeadersThatAreReadHalf) {
  const ModelSpec spec = Small();
  Context ctx({.threads = 1});
  const std::string good =
      SafetensorsBytes(ctx, {.tensors = {{"dense", Tensor::Zeros(ctx, {2, 1})},
                                         {"u", Tensor::Zeros(ctx, {2}, DType::kI64)}},
                             .metadata = {{"id", "a name too long to lie in the string itself"}}});
  EXPECT_GT(TimesWithoutMemory([&] { ParseInferSafetensors(good, spec); }), 20);
}

TEST(RequestMemory, AnswersThatAreWrittenHalf) {
  const ModelSpec spec = Small();
  EXPECT_GT(TimesWithoutMemory([&] { ModelMetadataJson("model", spec); }), 3);
  EXPECT_GT(TimesWithoutMemory([&] { ErrorJson("what is wrong, in a sentence of some length"); }),
            1);
  EXPECT_GT(TimesWithoutMemory([&] { ServerMetadataJson(); }), 0);
  EXPECT_GT(TimesWithoutMemory([&] { ParseLoad(R"({"parameters": {"new_inputs": true}})"); }), 5);
}

}  // namespace
}  // namespace tessera::serve
