// One object made whole again, and the walk over all keys of the cluster. Entry
// points: MendObject, KeyWalk, CheckGroup. No loop that goes on by itself may
// come in.
#ifndef ERS_STORE_REPAIR_REPAIR_H_
#define ERS_STORE_REPAIR_REPAIR_H_
#endif  // ERS_STORE_REPAIR_REPAIR_H_
