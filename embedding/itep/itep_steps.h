#ifndef TESSERA_EMBEDDING_ITEP_ITEP_STEPS_H_
#define TESSERA_EMBEDDING_ITEP_ITEP_STEPS_H_
// A pruning module with the counter of training forwards that it goes by, in front of tables here
// or over ranks.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embedding/itep/itep_module.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/tensor.h"

namespace tessera::internal {

std::vector<BaseEmbeddingConfig> TablesOf(const TableBatchedEmbedding& tables);

class ItepSteps {
 public:
  // Throws Error unless the module has these tables.
  ItepSteps(std::unique_ptr<GenericITEPModule> module,
            const std::vector<BaseEmbeddingConfig>& tables);

  // Rows for ids; reset(table, rows) for rows that were handed on. Counts if a tape records. Throws
  // Error for an id that is out of range, if `mode` is FATAL.
  KeyedJaggedTensor Forward(Context& ctx, const KeyedJaggedTensor& features, BoundsCheckMode mode,
                            const std::function<void(int, const Tensor&)>& reset);

  GenericITEPModule& module() { return *module_; }
  int64_t iter() const { return iter_; }

  // prefix + "_iter" (i64 [1]), and the module's as prefix + "_itep_module." + its name.
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix) const;
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix);

 private:
  std::unique_ptr<GenericITEPModule> module_;
  int64_t iter_ = 0;
};

// The steps in front of a Collection, without its forward.
template <typename Collection>
class ItepFront {
 public:
  Collection& collection() { return *collection_; }
  GenericITEPModule& itep_module() { return steps_.module(); }
  // Training forwards so far.
  int64_t iter() const { return steps_.iter(); }

  // All that a resumed run needs beside the tables: see ItepSteps.
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix = "") const {
    return steps_.StateDict(ctx, prefix);
  }
  // Throws Error, and changes nothing, for other names, shapes or types.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix = "") {
    steps_.LoadStateDict(ctx, tensors, prefix);
  }

 protected:
  // tables_of(collection): its tables.
  template <typename TablesOf>
  ItepFront(std::unique_ptr<Collection> collection, std::unique_ptr<GenericITEPModule> module,
            const TablesOf& tables_of)
      : collection_(std::move(collection)), steps_(std::move(module), tables_of(Needed())) {}

  std::unique_ptr<Collection> collection_;
  ItepSteps steps_;

 private:
  // Throws Error if there is no collection.
  Collection& Needed() const {
    if (collection_ == nullptr) throw Error("ITEP: a collection is needed, got null");
    return *collection_;
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_ITEP_ITEP_STEPS_H_
