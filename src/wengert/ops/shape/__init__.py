"""Operations that move numbers without changing them."""
