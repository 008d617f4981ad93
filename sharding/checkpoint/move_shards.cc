#include "sharding/checkpoint/move_shards.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/tensor.h"
#include "sharding/checkpoint/checkpoint_rows.h"
#include "sharding/checkpoint/state_rows.h"
#include "sharding/exchange/copy_segments.h"

namespace tessera {
namespace {

// The overlap of an old and a new shard of a table.
struct Piece {
  Shard source, target, shared;
};

Shard Shared(const Shard& a, const Shard& b) {
  return {a.rank, std::max(a.row_offset, b.row_offset), std::max(a.column_offset, b.column_offset),
          SharedRows(a, b), SharedColumns(a, b)};
}

// The pieces, in the order of the new shards, then of the old.
std::vector<Piece> PiecesOf(const TableSharding& from, const TableSharding& to) {
  std::vector<Piece> pieces;
  for (const Shard& target : to.shards)
    for (const Shard& source : from.shards) {
      if (from.type == ShardingType::kDataParallel && source.rank != target.rank) continue;
      if (SharedRows(source, target) > 0 && SharedColumns(source, target) > 0)
        pieces.push_back({source, target, Shared(source, target)});
    }
  return pieces;
}

// The tensors of a shard that move together.
std::vector<NamedTensor> TensorsOf(const ShardTensors& shard, ShardPart part) {
  if (part == ShardPart::kWeights) return {shard.Weights()};
  return shard.states;
}

// The tensors of one of the shards that this rank holds.
std::vector<NamedTensor> TensorsFor(const std::vector<ShardTensors>& held, const std::string& table,
                                    const Shard& shard, ShardPart part) {
  for (const ShardTensors& s : held)
    if (s.table == table && s.shard.row_offset == shard.row_offset &&
        s.shard.column_offset == shard.column_offset)
      return TensorsOf(s, part);
  throw Error(Format("table {}: this rank does not hold {}", table, shard));
}

// `part`'s columns in rows of `whole`: [rows, columns], or [rows].
Tensor ColumnsOf(const Tensor& rows, const Shard& whole, const Shard& part) {
  if (rows.rank() == 1) return rows;
  return rows.Narrow(1, part.column_offset - whole.column_offset, part.columns);
}

Tensor PartOf(Context& ctx, const NamedTensor& tensor, const Shard& whole, const Shard& part) {
  const Tensor rows = RowsOfState(ctx, tensor, part.row_offset - whole.row_offset, part.rows);
  return ColumnsOf(rows, whole, part);
}

void PutPart(Context& ctx, const NamedTensor& tensor, const Shard& whole, const Shard& part,
             const Tensor& values) {
  const int64_t first = part.row_offset - whole.row_offset;
  const Tensor rows = RowsOfState(ctx, tensor, first, part.rows);
  ColumnsOf(rows, whole, part).CopyFrom(ctx, values);
  if (tensor.stored) WriteStored(ctx, tensor, first, rows);
}

// The shape of `part` in such a tensor.
Shape ShapeOf(const NamedTensor& tensor, const Shard& part) {
  return tensor.tensor.rank() == 1 ? Shape{part.rows} : Shape{part.rows, part.columns};
}

int64_t BytesOf(const std::vector<NamedTensor>& tensors, const Shard& part) {
  int64_t bytes = 0;
  for (const NamedTensor& t : tensors)
    bytes += Padded(ShapeOf(t, part).numel() * SizeOf(t.tensor.dtype()));
  return bytes;
}

// One exchange of one table.
class Mover {
 public:
  Mover(Context& ctx, Communicator& comm, const std::string& table, const PlacedShards& from,
        const PlacedShards& to, ShardPart part)
      : ctx_(ctx),
        comm_(comm),
        table_(table),
        pieces_(PiecesOf(from.sharding, to.sharding)),
        from_(from.held),
        to_(to.held),
        part_(part) {}

