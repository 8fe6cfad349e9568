"""The properties of the model of controllers."""
