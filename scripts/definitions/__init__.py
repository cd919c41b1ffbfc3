"""The definitions of our kinds for Kubernetes, and the schemas behind them, made from the models of the product."""
