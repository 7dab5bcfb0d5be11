// The best rows of each query: larger similarity first, then smaller row; only those above 0.
//
// In two steps, so that a query keeps many blocks busy: every tile of rows gives its best, then one
// block per query takes the best of those. A similarity above 0 is compared by its bits: they order
// like the number. Which rows are chosen follows from keys alone; they may be collected in any
// order, for the last step counts how many precede each one, and no two are alike.

typedef unsigned long long Key;  // bits of a similarity above 0, or 0

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

// Turn 256 counts into sums from each place to the last; returns which half holds them.
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

// Find the cut that lets `places` candidates through, by radix select: eight bits at a time from
// the key's top, then from the top of ~row, until the last group goes through as a whole.
__device__ Cut find_cut(const Key* keys, const int* rows, int first, int count, unsigned places) {
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
        if (sums[0] <= places) {
            break;  // all that are left go through
        }
        for (int i = threadIdx.x; i < 256; i += blockDim.x) {
            if (sums[i] >= places && (i == 255 || sums[i + 1] < places)) {
                chosen = i;
            }
        }
        __syncthreads();
        const unsigned digit = chosen;
        const unsigned above = digit == 255 ? 0 : sums[digit + 1];
        const bool whole = sums[digit] == places;
        places -= above;
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

// Collect up to `places` candidates in any order; the rest is filled with key 0 and row -1.
__device__ void choose(const Key* keys, const int* rows, int first, int count, int places,
                       Key* best_keys, int* best_rows) {
    __shared__ unsigned filled;
    const Cut cut = find_cut(keys, rows, first, count, places);
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
    for (int slot = filled + threadIdx.x; slot < places; slot += blockDim.x) {
        best_keys[slot] = 0;
        best_rows[slot] = -1;
    }
    __syncthreads();
}

__device__ double power(double base, double exponent) {
    if (exponent == 0) {
        return 1.0;
    }
    if (exponent == 1) {
        return base;
    }
    return exponent == 2 ? base * base : pow(base, exponent);
}

__device__ Key similarity_key(Key sum, double query_size, double row_size, double beta) {
    const double cosine = (double)((long long)sum >> 16) * (1.0 / 70368744177664.0);  // 2^-46
    double similarity = cosine;
    if (beta != 0) {
        const double overlap = (double)(sum & 65535);
        similarity = cosine * power(overlap / (query_size + row_size - overlap), beta);
    }
    return similarity > 0 ? (Key)__double_as_longlong(similarity) : 0;
}

// Grid: x = tiles of rows, y = queries.
extern "C" __global__ void select_tiles(
    unsigned long long* __restrict__ sums,         // (queries, rows): packed sums; becomes keys
    const double* __restrict__ row_sizes,          // (rows)
    const long long* __restrict__ query_starts,    // (queries + 1)
    const unsigned char* __restrict__ dead,        // (rows), or null
    const int n_rows,
    const int tile,
    const int places,
    const double beta,
    unsigned long long* __restrict__ best_keys,    // (queries, tiles, places)
    int* __restrict__ best_rows)                   // (queries, tiles, places)
{
    const int first = blockIdx.x * tile;
    const int count = min(tile, n_rows - first);
    const long long query = blockIdx.y;
    const double query_size = (double)(query_starts[query + 1] - query_starts[query]);
    Key* keys = sums + query * n_rows + first;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const bool gone = keys[i] == 0 || (dead && dead[first + i]);
        keys[i] = gone ? 0 : similarity_key(keys[i], query_size, row_sizes[first + i], beta);
    }
    __syncthreads();
    const long long out = (query * gridDim.x + blockIdx.x) * places;
    choose(keys, nullptr, first, count, places, best_keys + out, best_rows + out);
}

// Grid: x = queries.
extern "C" __global__ void select_merge(
    const unsigned long long* __restrict__ keys,   // (queries, candidates)
    const int* __restrict__ rows,                  // (queries, candidates)
    const int candidates,
    const int places,
    unsigned long long* __restrict__ best_keys,    // (queries, places): scratch
    int* __restrict__ best_rows,                   // (queries, places): scratch
    long long* __restrict__ ids,                   // (queries, places)
    double* __restrict__ similarities)             // (queries, places)
{
    const long long query = blockIdx.x;
    const long long out = query * places;
    choose(keys + query * candidates, rows + query * candidates, 0, candidates, places,
           best_keys + out, best_rows + out);
    for (int i = threadIdx.x; i < places; i += blockDim.x) {
        const Key key = best_keys[out + i];
        const int row = best_rows[out + i];
        int before = key ? 0 : i;  // missing places lie behind all others already
        for (int j = 0; key && j < places; ++j) {
            const Key other = best_keys[out + j];
            before += other > key || (other == key && best_rows[out + j] < row);
        }
        ids[out + before] = row;
        similarities[out + before] = __longlong_as_double((long long)key);
    }
}
