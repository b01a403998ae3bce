"""Executes workflows with Python's standard library alone. It speaks the run protocol (docs/run-protocol.md)."""

import http.client
import json
import os
import signal
import threading
import time
import traceback
import urllib.error
import urllib.request
from urllib.parse import quote
from uuid import uuid4

# Characters of an error's message.
MAX_MESSAGE = 16384


class ApiError(Exception):
    """A request that the service refused."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.code = code


class StepError(Exception):
    """ A step failed, now or in an earlier execution. `name` is the name of the exception that it raised."""

    def __init__(self, error, is_stored):
        super().__init__(error["message"])
        self.name = error["name"]
        self.is_stored = is_stored


class JournalMismatch(Exception):
    """The journal does not fit the code: the code has changed since, or differs from call to call. The run waits for other code."""

    def __init__(self, step, message):
        super().__init__(message)
        self.step = step


class Suspended(BaseException):
    """Ends an execution whose next step waits. A BaseException, so that a workflow's `except Exception` does not catch it."""


class LeaseLost(BaseException):
    """Ends an execution that is no longer this worker's."""


class Client:
    """Calls the API. A call without a response, or with a status that asks for another try, is sent again: all calls of the protocol may be
    repeated."""

    def __init__(self, url, key):
        self._url = url.rstrip("/")
        self._key = key

    def call(self, method, path, body):
        delay = 0.1
        while True:
            try:
                return self._send(method, path, body)
            except urllib.error.HTTPError as response:
                if response.code not in (429, 503):
                    raise self._error(response) from None
                delay = float(response.headers.get("Retry-After", delay))
            except (OSError, http.client.HTTPException):
                delay = min(delay * 2, 5)
            time.sleep(delay)

    def _send(self, method, path, body):
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    @staticmethod
    def _error(response):
        try:
            error = json.load(response)["error"]
            return ApiError(response.code, error["code"], f"{error['message']} {json.dumps(error['details'])}")
        except (ValueError, KeyError):
            return ApiError(response.code, "", response.reason)


class Step:
    """The steps of one execution. Steps run one after the other."""

    def __init__(self, client, run):
        self._client = client
        self._run = run
        self._journal = {step["key"]: step for step in run["journal"]}
        self._uses = {}
        self._failed = None
        self.lost = threading.Event()
        self.waiting = []

    def run(self, name, function):
        """Calls a function once, and remembers what it returns."""

        def execute(key):
            step = {"key": key, "type": "run", "startedAt": _now()}
            try:
                step |= {"status": "completed", "output": function()}
            except Exception as error:
                # Stored when the workflow goes on after it. Otherwise the run's next attempt executes the step again.
                step |= {"status": "failed", "error": {"name": type(error).__name__, "message": _shortened(str(error))}}
                failure = StepError(step["error"], is_stored=False)
                self._failed = (step, failure)
                raise failure from error
            self._report(step)
            # As a replay sees it: JSON has lists in place of tuples.
            return json.loads(json.dumps(step["output"]))

        return self._ask("run", name, execute)

    def sleep(self, name, seconds):
        return self._ask("sleep", name, lambda key: self._suspend(key, "sleep", {"sleepFor": seconds * 1000}))

    def wait_for_signal(self, name, signal_id, timeout_seconds):
        """Waits until the signal is completed. Returns its payload. Raises StepError with the name SignalTimeoutError."""
        waits = {"signal": signal_id, "timeout": timeout_seconds * 1000}
        return self._ask("wait", name, lambda key: self._suspend(key, "wait", waits))

    def signal(self, name, signal_id):
        """ Registers a signal, so that a completion that comes before the wait is kept."""
        return self._ask("signal", name, lambda key: self._call("signals", {"key": key, "signal": signal_id}))

    def send_event(self, name, event, data=None):
        return self._ask("event", name, lambda key: self._call("events", {"key": key, "name": event, "data": data}))

    def check_end(self):
        """Call this when the workflow has returned."""
        self._store_failed()
        for key in self._journal:
            raise JournalMismatch(key, f'The journal has step "{key}", but the code does not reach it.')

    def _ask(self, kind, name, execute):
        self._store_failed()
        if self.lost.is_set():
            raise LeaseLost
        self._uses[name] = self._uses.get(name, 0) + 1
        key = name if self._uses[name] == 1 else f"{name}:{self._uses[name]}"
        step = self._journal.pop(key, None)
        if step is None:
            if self._journal:
                raise JournalMismatch(next(iter(self._journal)), f'The code comes to "{key}" before {", ".join(self._journal)} of the journal.')
            return execute(key)
        if step["type"] != kind:
            raise JournalMismatch(key, f'The journal has step "{key}" as a {step["type"]} step, and the code uses it as a {kind} step.')
        if step["status"] == "completed":
            return step["output"]
        if step["status"] == "failed":
            raise StepError(step["error"], is_stored=True)
        if step["status"] == "cancelled":
            raise JournalMismatch(key, f'The journal has step "{key}" as cancelled, but the code waits for it.')
        raise Suspended

    def _suspend(self, key, kind, fields):
        self.waiting = [{"key": key, "type": kind, "status": "waiting", "startedAt": _now()} | fields]
        raise Suspended

    def _store_failed(self):
        if self._failed:
            (step, failure), self._failed = self._failed, None
            self._report(step)
            failure.is_stored = True

    def _report(self, step):
        self._call("steps", {"steps": [step]})

    def _call(self, what, body):
        try:
            proof = {"lease_token": self._run["lease_token"]}
            return self._client.call("POST", f"/v1/runs/{self._run['runId']}/{what}", proof | body)
        except ApiError as error:
            if error.code == "LEASE_LOST":
                raise LeaseLost from None
            raise


