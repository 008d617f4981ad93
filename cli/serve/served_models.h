#ifndef TESSERA_CLI_SERVE_SERVED_MODELS_H_
#define TESSERA_CLI_SERVE_SERVED_MODELS_H_
// The models that tessera serve is told to serve, and what it does with all of them.
#include <chrono>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "serve/versions/model_versions.h"
#include "serve/versions/retry_pauses.h"

namespace tessera::cli {

// Flags that say what is served.
struct ModelFlags {
  std::vector<std::string> models;             // "DIR", or "NAME=DIR"
  std::string name;                            // of one DIR; "": model
  std::vector<std::string> versions;           // "POLICY", or "NAME=POLICY"
  std::vector<std::string> canaries, shadows;  // "VERSION:PERCENT", or "NAME=VERSION:PERCENT"
  std::vector<std::string> warm_up_files;      // "FILE", or "NAME=FILE"
};

class ServedModels {
 public:
  // Loads them. Throws Error for flags that do not fit together, and for what ModelVersions
  // refuses. `watch`: the pause between two calls of Follow.
  ServedModels(const ModelFlags& flags, const serve::PredictorOptions& options,
               std::chrono::milliseconds watch);

  std::vector<serve::ModelVersions*> all() const;
  // "clicks, version 1, 2 tables, 3.1 MiB"; models with ";" between.
  std::string Description() const;

  // Each says what changed, and what went wrong.
  void Reload();
  // Tries what was wrong again where its files have changed, else after longer and longer pauses.
  void Follow();
  // Says once, for each version whose files were cut since it was loaded, that it answers nothing.
  void SayCutFiles();
  // Says which versions are not the newest that their directories hold, and why.
  void SayFailures() const;
  // Says which versions are served now. Any thread may call.
  void NoteTaken(const serve::ModelVersions& model) const;

 private:
  // Says what was taken up since the versions were `before`, and what was not.
  void NoteFailed(const serve::ModelVersions& model, const std::string& before,
                  const std::exception& error) const;

  std::vector<std::unique_ptr<serve::ModelVersions>> models_;
  std::vector<serve::RetryPauses> retries_;  // of each model
  std::set<std::string> cut_;                // names and digests of versions whose files were cut
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SERVE_SERVED_MODELS_H_
