// Neighbours of many queries: bounds of all similarities, then exact similarities of a few rows.
//
// `search_tiles` adds up every row's dot product and overlap with a query, tile by tile, in one
// 32-bit word of shared memory each: 20 bits for the dot product in steps of 2^-19 * 32/31, 12 for
// the overlap, which is exact. Words give bounds of a similarity from below and from above. The
// S-th largest lower bound of any rows is a threshold: rows whose upper bound is below it are no
// neighbours. The others are listed, and `finish` computes their similarities exactly, in 64 bits.
//
// A threshold is found without sorting: each thread keeps the largest lower bound of the rows that
// it has seen, and the S-th largest of these is the S-th largest of some rows.

#include "exact.cuh"

#ifndef TILE_BITS  // `tiles.py` decides
#define TILE_BITS 13
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define BLOCKS 2  // at once: a multiprocessor has 1,024 threads
#else
#define BLOCKS 3
#endif

const int TILE = 1 << TILE_BITS;  // rows: their words take 32 KB
const int PASS = 256;             // features of a query that are looked up together
const int MOST_OVERLAP = 4095;    // features of a query whose words can't overflow
const int MOST_EXACT = 1024;      // rows of which one block computes exact similarities

struct Bounds {
    float low, high;
};

// Steps that a word's dot product may be off: half of one for rounding each product, and what is
// lost by values of 18 bits and their sign, by Cauchy-Schwarz for a query of length 1 or 1.0001.
__device__ float error_of(float overlap) {
    return 0.5f * overlap + 1.001f * sqrtf(overlap);
}

const float STEP = 32.0f / 31 / 524288;
const float ABOVE = 1 + 1.0f / 262144, BELOW = 1 - 1.0f / 262144;  // more than float32 rounds off

// Bounds of the similarity of a row and a query with these sizes; 0 where it is none.
__device__ Bounds bounds_of(unsigned word, float query_size, float row_size, double beta) {
    const float overlap = (float)(word & MOST_OVERLAP);
    const float dot = (float)((int)word >> 12);
    const float error = error_of(overlap);
    float factor = STEP;
    if (beta == 1) {
        factor *= overlap / (query_size + row_size - overlap);
    } else if (beta != 0) {
        factor *= (float)power((double)overlap / ((double)query_size + row_size - overlap), beta);
    }
    return {max(0.0f, (dot - error) * factor * BELOW), max(0.0f, (dot + error) * factor * ABOVE)};
}

// An upper bound for rows of any size: none has fewer features than it shares.
__device__ float quick_bound(unsigned word, float query_size, double beta) {
    const float overlap = (float)(word & MOST_OVERLAP);
    const float high = ((float)((int)word >> 12) + 1.501f * overlap) * (STEP * ABOVE);
    return beta < 1 ? high : high * (overlap * ABOVE / query_size);
}

// The `n_slots`-th largest of all threads' numbers, cut to 16 bits, if it is above the threshold.
__device__ float raised(float threshold, float mine, int n_slots) {
    const unsigned base = 96u << 23;  // 2^-31, below which numbers count as 0
    const unsigned bits = __float_as_uint(mine);
    const unsigned key = bits < base ? 0 : min((bits - base) >> 12, 65535u);
    unsigned found = 0;
    for (unsigned bit = 32768; bit; bit /= 2) {
        if (__syncthreads_count(key >= (found | bit)) >= n_slots) {
            found |= bit;
        }
    }
    return found ? max(threshold, __uint_as_float((found << 12) + base)) : threshold;
}

// What a tile holds for a feature: its postings, from `start` to `stop`.
struct Slice {
    unsigned start, stop;
};

// `directory` has for every 32 features of a tile which of them occur there (x), and the number of
// slices before (y).
__device__ Slice slice_of(const uint2* directory, const unsigned* slices, int feature) {
    const uint2 found = directory[feature / 32];
    const unsigned bit = 1u << feature % 32;
    if (!(found.x & bit)) {
        return {0, 0};
    }
    const unsigned at = found.y + __popc(found.x & (bit - 1));
    return {slices[at], slices[at + 1]};
}

