"""Machine code kept on disk. numba looks at a kernel's own file only, not at those whose functions, classes and constants it uses."""

from __future__ import annotations

from pathlib import Path


def forget_code_of_other_sources() -> None:
    """Delete the machine code beside the kernels if it was made of other sources than those that are there now."""
    here = Path(__file__).parent
    sources = sorted([*here.glob("*.py"), *(here.parent / "compiler").glob("*.py")])
    made_of = "".join(f"{source.name} {source.stat().st_size} {source.stat().st_mtime_ns}\n" for source in sources)
    note = here / "__pycache__" / "sources.txt"
    try:
        if note.exists() and note.read_text(encoding="utf-8") == made_of:
            return
        for code in note.parent.glob("*.nb[ic]"):
            code.unlink(missing_ok=True)
        note.parent.mkdir(exist_ok=True)
        note.write_text(made_of, encoding="utf-8")
    except OSError:  # an installation that cannot be written holds no machine code either
        return
