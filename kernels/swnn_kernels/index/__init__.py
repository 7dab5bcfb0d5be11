"""The hybrid index: postings lists of rare features, bitmaps and forward rows of frequent ones."""
