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
        const int at = rank_of(best_keys + out, best_rows + out, places, i);
        ids[out + at] = best_rows[out + i];
        similarities[out + at] = __longlong_as_double((long long)best_keys[out + i]);
    }
}
