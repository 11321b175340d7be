"""Rules over plain text: words, sentences, dates, cutting and escaping. Nothing here knows conversations."""
