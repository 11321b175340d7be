"""Language models, embedders and token counters: their ports, what is known of them, and what is behind them."""
