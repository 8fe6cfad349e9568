"""Prospects and liveness, judged once every state is known."""
