"""The composite action, the pre-commit hook, the workflows of the docs and the Dockerfile: what can be run without the
services that they are for is run, in a folder of claims and in one that `highwater init` has written.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from highwater.cli.init import write_scaffold

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
CLAIM = "elections/an_elected_leader_is_in_the_isr.toml"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One with the command on a path of its own."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "highwater"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m highwater "$@"\n')
    command.chmod(0o755)
    return tmp_path


@pytest.fixture
def checkout(folder: Path) -> Path:
    """A repository with a claim."""
    (folder / "specs" / "elections").mkdir(parents=True)
    shutil.copyfile(ROOT / "specs" / CLAIM, folder / "specs" / CLAIM)
    return folder


@pytest.fixture(params=["a claim", "init's layout"])
def any_checkout(request: pytest.FixtureRequest, folder: Path) -> Path:
    if request.param == "a claim":
        return request.getfixturevalue("checkout")
    write_scaffold(folder)
    return folder


def run(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line as GitHub's runner does for `shell: bash`."""
    known = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"} | environment
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line]
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False)


def steps(of: list[dict[str, Any]], using: str) -> list[dict[str, Any]]:
    return [step for step in of if step.get("uses", "").startswith(f"{using}@")]


def test_the_action_checks_writes_sarif_and_a_summary(checkout: Path) -> None:
    (check,) = [step for step in ACTION["runs"]["steps"] if step.get("name") == "Check"]
    inputs = {name: each["default"] for name, each in ACTION["inputs"].items()} | {"options": "--max-states 100000"}
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda of: inputs[of[1]], value)
        for name, value in check["env"].items()
    }
    done = run(check["run"], checkout, **environment, GITHUB_STEP_SUMMARY=str(checkout / "summary.md"))
    assert done.returncode == 0, done.stderr
    assert "1 of 1 claims met" in (checkout / "summary.md").read_text()
    assert json.loads((checkout / "highwater.sarif").read_text())["runs"][0]["results"] == []


def test_the_action_is_a_composite_one_that_caches_and_installs_what_it_came_with() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all("shell" in step for step in ACTION["runs"]["steps"] if "run" in step), "required of composite actions"
    assert all(set(step) <= {"name", "uses", "with", "run", "shell", "env"} for step in ACTION["runs"]["steps"])
    (cache,) = steps(ACTION["runs"]["steps"], "actions/cache")
    assert cache["with"]["path"] == "~/.cache/highwater"
    (install,) = [step["run"] for step in ACTION["runs"]["steps"] if step.get("name") == "Install Highwater"]
    assert install == 'python -m pip install --quiet "$GITHUB_ACTION_PATH"'
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])


def test_the_workflow_of_the_docs_may_upload_caches_and_runs(any_checkout: Path) -> None:
    (text,) = re.findall(r"```yaml\n(name: claims\n.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read", "security-events": "write"}
    (job,) = workflow["jobs"].values()
    assert steps(job["steps"], "actions/cache")[0]["with"]["path"] == "~/.cache/highwater"
    (upload,) = steps(job["steps"], "github/codeql-action/upload-sarif")
    install, check = [step["run"] for step in job["steps"] if "run" in step]
    assert shlex.split(install, comments=True) == ["pip", "install", "kafka-highwater"]
    done = run(check, any_checkout, GITHUB_STEP_SUMMARY=str(any_checkout / "summary.md"))
    assert done.returncode == 0, done.stderr
    assert (any_checkout / upload["with"]["sarif_file"]).is_file()


def test_actions_of_others_are_named_by_commit() -> None:
    text = (ROOT / "action.yml").read_text() + (ROOT / "docs" / "ci.md").read_text()
    used = re.findall(r"uses: (\S+@\S+)(.*)", text)
    assert len(used) == 6
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", of) and re.fullmatch(r"  # v[\d.]+", said) for of, said in used)


def test_the_job_for_gitlab_runs_and_leaves_what_it_shows(any_checkout: Path) -> None:
    (text,) = re.findall(r"```yaml\n# \.gitlab-ci\.yml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    job = yaml.safe_load(text)["claims"]
    install, check = job["script"]
    assert shlex.split(install, comments=True) == ["pip", "install", "kafka-highwater"]
    done = run(check, any_checkout)
    assert done.returncode == 0, done.stderr
    assert (any_checkout / job["artifacts"]["reports"]["junit"]).is_file()
    assert job["cache"]["paths"] == [".cache/highwater"]
    assert job["variables"] == {"XDG_CACHE_HOME": "$CI_PROJECT_DIR/.cache"}, "where what is learned is kept"


def hooked(folder: Path) -> int:
    """Run the hook as pre-commit does: without the names of the files that changed."""
    assert (HOOK["language"], HOOK["pass_filenames"], HOOK["types_or"]) == ("python", False, ["toml", "python"])
    return run(shlex.join([*shlex.split(HOOK["entry"]), *HOOK["args"]]), folder).returncode


def test_the_pre_commit_hook_checks_specs_that_changed(checkout: Path) -> None:
    assert hooked(checkout) == 0
    spec = checkout / "specs" / CLAIM
    spec.write_text(spec.read_text().replace("depth = 20", "depth = 21"))
    assert hooked(checkout) == 1


def test_the_pre_commit_hook_checks_specs_whose_model_changed(folder: Path) -> None:
    write_scaffold(folder)
    assert hooked(folder) == 0
    model = folder / "lock_service.py"
    model.write_text(model.read_text().replace("token < world.newest", "token < world.newest - 1"))
    assert hooked(folder) == 1


@pytest.mark.skipif(shutil.which("pre-commit") is None, reason="pre-commit is not installed")
def test_pre_commit_takes_the_hooks() -> None:
    subprocess.run(["pre-commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")], check=True)


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_the_dockerfile_is_linted() -> None:
    subprocess.run(["hadolint", str(ROOT / "Dockerfile")], check=True)


def test_the_image_is_built_of_files_that_are_there() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / name).exists() for name in kept)
    assert {"src", *(path.name for path in (ROOT / "src" / "highwater").iterdir() if path.is_symlink())} <= set(kept)
