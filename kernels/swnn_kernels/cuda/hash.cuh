// Where hash tables in a few slots begin to look for a number, and where they go on.

__device__ int hashed(int number, int slots) {
    return __umulhi((unsigned)number * 2654435769u, slots);  // 2^32 / golden ratio: spreads neighbours
}

__device__ int next(int slot, int slots) {
    return slot + 1 < slots ? slot + 1 : 0;
}
