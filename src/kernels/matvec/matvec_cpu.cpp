// matvec on the CPU, of the kernels that it joins.
#include "kernels/add/add.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul_quantized/matmul_quantized.h"
#include "kernels/matvec/matvec_internal.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/silu_gate/silu_gate.h"

namespace athanor::kernels {

namespace {

Buffer operand_of(Stream& stream, const MatVec& args) {
  if (args.operand == MatVecOperand::Plain) return args.x;
  const Buffer operand = stream.device().allocate(args.k * 4, "matvec operand");
  if (args.operand == MatVecOperand::RmsNorm) {
    rms_norm(stream, {args.x, args.factor, operand, 1, args.k, args.eps});
  } else {
    silu_gate(stream, {args.x, args.factor, operand, args.k});
  }
  return operand;
}

}  // namespace

void matvec_cpu(Stream& stream, const MatVec& args) {
  const Buffer operand = operand_of(stream, args);
  if (args.weight != MatVecWeight::Q8_0) {
    matmul_t(stream, {operand, args.w, args.y, 1, args.n, args.k, args.accumulate,
                      args.weight == MatVecWeight::F16 ? DType::F16 : DType::F32});
    return;
  }
  const bool adds = args.accumulate == Accumulate::Yes;
  MatMulQuantized product;
  product.x = operand;
  product.w = args.w;
  product.y = adds ? stream.device().allocate(args.n * 4, "matvec product") : args.y;
  product.m = 1;
  product.n = args.n;
  product.k = args.k;
  product.format = WeightFormat::Q8_0;
  matmul_q8(stream, product);
  if (adds) gradient_accumulate(stream, {product.y, args.y, args.n});
}

}  // namespace athanor::kernels
