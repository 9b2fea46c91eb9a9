// The only file that knows Python: it checks shapes and types and releases the interpreter lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "custom.hpp"
#include "distance.hpp"
#include "swap.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace obp;

namespace {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MatrixOut = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using ArrayOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
}

Metric metric_of(const std::string& name) {
    if (name == "manhattan") return Metric::manhattan;
    if (name == "euclidean") return Metric::euclidean;
    if (name == "sqeuclidean") return Metric::sqeuclidean;
    if (name == "chebyshev") return Metric::chebyshev;
    if (name == "cosine") return Metric::cosine;
    throw std::invalid_argument("no native metric '" + name + "'");
}

template <class T>
constexpr Source source_of() {
    if constexpr (sizeof(T) == 8) return Source::float64;
    if constexpr (sizeof(T) == 4) return Source::float32;
    return Source::uint8;
}

template <class T>
void init_columns(PackedColumns* self, Matrix<T> points, const std::string& metric) {
    require(points.shape(0) > 0 && points.shape(1) > 0, "points must not be empty");
    new (self) PackedColumns(metric_of(metric), source_of<T>(), points.data(), points.shape(0), points.shape(1));
}

template <class T, class Out>
void fill(const PackedColumns& self, Matrix<T> rows, MatrixOut<Out> out, int n_threads) {
    require(source_of<T>() == self.source(), "rows must be of the type of the packed points");
    require(rows.shape(1) == self.n_features(), "rows must have " + std::to_string(self.n_features()) + " features");
    require(out.shape(0) == rows.shape(0) && out.shape(1) == self.n_columns(), "out must be rows x columns");
    require(n_threads >= 1, "n_threads must be at least 1");
    self.fill(rows.data(), rows.shape(0), out.data(), n_threads);
}

void init_search(SwapSearch* self, std::size_t n_candidates, Array<std::int64_t> medoids, Matrix<float> medoid_rows,
                 Array<double> weights, double tol) {
    const std::size_t k = medoids.shape(0), m = weights.shape(0);
    require(k >= 2, "a swap search needs at least two medoids");
    require(medoid_rows.shape(0) == k && medoid_rows.shape(1) == m, "medoid_rows must be medoids x batch points");
    for (std::size_t i = 0; i < k; ++i)
        require(medoids.data()[i] >= 0 && static_cast<std::size_t>(medoids.data()[i]) < n_candidates,
                "a medoid index is out of range");
    new (self) SwapSearch(n_candidates, medoids.data(), k, medoid_rows.data(), m, weights.data(), tol);
}

void sweep(SwapSearch& self, Matrix<float> rows, std::size_t first, int n_threads) {
    require(rows.shape(1) == self.m(), "rows must have " + std::to_string(self.m()) + " columns");
    require(first + rows.shape(0) <= self.n_candidates(), "rows reach beyond the last candidate");
    require(n_threads >= 1, "n_threads must be at least 1");
    self.sweep(rows.data(), first, rows.shape(0), n_threads);
}

std::pair<float, bool> scan(Matrix<float> block, ArrayOut<std::int32_t> nearest, int n_threads) {
    require(block.shape(1) > 0 && nearest.shape(0) == block.shape(0), "nearest must have an entry for each row");
    require(n_threads >= 1, "n_threads must be at least 1");
    const BlockScan found = scan_rows(block.data(), block.shape(0), block.shape(1), nearest.data(), n_threads);
    return {found.max, found.valid};
}

void row_sums(Matrix<float> block, Array<double> weights, ArrayOut<double> sums, int n_threads) {
    require(weights.shape(0) == block.shape(1) && sums.shape(0) == block.shape(0),
            "weights must have an entry for each column, sums for each row");
    require(n_threads >= 1, "n_threads must be at least 1");
    weighted_row_sums(block.data(), block.shape(0), block.shape(1), weights.data(), sums.data(), n_threads);
}

