"""Operations on each element, with broadcasting."""
