"""Raw text: corpora of tagged texts, and texts turned into rows as scikit-learn does it.

scikit-learn's `TfidfVectorizer` learns vocabulary and weights when a model is fitted.
`TextVectorizer` takes them over, is stored in the model without pickle, and gives the same rows
without scikit-learn.
"""

from swnn_xp.text.corpus import Corpus, Fields, read_corpus, read_vocabulary
from swnn_xp.text.vectorizer import TextRow, TextVectorizer

__all__ = ["Corpus", "Fields", "TextRow", "TextVectorizer", "read_corpus", "read_vocabulary"]
