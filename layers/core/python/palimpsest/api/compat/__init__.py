"""APIs of other products, served from ours."""
