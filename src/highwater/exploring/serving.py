"""A session in a browser: a page served on 127.0.0.1 to whoever knows the token in its address."""

from __future__ import annotations

import hmac
import secrets
import threading
from typing import Any

from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from highwater.claims.expressions import ExpressionError
from highwater.explorer.blame import ModelError
from highwater.exploring.opening import switched
from highwater.exploring.page import session_page, session_part
from highwater.exploring.saving import saved
from highwater.exploring.session import Session, SessionError
from highwater.files import ReportError
from highwater.viewer.pages import compare_page

HOST = "127.0.0.1"
LARGEST_REQUEST = 100_000
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
REFUSALS = (SessionError, ExpressionError, ReportError, ModelError)


class Refused(Exception):
    """A request from somewhere else."""


class Site:
    """What is served: the page of a session, and the verbs.

    Attributes:
        token: what a request must bring.
        hosts: what it must be addressed to.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(18)
        self.hosts: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def listen(self, port: int = 0) -> BaseWSGIServer:
        """A server for this page; any free port if 0.

        Raises:
            OSError: the port is taken.
        """
        server = make_server(HOST, port, self, threaded=True, request_handler=_Quiet)
        self.hosts = frozenset({f"{HOST}:{server.port}", f"localhost:{server.port}"})
        return server

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        request.max_content_length = LARGEST_REQUEST
        try:
            response = self._answer(request)
        except HTTPException as error:
            response = Response(error.description, status=error.code or 500, mimetype="text/plain")
        except RecursionError:
            response = Response("the request is nested too deeply", status=400, mimetype="text/plain")
        except Refused as error:
            response = Response(str(error), status=403, mimetype="text/plain")
        except REFUSALS as error:
            response = Response(str(error), status=409, mimetype="text/plain")
        response.headers.extend(HEADERS)
        return response(environ, start_response)

    def _answer(self, request: Request) -> Response:
        self._refuse_strangers(request)
        if (request.method, request.path) == ("POST", "/stop"):
            self.session.cancelled.ask()
            return Response(self.session.cancelled.says, mimetype="text/plain")
        with self._lock:
            match request.method, request.path:
                case "GET", "/":
                    return Response(session_page(self.session, token=self.token), mimetype="text/html")
                case "POST", "/do":
                    return Response(self._do(request.get_json()), mimetype="text/html")
                case "GET", "/save":
                    return self._save(request.args.get("as", ""))
                case "GET", "/compare":
                    comparison, _, _ = self.session.compare([request.args.get("rule", "")])
                    return Response(compare_page(comparison), mimetype="text/html")
        raise NotFound

    def _refuse_strangers(self, request: Request) -> None:
        if request.environ.get("HTTP_HOST") not in self.hosts:
            raise Refused("this page is served to 127.0.0.1 only")
        if not hmac.compare_digest(request.args.get("token", "").encode(), self.token.encode()):
            raise Refused("the address lacks the token; take the address that `highwater explore` printed")

    def _save(self, kind: str) -> Response:
        name, text = saved(self.session, kind)
        return Response(text, mimetype="text/plain", headers={"Content-Disposition": f'attachment; filename="{name}"'})

    def _do(self, asked: Any) -> str:
        """Do what a verb asks for, and give what of the page it changes."""
        if not isinstance(asked, dict):
            raise SessionError("a verb is an object with its name")
        said, comparison, rule = "", None, ""
        match asked:
            case {"verb": "take", "action": int(number)}:
                self.session.take(number)
            case {"verb": "undo"}:
                self.session.undo()
            case {"verb": "go", "node": int(number)}:
                self.session.go(number)
            case {"verb": "name", "name": str(text)}:
                self.session.name(text)
            case {"verb": "find", "what": str(text), "from": ("here" | "start") as where}:
                said = self.session.find(text, from_here=where == "here").says
            case {"verb": "watch", "what": str(text)}:
                self.session.watch(text)
            case {"verb": "compare", "rule": str(rule)}:
                comparison, _, _ = self.session.compare([rule])
            case {"verb": "switch", "rule": str(rule)}:
                self.session = switched(self.session, [rule])
            case _:
                raise SessionError("there is no such verb")
        return session_part(self.session, token=self.token, said=said, comparison=comparison, rule=rule)


class _Quiet(WSGIRequestHandler):
    """Requests are not logged: their addresses hold the token."""

    def log(self, type: str, message: str, *args: Any) -> None:
        pass
