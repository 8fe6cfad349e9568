"""How the states of each model are drawn: one module per model, and `of_any_model` for those that have none."""
