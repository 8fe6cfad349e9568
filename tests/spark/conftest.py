"""What the tests on Spark share: one local session, started by the first test that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

pytest.importorskip("pyspark")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the toys, here and on executors
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two cores of this machine."""
    from spark.session import session

    folder = tmp_path_factory.mktemp("spark")
    more = {"spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.local.dir": str(folder)}
    found = session("local[2]", **more, **{"spark.sql.warehouse.dir": str(folder / "warehouse")})
    yield found
    found.stop()


@pytest.fixture
def told() -> Callable[..., dict[str, Any]]:
    """All that an outcome says that does not depend on how the search was done, each violation by its property and length."""

    def told(outcome: Any) -> dict[str, Any]:
        how = {"compiled_paths", "seconds", "memory", "words", "bits", "violations"}
        found = {name: value for name, value in attrs.asdict(outcome, recurse=False).items() if name not in how}
        return found | {"violations": {violation.property: violation.trace_length for violation in outcome.violations}}

    return told
