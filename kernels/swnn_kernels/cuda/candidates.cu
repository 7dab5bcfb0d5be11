// Neighbours vote at several cuts (the best 5, 25, ...); the labels with most votes at the last cut
// become candidates. Votes are integers (weight * 2^40), so the order of the atomics does not matter.

#include "choose.cuh"
#include "power.cuh"

// Grid: x = queries. Candidates come in any order.
extern "C" __global__ void find_candidates(
    const long long* __restrict__ ids,             // (queries, neighbours), best first; -1: none
    const double* __restrict__ similarities,       // (queries, neighbours)
    const long long* __restrict__ label_starts,    // (rows + 1)
    const int* __restrict__ label_ids,
    const long long* __restrict__ cuts,            // (cuts), ascending: how many neighbours vote
    const int neighbours,
    const int n_cuts,
    const long long n_labels,
    const long long capacity,                      // most labels that one query can get votes for
    const double alpha,
    const int n_slots,                             // candidates of a query
    int* __restrict__ slot_of,                     // (queries, labels): from 1; zeros before and after
    int* __restrict__ voted,                       // (queries, capacity): buffer
    unsigned long long* __restrict__ sums,         // (queries, capacity, cuts): buffer
    unsigned long long* __restrict__ keys,         // (queries, capacity): buffer
    unsigned long long* __restrict__ best_keys,    // (queries, slots): buffer
    int* __restrict__ labels,                      // (queries, slots), -1: none
    unsigned long long* __restrict__ votes,        // (queries, slots, cuts)
    unsigned long long* __restrict__ totals)       // (queries, cuts), zero at the start
{
    __shared__ unsigned n_voted;
    const long long query = blockIdx.x;
    ids += query * neighbours;
    similarities += query * neighbours;
    slot_of += query * n_labels;
    voted += query * capacity;
    sums += query * capacity * n_cuts;
    keys += query * capacity;
    labels += query * n_slots;
    votes += query * n_slots * n_cuts;
    totals += query * n_cuts;
    if (threadIdx.x == 0) {
        n_voted = 0;
    }
    __syncthreads();
    // Collect the labels first, so that each knows where its sums are when votes arrive.
    const int voters = neighbours < cuts[n_cuts - 1] ? neighbours : (int)cuts[n_cuts - 1];
    for (int i = threadIdx.x; i < voters; i += blockDim.x) {
        const long long row = ids[i];
        for (long long at = row < 0 ? 0 : label_starts[row]; row >= 0 && at < label_starts[row + 1]; ++at) {
            if (!atomicOr(slot_of + label_ids[at], 1)) {
                voted[atomicAdd(&n_voted, 1u)] = label_ids[at];
            }
        }
    }
    __syncthreads();
    const int count = n_voted;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        slot_of[voted[i]] = i + 1;
        for (int cut = 0; cut < n_cuts; ++cut) {
            sums[(long long)i * n_cuts + cut] = 0;
        }
    }
    __syncthreads();
    // A vote is added to the first cut that it counts at; sums over cuts follow.
    for (int i = threadIdx.x; i < voters; i += blockDim.x) {
        const long long row = ids[i];
        if (row < 0) {
            continue;
        }
        int cut = 0;
        while (i >= cuts[cut]) {
            ++cut;
        }
        const double weight = power(similarities[i], alpha);
        const unsigned long long vote = (unsigned long long)rint(weight * 1099511627776.0);  // 2^40
        atomicAdd(totals + cut, vote);
        for (long long at = label_starts[row]; at < label_starts[row + 1]; ++at) {
            atomicAdd(sums + (long long)(slot_of[label_ids[at]] - 1) * n_cuts + cut, vote);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        unsigned long long* mine = sums + (long long)i * n_cuts;
        for (int cut = 1; cut < n_cuts; ++cut) {
            mine[cut] += mine[cut - 1];
        }
        keys[i] = mine[n_cuts - 1] + 1;  // a vote of weight 0 is a vote
    }
    if (threadIdx.x == 0) {
        for (int cut = 1; cut < n_cuts; ++cut) {
            totals[cut] += totals[cut - 1];
        }
    }
    choose(keys, voted, 0, count, n_slots, best_keys + query * n_slots, labels);
    for (int i = threadIdx.x; i < n_slots; i += blockDim.x) {
        for (int cut = 0; cut < n_cuts; ++cut) {
            const bool there = labels[i] >= 0;
            const long long from = there ? (long long)(slot_of[labels[i]] - 1) * n_cuts : 0;
            votes[(long long)i * n_cuts + cut] = there ? sums[from + cut] : 0;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        slot_of[voted[i]] = 0;
    }
}
