// A module has to survive being printed and parsed again.

// RUN: npu-opt %s --load-dialect-plugin=%inputs/forgetful.py --verify-roundtrip | filecheck %s
// RUN: sed 's/count 3/count 12/' %s > %t.mlir
// RUN: not npu-opt %t.mlir --load-dialect-plugin=%inputs/forgetful.py --verify-roundtrip 2>&1 | filecheck %s --check-prefix=LOST
// RUN: not npu-opt %s --load-dialect-plugin 2>&1 | filecheck %s --check-prefix=NOFILE

// CHECK: forgetful.count 3
// LOST:      error: the module is another one after it was printed in custom form and parsed again
// LOST-NEXT: note: before: "forgetful.count"() <{number = 12 : i64}> : () -> ()
// LOST-NEXT: note: after: "forgetful.count"() <{number = 0 : i64}> : () -> ()
// NOFILE: error: --load-dialect-plugin needs a file
func.func @f(%a: i32, %t: tensor<2xf32>) -> i32 {
  forgetful.count 3
  %d = arith.muli %a, %a : i32
  %c = arith.constant dense<[1.0, 2.5]> : tensor<2xf32>
  func.return %d : i32
}
