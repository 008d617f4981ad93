#include "runtime/files/mapping_faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// A guarded mapping; begin is 0 if the slot is free. The handler reads only the atomic members.
struct Slot {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> faulted{false};
  std::string path;                        // under the mutex
  std::shared_ptr<const OpenedFile> file;  // under the mutex
};

// Further mappings are not guarded.
constexpr size_t kSlots = 4096;
std::array<Slot, kSlots> slots;
std::atomic<size_t> used_slots{0};  // slots from here on were never used
std::atomic<bool> any_faulted{false};
std::mutex mutex;
struct sigaction before;

Slot* Find(uintptr_t address) {
  for (size_t s = 0; s < used_slots.load(std::memory_order_acquire); ++s)
    if (slots[s].begin.load() <= address && address < slots[s].end.load()) return &slots[s];
  return nullptr;
}

// Puts zeros in place of the missing pages. Nothing here takes a lock or memory of the heap.
void OnFault(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Slot* const slot = Find(address);
  if (slot != nullptr) {
    const auto page = address - address % static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    void* const zeros =
        mmap(reinterpret_cast<void*>(page), slot->end.load() - page, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    slot->faulted = true;
    any_faulted = true;
    if (zeros != MAP_FAILED) return;
  }
  sigaction(signal, &before, nullptr);  // the read is tried again, with the earlier handler
}

void InstallHandler() {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &before) == 0;
  }();
  (void)installed;
}

Slot* TakeSlot(uintptr_t begin, uintptr_t end, const std::string& path,
               std::shared_ptr<const OpenedFile> file) {
  const std::lock_guard lock(mutex);
  for (size_t s = 0; s < kSlots; ++s) {
    Slot& slot = slots[s];
    if (slot.begin.load() != 0) continue;
    slot.path = path;
    slot.file = std::move(file);
    slot.faulted = false;
    slot.end = end;
    slot.begin = begin;
    if (s >= used_slots.load()) used_slots.store(s + 1, std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

bool IsCut(const Slot& slot) { return slot.file && slot.file->BytesNow() < slot.file->bytes(); }

[[noreturn]] void ThrowBroken(const Slot& slot) {
  std::string sizes;
  if (IsCut(slot))
    sizes = Format(": it had {} bytes, and has {} now", slot.file->bytes(), slot.file->BytesNow());
  throw Error(
      Format("{}: it was cut, or could not be read, while it was in use{}", slot.path, sizes));
}

}  // namespace

OpenedFile::~OpenedFile() { close(file_); }

int64_t OpenedFile::BytesNow() const {
  struct stat info = {};
  return fstat(file_, &info) == 0 ? static_cast<int64_t>(info.st_size) : bytes_;
}

std::shared_ptr<void> GuardMapping(void* begin, int64_t bytes, const std::string& path,
                                   std::shared_ptr<const OpenedFile> file) {
  if (bytes == 0) return nullptr;
  InstallHandler();
  const auto from = reinterpret_cast<uintptr_t>(begin);
  Slot* const slot = TakeSlot(from, from + static_cast<uintptr_t>(bytes), path, std::move(file));
  if (slot == nullptr) return nullptr;
  return {slot, [](Slot* s) {
            const std::lock_guard lock(mutex);
            s->file.reset();
            s->end = 0;
            s->begin = 0;
          }};
}

bool AnyMappingFaulted() { return any_faulted.load(std::memory_order_relaxed); }

void CheckMapping(const void* address) {
  if (!AnyMappingFaulted()) return;
  const std::lock_guard lock(mutex);
  const Slot* const slot = Find(reinterpret_cast<uintptr_t>(address));
  if (slot != nullptr && slot->faulted) ThrowBroken(*slot);
}

const void* GuardedMappingOf(const void* address) {
  const Slot* const slot = Find(reinterpret_cast<uintptr_t>(address));
  return slot == nullptr ? nullptr : reinterpret_cast<const void*>(slot->begin.load());
}

void CheckMappedFile(const void* address) {
  const std::lock_guard lock(mutex);
  const Slot* const slot = Find(reinterpret_cast<uintptr_t>(address));
  if (slot != nullptr && (slot->faulted || IsCut(*slot))) ThrowBroken(*slot);
}

}  // namespace tessera
