#include "train/checkpoint/raw_id_parts.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "embedding/managed_collision/growing_index.h"
#include "embedding/managed_collision/growing_rows.h"
#include "embedding/managed_collision/managed_collision_config.h"
#include "models/ranking_model.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/context.h"
#include "runtime/json/json_object.h"
#include "runtime/numbers/random.h"
#include "runtime/tensor.h"
#include "sharding/plan/hash_parts.h"
#include "train/checkpoint/edited_checkpoint.h"

namespace tessera {
namespace {

constexpr char kIds[] = "_growing_ids", kLast[] = "_growing_last_access_iter",
               kCounts[] = "_growing_counts", kNow[] = "_current_iter_tensor",
               kEvicted[] = "_evicted_indices", kPartRandom[] = "_part_random";
constexpr uint64_t kPartsSeed = 0x7261775f70617274;  // no other numbers come from it

// How a growing table divides its rows, and counts ids before they are admitted.
struct Layout {
  int64_t rows = 0, num_parts = 0, shared_rows = 1;
  int64_t sketch_bytes = 0;  // of each part; 0: ids are not counted

  Layout(int64_t rows, int64_t num_parts, const GrowingIndexOptions& growing)
      : rows(rows), num_parts(num_parts), shared_rows(growing.shared_rows) {
    sketch_bytes = GrowingIndex::SketchBytes(growing, rows_a_part() - shared_rows);
  }
  int64_t parts() const { return std::max<int64_t>(1, num_parts); }
  int64_t rows_a_part() const { return rows / parts(); }
  // Whether a state means the same: a table without parts only has more rows.
  bool SameState(const Layout& other) const {
    return num_parts == other.num_parts && shared_rows == other.shared_rows &&
           sketch_bytes == other.sketch_bytes && (num_parts == 0 || rows == other.rows);
  }
};

// The growing tables of a configuration.
std::map<std::string, Layout> LayoutsOf(const TrainConfig& config) {
  std::map<std::string, Layout> layouts;
  for (const EmbeddingBagConfig& table : config.tables) {
    const auto managed = config.managed_collision.find(table.name);
    if (managed == config.managed_collision.end()) continue;
    const auto* growing = std::get_if<GrowingIndexOptions>(&managed->second.module);
    if (growing != nullptr)
      layouts.emplace(table.name,
                      Layout(table.num_embeddings, managed->second.num_parts, *growing));
  }
  return layouts;
}

// Those of a checkpoint's configuration, whose other keys may name what only the program that wrote
// it knows, such as a rule of its own.
std::map<std::string, Layout> SavedLayouts(const std::string& config) {
  std::map<std::string, Layout> layouts;
  const internal::Json saved = internal::ParseJson(config);
  const auto tables = saved.find("tables");
  if (tables == saved.end()) return layouts;
  for (const internal::Json& table : *tables) {
    const auto managed = table.find("managed_collision");
    if (managed == table.end() || managed->value("kind", "") != "growing") continue;
    GrowingIndexOptions growing;
    growing.shared_rows = managed->value("shared_rows", growing.shared_rows);
    growing.admit_after = managed->value("admit_after", growing.admit_after);
    growing.sketch_bytes = managed->value("sketch_bytes", growing.sketch_bytes);
    layouts.emplace(table.at("name"),
                    Layout(table.at("rows"), managed->value("num_parts", int64_t{0}), growing));
  }
  return layouts;
}

// Tables whose state means something else than it did in the saved configuration.
std::map<std::string, std::pair<Layout, Layout>> Changed(const std::string& saved_config,
                                                         const TrainConfig& now) {
  std::map<std::string, std::pair<Layout, Layout>> changed;
  const std::map<std::string, Layout> were = SavedLayouts(saved_config);
  for (const auto& [table, is] : LayoutsOf(now))
    if (const auto was = were.find(table); was != were.end() && !was->second.SameState(is))
      changed.emplace(table, std::pair(was->second, is));
  return changed;
}

struct SavedId {
  int64_t id = 0, last = 0, count = 0;
  int64_t row = 0;  // of the whole table
};

// A table's rows in their new places.
struct MovedRows {
  const Layout before, after;
  bool had_rows = true;                   // else no batch had met the table
  std::vector<std::vector<SavedId>> ids;  // of each new part, in the order of their old rows

