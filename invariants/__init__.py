"""What must hold: pure predicates over the models' states."""

if __name__ != "highwater.invariants":
    raise ImportError(f"{__file__}: import it as highwater.invariants")
