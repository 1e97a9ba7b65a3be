// Groups of blocks, by plans: read, decoded, written, restored, dropped, given
// a longer life. Entry points: PlanExecutor, ObjectReader, ObjectWriter,
// ObjectRepair, ExtendBlocks. Nothing that writes a manifest may come in.
#ifndef ERS_STORE_BLOCKS_BLOCKS_H_
#define ERS_STORE_BLOCKS_BLOCKS_H_
#endif  // ERS_STORE_BLOCKS_BLOCKS_H_
