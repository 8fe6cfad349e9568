"""The catalogues: what they name is there, and what nobody asks for stays unread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from invariants.catalogue import PROPERTIES
from model.language.registration import MODELS, CatalogueByClass
from model.reference.state import Cluster

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_called_what_the_catalogue_calls_it(name: str) -> None:
    assert MODELS[name].name == name


def test_properties_are_found_by_the_class_of_a_state() -> None:
    assert [each.__qualname__ for each in PROPERTIES] == ["Cluster", "Partition", "Agreement", "Cluster"]
    assert all(PROPERTIES[state] for state in PROPERTIES)
    assert PROPERTIES[Cluster][0].name == "weak_isr"
    assert (int in PROPERTIES, PROPERTIES.get(int, "none")) == (False, "none")
    with pytest.raises(KeyError):
        PROPERTIES[int]


def test_a_catalogue_may_be_changed() -> None:
    catalogue = CatalogueByClass({"model.reference.state:Cluster": "invariants.reference:CLUSTER"})
    catalogue[Cluster] = "invariants.reference:AGREEMENT"
    assert [each.name for each in catalogue[Cluster]] == ["valid_high_watermark"]
    catalogue[Cluster] = ()
    assert dict(catalogue) == {Cluster: ()}
    del catalogue[Cluster]
    assert not catalogue


def test_asking_for_one_model_imports_no_other() -> None:
    code = "import sys\nfrom invariants.catalogue import PROPERTIES\nfrom model.language.registration import MODELS\n"
    code += "from model.reference.state import Cluster\nassert MODELS['reference'] and PROPERTIES[Cluster]\n"
    code += "print([name for name in sys.modules if '.partition' in name or '.controller' in name])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"
