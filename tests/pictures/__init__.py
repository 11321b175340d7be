"""Pictures of the console, taken in a real browser of a made-up tenant."""
