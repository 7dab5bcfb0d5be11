// Candidates of each query: the labels with most votes at the last of several cuts (the best 5, 25,
// ... neighbours), and those that other sources list. For each candidate and each table of the vote
// score the bin that it falls into: by its share of a cut's votes, or as a source says.

#include "votes.cuh"

// Bin of a share: the leading bits of share + 2^-10, as in swnn_kernels/learn/candidates.py.
__device__ int bin_of(Key votes, Key total) {
    const int last = 10 << 7;
    const double share = total ? (double)(long long)votes / (double)(long long)total : 0.0;
    const long long bin = (__double_as_longlong(share + 1.0 / 1024.0) >> 45) - ((1023 - 10) << 7);
    return bin < 0 ? 0 : bin > last ? last : (int)bin;
}

// Grid: x = blocks that share the queries. Candidates come in any order.
extern "C" __global__ void find_candidates(
    const long long* __restrict__ ids,             // (queries, neighbours), best first; -1: none
    const double* __restrict__ similarities,       // (queries, neighbours)
    const long long* __restrict__ label_starts,    // (rows + 1)
    const int* __restrict__ label_ids,
    const long long* __restrict__ cuts,            // (cuts), ascending: how many neighbours vote
    const long long* __restrict__ sources,         // (sources, 2): labels listed for a query; tables
    const int* __restrict__ listed,                // (queries, n_listed), source by source; -1: none
    const unsigned short* __restrict__ listed_bins,// (queries, n_listed_bins), likewise
    const int n_queries,
    const int neighbours,
    const int n_cuts,
    const int n_sources,
    const int n_listed,
    const int n_listed_bins,
    const int n_tables,
    const long long n_labels,
    const double alpha,
    const int n_slots,                             // candidates of a query by votes
    unsigned long long* __restrict__ pools,        // (gridDim.x, pool_words), where shared memory is short
    const long long pool_words,
    unsigned long long* __restrict__ best_keys,    // (queries, slots): buffer
    int* __restrict__ labels,                      // (queries, slots + n_listed), -1: none
    unsigned short* __restrict__ bins)             // (queries, slots + n_listed, tables)
{
    const int n_voters = neighbours < cuts[n_cuts - 1] ? neighbours : (int)cuts[n_cuts - 1];
    const int width = n_slots + n_listed;
    for (long long query = blockIdx.x; query < n_queries; query += gridDim.x) {
        const long long from = query * neighbours;
        const Voters voters = {ids + from, similarities + from, n_voters, label_starts, label_ids, n_labels};
        const Tally tally = vote(voters, cuts, n_cuts, alpha, n_listed, pools + blockIdx.x * pool_words);
        int* mine = labels + query * width;
        unsigned short* my_bins = bins + query * width * n_tables;
        choose(keys_of(tally), tally.labels, 0, tally.slots, n_slots, best_keys + query * n_slots, mine);
        for (int i = threadIdx.x; i < n_slots; i += blockDim.x) {
            if (mine[i] >= 0) {
                tally.places[slot_of(tally, mine[i])] = i + 1;
            }
        }
        __syncthreads();
        // A label that is listed and has no place yet takes that of the first who lists it.
        for (int i = threadIdx.x; i < n_listed; i += blockDim.x) {
            const int label = listed[query * n_listed + i], place = n_slots + i + 1;
            const int slot = label < 0 ? -1 : take_slot(tally, label);
            mine[n_slots + i] = slot >= 0 && !atomicCAS(tally.places + slot, 0, place) ? label : -1;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < width; i += blockDim.x) {
            if (mine[i] < 0) {
                continue;
            }
            const int slot = slot_of(tally, mine[i]);
            for (int table = 0; table < n_tables; ++table) {
                my_bins[(long long)i * n_tables + table] =
                    table < n_cuts ? bin_of(votes_at(tally, slot, table), tally.totals[table]) : 0;
            }
        }
        __syncthreads();
        const int* label = listed + query * n_listed;
        const unsigned short* bin = listed_bins + query * n_listed_bins;
        for (int source = 0, table = n_cuts; source < n_sources; ++source) {
            const int count = (int)sources[2 * source], tables = (int)sources[2 * source + 1];
            for (int i = threadIdx.x; i < count; i += blockDim.x) {
                if (label[i] < 0) {
                    continue;
                }
                const long long place = tally.places[slot_of(tally, label[i])] - 1;
                for (int t = 0; t < tables; ++t) {
                    my_bins[place * n_tables + table + t] = bin[i * tables + t];
                }
            }
            label += count;
            bin += count * tables;
            table += tables;
        }
    }
}
