// The operations on objects: one file each. Entry points: Store and its
// streams. What goes on without a caller may not come in, and no operation
// calls another's file.
#ifndef ERS_STORE_OBJECTS_OBJECTS_H_
#define ERS_STORE_OBJECTS_OBJECTS_H_
#endif  // ERS_STORE_OBJECTS_OBJECTS_H_
