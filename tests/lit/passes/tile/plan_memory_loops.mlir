// RUN: npu-opt %s --tile-plan-memory | filecheck %s
// RUN: npu-opt %s --check-equivalence --tile-plan-memory > %t
// RUN: npu-opt %t | npu-opt --verify-roundtrip | filecheck %s

#gm = #tile.space<gm>
#ub = #tile.space<ub>
builtin.module attributes {npu.target = "toy"} {
// A state takes turns between two places; what is put together is written in place, from its end as well; what ends
// with its iteration has one place.
// CHECK-LABEL: func.func @main(
// CHECK:         %{{.*}} = tile.reserve at [[ALL:.*]] : tensor<5x8xf32>
// CHECK:         scf.for %i =
// CHECK-NEXT:      %back = arith.subi %c4, %i : index
// CHECK-NEXT:      %a = tile.launch @copy(%h) slots(%i) {result_offsets = array<i64: [[A:.*]]>, result_slots = array<i64: 2>}
// CHECK-NEXT:      %b = tile.launch @copy(%a) {result_offsets = array<i64: [[B:.*]]>} :
// CHECK-NEXT:      %c = tile.launch @copy(%b) slots(%back) {result_offsets = array<i64: [[ALL]]>, result_slots = array<i64: 5>}
func.func @main(%s: tensor<8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<5x8xf32>
  %r, %y = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %s, %all = %e) -> (tensor<8xf32>, tensor<5x8xf32>) {
    %back = arith.subi %c4, %i : index
    %a = tile.launch @copy(%h) : (tensor<8xf32>) -> tensor<8xf32>
    %b = tile.launch @copy(%a) : (tensor<8xf32>) -> tensor<8xf32>
    %c = tile.launch @copy(%b) : (tensor<8xf32>) -> tensor<8xf32>
    %next = tensor.insert_slice %c into %all[%back, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<5x8xf32>
    scf.yield %a, %next : tensor<8xf32>, tensor<5x8xf32>
  }
  func.return %r, %y : tensor<8xf32>, tensor<5x8xf32>
}

// One that is handed on twice is read two iterations later.
// CHECK-LABEL: func.func @handed_on(
// CHECK:           %a = tile.launch @copy(%k) slots(%i) {result_offsets = array<i64: 0>, result_slots = array<i64: 3>}
func.func @handed_on(%s: tensor<8xf32>, %t: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r, %q = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %s, %k = %t) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = tile.launch @copy(%k) : (tensor<8xf32>) -> tensor<8xf32>
    scf.yield %a, %h : tensor<8xf32>, tensor<8xf32>
  }
  func.return %r, %q : tensor<8xf32>, tensor<8xf32>
}

// A loop in a loop, whose index counts by two: a place for each pair of iterations that is alive.
// CHECK-LABEL: func.func @nested(
// CHECK:             %[[N:.*]] = arith.subi %i, %c2 : index
// CHECK-NEXT:        %[[D:.*]] = arith.divui %[[N]], %c2 : index
// CHECK-NEXT:        %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:        %[[I:.*]] = arith.remui %[[D]], %[[TWO]] : index
// CHECK-NEXT:        %[[TWO2:.*]] = arith.constant 2 : index
// CHECK-NEXT:        %[[J:.*]] = arith.remui %j, %[[TWO2]] : index
// CHECK-NEXT:        %[[TWO3:.*]] = arith.constant 2 : index
// CHECK-NEXT:        %[[M:.*]] = arith.muli %[[I]], %[[TWO3]] : index
// CHECK-NEXT:        %[[S:.*]] = arith.addi %[[M]], %[[J]] : index
// CHECK-NEXT:        %a = tile.launch @copy(%k) slots(%[[S]]) {result_offsets = array<i64: 0>, result_slots = array<i64: 4>}
func.func @nested(%s: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c2 to %c8 step %c2 iter_args(%h = %s) -> (tensor<8xf32>) {
    %q = scf.for %j = %c0 to %c8 step %c1 iter_args(%k = %h) -> (tensor<8xf32>) {
      %a = tile.launch @copy(%k) : (tensor<8xf32>) -> tensor<8xf32>
      scf.yield %a : tensor<8xf32>
    }
    scf.yield %q : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// What a launch outside of the loop made is kept until the loop ends: the state does not lie there.
// CHECK-LABEL: func.func @around(
// CHECK:         %k = tile.launch @copy(%s) {result_offsets = array<i64: [[K:.*]]>}
// CHECK:           %a = tile.launch @copy(%k) {result_offsets = array<i64: 512>}
func.func @around(%s: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %k = tile.launch @copy(%s) : (tensor<8xf32>) -> tensor<8xf32>
  scf.for %i = %c0 to %c5 step %c1 {
    %a = tile.launch @copy(%k) : (tensor<8xf32>) -> tensor<8xf32>
  }
  func.return %s : tensor<8xf32>
}

tile.kernel @copy(%X: memref<8xf32, #gm>, %Y: memref<8xf32, #gm>) {
  %a = tile.alloc : memref<8xf32, #ub>
  tile.load %X[] into %a map affine_map<(d) -> (d)> : memref<8xf32, #gm>, memref<8xf32, #ub>
  tile.store %a, %Y[] map affine_map<(d) -> (d)> : memref<8xf32, #ub>, memref<8xf32, #gm>
  tile.return
}
}
