// RUN: not npu-opt %s --split-input-file 2>&1 | filecheck %s

// CHECK: error: 'tile.launch' op results with slots have result_offsets and result_slots
func.func @main(%x: tensor<8xf32>, %i: index) {
  %y = tile.launch @copy(%x) slots(%i) : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'tile.launch' op 0 indices for 1 results
func.func @main(%x: tensor<8xf32>) {
  %y = tile.launch @copy(%x) {result_offsets = array<i64: 0>, result_slots = array<i64: 2>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'tile.launch' op 2 places for 1 results
func.func @main(%x: tensor<8xf32>) {
  %y = tile.launch @copy(%x) {result_offsets = array<i64: 0, 512>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'tile.launch' op a result has at least one slot
func.func @main(%x: tensor<8xf32>, %i: index) {
  %y = tile.launch @copy(%x) slots(%i) {result_offsets = array<i64: 0>, result_slots = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: 'tile.reserve' op an index of a slot, and how many there are, go together
func.func @main(%i: index) {
  %y = "tile.reserve"(%i) {offset = 0 : i64} : (index) -> tensor<8xf32>
  func.return
}
