// Reads a problem from a file, runs all kernels on it through the host shim, writes the results.
// Usage: run_kernels THREADS SEARCH_THREADS TILE RANGES IN OUT; arrays are int64 or float64, a length first.
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
    const unsigned threads = std::atoi(argv[1]), search_threads = std::atoi(argv[2]), ranges = std::atoi(argv[4]);
    const int tile = std::atoi(argv[3]);
    FILE* in = std::fopen(argv[5], "rb");
    const auto row_starts = read<long long>(in);
    const auto row_features = narrow(read<long long>(in)), row_quantised = narrow(read<long long>(in));
    const auto directory = narrow(read<long long>(in)), slices = narrow(read<long long>(in));
    const auto postings = narrow(read<long long>(in));
    const auto query_starts = read<long long>(in);
    const auto query_features = narrow(read<long long>(in)), query_quantised = narrow(read<long long>(in));
    const auto label_starts = read<long long>(in);
    const auto label_ids = narrow(read<long long>(in));
    const auto numbers = narrow(read<long long>(in));  // neighbours, labels, k, candidates, shift, rows listed, words of a pool, pools
    const auto exponents = read<double>(in);           // alpha, beta
    const auto removed_flags = narrow(read<long long>(in));
    const auto cuts = read<long long>(in), model_starts = read<long long>(in);
    const auto model_features = narrow(read<long long>(in));
    const auto wide_weights = read<long long>(in), biases = read<long long>(in);
    const auto modelled_flags = read<long long>(in), tables = read<long long>(in);
    const auto sources = read<long long>(in);          // labels listed for a query, tables of each
    const auto unscaled = narrow(read<long long>(in));  // values of the queries without feature weights
    const auto listed_labels = narrow(read<long long>(in));
    const auto wide_bins = read<long long>(in);
    std::fclose(in);
    const Device<short> model_weights(wide_weights.begin(), wide_weights.end());
    const Device<unsigned short> listed_bins(wide_bins.begin(), wide_bins.end());
    const Device<unsigned char> modelled(modelled_flags.begin(), modelled_flags.end());
    const Device<unsigned char> removed(removed_flags.begin(), removed_flags.end());

    const long long n_rows = row_starts.size() - 1, n_queries = query_starts.size() - 1;
    const int n_slots = numbers[0], n_labels = numbers[1], k = numbers[2], listed = numbers[5];
    const unsigned char* marks = removed.empty() ? nullptr : removed.data();
    const int n_tiles = (n_rows + search_cu::TILE - 1) / search_cu::TILE;
    const long long directory_size = n_tiles ? directory.size() / 2 / n_tiles : 0;
    Device<int> row_sizes(n_rows), left(n_queries);
    for (long long i = 0; i < n_rows; ++i) row_sizes[i] = row_starts[i + 1] - row_starts[i];
    Device<unsigned> thresholds(n_queries), counts(n_queries);
    Device<uint2> lists(n_queries * listed);
    Device<long long> ids(n_queries * n_slots), labels(n_queries * k);
    Device<double> similarities(ids.size()), scores(labels.size());
    Device<int> left_over(1);
    run({(unsigned)n_queries, ranges}, search_threads, [&] {
        search_cu::search_tiles((const uint2*)directory.data(), (const unsigned*)slices.data(),
                                (const unsigned*)postings.data(), row_sizes.data(), marks, query_starts.data(),
                                query_features.data(), query_quantised.data(), n_tiles, directory_size, n_slots,
                                listed, exponents[1], thresholds.data(), counts.data(), lists.data());
    });
    run({(unsigned)n_queries, 1}, search_threads, [&] {
        search_cu::finish(row_starts.data(), row_features.data(), row_quantised.data(), row_sizes.data(),
                          query_starts.data(), query_features.data(), query_quantised.data(), thresholds.data(),
                          counts.data(), lists.data(), n_slots, listed, exponents[1], ids.data(),
                          similarities.data(), left_over.data(), left.data());
    });
    report("search");
    const unsigned many = left_over[0];
    std::printf("left %u\n", many);
    if (many) {
        const unsigned tiles = (n_rows + tile - 1) / tile;
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
    report("exhaustive");
    const long long pool_words = numbers[6];
    const unsigned blocks = std::min<long long>(n_queries, numbers[7]);
    Device<unsigned long long> pools(blocks * pool_words), best_keys(n_queries * k);
    Device<int> chosen(best_keys.size());
    run({blocks, 1}, threads, [&] {
        vote_cu::vote_topk(ids.data(), similarities.data(), label_starts.data(), label_ids.data(), (int)n_queries,
                           n_slots, n_labels, exponents[0], k, pools.data(), pool_words, best_keys.data(),
                           chosen.data(), labels.data(), scores.data());
    });
    report("votes");
    Device<long long> ranked(chosen.size());
    Device<double> ranked_scores(chosen.size());
    const int n_cuts = cuts.size(), by_votes = numbers[3], n_sources = sources.size() / 2;
    const int n_listed = listed_labels.size() / n_queries, n_listed_bins = listed_bins.size() / n_queries;
    int n_tables = n_cuts;
    for (int source = 0; source < n_sources; ++source) n_tables += sources[2 * source + 1];
    const int candidates = by_votes + n_listed;
    if (n_cuts) {  // there is a ranker
        Device<int> found(n_queries * candidates);
        Device<unsigned short> bins(found.size() * n_tables);
        Device<unsigned long long> found_keys(n_queries * by_votes), linear(found.size());
        run({blocks, 1}, threads, [&] {
            candidates_cu::find_candidates(
                ids.data(), similarities.data(), label_starts.data(), label_ids.data(), cuts.data(), sources.data(),
                listed_labels.data(), listed_bins.data(), (int)n_queries, n_slots, n_cuts, n_sources, n_listed,
                n_listed_bins, n_tables, n_labels, exponents[0], by_votes, pools.data(), pool_words,
                found_keys.data(), found.data(), bins.data());
        });
        report("candidates");
        run({(unsigned)n_queries, 1}, threads, [&] {
            scores_cu::score_candidates(
                found.data(), bins.data(), query_starts.data(), query_features.data(), unscaled.data(),
                model_starts.data(), model_features.data(), model_weights.data(), biases.data(), modelled.data(),
                tables.data(), candidates, n_tables, modelled.size(), numbers[4], k, linear.data(),
                best_keys.data(), chosen.data(), ranked.data(), ranked_scores.data());
        });
        report("scores");
    }
    FILE* out = std::fopen(argv[6], "wb");
    std::fwrite(ids.data(), 8, ids.size(), out);
    std::fwrite(similarities.data(), 8, similarities.size(), out);
    std::fwrite(labels.data(), 8, labels.size(), out);
    std::fwrite(scores.data(), 8, scores.size(), out);
    std::fwrite(ranked.data(), 8, ranked.size(), out);
    std::fwrite(ranked_scores.data(), 8, ranked_scores.size(), out);
    return std::fclose(out);
}
