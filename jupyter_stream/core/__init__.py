"""Values that flow and the words for them: schema, time, batch, punctuation, control tables. Knows nobody."""
