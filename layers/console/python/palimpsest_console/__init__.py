"""The page of the memory console: files that the function `site` serves."""
