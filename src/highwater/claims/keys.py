"""The keys of a spec file, with what each means. Editors have them as a schema, readers as a page of the site."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.explorer.verdict import Verdict
from highwater.model.catalogue import MODELS

COUNTS = ("trace_length", "distinct_states", "generated", "depth")


@attrs.frozen
class Expectation:
    """What a spec claims. Everything that is given must come out exactly.

    Attributes:
        verdict: `holds`, `violated`, or `holds-to-depth` for a spec with a `max_depth`.
        property: the property that is violated; any of the checked ones if left out.
        trace_length: the number of actions of its shortest counterexample.
        distinct_states: how many states there are within the bounds; a model that silently loses states fails on this.
        generated: how many steps there are between them, those to a known state included; a guard that is lost changes
            it even where no state is new.
        depth: the depth of the deepest state, in actions.
        any_number_of: groups of `by_order` that are not bounded: whatever number of such epochs there is, it holds.
    """

    verdict: Verdict = Verdict.HOLDS
    property: str | None = None
    trace_length: int | None = None
    distinct_states: int | None = None
    generated: int | None = None
    depth: int | None = None
    any_number_of: tuple[str, ...] = ()


@attrs.frozen
class Mutations:
    """What a spec says of the mutations of its protocol, see `highwater.claims.mutation`.

    Attributes:
        undefended: the rules that no property defends, each as `toggle=value`.
    """

    undefended: tuple[str, ...] = ()


@attrs.frozen
class SpecFile:
    """The keys of a spec file.

    Attributes:
        model: the model's name.
        preset: a protocol by name, such as that of a release.
        protocol: the protocol's toggles, by name; on top of the preset, if there is one.
        bounds: how large the cluster and its history may become, by name.
        check: the properties to check on every state, on every step, or on the graph of all states; `no_deadlock` is
            one. It may be left out where the spec has `refines`.
        expect: what is claimed; that all properties hold if left out.
        by_order: groups of numbers, such as epochs, of which only the order is looked at: states that are equal up to
            it are one.
        max_depth: explore so many actions deep and no deeper.
        source: where the claim comes from.
        mutate: what becomes of the claim where one toggle is changed.
        refines: an abstract model, and the map to its states: every step of this model is one there, or changes nothing
            there.
        watch: expressions over the state, such as `len(b1.log) - b0.high_watermark`, whose values stand beside the
            steps of a trace.
    """

    model: str = attrs.field(metadata={"choices": (*MODELS, "package.module:NAME of a model of your own")})
    bounds: dict[str, Any]
    check: tuple[str, ...] = ()
    preset: str | None = None
    protocol: dict[str, Any] = attrs.field(factory=dict)
    expect: Expectation = attrs.field(factory=Expectation)
    by_order: tuple[str, ...] = ()
    max_depth: int | None = None
    source: str = ""
    mutate: Mutations = attrs.field(factory=Mutations)
    refines: dict[str, Any] = attrs.field(factory=dict)
    watch: tuple[str, ...] = ()
