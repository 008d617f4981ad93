#include "train/checkpoint/checkpoint_chain.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/files/files.h"
#include "train/checkpoint/delta_file.h"

namespace tessera {
namespace {

// Bytes [begin, begin + count) of a tensor, in memory.
struct Window {
  char* bytes;
  int64_t begin, count;
  int64_t end() const { return begin + count; }
};

// One tensor of a chain: whole in one file, and, for a table, rows of later files over it.
class ChainTensor {
 public:
  ChainTensor(SafetensorsEntry shape, std::function<void(int64_t, int64_t, void*)> read_whole,
              int64_t whole_bytes)
      : shape_(std::move(shape)), read_whole_(std::move(read_whole)), whole_bytes_(whole_bytes) {}

  const SafetensorsEntry& shape() const { return shape_; }
  int64_t rows() const { return shape_.shape[0]; }

  // Adds the rows of a later delta, after which the table has `table.num_rows` rows.
  void Cover(const DeltaFile& delta, const std::string& name, const DeltaFile::Table& table) {
    const SafetensorsEntry& entry = delta.file->entries().at(name);
    CheckCovers(delta.path, name, entry, table);
    shape_.shape = WithRows(table.num_rows);
    layers_.push_back({delta.file, entry, &table.rows});
  }

  void ReadBytes(int64_t offset, int64_t count, void* out) const {
    const Window window{static_cast<char*>(out), offset, count};
    const int64_t whole = std::clamp<int64_t>(whole_bytes_ - offset, 0, count);
    if (whole > 0) read_whole_(offset, whole, out);
    for (const Layer& layer : layers_) Overlay(layer, window);
  }

 private:
  struct Layer {
    std::shared_ptr<const SafetensorsFile> file;
    SafetensorsEntry entry;  // [k, …]
    const std::vector<int64_t>* rows;
  };

  Shape WithRows(int64_t rows) const {
    std::vector<int64_t> dims(shape_.shape.dims().begin(), shape_.shape.dims().end());
    dims[0] = rows;
    return Shape(std::span<const int64_t>(dims));
  }

  int64_t RowBytes() const {
    int64_t bytes = SizeOf(shape_.dtype);
    for (const int64_t d : shape_.shape.dims().subspan(1)) bytes *= d;
    return bytes;
  }

  void CheckCovers(const std::string& path, const std::string& name, const SafetensorsEntry& entry,
                   const DeltaFile::Table& table) const {
    if (shape_.shape.rank() == 0)
      throw Error(Format("{}: rows of '{}', which has no rows before", path, name));
    const Shape expected = WithRows(std::ssize(table.rows));
    if (entry.dtype != shape_.dtype || entry.shape != expected)
      throw Error(Format("{}: '{}': expected {} of {}, got {} of {}", path, name, expected,
                         shape_.dtype, entry.shape, entry.dtype));
    const auto added = std::lower_bound(table.rows.begin(), table.rows.end(), rows());
    if (table.num_rows < rows() || table.rows.end() - added != table.num_rows - rows())
      throw Error(Format("{}: '{}': {} rows, {} of them new, after {} rows", path, name,
                         table.num_rows, table.rows.end() - added, rows()));
  }

  // Copies a layer's rows over the window; rows that lie next to each other in the file are read at
  // once.
  void Overlay(const Layer& layer, const Window& window) const {
    const int64_t width = RowBytes();
    if (width == 0) return;
    const std::vector<int64_t>& rows = *layer.rows;
    const auto first = std::lower_bound(rows.begin(), rows.end(), window.begin / width);
    const auto last = std::lower_bound(first, rows.end(), (window.end() + width - 1) / width);
    if (first == last) return;
    std::vector<char> held(static_cast<size_t>((last - first) * width));
    layer.file->ReadBytes(layer.entry, (first - rows.begin()) * width, std::ssize(held),
                          held.data());
    const char* from = held.data();
    for (auto row = first; row != last; ++row, from += width) {
      const int64_t begin = std::max(*row * width, window.begin);
      const int64_t end = std::min((*row + 1) * width, window.end());
      std::memcpy(window.bytes + (begin - window.begin), from + (begin - *row * width),
                  static_cast<size_t>(end - begin));
    }
  }

