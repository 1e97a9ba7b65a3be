#include "store/planted_bug.h"

namespace ers::store {

#if defined(ERS_PLANTED_BUGS)
PlantedBug planted_bug = PlantedBug::kNone;
StoreWatch* store_watch = nullptr;
#endif

}  // namespace ers::store
