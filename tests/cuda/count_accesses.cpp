// Counts what kernels compiled with -fsanitize=thread do to memory: in place of the sanitizer, every
// load and store calls one of these. Statics of kernels are a block's shared memory, what
// `device.h` gives out is global memory; a thread's stack, which a GPU has in registers, is not counted.
#include "count_accesses.h"

#include <cstdint>
#include <cstring>

Counts counts;
bool is_counting = false;
const char *heap_first = nullptr, *heap_last = nullptr;
unsigned* last_blocks = nullptr;

extern "C" char __start_shared_memory, __stop_shared_memory;

namespace {
enum Space { none, shared, global };
inline Space space_of(const volatile void* at) {
    const char* place = (const char*)at;
    if (!is_counting) return none;
    if (place >= &__start_shared_memory && place < &__stop_shared_memory) return shared;
    return place >= heap_first && place < heap_last ? global : none;
}
inline void touch(const volatile void* at, unsigned size) {
    const char* place = (const char*)at;
    for (size_t i = (place - heap_first) / 32; i <= (size_t)(place + size - 1 - heap_first) / 32; ++i) {
        counts.sectors += last_blocks[i] != blocks_begun;
        last_blocks[i] = blocks_begun;
    }
}
inline void read(const volatile void* at, unsigned size) {
    const Space space = space_of(at);
    counts.shared_accesses += space == shared;
    if (space != global) return;
    counts.bytes_read += size;
    touch(at, size);
}
inline void write(const volatile void* at, unsigned size) {
    const Space space = space_of(at);
    counts.shared_accesses += space == shared;
    if (space != global) return;
    counts.bytes_written += size;
    touch(at, size);
}
inline void atomic(const volatile void* at, bool is_wide) {
    const Space space = space_of(at);
    if (space == global) ++counts.global_atomics;
    else if (space == shared) ++(is_wide ? counts.wide_shared_atomics : counts.shared_atomics);
}
}  // namespace

#define ACCESS(size) \
    void __tsan_read##size(void* at) { read(at, size); } \
    void __tsan_write##size(void* at) { write(at, size); } \
    void __tsan_unaligned_read##size(void* at) { read(at, size); } \
    void __tsan_unaligned_write##size(void* at) { write(at, size); }
#define ATOMIC(bits, T) \
    T __tsan_atomic##bits##_load(const volatile T* at, int) { return *at; } \
    T __tsan_atomic##bits##_fetch_add(volatile T* at, T value, int) { \
        atomic(at, bits == 64); const T old = *at; *at = old + value; return old; } \
    T __tsan_atomic##bits##_fetch_or(volatile T* at, T value, int) { \
        atomic(at, bits == 64); const T old = *at; *at = old | value; return old; } \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T value, int, int) { \
        atomic(at, bits == 64); \
        if (*at == *expected) { *at = value; return true; } \
        *expected = *at; return false; }
extern "C" {
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
ATOMIC(32, uint32_t) ATOMIC(64, uint64_t)
unsigned char __tsan_atomic8_load(const volatile unsigned char* at, int) { return *at; }
void __tsan_read_range(void* at, unsigned long size) { read(at, size); }
void __tsan_write_range(void* at, unsigned long size) { write(at, size); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void* __tsan_memcpy(void* to, const void* from, unsigned long size) { read(from, size); write(to, size); return std::memcpy(to, from, size); }
void* __tsan_memset(void* to, int value, unsigned long size) { write(to, size); return std::memset(to, value, size); }
}
