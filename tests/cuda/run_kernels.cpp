// Reads a problem from a file, runs all kernels on it through the host shim, writes the results.
// Usage: run_kernels THREADS TILE RANGES IN OUT; arrays are int64 or float64, a length first.
#include "device.h"

namespace search_cu {
#include "search.cu"
}
namespace select_cu {
#include "select.cu"
}
namespace vote_cu {
#include "vote.cu"
}
namespace candidates_cu {
#include "candidates.cu"
}
namespace scores_cu {
#include "scores.cu"
}
int main(int, char** argv) {
    const unsigned threads = std::atoi(argv[1]), ranges = std::atoi(argv[3]);
    const int tile = std::atoi(argv[2]);
    FILE* in = std::fopen(argv[4], "rb");
    const auto row_starts = read<long long>(in);
    const auto row_features = narrow(read<long long>(in)), row_quantised = narrow(read<long long>(in));
    const auto directory = narrow(read<long long>(in)), slices = narrow(read<long long>(in));
    const auto postings = narrow(read<long long>(in));
    const auto query_starts = read<long long>(in);
    const auto query_features = narrow(read<long long>(in)), query_quantised = narrow(read<long long>(in));
    const auto label_starts = read<long long>(in);
    const auto label_ids = narrow(read<long long>(in));
    const auto numbers = narrow(read<long long>(in));  // neighbours, labels, k, capacity, candidates, shift, features, rows listed
    const auto exponents = read<double>(in);           // alpha, beta
    const auto removed_flags = narrow(read<long long>(in));
    const auto cuts = read<long long>(in), model_starts = read<long long>(in);
    const auto model_features = narrow(read<long long>(in));
    const auto wide_weights = read<long long>(in), biases = read<long long>(in);
    const auto modelled_flags = read<long long>(in), tables = read<long long>(in);
    std::fclose(in);
    const Device<short> model_weights(wide_weights.begin(), wide_weights.end());
    const Device<unsigned char> modelled(modelled_flags.begin(), modelled_flags.end());
    const Device<unsigned char> removed(removed_flags.begin(), removed_flags.end());

    const long long n_rows = row_starts.size() - 1, n_queries = query_starts.size() - 1;
    const int n_slots = numbers[0], n_labels = numbers[1], k = numbers[2], capacity = numbers[3], listed = numbers[7];
    const unsigned char* marks = removed.empty() ? nullptr : removed.data();
    const int n_tiles = (n_rows + search_cu::TILE - 1) / search_cu::TILE;
    const long long directory_size = n_tiles ? directory.size() / 2 / n_tiles : 0;
    Device<int> row_sizes(n_rows), left(n_queries);
    for (long long i = 0; i < n_rows; ++i) row_sizes[i] = row_starts[i + 1] - row_starts[i];
    Device<unsigned> thresholds(n_queries), counts(n_queries);
    Device<uint2> lists(n_queries * listed);
    Device<long long> ids(n_queries * n_slots), labels(n_queries * k);
    Device<double> similarities(ids.size()), scores(labels.size());
    int n_left = 0;
    run({(unsigned)n_queries, ranges}, threads, [&] {
        search_cu::search_tiles((const uint2*)directory.data(), (const unsigned*)slices.data(),
                                (const unsigned*)postings.data(), row_sizes.data(), marks, query_starts.data(),
                                query_features.data(), query_quantised.data(), n_tiles, directory_size, n_slots,
                                listed, exponents[1], thresholds.data(), counts.data(), lists.data());
    });
    run({(unsigned)n_queries, 1}, threads, [&] {
        search_cu::finish(row_starts.data(), row_features.data(), row_quantised.data(), row_sizes.data(),
                          query_starts.data(), query_features.data(), query_quantised.data(), thresholds.data(),
                          counts.data(), lists.data(), n_slots, listed, exponents[1], ids.data(),
                          similarities.data(), &n_left, left.data());
    });
    report("search", n_queries);
    std::printf("%d left\n", n_left);
    if (n_left) {
        const unsigned tiles = (n_rows + tile - 1) / tile, many = n_left;
        const int kept = n_slots < tile ? n_slots : tile;
        Device<unsigned long long> all(many * n_rows), keys(many * tiles * kept), best_keys(many * n_slots);
        Device<int> rows(keys.size()), best_rows(best_keys.size());
        run({many, tiles}, threads, [&] {
            select_cu::select_tiles(row_starts.data(), row_features.data(), row_quantised.data(), marks,
                                    query_starts.data(), query_features.data(), query_quantised.data(),
                                    left.data(), (int)n_rows, tile, kept, exponents[1], all.data(), keys.data(),
                                    rows.data());
        });
        run({many, 1}, threads, [&] {
            select_cu::select_merge(keys.data(), rows.data(), left.data(), (int)(tiles * kept), n_slots,
                                    best_keys.data(), best_rows.data(), ids.data(), similarities.data());
        });
    }
    Device<unsigned long long> votes(n_queries * n_labels);
    Device<int> voted(n_queries * capacity);
    run({(unsigned)n_queries, 1}, threads, [&] {
        vote_cu::vote_topk(ids.data(), similarities.data(), label_starts.data(), label_ids.data(),
                           n_slots, n_labels, capacity, exponents[0], k, votes.data(), voted.data(),
                           labels.data(), scores.data());
    });
    for (const auto vote : votes) {
        if (vote) return 3;  // the kernel leaves its scores as it found them
    }
    const int n_cuts = cuts.size(), candidates = numbers[4], n_features = numbers[6];
    Device<int> slots(n_queries * n_labels), found(n_queries * candidates);
    Device<unsigned long long> cut_sums(n_queries * capacity * n_cuts), cut_keys(n_queries * capacity);
    Device<unsigned long long> found_keys(found.size()), shares(found.size() * n_cuts);
    Device<unsigned long long> totals(n_queries * n_cuts), linear(found.size());
    run({(unsigned)n_queries, 1}, threads, [&] {
        candidates_cu::find_candidates(
            ids.data(), similarities.data(), label_starts.data(), label_ids.data(), cuts.data(), n_slots,
            n_cuts, n_labels, capacity, exponents[0], candidates, slots.data(), voted.data(),
            cut_sums.data(), cut_keys.data(), found_keys.data(), found.data(), shares.data(), totals.data());
    });
    Device<int> scattered(n_queries * n_features), chosen(n_queries * k);
    Device<unsigned long long> chosen_keys(chosen.size());
    Device<long long> ranked(chosen.size());
    Device<double> ranked_scores(chosen.size());
    run({(unsigned)n_queries, 1}, threads, [&] {
        scores_cu::score_candidates(
            found.data(), shares.data(), totals.data(), query_starts.data(), query_features.data(),
            query_quantised.data(), model_starts.data(), model_features.data(), model_weights.data(),
            biases.data(), modelled.data(), tables.data(), candidates, n_cuts, modelled.size(), n_features,
            numbers[5], k, scattered.data(), linear.data(), chosen_keys.data(), chosen.data(),
            ranked.data(), ranked_scores.data());
    });
    for (const auto slot : slots) {
        if (slot) return 4;  // both kernels leave what they take as they found it
    }
    for (const auto value : scattered) {
        if (value) return 5;
    }
    FILE* out = std::fopen(argv[5], "wb");
    std::fwrite(ids.data(), 8, ids.size(), out);
    std::fwrite(similarities.data(), 8, similarities.size(), out);
    std::fwrite(labels.data(), 8, labels.size(), out);
    std::fwrite(scores.data(), 8, scores.size(), out);
    std::fwrite(ranked.data(), 8, ranked.size(), out);
    std::fwrite(ranked_scores.data(), 8, ranked_scores.size(), out);
    return std::fclose(out);
}
