#ifndef TESSERA_EMBEDDING_ITEP_ITEP_EMBEDDING_H_
#define TESSERA_EMBEDDING_ITEP_ITEP_EMBEDDING_H_
// Pruning in front of pooled and of sequence tables (torchrec/modules/itep_embedding_modules.py).
//
//   ids -> rows (itep_module.h) -> rows that were handed on start anew -> lookup
//
// A row that is handed on gets what new rows of its table start with, and its optimizer state 0,
// before anybody reads it. (TorchRec does so only where more than pruning_interval forwards have
// gone by, and with rows of 0.)
#include <memory>
#include <utility>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "embedding/itep/itep_steps.h"
#include "runtime/tensor.h"

namespace tessera {

// Collection is EmbeddingBagCollection or EmbeddingCollection.
template <typename Collection>
class ItepCollection : public internal::ItepFront<Collection> {
 public:
  // Puts the module in front of the collection. Throws Error unless its tables are those of the
  // collection.
  ItepCollection(std::unique_ptr<Collection> collection, std::unique_ptr<GenericITEPModule> module)
      : internal::ItepFront<Collection>(
            std::move(collection), std::move(module),
            [](Collection& c) { return internal::TablesOf(c.tables()); }) {}

  // Like the collection's Forward, for ids below the tables' unpruned sizes. An id beyond is an
  // Error if the collection's bounds check is FATAL; in other modes it adds nothing. Each training
  // forward needs its backward before the next training forward.
  auto Forward(Context& ctx, const KeyedJaggedTensor& features) {
    TableBatchedEmbedding& tables = this->collection().tables();
    if (ctx.tape() != nullptr) tables.CheckForwardIsStep("ITEP");
    const auto reset = [&](int table, const Tensor& rows) {
      tables.rows().Reset(ctx, table, rows, TableRows::ResetTo::kInitial);
    };
    return this->collection().Forward(
        ctx, this->steps_.Forward(ctx, features, tables.options().bounds_check, reset));
  }
};

using ITEPEmbeddingBagCollection = ItepCollection<EmbeddingBagCollection>;
using ITEPEmbeddingCollection = ItepCollection<EmbeddingCollection>;

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_ITEP_ITEP_EMBEDDING_H_
