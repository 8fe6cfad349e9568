"""The lock service held to its model: every path, and walks."""

from hypothesis import settings
from lock_service import MODEL
from locks import LEASE, Clock, LockService, Stale, Storage

import highwater
from highwater import testing

CLIENTS = 2
SPEC = highwater.claim(
    name="locks", model=MODEL, bounds={"clients": CLIENTS, "token_max": 3}, check=["writes_never_go_back"]
)


class Locks:
    """What each action of the model is in the implementation, and what can be seen of it."""

    refuses = ("write",)  # tried where the model refuses it, too

    def __init__(self):
        self.clock = Clock()
        self.service, self.storage = LockService(self.clock), Storage()
        self.tokens = {}

    async def acquire(self, client):
        self.tokens[client] = await self.service.acquire(client)

    def expire(self):
        self.clock.now += LEASE

    async def release(self, client):
        await self.service.release(client, self.tokens.pop(client))

    async def write(self, client):
        try:
            await self.storage.write(self.tokens[client])
        except (KeyError, Stale):
            raise testing.NotEnabled from None

    def observe(self):
        return {
            "holder": self.service.holder,
            "granted": self.service.granted,
            "believed": [self.tokens.get(client, 0) for client in range(CLIENTS)],
            "last": self.storage.last,
        }


@testing.paths(SPEC, Locks)
def test_every_path(path):
    path.run()


TestLocks = testing.machine(SPEC, Locks).TestCase
TestLocks.settings = settings(TestLocks.settings, max_examples=30)
