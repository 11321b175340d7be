"""Models that ship with the functions and need no key: they run in the process, on onnxruntime."""
