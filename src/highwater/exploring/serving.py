"""A session in a browser: a page served on 127.0.0.1 to whoever knows the token in its address."""

from __future__ import annotations

import hmac
import secrets
import threading
from typing import Any

from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from highwater.exploring.page import REFUSALS, Page
from highwater.exploring.saving import saved
from highwater.exploring.session import Session

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


class Refused(Exception):
    """A request from somewhere else."""


class Site:
    """What is served: the page of a session, and the verbs.

    Attributes:
        session: may be another one after a verb.
        token: what a request must bring.
        hosts: what it must be addressed to.
    """

    def __init__(self, session: Session) -> None:
        self.token = secrets.token_urlsafe(18)
        self._page = Page(session, token=self.token)
        self.hosts: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    @property
    def session(self) -> Session:
        return self._page.session

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
                    return Response(self._page.whole(), mimetype="text/html")
                case "POST", "/do":
                    return Response(self._page.do(request.get_json()), mimetype="text/html")
                case "GET", "/save":
                    return self._save(request.args.get("as", ""))
                case "GET", "/compare":
                    return Response(self._page.side_by_side(request.args.get("rule", "")), mimetype="text/html")
        raise NotFound

    def _refuse_strangers(self, request: Request) -> None:
        if request.environ.get("HTTP_HOST") not in self.hosts:
            raise Refused("this page is served to 127.0.0.1 only")
        if not hmac.compare_digest(request.args.get("token", "").encode(), self.token.encode()):
            raise Refused("the address lacks the token; take the address that `highwater explore` printed")

    def _save(self, kind: str) -> Response:
        name, text = saved(self.session, kind)
        return Response(text, mimetype="text/plain", headers={"Content-Disposition": f'attachment; filename="{name}"'})


class _Quiet(WSGIRequestHandler):
    """Requests are not logged: their addresses hold the token."""

    def log(self, type: str, message: str, *args: Any) -> None:
        pass
