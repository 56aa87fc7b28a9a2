// Remarks as in mlir-opt: a regular expression for the names of passes, for all kinds or one, on standard error or as YAML.
// RUN: npu-opt %s --tile-form-kernels --remarks-filter='tile-.*' --verify-diagnostics -o %t.mlir
// RUN: npu-opt %s --tile-form-kernels --remarks-filter='tile-.*' --remark-format=yaml --remarks-output-file=%t.yaml -o %t.mlir
// RUN: filecheck %s --check-prefix=YAML < %t.yaml
// RUN: not npu-opt %s --tile-form-kernels --remark-format=yaml 2>&1 | filecheck %s --check-prefix=FILTER
// RUN: not npu-opt %s --tile-form-kernels --remarks-filter=x --remarks-output-file=%t.yaml 2>&1 | filecheck %s --check-prefix=FORMAT
// RUN: not npu-opt %s --tile-form-kernels --remarks-filter-missed='(' 2>&1 | filecheck %s --check-prefix=REGEX
// RUN: not npu-opt %s --tile-form-kernels --remarks-filter=x --remark-format=bitstream 2>&1 | filecheck %s --check-prefix=BITSTREAM
// RUN: not npu-opt %s --tile-form-kernels --remarks-filter=x --remark-format=yaml --remarks-output-file=%t/no/x 2>&1 | filecheck %s --check-prefix=FILE

// YAML:      --- !Missed
// YAML-NEXT: Pass:            'tile-form-kernels'
// YAML-NEXT: Name:            'one-loop-nest'
// YAML-NEXT: DebugLoc:        { File: '{{.*}}remarks.mlir', Line: {{[0-9]+}}, Column: 3 }
// YAML-NEXT: Function:        'main'
// YAML-NEXT: Args:
// YAML-NEXT:   - Remark:          '''linalg.generic'' of line {{[0-9]+}} is in another kernel than ''linalg.generic'' of line {{[0-9]+}}, which it reads'
// YAML-NEXT:   - Reason:          'one reads what another makes in windows, strided, or at a fixed place'
// YAML-NEXT: ...

// FILTER: error: remarks need a filter, such as --remarks-filter='.*'
// FORMAT: error: --remarks-output-file needs --remark-format=yaml
// REGEX: error: '(' is not a regular expression: missing ), unterminated subpattern
// BITSTREAM: error: --remark-format: expected one of 'emitRemark', 'yaml', got 'bitstream'
// FILE: error: {{.*}}x
func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m) -> (m)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %f = tensor.empty() : tensor<4xf32>
  // expected-remark @+1 {{[Missed] one-loop-nest | Category:tile-form-kernels | Function=main}}
  %z = linalg.generic {indexing_maps = [affine_map<(m) -> (m * 2)>, affine_map<(m) -> (m)>], iterator_types = ["parallel"]}
      ins(%y : tensor<8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