  void Run() {
    std::vector<Tensor> send;
    std::vector<int64_t> counts(static_cast<size_t>(comm_.size()), 0);
    for (int r = 0; r < comm_.size(); ++r) send.push_back(MessageTo(r));
    for (const Piece& p : pieces_)
      if (p.target.rank == comm_.rank())
        counts[static_cast<size_t>(p.source.rank)] += BytesOf(Targets(p), p.shared);
    Take(comm_.AllToAllV(ctx_, std::move(send), std::move(counts), "moving shards of " + table_)
             .Wait());
  }

 private:
  std::vector<NamedTensor> Sources(const Piece& p) const {
    return TensorsFor(from_, table_, p.source, part_);
  }
  std::vector<NamedTensor> Targets(const Piece& p) const {
    return TensorsFor(to_, table_, p.target, part_);
  }

  Tensor MessageTo(int rank) const {
    std::vector<Piece> pieces;
    int64_t bytes = 0;
    for (const Piece& p : pieces_) {
      if (p.source.rank != comm_.rank() || p.target.rank != rank) continue;
      pieces.push_back(p);
      bytes += BytesOf(Sources(p), p.shared);
    }
    const Tensor message = Tensor::Empty(ctx_, {bytes}, DType::kU8);
    int64_t at = 0;
    for (const Piece& p : pieces)
      for (const NamedTensor& t : Sources(p)) {
        const Tensor part = PartOf(ctx_, t, p.source, p.shared);
        message.Reinterpret(at, part.shape(), part.dtype()).CopyFrom(ctx_, part);
        at += Padded(part.nbytes());
      }
    return message;
  }

  // Reads the received pieces. Statistics of rows wait until all pieces of a shard are there.
  void Take(const std::vector<Tensor>& messages) const {
    std::vector<int64_t> next(messages.size(), 0);
    std::vector<std::vector<StoredPart>> numbers;  // of each tensor of the shard that is being read
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& p = pieces_[i];
      if (p.target.rank != comm_.rank()) continue;
      const std::vector<NamedTensor> targets = Targets(p);
      numbers.resize(targets.size());
      const auto source = static_cast<size_t>(p.source.rank);
      for (size_t t = 0; t < targets.size(); ++t) {
        const Tensor got = messages[source].Reinterpret(next[source], ShapeOf(targets[t], p.shared),
                                                        targets[t].tensor.dtype());
        next[source] += Padded(got.nbytes());
        if (got.rank() == 1)
          numbers[t].push_back(NumbersOf(p, got));
        else
          PutPart(ctx_, targets[t], p.target, p.shared, got);
      }
      if (i + 1 < pieces_.size() && pieces_[i + 1].target == p.target) continue;
      for (size_t t = 0; t < targets.size(); ++t)
        if (!numbers[t].empty()) PutNumbers(p.target, std::move(numbers[t]), targets[t]);
      numbers.clear();
    }
  }

  static StoredPart NumbersOf(const Piece& p, const Tensor& got) {
    Shard shard = p.source;
    shard.row_offset = p.shared.row_offset;
    shard.rows = p.shared.rows;
    const Tensor host = got.ToHost();
    return {shard, [host](int64_t begin, int64_t count, void* out) {
              std::memcpy(out, static_cast<const char*>(host.raw_data()) + begin,
                          static_cast<size_t>(count));
            }};
  }
  void PutNumbers(const Shard& shard, std::vector<StoredPart> parts,
                  const NamedTensor& target) const {
    const DType type = target.tensor.dtype();
    RowReader reader(shard, type, /*per_row=*/true, std::move(parts));
    const Tensor host = Tensor::EmptyHost({shard.rows}, type);
    reader.Read(0, shard.rows, host.raw_data());
    PutPart(ctx_, target, shard, shard, host);
  }

  Context& ctx_;
  Communicator& comm_;
  const std::string& table_;
  std::vector<Piece> pieces_;
  const std::vector<ShardTensors>&from_, &to_;
  ShardPart part_;
};

}  // namespace

void MoveShards(Context& ctx, Communicator& comm, const std::string& table,
                const PlacedShards& from, const PlacedShards& to, ShardPart part) {
  Mover(ctx, comm, table, from, to, part).Run();
}

}  // namespace tessera
