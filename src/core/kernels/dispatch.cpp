// The choice of a SIMD level: the best one whose instructions this processor has.
#include "kernels/table.hpp"

#include <atomic>
#include <cstring>

namespace obp {

namespace base {
extern const Kernels table;
}
#ifdef OBP_X86_LEVELS
namespace v3 {
extern const Kernels table;
}
namespace v4 {
extern const Kernels table;
}
#endif

const std::vector<const Kernels*>& available_kernels() {
    static const std::vector<const Kernels*> available = [] {
        std::vector<const Kernels*> found{&base::table};
#ifdef OBP_X86_LEVELS
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
            found.push_back(&v3::table);
            if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
                found.push_back(&v4::table);
        }
#endif
        return found;
    }();
    return available;
}

static std::atomic<const Kernels*> forced{nullptr};

const Kernels& kernels() {
    const Kernels* table = forced.load(std::memory_order_relaxed);
    return table ? *table : *available_kernels().back();
}

bool force_kernels(const char* name) {
    for (const Kernels* table : available_kernels())
        if (std::strcmp(table->name, name) == 0) {
            forced = table;
            return true;
        }
    return false;
}

}  // namespace obp
