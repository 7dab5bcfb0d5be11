// What kernels do to memory; `count_accesses.cpp` counts.
#pragma once

struct Counts {
    unsigned long long launches;
    unsigned long long bytes_read, bytes_written;  // of global memory, as each thread asks for them
    unsigned long long sectors;                    // of 32 bytes, read or written: once for each block
    unsigned long long global_atomics;
    unsigned long long shared_accesses;                      // loads and stores
    unsigned long long shared_atomics, wide_shared_atomics;  // of 32 bits, of 64
};
extern Counts counts;
extern bool is_counting;
extern unsigned blocks_begun;
extern const char *heap_first, *heap_last;
extern unsigned* last_blocks;  // for each sector on the heap the block that touched it last
