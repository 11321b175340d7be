"""The contract of stores as tests: `python -m pytest --pyargs palimpsest_testing
--palimpsest-stores shop:made`.
"""
