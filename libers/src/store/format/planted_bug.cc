#include "store/format/planted_bug.h"

#include "store/format/change_age.h"

namespace ers::store {

#if defined(ERS_PLANTED_BUGS)
PlantedBug planted_bug = PlantedBug::kNone;
StoreWatch* store_watch = nullptr;
bool impatient = false;
bool asks_any = false;
net::Duration change_timeout = kChangeTimeout;
#endif

}  // namespace ers::store
