func.func @f(%a: i32, %b: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %0 = arith.addi %a, %b : i32
  %1 = arith.muli %0, %b : i32
  %2 = arith.addi %1, %a : i32
  %3 = arith.subi %2, %c0 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.addi %4, %0 : i32
  func.return %5 : i32
}
