#ifndef TESSERA_TOOLS_EMULATION_MAPPED_H_
#define TESSERA_TOOLS_EMULATION_MAPPED_H_
// Device memory of the driver's interface: addresses that are reserved, and parts of them with
// memory behind, which only device code may touch, and only once access was given. Throws
// std::logic_error for calls that a driver refuses or that it would take as meant otherwise.
#include <cstdint>

#include "tools/emulation/memory.h"

namespace cuda_emulation {

inline constexpr int64_t kMappedGranularity = int64_t{2} << 20;

// Returns nullptr if there are no such addresses.
char* ReserveAddresses(int64_t bytes);
void FreeAddresses(char* begin, int64_t bytes);
// A piece of memory that lies nowhere yet; 0 if there is none. It is gone once it is released and
// no longer mapped.
uint64_t CreatePiece(int64_t bytes);
void ReleasePiece(uint64_t piece);
void MapPiece(char* begin, int64_t bytes, uint64_t piece);
// Unmaps all pieces in this range, which holds nothing else.
void UnmapPieces(char* begin, int64_t bytes);
void GiveAccess(char* begin, int64_t bytes);

// ---- for memory.cc

void OpenMapped();
void CloseMapped();
bool IsReserved(const void* pointer);
// The accessible memory around an address, as far as it reaches without a gap.
Allocation MappedAt(const void* pointer);
// Bytes of all pieces, mapped or not.
int64_t MappedBytes();

}  // namespace cuda_emulation
#endif  // TESSERA_TOOLS_EMULATION_MAPPED_H_
