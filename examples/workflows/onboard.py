"""A workflow of two steps with a sleep between them."""

import os

from tidemill_worker import Worker

worker = Worker(os.environ.get("TIDEMILL_URL", "http://127.0.0.1:8080"), os.environ["TIDEMILL_KEY"])


@worker.workflow("user.onboard", attempts=3)
def onboard(user, step):
    account = step.run("create account", lambda: create_account(user["name"]))
    step.sleep("a day", 24 * 60 * 60)
    return step.run("send tips", lambda: send_tips(account["email"]))


def create_account(name):
    print(f"An account for {name}.", flush=True)
    return {"email": f"{name.lower()}@example.com"}


def send_tips(email):
    print(f"A mail with tips to {email}.", flush=True)
    return {"sent": email}


if __name__ == "__main__":
    worker.work()
