#ifndef TESSERA_TRAIN_PROPOSAL_PROPOSE_CONFIG_H_
#define TESSERA_TRAIN_PROPOSAL_PROPOSE_CONFIG_H_
// A configuration of `tessera train` for files that no schema explains yet: what a person begins
// from, not what is best.
#include <string>
#include <vector>

#include "data/describe/column_role.h"

namespace tessera {

// The document: data, tables of dim 16, a DLRM (of one feature alone a DeepFM) and its optimizers.
// Criteo's columns are those of the format "criteo", in place of a schema.
// Throws Error where no column is a label, or none a feature.
std::string ProposeConfig(const RowsProfile& profile, const std::vector<ProposedColumn>& columns);

}  // namespace tessera
#endif  // TESSERA_TRAIN_PROPOSAL_PROPOSE_CONFIG_H_
