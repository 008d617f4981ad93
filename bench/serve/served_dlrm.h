#ifndef TESSERA_BENCH_SERVE_SERVED_DLRM_H_
#define TESSERA_BENCH_SERVE_SERVED_DLRM_H_
// A served DLRM and its clients: 26 tables of Criteo's rows, one id a bag, 13 dense features, MLPs
// 512-256-D and 512-256-1 (the shape of TorchRec's quantized model that tools/compare_peers times).
#include <cstdint>
#include <string>
#include <vector>

#include "bench/inputs/draws.h"
#include "runtime/context.h"
#include "serve/served_model.h"

namespace tessera::bench {

// Writes a model directory of an untrained model into `folder`, which may have others. Tables have
// at most `cap` rows. Throws Error for a codec that there is none of.
std::string WriteServedDlrm(const std::string& folder, int64_t dim, int64_t cap,
                            const std::string& codec);

// A client's request: dense features, and ids, feature after feature.
struct RawRequest {
  int64_t batch = 0;
  std::vector<float> dense;
  std::vector<int64_t> ids;
};

// Ids by a Zipf law of exponent 1.05.
RawRequest DrawRequest(Draws& draws, const serve::ModelSpec& spec, int64_t batch);

serve::PredictRequest RequestOf(Context& ctx, const serve::ServedModel& model,
                                const RawRequest& raw);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_SERVE_SERVED_DLRM_H_
