#ifndef TESSERA_SERVE_HTTP_REQUEST_INPUTS_H_
#define TESSERA_SERVE_HTTP_REQUEST_INPUTS_H_
// The named inputs of a request, in whatever form they came, as what a model reads.
#include <map>
#include <string>

#include "serve/http/body/request_elements.h"
#include "serve/model_spec.h"
#include "serve/predict_request.h"

namespace tessera::serve::internal {

// Throws Error for an input that is missing, unknown, or has another type or shape than
// inference_protocol.h says.
PredictRequest RequestOf(const std::map<std::string, RequestInput>& inputs, const ModelSpec& spec);

}  // namespace tessera::serve::internal
#endif  // TESSERA_SERVE_HTTP_REQUEST_INPUTS_H_
