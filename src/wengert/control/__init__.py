"""Operations that hold functions: calls, custom rules, checkpoints."""
