#include "embedding/storage/rocksdb/rocksdb_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr int kIdBytes = 8;

void AppendKey(std::string& out, std::string_view table, int64_t id) {
  out.append(table);
  out.push_back('\0');
  const uint64_t bits = static_cast<uint64_t>(id) ^ uint64_t { 1 } << 63;
  for (int byte = kIdBytes - 1; byte >= 0; --byte)
    out.push_back(static_cast<char>(bits >> (8 * byte)));
}

std::string KeyOf(std::string_view table, int64_t id) {
  std::string key;
  AppendKey(key, table, id);
  return key;
}

int64_t IdOf(std::string_view key) {
  uint64_t bits = 0;
  for (const char c : key.substr(key.size() - kIdBytes))
    bits = bits << 8 | static_cast<unsigned char>(c);
  return static_cast<int64_t>(bits ^ uint64_t{1} << 63);
}

rocksdb::Slice SliceOf(std::string_view text) { return {text.data(), text.size()}; }

void CheckStatus(const rocksdb::Status& status, const char* what, const std::string& folder) {
  TESSERA_CHECK(status.ok(), "RocksDB: {} {}: {}", what, folder, status.ToString());
}

rocksdb::Options OptionsOf(const RocksDbOptions& options) {
  rocksdb::Options o;
  o.create_if_missing = options.create_if_missing;
  o.write_buffer_size = static_cast<size_t>(options.write_buffer_bytes);
  o.compression = rocksdb::kNoCompression;  // rows of floats hardly shrink
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(static_cast<size_t>(options.block_cache_bytes));
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return o;
}

}  // namespace

struct RocksDbStore::Batch::State {
  rocksdb::WriteBatch batch;
};
struct RocksDbStore::State {
  std::unique_ptr<rocksdb::DB> db;
};

RocksDbStore::Batch::Batch() : state_(std::make_unique<State>()) {}
RocksDbStore::Batch::~Batch() = default;
RocksDbStore::Batch::Batch(Batch&&) noexcept = default;

void RocksDbStore::Batch::Put(std::string_view table, int64_t id, std::string_view record) {
  CheckStatus(state_->batch.Put(KeyOf(table, id), SliceOf(record)), "cannot note a record", "");
}

void RocksDbStore::Batch::Erase(std::string_view table, int64_t id) {
  CheckStatus(state_->batch.Delete(KeyOf(table, id)), "cannot note a record", "");
}

RocksDbStore::RocksDbStore(const std::string& folder, const RocksDbOptions& options)
    : folder_(folder), state_(std::make_unique<State>()) {
  TESSERA_CHECK(options.block_cache_bytes >= 0 && options.write_buffer_bytes > 0,
                "RocksDB: a cache of {} and a write buffer of {} bytes", options.block_cache_bytes,
                options.write_buffer_bytes);
  rocksdb::DB* db = nullptr;
  CheckStatus(rocksdb::DB::Open(OptionsOf(options), folder, &db), "cannot open", folder);
  state_->db.reset(db);
}

RocksDbStore::~RocksDbStore() = default;

void RocksDbStore::Read(std::string_view table, std::span<const int64_t> ids,
                        const std::function<void(size_t, std::string_view)>& fn) const {
  if (ids.empty()) return;
  std::string keys;
  for (const int64_t id : ids) AppendKey(keys, table, id);
  const size_t n = ids.size(), size = keys.size() / n;
  std::vector<rocksdb::Slice> slices;
  for (size_t i = 0; i < n; ++i) slices.emplace_back(keys.data() + i * size, size);
  std::vector<rocksdb::PinnableSlice> records(n);
  std::vector<rocksdb::Status> statuses(n);
  state_->db->MultiGet({}, state_->db->DefaultColumnFamily(), n, slices.data(), records.data(),
                       statuses.data());
  for (size_t i = 0; i < n; ++i) {
    if (statuses[i].IsNotFound()) continue;
    CheckStatus(statuses[i], "cannot read", folder_);
    fn(i, {records[i].data(), records[i].size()});
  }
}

void RocksDbStore::Write(Batch batch) {
  CheckStatus(state_->db->Write({}, &batch.state_->batch), "cannot write", folder_);
}

void RocksDbStore::Sync() {
  CheckStatus(state_->db->FlushWAL(/*sync=*/true), "cannot write", folder_);
}

void RocksDbStore::ForEach(std::string_view table,
                           const std::function<void(int64_t, std::string_view)>& fn) const {
  const std::string prefix = KeyOf(table, 0).substr(0, table.size() + 1);
  const std::unique_ptr<rocksdb::Iterator> it(state_->db->NewIterator({}));
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next())
    fn(IdOf({it->key().data(), it->key().size()}), {it->value().data(), it->value().size()});
  CheckStatus(it->status(), "cannot read", folder_);
}

void RocksDbStore::Checkpoint(const std::string& folder) const {
  rocksdb::Checkpoint* made = nullptr;
  CheckStatus(rocksdb::Checkpoint::Create(state_->db.get(), &made), "no checkpoint of", folder_);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  CheckStatus(checkpoint->CreateCheckpoint(folder), "cannot write", folder);
}

}  // namespace tessera
