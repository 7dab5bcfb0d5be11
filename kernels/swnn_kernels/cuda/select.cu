// The best rows of each query: larger similarity first, then smaller row; only those above 0.
//
// In two steps, so that a query keeps many blocks busy: every tile of rows gives its best, then one
// block per query takes the best of those. A similarity above 0 is compared by its bits: they order
// like the number.

#include "choose.cuh"
#include "power.cuh"

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
    const unsigned char* __restrict__ removed,     // (rows), or null
    const int n_rows,
    const int tile,
    const int n_slots,
    const double beta,
    unsigned long long* __restrict__ best_keys,    // (queries, tiles, slots)
    int* __restrict__ best_rows)                   // (queries, tiles, slots)
{
    const int first = blockIdx.x * tile;
    const int count = min(tile, n_rows - first);
    const long long query = blockIdx.y;
    const double query_size = (double)(query_starts[query + 1] - query_starts[query]);
    Key* keys = sums + query * n_rows + first;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        const bool is_skipped = keys[i] == 0 || (removed && removed[first + i]);
        keys[i] = is_skipped ? 0 : similarity_key(keys[i], query_size, row_sizes[first + i], beta);
    }
    const long long out = (query * gridDim.x + blockIdx.x) * n_slots;
    choose(keys, nullptr, first, count, n_slots, best_keys + out, best_rows + out);
}

// Grid: x = queries.
extern "C" __global__ void select_merge(
    const unsigned long long* __restrict__ keys,   // (queries, candidates)
    const int* __restrict__ rows,                  // (queries, candidates)
    const int candidates,
    const int n_slots,
    unsigned long long* __restrict__ best_keys,    // (queries, slots): buffer
    int* __restrict__ best_rows,                   // (queries, slots): buffer
    long long* __restrict__ ids,                   // (queries, slots)
    double* __restrict__ similarities)             // (queries, slots)
{
    const long long query = blockIdx.x;
    const long long out = query * n_slots;
    choose(keys + query * candidates, rows + query * candidates, 0, candidates, n_slots,
           best_keys + out, best_rows + out);
    for (int i = threadIdx.x; i < n_slots; i += blockDim.x) {
        const int at = rank_of(best_keys + out, best_rows + out, n_slots, i);
        ids[out + at] = best_rows[out + i];
        similarities[out + at] = __longlong_as_double((long long)best_keys[out + i]);
    }
}
