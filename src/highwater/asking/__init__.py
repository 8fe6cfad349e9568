"""Questions of operators: each a claim of a model that is asked under the settings of a cluster."""
