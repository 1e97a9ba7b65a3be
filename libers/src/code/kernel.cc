#include "code/kernel.h"

#include "code/kernels.h"

namespace ers::code {

const Kernel* FindKernel(KernelKind kind) {
  switch (kind) {
    case KernelKind::kIsal:
#if ERS_HAVE_ISAL_KERNEL
      return &IsalKernel();
#else
      return nullptr;
#endif
    case KernelKind::kGfComplete:
      return &GfCompleteKernel();
  }
  return nullptr;
}

const Kernel& DefaultKernel() {
  const Kernel* isal = FindKernel(KernelKind::kIsal);
  return isal != nullptr ? *isal : GfCompleteKernel();
}

std::vector<const Kernel*> AllKernels() {
  std::vector<const Kernel*> kernels;
  for (const auto kind : {KernelKind::kIsal, KernelKind::kGfComplete}) {
    const Kernel* kernel = FindKernel(kind);
    if (kernel != nullptr) kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace ers::code
