"""``isogloss dictionary``: bilingual dictionaries, from text and from word vectors."""
