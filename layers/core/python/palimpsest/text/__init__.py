"""Text as text: sentences, cuts, dates, words and escaping. Nothing here knows what a conversation is."""
