#ifndef TESSERA_SERVE_HTTP_INFERENCE_PROTOCOL_H_
#define TESSERA_SERVE_HTTP_INFERENCE_PROTOCOL_H_
// Bodies of the Open Inference Protocol (KServe v2, HTTP) and what they mean for a model here.
//
// Inputs of a request of B examples:
//   dense              FP32 [B, dense_in]
//   <feature>          INT64 or INT32 [B] or [B, L]: as many ids for each example; or, with
//   <feature>.lengths  INT64 or INT32 [B]: [N], the ids of all examples one after the other
//   <feature>.weights  FP32, of a weighted model: a weight for each id, in their shape; without it
//                      they weigh 1
// Output: score, FP32 [B], click probabilities; of a model with tasks, one of each task's name. A
// request may name those that it wants.
//
// Three forms of the same: JSON; JSON followed by the bytes of tensors whose parameters say
// binary_data_size (Triton's extension; the JSON's length comes as a header); a safetensors file
// with these names. Malformed ones are Errors that say where, never more.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/model_spec.h"
#include "serve/request_queue.h"

namespace tessera::serve {

struct AskedOutput {
  std::string name;
  bool binary = false;  // its numbers follow the JSON of the answer as bytes
};

// A request with "parameters": {"strict": true}, in safetensors with the metadata strict: "true",
// is refused if an id is out of range. With "binary_data_output": true answers are binary but for
// outputs whose parameters say "binary_data": false. Other parameters are passed over.
struct InferRequest {
  std::string id;  // given back with the response
  PredictRequest predict;
  std::vector<AskedOutput> outputs = {};  // in this order; none: all, as JSON
};

inline constexpr char kDenseInput[] = "dense";

// A tensor that a model reads: [B, columns], any number for -1. Without dense values there is no
// tensor of them.
struct ModelInput {
  std::string name;
  const char* datatype = "";
  int64_t columns = -1;
};
std::vector<ModelInput> InputsOf(const ModelSpec& spec);
inline constexpr char kSafetensorsType[] = "application/x-safetensors";

// `json_bytes`: of the JSON at the begin of the body; absent: all of it.
InferRequest ParseInferJson(std::string_view body, std::optional<size_t> json_bytes,
                            const ModelSpec& spec);
InferRequest ParseInferSafetensors(std::string_view body, const ModelSpec& spec);

struct InferAnswer {
  std::string body;
  std::optional<size_t> json_bytes = {};  // of the JSON in front, where tensors follow
};
// Throws Error for an output that the model does not have.
InferAnswer AnswerInJson(const std::string& model, const ScoredRequest& scored,
                         const std::string& id, const std::vector<AskedOutput>& asked = {});
std::string InferResponseSafetensors(const ScoredRequest& scored);

std::string ServerMetadataJson();
// row_keys: those of RawRows::keys; versions: that are served, none: that of the spec alone.
std::string ModelMetadataJson(const std::string& model, const ModelSpec& spec,
                              const std::vector<std::string>& row_keys = {},
                              const std::vector<int64_t>& versions = {});
// A text as JSON, with its quotes.
std::string QuotedJson(const std::string& text);
// {"error": what}, in ASCII: nothing of a request comes back as it was.
std::string ErrorJson(const std::string& what);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_INFERENCE_PROTOCOL_H_
