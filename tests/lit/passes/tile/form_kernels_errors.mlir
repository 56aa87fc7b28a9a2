// RUN: not npu-opt %s --tile-form-kernels --split-input-file 2>&1 | filecheck %s

// CHECK: form_kernels_errors.mlir:[[# @LINE + 3]]:3: error: kernels need static shapes, got tensor<?x6xf32>
#id = affine_map<(m, n) -> (m, n)>
func.func @dynamic(%x: tensor<?x6xf32>, %e : tensor<?x6xf32>) -> tensor<?x6xf32> {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x6xf32>
  func.return %y : tensor<?x6xf32>
}

// -----

// CHECK: error: a linalg.generic with several results is not supported; split it
#id = affine_map<(m) -> (m)>
func.func @two_results(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %f = tensor.empty() : tensor<8xf32>
  %y:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e, %f : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32, %p: f32):
    %0 = math.exp %a : f32
    linalg.yield %0, %a : f32, f32
  } -> tensor<8xf32>, tensor<8xf32>
  func.return %y#0, %y#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK: error: 'arith.addf' reads an argument from outside of the body
// CHECK-NEXT: linalg.generic
#id = affine_map<(m) -> (m)>
func.func @outside(%x: tensor<8xf32>, %s: f32) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %s : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: error: a fill in front of a kernel has a constant and a tensor.empty as operands
// CHECK-NEXT: linalg.fill
#id = affine_map<(m) -> (m)>
func.func @fill_with_argument(%x: tensor<8xf32>, %s: f32) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: error: the maps have to be linear, and that of the result plain dims
func.func @not_linear(%x: tensor<8xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i floordiv 2)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  func.return %y : tensor<16xf32>
}

// -----

// CHECK: error: 'tensor.pad' behind another pad or slice cannot become part of a load
#id = affine_map<(m) -> (m)>
func.func @two_pads(%x: tensor<8xf32>) -> tensor<12xf32> {
  %z = arith.constant 0.0 : f32
  %o = arith.constant 1.0 : f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<8xf32> to tensor<10xf32>
  %q = tensor.pad %p low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %o : f32
  } : tensor<10xf32> to tensor<12xf32>
  %e = tensor.empty() : tensor<12xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%q : tensor<12xf32>) outs(%e : tensor<12xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<12xf32>
  func.return %y : tensor<12xf32>
}

// -----

// CHECK: error: 'tensor.insert_slice' has no lowering to kernels; generalise it to linalg.generic
#id = affine_map<(m) -> (m)>
func.func @insert(%x: tensor<8xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16xf32>
  %b = tensor.insert_slice %x into %e[8] [8] [1] : tensor<8xf32> into tensor<16xf32>
  %f = tensor.empty() : tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%b : tensor<16xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%c: f32, %o: f32):
    %0 = math.exp %c : f32
    linalg.yield %0 : f32
  } -> tensor<16xf32>
  func.return %y : tensor<16xf32>
}

// -----

// A type that there are cubes for, but not on this machine.
// CHECK: form_kernels_errors.mlir:{{[0-9]+}}:5: error: the cube of 'toy' multiplies f16, bf16, f32, i8, i4, not f8E5M2
builtin.module attributes {npu.target = "toy"} {
  func.func @no_step(%x: tensor<8x12xf8E5M2>, %w: tensor<12x6xf8E5M2>) -> tensor<8x6xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<8x12xf8E5M2>, tensor<12x6xf8E5M2>) outs(%f : tensor<8x6xf32>) {
    ^bb0(%a: f8E5M2, %b: f8E5M2, %c: f32):
      %0 = arith.extf %a : f8E5M2 to f32
      %1 = arith.extf %b : f8E5M2 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %c, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<8x6xf32>
    func.return %y : tensor<8x6xf32>
  }
}

// -----

// CHECK: form_kernels_errors.mlir:{{[0-9]+}}:7: error: 'linalg.generic' in a loop of the host: put what it computes into a function
builtin.module attributes {npu.target = "toy"} {
  func.func @loop(%x: tensor<8xf32>) -> tensor<8xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %e = tensor.empty() : tensor<8xf32>
    %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %x) -> (tensor<8xf32>) {
      %t = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
          ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32):
        %n = arith.negf %a : f32
        linalg.yield %n : f32
      } -> tensor<8xf32>
      scf.yield %t : tensor<8xf32>
    }
    func.return %y : tensor<8xf32>
  }
}
