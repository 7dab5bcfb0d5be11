// What kernels do to memory; `count_accesses.cpp` counts.
#pragma once

struct Counts {
    unsigned long long global_read, global_written, shared_read, shared_written;
    unsigned long long global_atomics, shared_atomics, wide_shared_atomics;
    unsigned long long launches, synchronisations, zeroed;
};
extern Counts counts;
extern bool is_counting;
extern const char *heap_first, *heap_last;