  int64_t count() const {
    if (after.num_parts > 0) return after.rows;
    return had_rows ? after.shared_rows + std::ssize(ids[0]) : 0;
  }
  // The old row that a row was; −1: it is a new one.
  int64_t OldRow(int64_t row) const {
    const int64_t part = row / after.rows_a_part(), local = row % after.rows_a_part();
    if (local < after.shared_rows)
      return had_rows ? part * before.parts() / after.parts() * before.rows_a_part() +
                            local % before.shared_rows
                      : -1;
    const std::vector<SavedId>& of_part = ids[static_cast<size_t>(part)];
    const int64_t i = local - after.shared_rows;
    return i < std::ssize(of_part) ? of_part[static_cast<size_t>(i)].row : -1;
  }
};

using ReadBytes = EditedCheckpoint::ReadBytes;

// Reads bytes of a tensor whose rows were moved: read_old those of an old tensor, read_new whole
// new rows.
void ReadMoved(const MovedRows& rows, int64_t row_bytes, const ReadBytes& read_old,
               const ReadBytes& read_new, int64_t begin, int64_t count, char* out) {
  const int64_t last = (begin + count + row_bytes - 1) / row_bytes;
  for (int64_t first = begin / row_bytes, next; first < last; first = next) {
    const int64_t old = rows.OldRow(first);
    for (next = first + 1; next < last; ++next)
      if (rows.OldRow(next) != (old < 0 ? old : old + next - first)) break;
    const int64_t from = std::max(begin, first * row_bytes),
                  to = std::min(begin + count, next * row_bytes);
    if (old >= 0) {
      read_old((old - first) * row_bytes + from, to - from, out + (from - begin));
      continue;
    }
    std::vector<char> fresh(static_cast<size_t>((next - first) * row_bytes));
    read_new(first, next - first, fresh.data());
    std::memcpy(out + (from - begin), fresh.data() + (from - first * row_bytes),
                static_cast<size_t>(to - from));
  }
}

// Keeps the ids of a part that have the highest scores, in the order of their rows.
void KeepBest(std::vector<SavedId>& ids, int64_t most, const internal::GrowingScore& score) {
  if (std::ssize(ids) <= most) return;
  const auto better = [&](const SavedId& a, const SavedId& b) {
    const double of_a = score.Of(a.last, a.count), of_b = score.Of(b.last, b.count);
    return of_a != of_b ? of_a > of_b : a.row > b.row;
  };
  std::nth_element(ids.begin(), ids.begin() + most, ids.end(), better);
  ids.resize(static_cast<size_t>(most));
  std::ranges::sort(ids, {}, &SavedId::row);
}

// Moves one table.
class TableMove {
 public:
  TableMove(EditedCheckpoint& to, const std::string& table, const Layout& before,
            const Layout& after)
      : to_(to),
        table_(table),
        parameter_(RankingModel::TableParameterName(table)),
        id_prefix_(parameter_.substr(0, parameter_.rfind('.') + 1)),
        rows_(std::make_shared<MovedRows>(MovedRows{before, after, true, {}})) {
    const Shape& shape = to_.At(parameter_).shape;
    if (shape.rank() != 2)
      throw Error(Format("{}: '{}': expected rows, got {}", to_.path(), parameter_, shape));
    old_rows_ = shape[0];
    rows_->had_rows = old_rows_ > 0;
    CheckRows();
  }

