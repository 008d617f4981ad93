#ifndef TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_STORE_H_
#define TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_STORE_H_
// Records of tables by 64-bit id, in a folder of RocksDB's. What was written together is there
// together, or not at all, after a crash of the process; after one of the machine, what was written
// before the last Sync.
//
//   key      table, a 0 byte, the id's 8 bytes (high ones first, the sign turned round): ascending
//   record   bytes that this class does not look at
//
// Several threads may call at once.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

struct RocksDbOptions {
  bool create_if_missing = true;
  int64_t block_cache_bytes = int64_t{64} << 20;   // of records that were read
  int64_t write_buffer_bytes = int64_t{64} << 20;  // of records not yet in a file of their own
};

class RocksDbStore {
 public:
  // Records that are written together.
  class Batch {
   public:
    Batch();
    ~Batch();
    Batch(Batch&&) noexcept;
    void Put(std::string_view table, int64_t id, std::string_view record);
    void Erase(std::string_view table, int64_t id);

   private:
    friend class RocksDbStore;
    struct State;
    std::unique_ptr<State> state_;
  };

  // Throws Error, with RocksDB's words, for a folder that cannot be opened: another process has it,
  // or it is not there and may not be made. All below throw Error where a file fails.
  explicit RocksDbStore(const std::string& folder, const RocksDbOptions& options = {});
  ~RocksDbStore();
  RocksDbStore(const RocksDbStore&) = delete;
  RocksDbStore& operator=(const RocksDbStore&) = delete;

  const std::string& folder() const { return folder_; }

  // fn(i, record) for each ids[i] that is there, all read in one call. Table names hold no 0 byte.
  void Read(std::string_view table, std::span<const int64_t> ids,
            const std::function<void(size_t, std::string_view)>& fn) const;
  void Write(Batch batch);
  // Writes to the disk whatever was written before this call.
  void Sync();
  // fn(id, record) for all records of a table, ids ascending, as they are when the call begins.
  void ForEach(std::string_view table,
               const std::function<void(int64_t, std::string_view)>& fn) const;
  // A store of its own with what was written so far, in a new folder; files are shared where the
  // file system allows. Throws Error for a folder that is there.
  void Checkpoint(const std::string& folder) const;

 private:
  struct State;
  std::string folder_;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_STORE_H_
