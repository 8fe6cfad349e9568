"""A model of one's own, certified, and a twin of it in which a function raises."""

from __future__ import annotations

import io
from pathlib import Path

import attrs

import highwater
from highwater.claims import own
from highwater.claims.certifying import code_of
from highwater.claims.spec import load_spec
from highwater.explorer.verifier.certificate import read, write

MODEL = """\
import attrs
from highwater import *

@attrs.frozen
class Bounds:
    top: int = bound(1, 5, "how far")

@attrs.frozen
class State:
    x: int = within(lambda bounds: Integers(0, bounds.top))

@action(actor="someone")
def step(state):
    return evolve(state, x=(state.x + 1) % 4)

@prospect(along=(step,))
def can_begin(state):
    return state.x == 0

def define(protocol):
    return Definition(Bounds, State, lambda bounds: [State(0)], (step,), properties=(can_begin,))

MODEL = Model("m", "A model.", NoToggles, define)
"""
SPEC = 'model = "{}:MODEL"\nbounds = {{ top = 3 }}\ncheck = ["can_begin"]\n'


def certificate_of_a_faulty_model(folder: Path, raises: str) -> Path:
    """The certificate of a sound model, in the name of one in which a function raises."""
    names = (f"sound_{raises}", f"faulty_{raises}")
    faulty = MODEL.replace(f"def {raises}(state):\n", f"def {raises}(state):\n    {{}}[state.x]\n")
    for name, text in zip(names, (MODEL, faulty), strict=True):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        (folder / f"{name}.toml").write_text(SPEC.format(name), encoding="utf-8")
    own.search([folder])
    highwater.check(folder / f"{names[0]}.toml", certificate=folder / "sound")
    certificate = read(io.BytesIO((folder / "sound").read_bytes()), "")
    code = code_of(load_spec(folder / f"{names[1]}.toml").system())
    spec = {**certificate.spec, "model": f"{names[1]}:MODEL"}
    write(attrs.evolve(certificate, spec=spec, code=code), folder / "c")
    return folder / "c"
