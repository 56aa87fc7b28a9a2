// Malformed IR: located message, source line, caret, exit status 1; later parts of the file are still processed.

// RUN: not npu-opt --split-input-file %s 2> %t.err > %t.out
// RUN: filecheck %s --check-prefix=ERR < %t.err
// RUN: filecheck %s --check-prefix=OUT < %t.out

func.func @misspelt(%a: i32) {
  %0 = arith.mulli %a, %a : i32
  func.return
}
// ERR:      malformed.mlir:8:8: error: unknown operation 'arith.mulli'; did you mean 'arith.muli'?
// ERR-NEXT:   %0 = arith.mulli %a, %a : i32
// ERR-NEXT: {{^}}       ^

// -----

%0 = "arithm.constant"() : () -> i32
// ERR: malformed.mlir:17:{{[0-9]+}}: error: unknown dialect 'arithm' of operation 'arithm.constant'; did you mean 'arith'?

// -----

func.func @undefined() -> i32 {
  func.return %nothing : i32
}
// ERR:      malformed.mlir:23:15: error: use of the undefined value '%nothing'
// ERR-NEXT:   func.return %nothing : i32
// ERR-NEXT: {{^}}              ^

// -----

func.func @type(%a: i32) -> i64 {
  func.return %a : i64
}
// ERR: malformed.mlir:32:15: error: operand is used with type i64, but has been previously used or defined with type i32

// -----

func.func @verify(%a: i32) -> i64 {
  func.return %a : i32
}
// ERR:      malformed.mlir:39:3: error: 'func.return' op
// ERR-NEXT:   func.return %a : i32
// ERR-NEXT: {{^}}  ^

// -----

func.func @dominance(%a: i32) -> i32 {
  %1 = arith.addi %0, %a : i32
  %0 = arith.addi %a, %a : i32
  func.return %1 : i32
}
// ERR:      malformed.mlir:48:3: error: operand #0 of 'arith.addi' does not dominate this use
// ERR-NEXT:   %1 = arith.addi %0, %a : i32
// ERR-NEXT: {{^}}  ^
// ERR-NEXT: malformed.mlir:49:3: note: the operand is defined here

// -----

func.func @unfinished(%a: tensor<4x
// ERR: malformed.mlir:{{[0-9]+}}:{{[0-9]+}}: error:

// -----

func.func @attribute() {
  %0 = arith.constant dense<[1, 2]> : tensor<3xi32>
  func.return
}
// ERR: malformed.mlir:66:{{[0-9]+}}: error:

// -----

// OUT: @fine
func.func @fine() {
  func.return
}
// ERR-NOT: Traceback
