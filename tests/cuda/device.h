// The device that the shim plays: its memory, and what kernels do to it if that is counted.
#pragma once
#include "host_shim.h"

#include <cstdio>
#include <sys/mman.h>

#ifdef COUNTS
#include "count_accesses.h"

// One contiguous block, so that an address in global memory is told from one on a stack; never freed.
inline void* device_memory(size_t size) {
    constexpr size_t reserved = 1ULL << 36;
    static size_t used = 0;
    const auto mapped = [](size_t bytes) {
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    };
    if (!heap_first) {
        heap_first = (char*)mapped(reserved);
        heap_last = heap_first + reserved;
        last_blocks = (unsigned*)mapped(reserved / 32 * sizeof(unsigned));
    }
    const char* found = heap_first + used;
    used += (size + 255) / 256 * 256;
    return (void*)found;
}
template <class T> struct DeviceAllocator {
    using value_type = T;
    DeviceAllocator() = default;
    template <class U> DeviceAllocator(const DeviceAllocator<U>&) {}
    T* allocate(size_t n) { return (T*)device_memory(n * sizeof(T)); }
    void deallocate(T*, size_t) {}
    friend bool operator==(DeviceAllocator, DeviceAllocator) { return true; }
    friend bool operator!=(DeviceAllocator, DeviceAllocator) { return false; }
};
template <class T> using Device = std::vector<T, DeviceAllocator<T>>;

inline void run(Dim grid, unsigned threads, const std::function<void()>& kernel) {
    ++counts.launches;
    is_counting = true;
    launch(grid, threads, Blocks::in_turn, kernel);
    is_counting = false;
}
inline void report(const char* stage) {
    std::printf("%s", stage);
    for (int i = 0; i < (int)(sizeof(Counts) / 8); ++i) std::printf(" %llu", ((unsigned long long*)&counts)[i]);
    std::printf("\n");
    counts = {};
}
#else
template <class T> using Device = std::vector<T>;

inline void run(Dim grid, unsigned threads, const std::function<void()>& kernel) {
    launch(grid, threads, Blocks::in_turn, kernel);
}
inline void report(const char*) {}
#endif

template <class T> Device<T> read(FILE* file) {
    long long size = 0;
    if (std::fread(&size, 8, 1, file) != 1) std::abort();
    Device<T> wide(size);
    static_assert(sizeof(T) == 8);
    if (size && std::fread(wide.data(), 8, size, file) != (size_t)size) std::abort();
    return wide;
}
inline Device<int> narrow(const Device<long long>& wide) { return {wide.begin(), wide.end()}; }
