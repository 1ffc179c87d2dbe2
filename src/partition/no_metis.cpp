// In place of METIS where a build has none.
#include "core/build_parts.hpp"

#include "metis_partitioner.hpp"

namespace rudder::partition {

Array<PartId> call_metis(const MetisCall& /*call*/) {
    throw missing_part("METIS", "--method metis", "use --method ldg");
}

}  // namespace rudder::partition
