#ifndef TESSERA_SERVE_HTTP_SERVICE_WARM_UP_H_
#define TESSERA_SERVE_HTTP_SERVICE_WARM_UP_H_
// Requests of a server to itself, before it takes those of clients: models are warm by then
// (serve/warm_up.h), but code and threads that read bodies and compute have done nothing yet.
#include <map>
#include <string>

#include "serve/request_queue.h"
#include "serve/versions/model_versions.h"

namespace tessera::serve {

// A row as the JSON of an inference: numbers 0, and the id 0 for each feature.
std::string MadeUpRowJson(const ModelSpec& spec);

// Reads, on this thread, such a row for each version of each model, lets all workers compute it,
// and writes the answer; so many times. No metric counts it. What goes wrong is passed over: the
// models have answered already.
void WarmUpService(RequestQueue& queue, int workers,
                   const std::map<std::string, ModelVersions*>& models, int times);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_SERVICE_WARM_UP_H_
