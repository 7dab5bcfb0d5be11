"""From queries to answers: neighbours, or the labels they vote for, in one compiled call."""
