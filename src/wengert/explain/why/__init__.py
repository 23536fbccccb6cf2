"""Why a derivative is not finite (`why_nan`), or is zero or missing (`why_zero`)."""
