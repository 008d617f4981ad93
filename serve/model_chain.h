#ifndef TESSERA_SERVE_MODEL_CHAIN_H_
#define TESSERA_SERVE_MODEL_CHAIN_H_
// A model directory that is followed while it grows: the weights of model.json, then the deltas
// beside it, one a version (model_delta.h).
//
// A delta changes a copy of the tables that nobody reads (served_tables.h), the other of two in
// turn; so it is first brought up to date with what the copy in use had before. A request that
// computes with a model keeps its copy unchanged; if the spare copy is held so for longer than
// kWait, a new one is mapped in its place. One thread at a time may call; the models are for any.
//
// All bytes of weights and deltas are read and compared with their checksums before they are used.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/served_model.h"

namespace tessera::serve {

// How a directory is treated whose deltas cannot all be taken: one is damaged, does not follow, or
// is missing while a newer one is there.
enum class BadDeltas {
  kError,          // an Error, as for weights that are not what they were
  kServeLastGood,  // the newest version before it; failure() says why
};

struct ModelChainOptions {
  BadDeltas bad_deltas = BadDeltas::kError;
  // A model whose counters of tables go on, where the new one has these tables, too.
  const ServedModel* before = nullptr;
  // Whether other models are served meanwhile: the weights are then read by a quarter of the cores,
  // at a lower priority, else by all cores.
  bool beside = false;
  // Throws Error to refuse the model of the directory before its weights are read.
  std::function<void(const ModelSpec&)> accept = {};
};

class ModelChain {
 public:
  // The model of a directory, with all its deltas; a folder of versions
  // (train/checkpoint/version_folders.h) stands for its newest. Throws Error, naming the file, for
  // a directory without a model, or one that is not what it says.
  explicit ModelChain(const std::string& directory, const ModelChainOptions& options = {});

  // The model directory; given a folder of versions, that of the newest.
  const std::string& directory() const { return directory_; }
  // The model of the newest version that was taken.
  std::shared_ptr<const ServedModel> model() const { return model_; }
  // The crc32 that the next delta has to name.
  std::string crc32() const;
  // Takes the delta that follows, if it is there. Throws Error, naming the file, for one that is
  // damaged, does not follow, or is missing while a newer one is there; the model is then what it
  // was.
  bool TakeNext();
  // Why the last TakeNext threw, or what the constructor met under kServeLastGood; "" after one
  // that did not.
  const std::string& failure() const { return failure_; }
  // The newest version of which there is a file, taken or not.
  int64_t newest_version_seen() const { return newest_version_seen_; }

 private:
  static constexpr std::chrono::milliseconds kWait{100};

  // Returns tables of an older version than the newest, which nobody reads.
  std::shared_ptr<ServedTables> TakeSpare();
  void TakeAll(BadDeltas bad_deltas);
  bool IsNextThere();
  void Take(const std::string& path);

  const std::string directory_;
  const ModelSpec base_;
  const MappedTensors weights_;
  std::vector<std::shared_ptr<const ModelDelta>> deltas_;  // all, for a new copy
  std::shared_ptr<ServedTables> current_, spare_;
  std::shared_ptr<const ServedModel> model_;
  std::string failure_;
  int64_t newest_version_seen_ = 0;
};

// The model of a directory, with all its deltas. Throws Error as ModelChain does.
std::shared_ptr<const ServedModel> LoadServedModel(const std::string& directory);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_MODEL_CHAIN_H_
