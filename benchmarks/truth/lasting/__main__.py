from benchmarks.report import for_terminal
from benchmarks.truth.lasting import table

print(for_terminal(table()))
