"""Which values are stored and which loops compute them; elements at affine positions."""