  MovedIds Move(const EmbeddingBagConfig& config, const ManagedTableConfig& managed, uint64_t seed,
                const NewRows& new_rows) {
    const auto& options = std::get<GrowingIndexOptions>(managed.module);
    MovedIds moved{.table = table_,
                   .num_parts = managed.num_parts,
                   .num_parts_before = rows_->before.num_parts,
                   .shared_rows = options.shared_rows,
                   .shared_rows_before = rows_->before.shared_rows,
                   .sketch_starts_anew = rows_->after.sketch_bytes > 0};
    for (int64_t part = 0; part < rows_->before.parts(); ++part) ReadPart(part);
    moved.ids = std::ssize(ids_);
    to_.Remove(id_prefix_ + "_");
    moved.without_row = Deal({options.score, now_});
    AddRows(new_rows);
    AddIds(config, managed, seed);
    return moved;
  }

 private:
  static std::string PrefixOf(const Layout& layout, int64_t part) {
    return layout.num_parts == 0 ? "" : PartPrefix(part);
  }
  std::string OldPrefix(int64_t part) const { return PrefixOf(rows_->before, part); }

  void CheckRows() const {
    const Layout& before = rows_->before;
    if (before.num_parts > 0 && old_rows_ != before.rows)
      throw Error(Format("{}: '{}': expected {} rows, got {}", to_.path(), parameter_, before.rows,
                         old_rows_));
  }

  void ReadPart(int64_t part) {
    const std::string prefix = id_prefix_ + OldPrefix(part);
    const std::vector<int64_t> ids = to_.Take(prefix + kIds), last = to_.Take(prefix + kLast),
                               counts = to_.Take(prefix + kCounts), now = to_.Take(prefix + kNow),
                               evicted = to_.Take(prefix + kEvicted);
    const int64_t shared = rows_->before.shared_rows,
                  most = std::min(old_rows_, rows_->before.rows_a_part());
    const bool fits = last.size() == ids.size() && counts.size() == ids.size() && now.size() == 1 &&
                      (ids.empty() || std::ssize(ids) + shared <= most);
    if (!fits)
      throw Error(Format("{}: '{}{}': {} ids, {} times and {} counts of {} rows", to_.path(),
                         prefix, kIds, ids.size(), last.size(), counts.size(), most));
    const std::set<int64_t> reset(evicted.begin(), evicted.end());
    for (size_t r = 0; r < ids.size(); ++r) {
      const int64_t row = static_cast<int64_t>(r) + shared;
      if (counts[r] == 0) continue;
      if (reset.contains(row))
        throw Error(Format("{}: '{}{}': row {} was to be reset before it was saved", to_.path(),
                           prefix, kEvicted, row));
      ids_.push_back({ids[r], last[r], counts[r], part * rows_->before.rows_a_part() + row});
    }
    now_ = std::max(now_, now[0]);
  }

  // Gives the ids to their new parts; returns how many have no row there.
  int64_t Deal(const internal::GrowingScore& score) {
    const Layout& after = rows_->after;
    const HashParts parts{after.parts(), after.rows_a_part()};
    rows_->ids.resize(static_cast<size_t>(after.parts()));
    for (const SavedId& id : ids_)
      rows_->ids[static_cast<size_t>(parts.PartOf(id.id))].push_back(id);
    int64_t left = std::ssize(ids_);
    ids_ = {};
    for (std::vector<SavedId>& of_part : rows_->ids) {
      KeepBest(of_part, after.rows_a_part() - after.shared_rows, score);
      left -= std::ssize(of_part);
    }
    return left;
  }

  void AddMoved(const std::string& name, const EditedCheckpoint::Entry& old,
                const ReadBytes& new_rows) {
    const bool per_row = old.shape.rank() == 1;
    const int64_t row_bytes = (per_row ? 1 : old.shape[1]) * SizeOf(old.dtype),
                  rows = rows_->count();
    to_.Add(name, old.dtype, per_row ? Shape{rows} : Shape{rows, old.shape[1]},
            [moved = rows_, row_bytes, read = old.read, new_rows](int64_t begin, int64_t count,
                                                                  char* out) {
              ReadMoved(*moved, row_bytes, read, new_rows, begin, count, out);
            });
  }

