// The best rows of each query, out of the exact similarities of all: what `search.cu` leaves over.
//
// In two steps, so that a query keeps many blocks busy: every tile of rows gives its best, then one
// block per query takes the best of those.

#include "exact.cuh"

// Grid: x = queries, y = tiles of rows.
extern "C" __global__ void select_tiles(
    const long long* __restrict__ row_starts,      // (rows + 1)
    const int* __restrict__ row_features,
    const int* __restrict__ row_quantised,
    const unsigned char* __restrict__ removed,     // (rows), or null
    const long long* __restrict__ query_starts,    // (queries of the batch + 1)
    const int* __restrict__ query_features,
    const int* __restrict__ query_quantised,
    const int* __restrict__ left,                  // (gridDim.x): which queries
    const int n_rows,
    const int tile,
    const int n_slots,
    const double beta,
    unsigned long long* __restrict__ all_keys,     // (gridDim.x, rows): buffer
    unsigned long long* __restrict__ best_keys,    // (gridDim.x, tiles, slots)
    int* __restrict__ best_rows)                   // (gridDim.x, tiles, slots)
{
    const int first = blockIdx.y * tile;
    const int count = min(tile, n_rows - first);
    const long long place = blockIdx.x, start = query_starts[left[place]];
    const int size = (int)(query_starts[left[place] + 1] - start);
    const int width = warp_width();
    Key* keys = all_keys + place * n_rows + first;
    for (int i = threadIdx.x / width; i < count; i += blockDim.x / width) {
        const long long at = row_starts[first + i];
        const int row_size = (int)(row_starts[first + i + 1] - at);
        const Shared shared = shared_features(row_features + at, row_quantised + at, row_size,
                                              query_features + start, query_quantised + start, size);
        if (threadIdx.x % width == 0) {
            const bool is_skipped = removed && removed[first + i];
            keys[i] = is_skipped ? 0 : similarity_key(shared, size, row_size, beta);
        }
    }
    const long long out = (place * gridDim.y + blockIdx.y) * n_slots;
    choose(keys, nullptr, first, count, n_slots, best_keys + out, best_rows + out);
}

// Grid: x = queries.
extern "C" __global__ void select_merge(
    const unsigned long long* __restrict__ keys,   // (gridDim.x, candidates)
    const int* __restrict__ rows,                  // (gridDim.x, candidates)
    const int* __restrict__ left,                  // (gridDim.x): which queries
    const int candidates,
    const int n_slots,
    unsigned long long* __restrict__ best_keys,    // (gridDim.x, slots): buffer
    int* __restrict__ best_rows,                   // (gridDim.x, slots): buffer
    long long* __restrict__ ids,                   // (queries of the batch, slots)
    double* __restrict__ similarities)             // (queries of the batch, slots)
{
    const long long place = blockIdx.x, from = place * n_slots;
    const long long out = (long long)left[place] * n_slots;
    choose(keys + place * candidates, rows + place * candidates, 0, candidates, n_slots,
           best_keys + from, best_rows + from);
    for (int i = threadIdx.x; i < n_slots; i += blockDim.x) {
        const int at = rank_of(best_keys + from, best_rows + from, n_slots, i);
        ids[out + at] = best_rows[from + i];
        similarities[out + at] = __longlong_as_double((long long)best_keys[from + i]);
    }
}
