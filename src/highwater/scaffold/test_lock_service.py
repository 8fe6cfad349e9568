"""A property written on the spot, over a model of one's own."""

from lock_service import MODEL, World, clients

from highwater import Witness, invariant

BOUNDS = {"clients": 2, "token_max": 3}


@invariant(client=clients)
def tokens_are_granted(world: World, client: int) -> bool | Witness:
    """No client believes in a token that was not handed out."""
    return world.believed[client] <= world.granted or Witness("client {client} made a token up", client=client)


def test_tokens_are_granted(checker):
    checker.holds(tokens_are_granted, model=MODEL, bounds=BOUNDS)


def test_fencing_is_what_keeps_writes_in_order(checker):
    checker.holds("writes_never_go_back", model=MODEL, bounds=BOUNDS)
    checker.violated("writes_never_go_back", model=MODEL, bounds=BOUNDS, protocol={"fencing": False})
