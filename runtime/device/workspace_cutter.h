#ifndef TESSERA_RUNTIME_DEVICE_WORKSPACE_CUTTER_H_
#define TESSERA_RUNTIME_DEVICE_WORKSPACE_CUTTER_H_
// Arrays that a call needs together, as parts of one allocation.
#include <cstdint>

namespace tessera::internal {

// Cuts one allocation into parts; without memory it only counts the bytes.
class WorkspaceCutter {
 public:
  explicit WorkspaceCutter(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <typename T>
  T* Take(int64_t n) {
    const int64_t at = bytes_;
    bytes_ += (n * static_cast<int64_t>(sizeof(T)) + 255) / 256 * 256;  // as CUDA aligns memory
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }
  int64_t bytes() const { return bytes_; }

 private:
  char* memory_;
  int64_t bytes_ = 0;
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_DEVICE_WORKSPACE_CUTTER_H_