// capsule  IN  of a scipy.LowLevelCallable: the function, and as its context what is to be passed with every call
void init_custom(CustomMetric* self, nb::capsule capsule, bool takes_data) {
    void* function = capsule.data(capsule.name());
    require(function != nullptr, "the capsule holds no function");
    if (takes_data)
        new (self) CustomMetric(reinterpret_cast<CustomMetric::FunctionWithData>(function),
                                PyCapsule_GetContext(capsule.ptr()));
    else
        new (self) CustomMetric(reinterpret_cast<CustomMetric::Function>(function));
}

void fill_custom(const CustomMetric& self, Matrix<double> rows, Matrix<double> columns, bool rows_first,
                 MatrixOut<double> out, int n_threads) {
    require(rows.shape(1) == columns.shape(1), "rows and columns must have the same number of features");
    require(out.shape(0) == rows.shape(0) && out.shape(1) == columns.shape(0), "out must be rows x columns");
    require(n_threads >= 1, "n_threads must be at least 1");
    self.fill(rows.data(), rows.shape(0), columns.data(), columns.shape(0), rows.shape(1), rows_first, out.data(),
              n_threads);
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "Native kernels of onebatchpam.";
    module.attr("__version__") = OBP_VERSION;
    module.attr("SWEEP_CHUNK") = SwapSearch::chunk_size;
    using release = nb::call_guard<nb::gil_scoped_release>;

    nb::class_<PackedColumns>(module, "PackedColumns", "Points to which the dissimilarities of many rows are wanted.")
        .def("__init__", init_columns<float>, "points"_a.noconvert(), "metric"_a)
        .def("__init__", init_columns<double>, "points"_a.noconvert(), "metric"_a)
        .def("__init__", init_columns<std::uint8_t>, "points"_a.noconvert(), "metric"_a)
        .def("fill", fill<float, float>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill<double, float>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill<double, double>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release())
        .def("fill", fill<std::uint8_t, float>, "rows"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, release());

    nb::class_<CustomMetric>(module, "CustomMetric", "A dissimilarity that the user compiled.")
        .def("__init__", init_custom, "capsule"_a, "takes_data"_a)
        .def("fill", fill_custom, "rows"_a.noconvert(), "columns"_a.noconvert(), "rows_first"_a, "out"_a.noconvert(),
             "n_threads"_a, release());

    nb::class_<SwapSearch>(module, "SwapSearch", "Eager swap search over a block that is shown tile by tile.")
        .def("__init__", init_search, "n_candidates"_a, "medoids"_a.noconvert(), "medoid_rows"_a.noconvert(),
             "weights"_a.noconvert(), "tol"_a)
        .def("sweep", sweep, "rows"_a.noconvert(), "first"_a, "n_threads"_a, release())
        .def_prop_ro("converged", &SwapSearch::converged)
        .def_prop_ro("loss", &SwapSearch::loss)
        .def_prop_ro("medoids", [](const SwapSearch& self) { return self.medoids(); })
        .def_prop_ro("n_swaps", &SwapSearch::n_swaps);

    module.def("scan_rows", scan, "block"_a.noconvert(), "nearest"_a.noconvert(), "n_threads"_a, release(),
               "Write the first smallest column of each row; return the largest entry and whether all entries are "
               "finite and not negative.");
    module.def("weighted_row_sums", row_sums, "block"_a.noconvert(), "weights"_a.noconvert(), "sums"_a.noconvert(),
               "n_threads"_a, release());

    module.def("simd_level", [] { return std::string(kernels().name); });
    module.def("simd_levels", [] {
        std::vector<std::string> names;
        for (const Kernels* level : available_kernels()) names.emplace_back(level->name);
        return names;
    });
    module.def(
        "force_simd_level",
        [](const std::string& name) { require(force_kernels(name.c_str()), "no SIMD level '" + name + "' here"); },
        "name"_a);
}
