#ifndef TESSERA_EMBEDDING_TABLE_TABLE_ON_DISK_H_
#define TESSERA_EMBEDDING_TABLE_TABLE_ON_DISK_H_
// The operations that differ for a table with location kDisk. Its tensors are shapes without memory
// (ShapeOnly); rows lie in the cache and in storage/disk_table.h.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "embedding/storage/disk_table.h"
#include "embedding/table/embedding_table.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Throws Error for a config that no table on disk can have. `io` is made when the first asks for
// it.
std::shared_ptr<DiskTable> MakeDiskTable(Context& ctx, const BaseEmbeddingConfig& config,
                                         const std::vector<Tensor>& parts,
                                         std::shared_ptr<BlockIo>& io);

// Does what EmbeddingTable::ResetRows promises, for checked ids. REQUIRES: the cache is flushed,
// and reset afterwards.
void ResetRowsOnDisk(Context& ctx, EmbeddingTable& table, const Tensor& ids, bool initial);

// fn(a table of some of the rows, on ctx's device) for all rows on disk; `written`: what fn made of
// them is written back. What the cache holds is not looked at. Waits for the device.
void ForEachPieceOnDisk(Context& ctx, const EmbeddingTable& table, bool written,
                        const std::function<void(const UpdateTable&)>& fn);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_TABLE_ON_DISK_H_
