"""The APIs of other products, served by this API's use cases."""
