// The best candidates of a block: larger key first, then smaller row; none whose key is 0.
//
// Which are chosen follows from keys and rows alone; they may be collected in any order, for
// `rank_of` counts how many precede each one, and no two are alike.

typedef unsigned long long Key;  // what is larger comes first; 0: no candidate

// Rows up to which the chosen ones reach: those whose masked (key, ~row) is not below this.
struct Cut {
    Key key, key_mask;
    unsigned row, row_mask;
};

__device__ bool taken(const Cut& cut, Key key, int row) {
    if (key == 0) {
        return false;
    }
    const Key masked = key & cut.key_mask;
    return masked != cut.key ? masked > cut.key : (~(unsigned)row & cut.row_mask) >= cut.row;
}

__device__ bool at_cut(const Cut& cut, Key key, int row) {
    return key != 0 && (key & cut.key_mask) == cut.key && (~(unsigned)row & cut.row_mask) == cut.row;
}

// Turn 256 counts into sums from each digit to the last; returns which half holds them.
__device__ int sum_from_behind(unsigned (*counts)[256]) {
    int from = 0;
    for (int step = 1; step < 256; step *= 2) {
        for (int i = threadIdx.x; i < 256; i += blockDim.x) {
            counts[1 - from][i] = counts[from][i] + (i + step < 256 ? counts[from][i + step] : 0);
        }
        from = 1 - from;
        __syncthreads();
    }
    return from;
}

// Find the cut that lets `n_slots` candidates through, by radix select: eight bits at a time from
// the key's top, then from the top of ~row, until the last group goes through as a whole.
__device__ Cut find_cut(const Key* keys, const int* rows, int first, int count, unsigned n_slots) {
    __shared__ unsigned counts[2][256];
    __shared__ unsigned chosen;
    Cut cut = {0, 0, 0, 0};
    for (int pass = 0; pass < 12; ++pass) {
        const int shift = pass < 8 ? 56 - 8 * pass : 88 - 8 * pass;
        for (int i = threadIdx.x; i < 256; i += blockDim.x) {
            counts[0][i] = 0;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            const int row = rows ? rows[i] : first + i;
            if (at_cut(cut, keys[i], row)) {
                const unsigned digit = pass < 8 ? keys[i] >> shift & 255 : ~(unsigned)row >> shift & 255;
                atomicAdd(&counts[0][digit], 1u);
            }
        }
        __syncthreads();
        const unsigned* sums = counts[sum_from_behind(counts)];
        if (sums[0] <= n_slots) {
            break;  // all that are left go through
        }
        for (int i = threadIdx.x; i < 256; i += blockDim.x) {
            if (sums[i] >= n_slots && (i == 255 || sums[i + 1] < n_slots)) {
                chosen = i;
            }
        }
        __syncthreads();
        const unsigned digit = chosen;
        const unsigned above = digit == 255 ? 0 : sums[digit + 1];
        const bool whole = sums[digit] == n_slots;
        n_slots -= above;
        if (pass < 8) {
            cut.key |= (Key)digit << shift;
            cut.key_mask |= (Key)255 << shift;
        } else {
            cut.row |= digit << shift;
            cut.row_mask |= 255u << shift;
        }
        __syncthreads();  // everyone has read the sums before they are cleared
        if (whole) {
            break;
        }
    }
    return cut;
}

// Collect up to `n_slots` candidates in any order; the rest is filled with key 0 and row -1. Threads
// may come here as soon as they have written their keys and rows: `find_cut` waits before it reads.
__device__ void choose(const Key* keys, const int* rows, int first, int count, int n_slots,
                       Key* best_keys, int* best_rows) {
    __shared__ unsigned filled;
    const Cut cut = find_cut(keys, rows, first, count, n_slots);
    if (threadIdx.x == 0) {
        filled = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const int row = rows ? rows[i] : first + i;
        if (taken(cut, keys[i], row)) {
            const unsigned slot = atomicAdd(&filled, 1u);
            best_keys[slot] = keys[i];
            best_rows[slot] = row;
        }
    }
    __syncthreads();
    for (int slot = filled + threadIdx.x; slot < n_slots; slot += blockDim.x) {
        best_keys[slot] = 0;
        best_rows[slot] = -1;
    }
    __syncthreads();
}

// Where a chosen candidate stands among all of them: how many precede it.
__device__ int rank_of(const Key* keys, const int* rows, int n_slots, int i) {
    if (keys[i] == 0) {
        return i;  // missing ones lie behind all others already
    }
    int before = 0;
    for (int j = 0; j < n_slots; ++j) {
        before += keys[j] > keys[i] || (keys[j] == keys[i] && rows[j] < rows[i]);
    }
    return before;
}