  void AddRows(const NewRows& new_rows) {
    const EditedCheckpoint::Entry weights = to_.At(parameter_);
    const int64_t dim = weights.shape[1];
    for (const auto& [name, state] : to_.Matching(OptimizerStateName(parameter_, ""))) {
      if (state.shape != Shape{old_rows_} && state.shape != Shape{old_rows_, dim}) continue;
      const int64_t row_bytes = (state.shape.rank() == 1 ? 1 : dim) * SizeOf(state.dtype);
      AddMoved(name, state, [row_bytes](int64_t, int64_t count, char* out) {
        std::memset(out, 0, static_cast<size_t>(count * row_bytes));
      });
    }
    AddMoved(parameter_, weights,
             [new_rows, table = table_](int64_t first, int64_t count, char* out) {
               new_rows(table, first, count, out);
             });
  }

  void AddColumn(const std::string& name, size_t part, int64_t SavedId::*column) {
    to_.Add(name, DType::kI64, Shape{std::ssize(rows_->ids[part])},
            [moved = rows_, part, column](int64_t begin, int64_t count, char* out) {
              std::vector<int64_t> numbers;
              for (const SavedId& id : moved->ids[part]) numbers.push_back(id.*column);
              std::memcpy(out, reinterpret_cast<const char*>(numbers.data()) + begin,
                          static_cast<size_t>(count));
            });
  }

  // Adds the state of the new parts' modules: that of new modules, and their ids.
  void AddIds(const EmbeddingBagConfig& config, const ManagedTableConfig& managed, uint64_t seed) {
    Context ctx({.threads = 1});
    EmbeddingBagConfig of_part = config;
    of_part.num_embeddings = rows_->after.rows_a_part();
    const std::vector<NamedTensor> state =
        MakeManagedCollisionModule(ctx, managed.module, of_part)->StateDict(ctx);
    for (size_t p = 0; p < rows_->ids.size(); ++p) {
      const auto part = static_cast<int64_t>(p);
      const std::string prefix = id_prefix_ + PrefixOf(rows_->after, part);
      for (const NamedTensor& tensor : state) to_.Add(prefix + tensor.name, tensor.tensor);
      AddColumn(prefix + kIds, p, &SavedId::id);
      AddColumn(prefix + kLast, p, &SavedId::last);
      AddColumn(prefix + kCounts, p, &SavedId::count);
      to_.Add(prefix + kNow, Tensor::From<int64_t>(ctx, {now_}));
      if (rows_->after.num_parts == 0) continue;
      const PhiloxBits bits =
          Philox(seed ^ kPartsSeed, internal::HashOf(table_), static_cast<uint64_t>(part));
      const auto own = static_cast<int64_t>(uint64_t{bits.v[1]} << 32 | bits.v[0]);
      to_.Add(prefix + kPartRandom, Tensor::From<int64_t>(ctx, {own, 0}));
    }
  }

  EditedCheckpoint& to_;
  std::string table_, parameter_, id_prefix_;
  std::shared_ptr<MovedRows> rows_;
  int64_t old_rows_ = 0, now_ = 0;
  std::vector<SavedId> ids_;
};

}  // namespace

bool PartsDiffer(const std::string& saved_config, const TrainConfig& now) {
  return !Changed(saved_config, now).empty();
}

Checkpoint WithParts(Checkpoint saved, const TrainConfig& now, const NewRows& new_rows,
                     std::vector<MovedIds>* moved) {
  const auto changed = Changed(saved.config, now);
  const uint64_t seed = saved.progress ? saved.progress->seed : now.seed;
  EditedCheckpoint edited(std::move(saved));
  for (const EmbeddingBagConfig& table : now.tables)
    if (const auto found = changed.find(table.name); found != changed.end())
      moved->push_back(TableMove(edited, table.name, found->second.first, found->second.second)
                           .Move(table, now.managed_collision.at(table.name), seed, new_rows));
  return std::move(edited).Finish();
}

}  // namespace tessera
