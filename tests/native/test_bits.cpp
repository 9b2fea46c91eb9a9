// A test that results have the same bits on every machine, at every SIMD level and with every compiler: a checksum of
// many results must be the one that is written below.
#include "rounding.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "block.hpp"
#include "checks.hpp"
#include "distances/gower.hpp"
#include "distances/packed_columns.hpp"
#include "distances/sparse.hpp"
#include "search/swap.hpp"

using namespace obp;

namespace {

// A change of the arithmetic changes the checksum; the test prints the new one.
constexpr std::uint64_t expected_checksum = 0x818aa3b287b5a32b;

constexpr std::size_t n = 103, m = 75;

// The 64-bit FNV-1a hash of the results, in the order in which they are added.
class Checksum {
public:
    template <class T>
    void add(const std::vector<T>& values) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
        for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3;
    }
    std::uint64_t value() const { return hash_; }

private:
    std::uint64_t hash_ = 0xcbf29ce484222325;
};

// Returns random values between 0 and 255. The distributions of the standard library differ between libraries.
template <class T>
std::vector<T> portable_rows(std::size_t n_rows, std::size_t p, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<T> rows(n_rows * p);
    for (T& value : rows) value = static_cast<T>(generator() * (255 / 4294967296.0));
    return rows;
}

template <class T>
void add_distances(InputType type, Checksum& checksum) {
    for (const Metric metric :
         {Metric::manhattan, Metric::euclidean, Metric::sqeuclidean, Metric::chebyshev, Metric::cosine})
        for (const std::size_t p : {3, 131, 300}) {
            const auto rows = portable_rows<T>(n, p, 1);
            const PackedColumns columns(metric, type, rows.data(), m, p);
            std::vector<float> floats(n * m);
            std::vector<double> doubles(n * m);
            columns.fill(rows.data(), n, floats.data(), m, 2);
            columns.fill(rows.data(), n, doubles.data(), m, 2);
            checksum.add(floats);
            checksum.add(doubles);
        }
}

// Rows of several runs of units, more columns than one block holds, and units that are skipped.
template <class T>
void add_blocks(InputType type, Checksum& checksum) {
    const std::size_t n_rows = 29, n_columns = 530, p = 270;
    for (const bool mostly_zero : {false, true})
        for (const Metric metric : {Metric::manhattan, Metric::euclidean, Metric::chebyshev, Metric::cosine}) {
            auto rows = portable_rows<T>(n_columns, p, 7);
            for (std::size_t i = 0; mostly_zero && i < rows.size(); ++i)
                if (i * i % 7 != 2 || i / 40 % 3) rows[i] = 0;
            std::vector<float> out(n_rows * n_columns);
            PackedColumns(metric, type, rows.data(), n_columns, p).fill(rows.data(), n_rows, out.data(), n_columns, 2);
            checksum.add(out);
        }
}

void add_gower(Checksum& checksum) {
    const std::size_t p = 200;
    auto rows = portable_rows<float>(n, p, 2);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i % 7 ? rows[i] / 100 : std::nanf("");
    const auto weights = portable_rows<float>(1, p, 3);
    std::vector<float> out(n * m);
    GowerColumns(rows.data(), m, p, weights.data()).fill(rows.data(), n, out.data(), m, 2);
    checksum.add(out);
}

void add_sparse(Checksum& checksum) {
    const std::size_t p = 40;  // every third value is not zero
    const auto values = portable_rows<double>(n, p, 4);
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> features;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t f = i % 3; f < p; f += 3) features.push_back(static_cast<std::int32_t>(f));
        starts.push_back(static_cast<std::int64_t>(features.size()));
    }
    const SparseRows rows{n, starts.data(), features.data(), values.data()};
    for (const SparseMetric metric : {SparseMetric::manhattan, SparseMetric::euclidean, SparseMetric::sqeuclidean,
                                      SparseMetric::cosine, SparseMetric::jaccard}) {
        std::vector<double> out(n * n);
        SparseColumns(metric, rows, p).fill(rows, out.data(), n, 2);
        checksum.add(out);
    }
}

void add_search(Checksum& checksum) {
    const std::size_t n_candidates = 700;
    const auto block = portable_rows<float>(n_candidates, m, 5);
    const auto weights = portable_rows<double>(1, m, 6);
    const BlockView view{block.data(), n_candidates, m, m};
    std::vector<double> sums(n_candidates), gains(n_candidates);
    std::vector<std::int32_t> slots(n_candidates);
    RowSummer summer(n_candidates, m, weights.data(), nullptr, sums.data(), 2);
    show(view, summer);
    const std::vector<std::int64_t> start{0, 1, 2, 3, 4};
    SwapSearch search(n_candidates, start.data(), start.size(), block.data(), m, weights.data(), 0);
    SwapEvaluator evaluator(search, n_candidates, gains.data(), slots.data(), 2);
    show(view, evaluator);
    while (!search.converged()) search.sweep(view, 0, 2);
    checksum.add(sums);
    checksum.add(gains);
    checksum.add(slots);
    checksum.add(search.medoids());
    checksum.add(std::vector<double>{search.loss()});
}

}  // namespace

void test_bits(const char* level) {
    Checksum checksum;
    add_distances<float>(InputType::float32, checksum);
    add_distances<double>(InputType::float64, checksum);
    add_distances<std::uint8_t>(InputType::uint8, checksum);
    add_blocks<float>(InputType::float32, checksum);
    add_blocks<double>(InputType::float64, checksum);
    add_blocks<std::uint8_t>(InputType::uint8, checksum);
    add_gower(checksum);
    add_sparse(checksum);
    add_search(checksum);
    check(checksum.value() == expected_checksum, "results have the same bits as on other machines", level);
    if (checksum.value() != expected_checksum)
        std::printf("checksum 0x%016llx\n", static_cast<unsigned long long>(checksum.value()));
}
