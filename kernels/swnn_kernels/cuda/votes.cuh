// Votes of a query's neighbours for their labels, in a hash table: in shared memory if it fits, else
// in global memory. Votes are integers (weight * 2^40), so the order of the atomics does not matter.

#include "choose.cuh"
#include "hash.cuh"
#include "power.cuh"
#include "warp.cuh"

#ifndef POOL  // `__init__.py` decides
#define POOL 3072
#endif

// Labels by hash; votes are those of the first neighbours, up to each cut.
struct Tally {
    int slots, n_cuts;
    Key* sums;    // (cuts, slots); those of the last cut are one larger where there is a vote
    Key* totals;  // (cuts): votes of all neighbours
    int* labels;  // (slots), -1: free
    int* places;  // (slots), 0 at first: for callers
};

// Slot of a label, which takes a free one if it has none; there is always one.
__device__ int take_slot(const Tally& tally, int label) {
    for (int slot = hashed(label, tally.slots);; slot = next(slot, tally.slots)) {
        const int found = atomicCAS(tally.labels + slot, -1, label);
        if (found < 0 || found == label) {
            return slot;
        }
    }
}

// Slot of a label that has one.
__device__ int slot_of(const Tally& tally, int label) {
    int slot = hashed(label, tally.slots);
    while (tally.labels[slot] != label) {
        slot = next(slot, tally.slots);
    }
    return slot;
}

// Keys by which labels are chosen: a vote of weight 0 is a vote.
__device__ Key* keys_of(const Tally& tally) {
    return tally.sums + (long long)(tally.n_cuts - 1) * tally.slots;
}

// Votes of the label at a slot up to a cut.
__device__ Key votes_at(const Tally& tally, int slot, int cut) {
    const Key sum = tally.sums[(long long)cut * tally.slots + slot];
    return cut == tally.n_cuts - 1 && sum ? sum - 1 : sum;
}

// An empty table for this many labels, in shared memory or in `pool`. It is cleared without waiting.
__device__ Tally make_tally(long long n_labels, int n_cuts, Key* pool) {
    __shared__ Key shared[POOL];
    const long long needed = n_labels + n_labels / 4 + 1, room = (POOL - n_cuts) / (n_cuts + 1);
    Tally tally;
    tally.slots = (int)(needed <= room ? min(room, 2 * n_labels + 1) : needed);
    tally.n_cuts = n_cuts;
    tally.sums = needed <= room ? shared : pool;
    tally.totals = tally.sums + (long long)n_cuts * tally.slots;
    tally.labels = (int*)(tally.totals + n_cuts);
    tally.places = tally.labels + tally.slots;
    for (long long i = threadIdx.x; i < (long long)n_cuts * tally.slots + n_cuts; i += blockDim.x) {
        tally.sums[i] = 0;
    }
    for (int i = threadIdx.x; i < tally.slots; i += blockDim.x) {
        tally.labels[i] = -1;
        tally.places[i] = 0;
    }
    return tally;
}

// A query's neighbours, best first, and the labels of all rows.
struct Voters {
    const long long* ids;
    const double* similarities;
    int count;
    const long long* label_starts;
    const int* label_ids;
    long long n_labels;
};

// Let the neighbours vote, and leave room for `more` labels. Threads return as soon as they have
// written their sums and totals.
__device__ Tally vote(const Voters& voters, const long long* cuts, int n_cuts, double alpha, int more,
                      Key* pool) {
    __shared__ Key n_votes;
    if (threadIdx.x == 0) {
        n_votes = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < voters.count; i += blockDim.x) {
        const long long row = voters.ids[i];
        if (row >= 0) {
            atomicAdd(&n_votes, (Key)(voters.label_starts[row + 1] - voters.label_starts[row]));
        }
    }
    __syncthreads();
    const Tally tally = make_tally(min((long long)n_votes, voters.n_labels) + more, n_cuts, pool);
    __syncthreads();
    // A warp adds a neighbour's votes to the first cut that it counts at; sums over cuts follow.
    const int width = warp_width(), lane = threadIdx.x % width;
    for (int i = threadIdx.x / width; i < voters.count && voters.ids[i] >= 0; i += blockDim.x / width) {
        const long long row = voters.ids[i], stop = voters.label_starts[row + 1];
        int cut = 0;
        while (i >= cuts[cut]) {
            ++cut;
        }
        const double weight = power(voters.similarities[i], alpha);
        const Key votes = (Key)rint(weight * 1099511627776.0);  // 2^40
        if (lane == 0) {
            atomicAdd(tally.totals + cut, votes);
        }
        for (long long at = voters.label_starts[row] + lane; at < stop; at += width) {
            const long long slot = take_slot(tally, voters.label_ids[at]);
            atomicAdd(tally.sums + (long long)cut * tally.slots + slot, votes);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < tally.slots; i += blockDim.x) {
        Key sum = tally.labels[i] >= 0 ? tally.sums[i] : 0;
        for (int cut = 1; cut < n_cuts && tally.labels[i] >= 0; ++cut) {
            sum = tally.sums[(long long)cut * tally.slots + i] += sum;
        }
        keys_of(tally)[i] = tally.labels[i] >= 0 ? sum + 1 : 0;
    }
    if (threadIdx.x == 0) {
        for (int cut = 1; cut < n_cuts; ++cut) {
            tally.totals[cut] += tally.totals[cut - 1];
        }
    }
    return tally;
}
