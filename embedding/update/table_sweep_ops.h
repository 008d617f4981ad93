#ifndef TESSERA_EMBEDDING_UPDATE_TABLE_SWEEP_OPS_H_
#define TESSERA_EMBEDDING_UPDATE_TABLE_SWEEP_OPS_H_
// Operations on whole tables that some rules need beside the update of touched rows, an element at
// a time (embedding/update/update.h: SweepTables, MaxRowCounterSync, OwedWeights).
#include "embedding/lookup/element.h"
#include "embedding/update/row_update.h"
#include "embedding/update/update.h"
#include "runtime/context.h"

namespace tessera::internal {

// Element i of a table's second halves of rows.
struct LeadElement {
  ExecutorTable table;
  TableSweep sweep;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t half = table.dim / 2, at = i / half * table.dim + i % half;
    const float leader = LoadElement(table.weights, table.row_type, at);
    const float w = LoadElement(table.weights, table.row_type, at + half);
    StoreElement(table.weights, table.row_type, at + half, sweep.Led(w, leader));
  }
};

// Element i of a table and of its slow copy, its first state an element.
struct EnsembleElement {
  ExecutorTable table;
  TableSweep sweep;
  TESSERA_HD void operator()(int64_t i) const {
    const StateArray& copy = table.element_states[0];
    float w = LoadElement(table.weights, table.row_type, i);
    float slow = LoadElement(copy.data, copy.type, i);
    sweep.Ensemble(w, slow);
    if (sweep.swap) StoreElement(table.weights, table.row_type, i, w);
    StoreElement(copy.data, copy.type, i, slow);
  }
};

// The largest of every `parts`-th number from number p on.
struct PartMaximum {
  const float* data;
  int64_t n, parts;
  float* maxima;
  TESSERA_HD void operator()(int64_t p) const {
    float largest = 0;
    for (int64_t i = p; i < n; i += parts) largest = Max(largest, data[i]);
    maxima[p] = largest;
  }
};

// The weight of id number i, 1 if there are none.
struct CopyWeight {
  const float* weights;
  float* to;
  TESSERA_HD void operator()(int64_t i) const { to[i] = weights != nullptr ? weights[i] : 1.0f; }
};

// Multiplies the weight of id number i, if it is the feature's, by what its row owes.
struct OwedWeight {
  LookupFeature feature;
  IndexArray offsets;
  OwedDecay owed;
  const float* prev_iter;
  float* weights;
  TESSERA_HD void operator()(int64_t i) const {
    if (i < offsets[feature.first_bag] || i >= offsets[feature.first_bag + feature.num_bags])
      return;
    const int64_t id = feature.ids[i];
    if (IsRow(id, feature.num_rows)) weights[i] = weights[i] * owed.Factor(prev_iter[id]);
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_TABLE_SWEEP_OPS_H_
