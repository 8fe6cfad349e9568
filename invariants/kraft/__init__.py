"""The properties of the model of the KRaft control plane."""
