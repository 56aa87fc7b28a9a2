irdl.dialect @cmath {
  irdl.operation @mul {
    %0 = irdl.is f32
    irdl.operands(lhs: %0, rhs: %0)
    irdl.results(res: %0)
  }
}
