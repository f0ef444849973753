// Placeholder: replaced by the room's first test.