// Add the products of some features' postings to the tile's words. Warps share the postings out
// evenly, in chunks of as many as a warp has threads. All threads wait before words change, and after.
__device__ void add_up(unsigned* words, const uint2* directory, const unsigned* slices,
                       const unsigned* postings, const int* features, const int* quantised, int count) {
    __shared__ Slice found[PASS];
    __shared__ int weights[PASS];
    __shared__ unsigned sums[2][PASS];  // of chunks, up to each feature
    const int width = warp_width(), lane = threadIdx.x % width, me = threadIdx.x;
    if (me < count) {
        const Slice slice = slice_of(directory, slices, features[me]);
        found[me] = slice;
        weights[me] = quantised[me];
        sums[0][me] = (slice.stop - slice.start + width - 1) / width;
    }
    __syncthreads();
    int from = 0;
    for (int step = 1; step < count; step *= 2) {
        if (me < count) {
            sums[1 - from][me] = sums[from][me] + (me >= step ? sums[from][me - step] : 0);
        }
        from = 1 - from;
        __syncthreads();
    }
    const unsigned* until = sums[from];
    const unsigned chunks = until[count - 1], warps = blockDim.x / width, warp = me / width;
    unsigned chunk = (unsigned)((unsigned long long)chunks * warp / warps);
    const unsigned last = (unsigned)((unsigned long long)chunks * (warp + 1) / warps);
    int at = 0;
    for (int high = count - 1; at < high;) {  // the first feature whose sum is above `chunk`
        const int middle = (at + high) / 2;
        if (until[middle] <= chunk) {
            at = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; chunk < last; ++at) {
        const unsigned before = at ? until[at - 1] : 0, stop = min(until[at], last);
        if (stop <= chunk) {
            continue;
        }
        const unsigned first = found[at].start + (chunk - before) * width;
        const unsigned end = min(found[at].stop, first + (stop - chunk) * width);
        const int weight = weights[at];
        for (unsigned i = first + lane; i < end; i += width) {
            // The middle of what the value may be, times the weight, in steps of 2^-22 * 32/31.
            const unsigned posting = postings[i];
            const int value = (int)((posting & ~(TILE - 1u)) | TILE / 2);
            const int product = (__mulhi(weight, value) + 4) & ~7;
            atomicAdd(words + (posting & (TILE - 1)), ((unsigned)product << 9) + 1);
        }
        chunk = stop;
    }
    __syncthreads();
}

// Call visit(word, row) for each word that is not 0.
template <class Visit> __device__ void for_each_row(const uint4* quads, int first_row, const Visit& visit) {
    for (int i = threadIdx.x; i < TILE / 4; i += blockDim.x) {
        const uint4 quad = quads[i];
        const unsigned words[4] = {quad.x, quad.y, quad.z, quad.w};
        for (int j = 0; j < 4; ++j) {
            if (words[j]) {
                visit(words[j], first_row + 4 * i + j);
            }
        }
    }
}

// Grid: x = queries, y = blocks that share the tiles. Queries with too many features list nothing.
extern "C" __global__ void __launch_bounds__(512, BLOCKS) search_tiles(
    const uint2* __restrict__ directory,           // (tiles, directory_size)
    const unsigned* __restrict__ slices,           // (slices + 1): where each starts
    const unsigned* __restrict__ postings,         // value, and row within the tile
    const int* __restrict__ row_sizes,             // (rows)
    const unsigned char* __restrict__ removed,     // (rows), or null
    const long long* __restrict__ query_starts,    // (queries + 1)
    const int* __restrict__ query_features,
    const int* __restrict__ query_quantised,
    const int n_tiles,
    const long long directory_size,
    const int n_slots,
    const unsigned capacity,
    const double beta,
    unsigned* __restrict__ thresholds,             // (queries): bits of floats, 0 at the start
    unsigned* __restrict__ counts,                 // (queries): listed rows, 0 at the start
    uint2* __restrict__ lists)                     // (queries, capacity): row and word
{
    __shared__ uint4 quads[TILE / 4];
    unsigned* const words = (unsigned*)quads;
    const long long query = blockIdx.x, start = query_starts[query];
    const long long size = query_starts[query + 1] - start;
    if (size > MOST_OVERLAP) {
        return;
    }
    const float query_size = (float)size;
    const int share = (n_tiles + gridDim.y - 1) / gridDim.y, pass = min((int)blockDim.x, PASS);
    const int last_tile = min(n_tiles, (int)(blockIdx.y + 1) * share);
    float threshold = __uint_as_float(thresholds[query]), best = 0;  // may be an older one: valid too
    for (int tile = blockIdx.y * share; tile < last_tile; ++tile) {
        for (int i = threadIdx.x; i < TILE / 4; i += blockDim.x) {
            quads[i] = {0, 0, 0, 0};  // what this thread alone read in the tile before
        }
        for (int done = 0; done < size; done += pass) {
            add_up(words, directory + tile * directory_size, slices, postings, query_features + start + done,
                   query_quantised + start + done, min((int)size - done, pass));
        }
        const float before = best;
        for_each_row(quads, tile * TILE, [&](unsigned word, int row) {
            if (quick_bound(word, query_size, beta) >= threshold && !(removed && removed[row])) {
                best = max(best, bounds_of(word, query_size, row_sizes[row], beta).low);
            }
        });
        if (__syncthreads_count(best > before)) {
            threshold = raised(threshold, best, n_slots);
        }
        for_each_row(quads, tile * TILE, [&](unsigned word, int row) {
            if (quick_bound(word, query_size, beta) < threshold || (removed && removed[row])) {
                return;
            }
            const float high = bounds_of(word, query_size, row_sizes[row], beta).high;
            if (high >= threshold) {
                const unsigned at = atomicAdd(counts + query, 1u);
                if (at < capacity) {
                    lists[query * capacity + at] = {(unsigned)row, word};
                }
            }
        });
    }
    if (threadIdx.x == 0 && gridDim.y > 1) {
        atomicMax(thresholds + query, __float_as_uint(threshold));
    }
}

// Grid: x = queries. Those that it can't answer are counted, and their numbers written to `left`.
extern "C" __global__ void __launch_bounds__(512, BLOCKS) finish(
    const long long* __restrict__ row_starts,      // (rows + 1)
    const int* __restrict__ row_features,
    const int* __restrict__ row_quantised,
    const int* __restrict__ row_sizes,             // (rows)
    const long long* __restrict__ query_starts,    // (queries + 1)
    const int* __restrict__ query_features,
    const int* __restrict__ query_quantised,
    const unsigned* __restrict__ thresholds,       // (queries)
    const unsigned* __restrict__ counts,           // (queries)
    const uint2* __restrict__ lists,               // (queries, capacity)
    const int n_slots,
    const unsigned capacity,
    const double beta,
    long long* __restrict__ ids,                   // (queries, slots)
    double* __restrict__ similarities,             // (queries, slots)
    int* __restrict__ n_left,                      // 0 at the start
    int* __restrict__ left)                        // (queries)
{
    __shared__ int features[MOST_OVERLAP + 1];
    __shared__ int rows[MOST_EXACT];
    __shared__ Key keys[MOST_EXACT];
    __shared__ unsigned n_kept, n_found;
    const long long query = blockIdx.x, start = query_starts[query];
    const long long size = query_starts[query + 1] - start;
    const unsigned count = counts[query];
    lists += query * capacity;
    if (threadIdx.x == 0) {
        n_kept = n_found = 0;
    }
    bool is_left = size > MOST_OVERLAP || count > capacity;
    float threshold = __uint_as_float(thresholds[query]), best = 0;
    for (unsigned i = threadIdx.x; i < count && !is_left; i += blockDim.x) {
        const uint2 listed = lists[i];
        best = max(best, bounds_of(listed.y, size, row_sizes[listed.x], beta).low);
    }
    threshold = raised(threshold, best, n_slots);
    for (unsigned i = threadIdx.x; i < count && !is_left; i += blockDim.x) {
        const uint2 listed = lists[i];
        if (bounds_of(listed.y, size, row_sizes[listed.x], beta).high >= threshold) {
            const unsigned at = atomicAdd(&n_kept, 1u);
            if (at < MOST_EXACT) {
                rows[at] = listed.x;
            }
        }
    }
    for (int i = threadIdx.x; i < size && !is_left; i += blockDim.x) {
        features[i] = query_features[start + i];
    }
    __syncthreads();
    const int kept = n_kept;
    is_left |= kept > MOST_EXACT;
    if (is_left) {
        if (threadIdx.x == 0) {
            left[atomicAdd(n_left, 1)] = query;
        }
        return;
    }
    const int width = warp_width();
    for (int i = threadIdx.x / width; i < kept; i += blockDim.x / width) {
        const long long at = row_starts[rows[i]];
        const Shared shared = shared_features(row_features + at, row_quantised + at, row_sizes[rows[i]],
                                              features, query_quantised + start, size);
        if (threadIdx.x % width == 0) {
            keys[i] = similarity_key(shared, size, row_sizes[rows[i]], beta);
            if (keys[i]) {
                atomicAdd(&n_found, 1u);
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kept; i += blockDim.x) {
        const int at = rank_of(keys, rows, kept, i);
        if (keys[i] && at < n_slots) {
            ids[query * n_slots + at] = rows[i];
            similarities[query * n_slots + at] = __longlong_as_double((long long)keys[i]);
        }
    }
    for (int i = n_found + threadIdx.x; i < n_slots; i += blockDim.x) {
        ids[query * n_slots + i] = -1;
        similarities[query * n_slots + i] = 0;
    }
}
