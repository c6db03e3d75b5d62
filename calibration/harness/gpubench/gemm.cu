// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/gpubench/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibration/harness/gpubench/numbers.cuh"

namespace foretrain::harness {
namespace {

constexpr std::size_t workspace_bytes = 64UL << 20U;
constexpr int sampled_outputs = 64;

/// What a number type means to cuBLASLt, and how exact its products are.
struct TypePlan {
  cudaDataType_t input;
  cudaDataType_t output;
  cublasComputeType_t compute;
  std::size_t input_bytes;
  std::size_t output_bytes;
  double output_error;  ///< relative, of rounding the result
  double sum_error;     ///< relative to the sum of sizes, of rounding inputs and sums
};

TypePlan type_plan(NumberType type) {
  switch (type) {
    case NumberType::fp32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4, 4, 1e-6, 1e-5};
    case NumberType::tf32:  // inputs keep 10 bits
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4, 4, 1e-6, 2e-3};
    case NumberType::fp16:
      return {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 2, 2, 1e-3, 1e-5};
    case NumberType::bf16:
      return {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2, 2, 8e-3, 1e-5};
    case NumberType::fp8:  // sums of fp8 products keep fewer bits than fp32 on Hopper
      return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1, 2, 8e-3, 2e-3};
  }
  return {};
}

void fill(NumberType type, const DeviceBuffer& buffer, std::uint64_t count, std::uint64_t seed,
          cudaStream_t stream) {
  constexpr int blocks = 1024;
  constexpr int threads = 256;
  switch (type) {
    case NumberType::fp32:
    case NumberType::tf32:
      fill_random<<<blocks, threads, 0, stream>>>(buffer.as<float>(), count, seed);
      break;
    case NumberType::fp16:
      fill_random<<<blocks, threads, 0, stream>>>(buffer.as<__half>(), count, seed);
      break;
    case NumberType::bf16:
      fill_random<<<blocks, threads, 0, stream>>>(buffer.as<__nv_bfloat16>(), count, seed);
      break;
    case NumberType::fp8:
      fill_random<<<blocks, threads, 0, stream>>>(buffer.as<__nv_fp8_e4m3>(), count, seed);
      break;
  }
  check(cudaGetLastError());
}

struct Operands {
  std::int64_t m, n, k;
  std::int64_t lda, ldb;
  bool transpose_a, transpose_b;
};

/// error[i]: distance of one output from the sum in double precision; allowed[i]: what rounding
/// explains.
template <typename In, typename Out>
__global__ void sample_errors(const In* a, const In* b, const Out* d, Operands shape,
                              double output_error, double sum_error, std::uint64_t batch_a,
                              std::uint64_t batch_b, int batches, double* error, double* allowed) {
  const std::uint64_t outputs = static_cast<std::uint64_t>(shape.m) * shape.n;
  const std::uint64_t pick = mixed(threadIdx.x) % (outputs * batches);
  const std::uint64_t batch = pick / outputs;
  const std::int64_t row = static_cast<std::int64_t>(pick % outputs) % shape.m;
  const std::int64_t column = static_cast<std::int64_t>(pick % outputs) / shape.m;
  a += batch * batch_a;
  b += batch * batch_b;
  double sum = 0.0;
  double size = 0.0;
  for (std::int64_t i = 0; i < shape.k; ++i) {
    const double x = to_float(shape.transpose_a ? a[i + row * shape.lda] : a[row + i * shape.lda]);
    const double y =
        to_float(shape.transpose_b ? b[column + i * shape.ldb] : b[i + column * shape.ldb]);
    sum += x * y;
    size += fabs(x * y);
  }
  error[threadIdx.x] = fabs(static_cast<double>(to_float(d[pick])) - sum);
  allowed[threadIdx.x] = output_error * fabs(sum) + sum_error * size + 1e-6;
}

}  // namespace

struct Gemm::Plan {
  GemmCase what;
  GemmShape shape;
  TypePlan type;
  Operands operands;
  std::uint64_t a_count, b_count, d_count;
  DeviceBuffer a, b, d, workspace;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a_layout = nullptr, b_layout = nullptr, d_layout = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};

  explicit Plan(const GemmCase& gemm);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  void describe();
  void choose();
  cublasLtMatrixLayout_t layout(cudaDataType_t of, std::int64_t rows, std::int64_t columns) const;
};

Gemm::Plan::Plan(const GemmCase& gemm)
    : what{gemm}, shape{gemm_shape(gemm.shape, gemm.pass)}, type{type_plan(gemm.type)} {
  if (gemm.type == NumberType::fp8) {  // the only layout in which tensor cores take fp8
    shape.transpose_a = true;
    shape.transpose_b = false;
  }
  operands = {shape.m,
              shape.n,
              shape.k,
              shape.transpose_a ? shape.k : shape.m,
              shape.transpose_b ? shape.n : shape.k,
              shape.transpose_a,
              shape.transpose_b};
  const auto batch = static_cast<std::uint64_t>(gemm.shape.batch);
  a_count = batch * static_cast<std::uint64_t>(shape.m * shape.k);
  b_count = batch * static_cast<std::uint64_t>(shape.k * shape.n);
  d_count = batch * static_cast<std::uint64_t>(shape.m * shape.n);
  a = DeviceBuffer{a_count * type.input_bytes};
  b = DeviceBuffer{b_count * type.input_bytes};
  d = DeviceBuffer{d_count * type.output_bytes};
  workspace = DeviceBuffer{workspace_bytes};
  fill(gemm.type, a, a_count, 1, nullptr);
  fill(gemm.type, b, b_count, 2, nullptr);
  check(cudaDeviceSynchronize());
  describe();
  choose();
}

