#include "embedding/table/table_on_disk.h"

#include "embedding/table/new_row_init.h"
#include "embedding/table/table_start.h"

namespace tessera::internal {
namespace {

std::vector<int64_t> RowsOf(Context& ctx, const Tensor& ids) {
  return ids.To(ctx, DType::kI64).To(ctx, Device::Cpu()).ToVector<int64_t>();
}

// Returns what these rows start with, [n, D] of the table's type.
Tensor NewRowsOnHost(Context& host, const EmbeddingTable& table, const std::vector<int64_t>& rows,
                     uint64_t seed) {
  BaseEmbeddingConfig config = table.config;
  Tensor made = Tensor::Empty(host, {std::ssize(rows), config.embedding_dim}, config.data_type);
  for (int64_t k = 0; k < std::ssize(rows); ++k) {
    config.place.first_row = table.config.place.first_row + rows[static_cast<size_t>(k)];
    InitNewRows(host, config, made.Rows(k, k + 1), {{}, 0, 1}, seed, table.iter);
  }
  return made;
}

}  // namespace

std::shared_ptr<DiskTable> MakeDiskTable(Context& ctx, const BaseEmbeddingConfig& config,
                                         const std::vector<Tensor>& parts,
                                         std::shared_ptr<BlockIo>& io) {
  CheckStartOnDisk(config);
  if (io == nullptr) io = MakeBlockIo();
  const RowStart start = StartOf(ctx, config);
  try {
    return std::make_shared<DiskTable>(
        io, parts, start, RowLogOptions{.folder = config.cache.folder, .table = config.name});
  } catch (const Error& error) {
    throw Error(Format("table {}: {}", config.name, error.what()));
  }
}

void ResetRowsOnDisk(Context& ctx, EmbeddingTable& table, const Tensor& ids, bool initial) {
  const std::vector<int64_t> rows = RowsOf(ctx, ids);
  DiskTable& disk = *table.disk;
  Context host({.threads = 1});
  const int copied = CopiedState(table.config.optimizer, table.iter);
  const Tensor start =
      initial ? NewRowsOnHost(host, table, rows, table.SeedOfStarts(ctx)) : Tensor();
  for (int p = 0; p < disk.num_parts(); ++p) {
    if (initial && (p == 0 || p == copied + 1)) {
      const DType dtype = p == 0 ? table.config.data_type : table.config.state_type;
      disk.WritePart(p, rows, start.To(host, dtype).raw_data());
    } else {
      const std::vector<char> zeros(rows.size() * static_cast<size_t>(disk.row_bytes(p)));
      disk.WritePart(p, rows, zeros.data());
    }
  }
}

void ForEachPieceOnDisk(Context& ctx, const EmbeddingTable& table, bool written,
                        const std::function<void(const UpdateTable&)>& fn) {
  table.disk->ForEachPiece(written, [&](int64_t first, const std::vector<Tensor>& host) {
    std::vector<Tensor> parts;
    for (const Tensor& part : host) parts.push_back(part.To(ctx, ctx.device()));
    UpdateTable piece = table.ForUpdate();
    piece.num_rows = parts[0].dim(0);
    piece.weights = parts[0].raw_data();
    piece.rounding.row_ids = nullptr;
    piece.rounding.first_row += first;
    for (size_t s = 0; s < piece.states.size(); ++s) piece.states[s] = parts[s + 1].raw_data();
    fn(piece);
    if (written)
      for (size_t p = 0; p < parts.size(); ++p)
        if (ctx.device() != Device::Cpu()) host[p].CopyFrom(ctx, parts[p]);
  });
}

}  // namespace tessera::internal