  SafetensorsEntry shape_;  // of the last file
  std::function<void(int64_t offset, int64_t count, void* out)> read_whole_;
  int64_t whole_bytes_;
  std::vector<Layer> layers_;  // in the order of their files
};

class Chain {
 public:
  explicit Chain(const ChainFiles& files)
      : base_(ReadCheckpointFile(BasePath(files.folder, files.base))) {
    for (const CheckpointEntry& entry : base_.tensors)
      tensors_.emplace(entry.name, ChainTensor(
                                       entry.tensor,
                                       [this, entry](int64_t offset, int64_t count, void* out) {
                                         base_.read_bytes(entry, offset, count, out);
                                       },
                                       entry.tensor.nbytes()));
    std::string identity = FileIdentity(base_.file->metadata());
    deltas_.reserve(files.deltas.size());
    for (const int64_t number : files.deltas) {
      deltas_.push_back(ReadDelta(DeltaPath(files.folder, number), number, identity));
      identity = deltas_.back().identity;
      Add(deltas_.back());
    }
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  const std::map<std::string, ChainTensor>& tensors() const { return tensors_; }
  // The metadata of the last file.
  std::map<std::string, std::string> Metadata() const {
    return WithoutDelta((deltas_.empty() ? base_.file : deltas_.back().file)->metadata());
  }

 private:
  // Tensors that the delta does not have are gone.
  void Add(const DeltaFile& delta) {
    std::map<std::string, ChainTensor> before = std::exchange(tensors_, {});
    for (const auto& [name, entry] : delta.file->entries()) {
      if (name.starts_with(kDeltaRowsPrefix)) continue;
      const DeltaFile::Table* table = delta.TableOf(name);
      if (table == nullptr) {
        tensors_.emplace(name, Whole(delta, entry));
        continue;
      }
      auto found = before.extract(name);
      if (found.empty())
        throw Error(Format("{}: rows of '{}', which is not there before", delta.path, name));
      found.mapped().Cover(delta, name, *table);
      tensors_.insert(std::move(found));
    }
  }

  static ChainTensor Whole(const DeltaFile& delta, const SafetensorsEntry& entry) {
    return ChainTensor(
        entry,
        [file = delta.file, entry](int64_t offset, int64_t count, void* out) {
          file->ReadBytes(entry, offset, count, out);
        },
        entry.nbytes());
  }

  Checkpoint base_;
  std::vector<DeltaFile> deltas_;
  std::map<std::string, ChainTensor> tensors_;
};

int64_t BytesOf(const std::string& path) {
  return static_cast<int64_t>(std::filesystem::file_size(path));
}

}  // namespace

ChainPosition ReadPosition(const ChainFiles& files) {
  const std::string& folder = files.folder;
  const std::string last =
      files.deltas.empty() ? BasePath(folder, files.base) : DeltaPath(folder, files.last());
  ChainPosition position{.folder = folder,
                         .number = files.last(),
                         .identity = FileIdentity(SafetensorsFile(last).metadata()),
                         .deltas = std::ssize(files.deltas),
                         .base_bytes = BytesOf(BasePath(folder, files.base)),
                         .delta_bytes = 0};
  for (const int64_t number : files.deltas)
    position.delta_bytes += BytesOf(DeltaPath(folder, number));
  return position;
}

Checkpoint ReadChain(const std::string& folder) { return ReadChain(NewestChain(folder)); }

Checkpoint ReadChain(const ChainFiles& files) {
  const auto chain = std::make_shared<const Chain>(files);
  Checkpoint checkpoint{.path = files.folder,
                        .file = {},
                        .chain = ReadPosition(files),
                        .tensors = {},
                        .progress = {},
                        .config = {},
                        .metadata = chain->Metadata(),
                        .read_bytes = [chain](const CheckpointEntry& entry, int64_t offset,
                                              int64_t count, void* out) {
                          chain->tensors().at(entry.name).ReadBytes(offset, count, out);
                        }};
  for (const auto& [name, tensor] : chain->tensors())
    checkpoint.tensors.push_back({name, tensor.shape()});
  TakeMetadata(checkpoint);
  return checkpoint;
}

std::string CompactChain(const std::string& folder, int64_t keep) {
  TESSERA_CHECK_GE(keep, 0, "{}: chains to keep", folder);
  const ChainFiles files = NewestChain(folder);
  RemoveUnfinished(folder);
  std::string base = BasePath(folder, files.base);
  if (!files.deltas.empty()) {
    base = BasePath(folder, files.last() + 1);
    WriteWhole(ReadChain(folder), base);
  }
  SyncFolder(folder);  // also of a base that is there: who wrote it may have failed to
  RemoveOldChains(folder, keep);
  return base;
}

}  // namespace tessera