Gemm::Plan::~Plan() {
  cublasLtMatrixLayoutDestroy(d_layout);
  cublasLtMatrixLayoutDestroy(b_layout);
  cublasLtMatrixLayoutDestroy(a_layout);
  cublasLtMatmulDescDestroy(product);
  cublasLtDestroy(handle);
}

cublasLtMatrixLayout_t Gemm::Plan::layout(cudaDataType_t of, std::int64_t rows,
                                          std::int64_t columns) const {
  cublasLtMatrixLayout_t result = nullptr;
  check(cublasLtMatrixLayoutCreate(&result, of, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), rows));
  const int batch = what.shape.batch;
  const std::int64_t stride = rows * columns;
  check(cublasLtMatrixLayoutSetAttribute(result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                         sizeof batch));
  check(cublasLtMatrixLayoutSetAttribute(result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                         &stride, sizeof stride));
  return result;
}

void Gemm::Plan::describe() {
  check(cublasLtCreate(&handle));
  check(cublasLtMatmulDescCreate(&product, type.compute, CUDA_R_32F));
  const cublasOperation_t op_a = shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a));
  check(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b));
  a_layout = shape.transpose_a ? layout(type.input, shape.k, shape.m)
                               : layout(type.input, shape.m, shape.k);
  b_layout = shape.transpose_b ? layout(type.input, shape.n, shape.k)
                               : layout(type.input, shape.k, shape.n);
  d_layout = layout(type.output, shape.m, shape.n);
}

void Gemm::Plan::choose() {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference));
  const std::size_t bytes = workspace_bytes;
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &bytes, sizeof bytes));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, product, a_layout, b_layout, d_layout, d_layout, preference, 1, &chosen, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0))
    throw CudaError{"cuBLASLt has no algorithm for this product on this device"};
  check(status);
}

Gemm::Gemm(const GemmCase& what) : plan_{std::make_unique<Plan>(what)} {}
Gemm::~Gemm() = default;

void Gemm::run(cudaStream_t stream) const {
  const float alpha = 1.0F;
  const float beta = 0.0F;
  const Plan& p = *plan_;
  check(cublasLtMatmul(p.handle, p.product, &alpha, p.a.as<void>(), p.a_layout, p.b.as<void>(),
                       p.b_layout, &beta, p.d.as<void>(), p.d_layout, p.d.as<void>(), p.d_layout,
                       &p.chosen.algo, p.workspace.as<void>(), p.workspace.bytes(), stream));
}

GemmCheck Gemm::verify(cudaStream_t stream) const {
  const Plan& p = *plan_;
  run(stream);
  const DeviceBuffer numbers{2 * sampled_outputs * sizeof(double)};
  auto* error = numbers.as<double>();
  double* allowed = error + sampled_outputs;
  const auto launch = [&](auto* in, auto* out) {
    using In = std::remove_pointer_t<decltype(in)>;
    using Out = std::remove_pointer_t<decltype(out)>;
    sample_errors<In, Out><<<1, sampled_outputs, 0, stream>>>(
        p.a.as<In>(), p.b.as<In>(), p.d.as<Out>(), p.operands, p.type.output_error,
        p.type.sum_error, static_cast<std::uint64_t>(p.shape.m * p.shape.k),
        static_cast<std::uint64_t>(p.shape.k * p.shape.n), p.what.shape.batch, error, allowed);
  };
  switch (p.what.type) {
    case NumberType::fp32:
    case NumberType::tf32:
      launch(static_cast<float*>(nullptr), static_cast<float*>(nullptr));
      break;
    case NumberType::fp16:
      launch(static_cast<__half*>(nullptr), static_cast<__half*>(nullptr));
      break;
    case NumberType::bf16:
      launch(static_cast<__nv_bfloat16*>(nullptr), static_cast<__nv_bfloat16*>(nullptr));
      break;
    case NumberType::fp8:
      launch(static_cast<__nv_fp8_e4m3*>(nullptr), static_cast<__nv_bfloat16*>(nullptr));
      break;
  }
  check(cudaGetLastError());
  std::vector<double> host(2 * sampled_outputs);
  check(cudaMemcpyAsync(host.data(), error, host.size() * sizeof(double), cudaMemcpyDeviceToHost,
                        stream));
  check(cudaStreamSynchronize(stream));
  GemmCheck result{sampled_outputs, 0.0};
  for (int i = 0; i < sampled_outputs; ++i)
    result.worst = std::max(result.worst, host[i] / host[i + sampled_outputs]);
  return result;
}

double Gemm::flops() const {
  const GemmShape& s = plan_->shape;
  return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) *
         plan_->what.shape.batch;
}

double Gemm::bytes() const {
  const Plan& p = *plan_;
  return static_cast<double>((p.a_count + p.b_count) * p.type.input_bytes +
                             p.d_count * p.type.output_bytes);
}

}  // namespace foretrain::harness
