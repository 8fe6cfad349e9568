"""An implementation of one's own in lock-step with its model: `highwater.testing` offers what is here."""
