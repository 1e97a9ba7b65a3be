// The kernels there are; callers go through FindKernel and DefaultKernel.
#ifndef ERS_CODE_KERNELS_H_
#define ERS_CODE_KERNELS_H_

#include "code/kernel.h"

namespace ers::code {

#if ERS_HAVE_ISAL_KERNEL
const Kernel& IsalKernel();
#endif
const Kernel& GfCompleteKernel();

}  // namespace ers::code

#endif  // ERS_CODE_KERNELS_H_
