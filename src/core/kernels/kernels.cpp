// The kernels of one SIMD level. This file is compiled once for each level, with the level's name in OBP_LEVEL.
//
// The kernels do not allocate, throw or start threads. They call no function of a standard header, because the linker
// keeps only one copy of such a function: compiled for one level, it would be called at all the others.
#include "rounding.hpp"

#include "kernels/fill.hpp"
#include "kernels/gower.hpp"
#include "kernels/rows.hpp"
#include "kernels/table.hpp"

namespace obp {
namespace OBP_LEVEL {

#define OBP_NAME_OF(level) #level
#define OBP_NAME(level) OBP_NAME_OF(level)

extern const Kernels table;
const Kernels table = {
    OBP_NAME(OBP_LEVEL),
    metric_kernels<Manhattan<float>>(),
    metric_kernels<Manhattan<double>>(),
    metric_kernels<ManhattanBytes>(),
    metric_kernels<SquaredEuclidean<float>>(),
    metric_kernels<SquaredEuclidean<double>>(),
    metric_kernels<Chebyshev<float>>(),
    metric_kernels<Chebyshev<double>>(),
    metric_kernels<DotProduct>(),
    metric_kernels<DotProductBytes>(),
    {gower_width, fill_gower},
    centre_row,
    sum_of_squares,
    scale_row,
    widen_halves,
    evaluate_swap,
    build_moments,
    add_swap_moments,
    weighted_sum,
    capped_sum,
    scan_row,
    is_valid_row,
    below,
};

}  // namespace OBP_LEVEL
}  // namespace obp