class Worker:
    """Takes runs of workflows, one at a time, and executes them."""

    def __init__(self, url, key, lease_seconds=30):
        self._client = Client(url, key)
        self._name = f"python-{os.getpid()}"
        self._lease_seconds = lease_seconds
        self._workflows = {}
        self._stopping = False
        self._idle = False

    def workflow(self, workflow_id, **settings):
        """Decorates the function of a workflow, which gets the run's input and its steps. Settings: `attempts`, `events`, …"""

        def add(function):
            self._workflows[workflow_id] = (function, settings)
            return function

        return add

    def work(self):
        """Executes runs until SIGTERM or SIGINT. The run in progress ends first."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for workflow_id, (_, settings) in self._workflows.items():
            self._client.call("PUT", f"/v1/workflows/{quote(workflow_id)}", settings)
        settle = []
        while settle or not self._stopping:
            # A call with outcomes does not wait. The name lets a call be sent again that got no response.
            call = {"worker": self._name, "queues": [], "request": str(uuid4()), "settle": settle}
            if not self._stopping:
                call |= {"workflows": list(self._workflows), "limit": 1, "lease": self._lease_seconds, "wait": 20}
            self._idle = not settle
            work = self._client.call("POST", "/v1/work", call)
            self._idle = False
            settle = [again for pair in zip(settle, work["settled"]) if (again := self._settle_again(*pair))]
            settle += [outcome for run in work["runs"] if (outcome := self._execute(run))]

    def _stop(self, *_):
        self._stopping = True
        if self._idle:
            # The service gives back what it cannot send.
            raise SystemExit(0)

    @staticmethod
    def _settle_again(outcome, settled):
        """An outcome that was refused, for example because the result is too large, fails the run for good."""
        if settled["ok"] or settled["code"] == "LEASE_LOST" or outcome["outcome"] == "failed":
            return None
        proof = {"id": outcome["id"], "lease_token": outcome["lease_token"]}
        return proof | {"outcome": "failed", "error": settled["message"], "error_name": settled["code"], "retry": False}

    def _execute(self, run):
        """Returns the outcome of an execution; None if the run is no longer this worker's."""
        function, _ = self._workflows[run["workflowId"]]
        step = Step(self._client, run)
        ended = threading.Event()
        threading.Thread(target=self._extend, args=(run, step, ended), daemon=True).start()
        proof = {"id": run["runId"], "lease_token": run["lease_token"]}
        try:
            result = function(run["input"], step)
            step.check_end()
            return proof | {"outcome": "completed", "result": result}
        except Suspended:
            return proof | {"outcome": "suspended", "steps": step.waiting}
        except LeaseLost:
            return None
        except JournalMismatch as misfit:
            return proof | {"outcome": "unfit", "step": misfit.step, "error": _shortened(str(misfit))}
        except Exception as error:
            traceback.print_exc()
            name = error.name if isinstance(error, StepError) else type(error).__name__
            # A replay would raise a stored failure again.
            is_final = isinstance(error, StepError) and error.is_stored
            return proof | {"outcome": "failed", "error": _shortened(str(error)) or name, "error_name": name, "retry": not is_final}
        finally:
            ended.set()

    def _extend(self, run, step, ended):
        """Extends the lease of a run until its execution has ended."""
        call = {"worker": self._name, "lease": self._lease_seconds}
        call["leases"] = [{"id": run["runId"], "lease_token": run["lease_token"]}]
        while not ended.wait(self._lease_seconds / 3):
            if not self._client.call("POST", "/v1/work/extend", call)["leases"][0]["ok"]:
                return step.lost.set()


def _shortened(message):
    return message.replace("\0", "")[:MAX_MESSAGE]


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
