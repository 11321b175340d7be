"""Language models, embedders, rerankers and token counters."""
